"""The scenes of a story: every action changes the state, the script and the chronicle at once; the director casts them."""

from __future__ import annotations

import math
import random
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from eval.sandbox.facts import Event, EventKind, Visit
from eval.sandbox.room_plans import GIVING_APART, Opened, Seat, Spot, giving_place
from eval.sandbox.script import (
    WIDTH,
    Carry,
    Gesture,
    GestureKind,
    Line,
    Opening,
    Performance,
    Resting,
    Shot,
    Walk,
    Wear,
    capital,
)
from eval.sandbox.story_world import (
    Article,
    Cast,
    Chronicle,
    Feet,
    Location,
    PersonState,
    Player,
    ThingState,
    World,
    caption_of,
    clock_words,
    event_words,
    kept_on,
    on_frame,
    relation_to,
)

_SPEED = 110.0  #: pixels a second
_APART = 105.0  #: pixels between two people who do not cover each other, nor seem to be one
_NEAREST, _FARTHEST = 50.0, WIDTH - 50.0
_TAIL = 0.7  #: seconds after the last action
_BEFORE_SITTING = 0.8  #: seconds in which a person is in front of a seat and can be seen whole
#: For each gesture its event, and the seconds it takes.
_GESTURES: Mapping[GestureKind, tuple[EventKind, float]] = {
    "puts down": ("puts_down", 1.2),
    "picks up": ("picks_up", 1.2),
    "drinks": ("drinks", 2.2),
    "waves": ("waves", 1.8),
    "sits down": ("sits", 1.2),
    "stands up": ("stands_up", 1.2),
    "puts on": ("puts_on", 1.6),
    "takes off": ("takes_off", 1.6),
    "gives": ("gives", 1.2),
    "opens": ("opens", 1.0),
    "closes": ("closes", 1.0),
}


@dataclass(frozen=True, kw_only=True)
class _Interval:
    """A thing is placed here (``holder`` empty), or a person holds or wears it; seconds of the shot."""

    thing: str
    holder: str
    start: float
    end: float


class _Part:
    """What one actor does in the shot; times in seconds of the shot. From ``busy`` on the actor is free."""

    def __init__(self, who: PersonState) -> None:
        self.who = who
        self.busy = 0.0
        self.seen: list[tuple[float, float]] = []
        self.seen_since: float | None = None
        self.had_since = {article.id: 0.0 for article in who.has}
        self._walks: list[Walk] = []
        self._gestures: list[Gesture] = []
        self._carries: list[Carry] = []
        self._wears: list[Wear] = []

    def walk(self, start: float, end: float, goal: Feet, *, origin: Feet | None = None) -> None:
        """Walk to a place, from where the actor is or from outside."""
        came = origin or self.who.feet
        self._walks.append(Walk(start=start, end=end, origin=came, goal=goal))
        if goal[0] != came[0]:
            self.who.facing = 1 if goal[0] > came[0] else -1
        self.who.feet, self.busy = goal, end

    def gesture(self, gesture: Gesture) -> None:
        """Do something; ``facing`` 0 keeps the side to which the actor looks."""
        self.who.facing = gesture.facing or self.who.facing
        self._gestures.append(replace(gesture, facing=self.who.facing))
        self.busy = gesture.end

    def had_until(self, article: Article, time: float, *, worn: bool = False) -> _Interval:
        """The actor no longer holds, or no longer wears, a thing."""
        start = self.had_since.pop(article.id)
        if worn:
            self._wears.append(Wear(start=start, end=time, prop=article.prop))
        else:
            self._carries.append(Carry(start=start, end=time, prop=article.prop))
        return _Interval(thing=article.id, holder=self.who.player.id, start=start, end=time)

    def disappears(self, time: float) -> None:
        """The actor goes out of the picture."""
        if self.seen_since is not None:
            self.seen.append((self.seen_since, time))
            self.seen_since = None

    def finish(self, duration: float) -> list[_Interval]:
        """The shot is over; returns what is still held and worn."""
        self.disappears(duration)
        return [self.had_until(article, duration, worn=article in self.who.wears) for article in self.who.has]

    def performance(self) -> Performance:
        """The part as a script holds it."""
        return Performance(
            actor=self.who.player.actor,
            walks=tuple(self._walks),
            gestures=tuple(self._gestures),
            carries=tuple(self._carries),
            wears=tuple(self._wears),
        )


class Scene:
    """A shot that is being made. Actions follow one another, each when the one before is over.

    ``now`` is in seconds of the shot, ``start`` in seconds of the film. The room is empty when a shot begins and when it ends.
    """

    def __init__(
        self,
        world: World,
        chronicle: Chronicle,
        cast: Cast,
        location: Location,
        *,
        start: float,
        clock: str,
        notes: tuple[str, ...],
        chance: random.Random,
    ) -> None:
        self.world = world
        self.cast = cast
        self.location = location
        self.chance = chance
        self.start = start
        self.now = on_frame(chance.uniform(1.6, 2.4))
        self.chronicle = chronicle
        self._room = replace(location.room, clock=clock, notes=notes)
        self._parts: dict[str, _Part] = {}
        self._resting_since = {
            where.article.id: 0.0 for where in world.things.values() if where.how == "on" and where.room == location.id
        }
        self._open_since = dict.fromkeys(sorted(world.open[location.id]), 0.0)
        self._resting: list[Resting] = []
        self._openings: list[Opening] = []
        self._lines: list[Line] = []
        self._intervals: list[_Interval] = []
        self._events: list[Event] = []

    def state(self, player: Player) -> PersonState:
        """A person's state."""
        return self.world.people[player.id]

    def is_here(self, player: Player) -> bool:
        """Whether a person is in this room."""
        return self.state(player).room == self.location.id

    def others(self, player: Player) -> list[Player]:
        """The other people in this room."""
        return [who.player for who in self.world.present(self.location.id) if who.player.id != player.id]

    # -- actions

    def enter(self, player: Player, goal: Feet | None = None) -> Event:
        """A person comes in and walks to a place, or to somewhere free."""
        who = self.state(player)
        who.room = self.location.id
        if goal is not None:
            self._make_way(player, goal)
        origin, goal = self._way_in(player, self._free_places(player) if goal is None else (goal,))
        part = self._part(player)
        begin = max(self.now, part.busy)
        end = on_frame(begin + self._walking(origin, goal))
        inside = on_frame(begin + (end - begin) * self._crossing(origin, goal))
        part.walk(begin, end, goal, origin=origin)
        part.seen_since = inside
        self.now = on_frame(end + 0.2)
        for subject in (player.id, *(article.id for article in who.has)):
            self.chronicle.begins("in", subject, self.location.id, self._time(inside))
        event = self._happened("enters", player, inside, end, article=who.holds)
        if any(habit.is_of("waves", player, self.location) for habit in self.cast.habits):
            self.wave(player)
        return event

    def leave(self, player: Player, *, waits: bool = True) -> Event:
        """A person goes out; the next action waits until they are gone, or only until they are on their way."""
        self._must_stand(player)
        who = self.state(player)
        part = self._part(player)
        origin, goal = who.feet, self._way_out(player)
        begin = max(self.now, part.busy)
        end = on_frame(begin + self._walking(origin, goal))
        outside = on_frame(end - (end - begin) * self._crossing(goal, origin))
        part.walk(begin, end, goal)
        part.disappears(outside)
        self.now = on_frame(end if waits else begin + 1.0)
        event = self._happened("leaves", player, begin, outside, article=who.holds)
        for subject in (player.id, *(article.id for article in who.has)):
            self.chronicle.ends("in", subject, self.location.id, self._time(outside))
        who.room = ""
        return event

    def walk(self, player: Player, goal: Feet) -> None:
        """A person walks to a place in the room, if they are not there; a person who sits stands up for it."""
        self._must_stand(player)
        who = self.state(player)
        if abs(who.feet[0] - goal[0]) + abs(who.feet[1] - goal[1]) < 1.0:
            return
        self._make_way(player, goal)
        part = self._part(player)
        begin = max(self.now, part.busy)
        end = on_frame(begin + self._walking(who.feet, goal))
        part.walk(begin, end, goal)
        self.now = on_frame(end + 0.1)

    def pick_up(self, player: Player, article: Article) -> Event:
        """A person takes a thing that is on or inside something here, which is opened for it and closed again."""
        place = self.world.things[article.id].place
        if place is None:
            raise LookupError(f"{article.id} is not put anywhere")
        self._walk_to(player, place)
        self.world.hold(article, player)
        event, middle = self._handle(player, "picks up", place, article)
        self._part(player).had_since[article.id] = middle
        if isinstance(place, Spot):
            self._rest(article, self._resting_since.pop(article.id), middle, place)
        self.chronicle.ends(relation_to(place), article.id, kept_on(place), self._time(middle))
        self.chronicle.begins("holds", player.id, article.id, self._time(middle))
        if isinstance(place, Opened):
            self.close(player, place)
        return event

    def put_down(self, player: Player, place: Spot | Opened) -> Event:
        """A person puts what they hold on a spot, or into something, which is opened for it and closed again."""
        self._walk_to(player, place)
        article = self._takes_from(player)
        self.world.place(article, self.location.id, place)
        event, middle = self._handle(player, "puts down", place, article)
        self._let_go(player, article, middle)
        self.chronicle.begins(relation_to(place), article.id, kept_on(place), self._time(middle))
        if isinstance(place, Opened):
            self.close(player, place)
        else:
            self._resting_since[article.id] = middle
        return event

    def give(self, giver: Player, receiver: Player) -> Event:
        """A person gives what they hold to another here."""
        self._must_stand(receiver)
        self.walk(giver, self._meeting_place(giver, receiver))
        one, other = self.state(giver).feet, self.state(receiver).feet
        self.now = max(self.now, self._part(receiver).busy)
        article = self._takes_from(giver)
        self.world.hold(article, receiver)
        facing, place = 1 if other[0] > one[0] else -1, giving_place(one, other)
        event, middle = self._act(giver, "gives", article=article, other=receiver, facing=facing, place=place)
        begin, end = on_frame(event.start - self.start), on_frame(event.end - self.start)
        label = f"receives {article.thing.name}"
        self._part(receiver).gesture(
            Gesture(start=begin, end=end, kind="receives", label=label, facing=-facing, place=place, prop=article.prop)
        )
        self._let_go(giver, article, middle)
        self._part(receiver).had_since[article.id] = middle
        self.chronicle.begins("holds", receiver.id, article.id, self._time(middle))
        return event

    def put_on(self, player: Player) -> Event:
        """A person puts on the hat or scarf they hold."""
        self._must_stand(player)
        article = self._takes_from(player)
        self.state(player).wears.append(article)
        self.world.things[article.id] = ThingState(article=article, how="worn")
        event, middle = self._act(player, "puts on", article=article)
        self._let_go(player, article, middle)
        self._part(player).had_since[article.id] = middle
        self.chronicle.begins("wears", player.id, article.id, self._time(middle))
        return event

    def take_off(self, player: Player, article: Article) -> Event:
        """A person takes off a hat or scarf and holds it."""
        self._must_stand(player)
        self.world.hold(article, player)
        self.state(player).wears.remove(article)
        event, middle = self._act(player, "takes off", article=article)
        part = self._part(player)
        self._intervals.append(part.had_until(article, middle, worn=True))
        part.had_since[article.id] = middle
        self.chronicle.ends("wears", player.id, article.id, self._time(middle))
        self.chronicle.begins("holds", player.id, article.id, self._time(middle))
        return event

    def drink(self, player: Player) -> Event:
        """A person drinks from the cup they hold."""
        return self._act(player, "drinks", article=self.state(player).holds, moves_with_it=False)[0]

    def open(self, player: Player, opened: Opened) -> Event:
        """A person opens a drawer, a cupboard or a door."""
        self.walk(player, opened.stand)
        self.world.open[self.location.id].add(opened.name)
        event, middle = self._act(player, "opens", target=opened.name, facing=opened.facing, place=opened.handle)
        self._open_since[opened.name] = middle
        return event

    def close(self, player: Player, opened: Opened) -> Event:
        """A person closes what is open."""
        self.walk(player, opened.stand)
        self.world.open[self.location.id].remove(opened.name)
        event, middle = self._act(player, "closes", target=opened.name, facing=opened.facing, place=opened.handle)
        self._openings.append(Opening(start=self._open_since.pop(opened.name), end=middle, target=opened.name))
        return event

    def sit(self, player: Player, seat: Seat) -> Event:
        """A person walks to a seat and sits down."""
        self.walk(player, seat.stand)
        self.pause(_BEFORE_SITTING)
        who = self.state(player)
        who.seat, who.facing = seat, seat.facing
        return self._act(player, "sits down", target=seat.name, facing=seat.facing)[0]

    def stand_up(self, player: Player) -> Event:
        """A person who sits stands up."""
        who = self.state(player)
        if who.seat is None:
            raise LookupError(f"{player.id} does not sit")
        seat, who.seat = who.seat, None
        return self._act(player, "stands up", target=seat.name, facing=seat.facing)[0]

    def wave(self, player: Player, other: Player | None = None) -> Event:
        """A person waves, at another or just so."""
        return self._act(player, "waves", other=other, facing=self._towards(player, other))[0]

    def say(self, player: Player, words: str, to: Player | None = None) -> Event:
        """A person says a line."""
        begin = on_frame(max(self.now, self._part(player).busy))
        end = on_frame(begin + min(5.5, max(1.6, 0.9 + 0.055 * len(words))))
        event = self._happened("says", player, begin, end, other=to, words=words)
        facing = self._towards(player, to)
        self._lines.append(Line(start=begin, end=end, speaker=player.actor, text=words, facing=facing))
        self._part(player).busy = end
        self.now = on_frame(end + self.cast.between)
        return event

    def pause(self, seconds: float) -> None:
        """Nothing happens for a while."""
        self.now = on_frame(self.now + seconds)

    # -- the whole shot

    @property
    def length(self) -> float:
        """Seconds that the shot lasts at least: all that has been done so far."""
        return on_frame(_TAIL + max([self.now, *(part.busy for part in self._parts.values())]))

    def finish(self, *, longer: float = 0.0) -> Shot:
        """End the shot, ``longer`` seconds later than necessary; things stay where they are."""
        duration = on_frame(self.length + longer)
        for article_id, since in self._resting_since.items():
            where = self.world.things[article_id]
            if isinstance(where.place, Spot):
                self._rest(where.article, since, duration, where.place)
        for target, since in self._open_since.items():
            self._openings.append(Opening(start=since, end=duration, target=target))
        for part in self._parts.values():
            self._intervals += part.finish(duration)
        self._note_visits(duration)
        room = self._room
        texts = tuple(text for text in (room.sign, room.clock, *room.notes) if text)
        self.chronicle.scene(self.location.id, self._time(0.0), self._time(duration), texts)
        return Shot(
            room=room,
            duration=duration,
            caption=caption_of(self.location.place.name, self._events),
            performances=tuple(part.performance() for part in self._parts.values()),
            resting=tuple(self._resting),
            lines=tuple(self._lines),
            captions=tuple(
                (on_frame(event.start - self.start), on_frame(event.end - self.start), capital(event.clause) + ".")
                for event in sorted(self._events, key=lambda event: (event.start, event.end))
            ),
            openings=tuple(self._openings),
        )

    def _note_visits(self, duration: float) -> None:
        """Record who and what is on screen when: a held thing is, as long as its holder is."""
        shown = {part.who.player.id: part.seen for part in self._parts.values()}
        for item in self._intervals:
            for start, end in shown[item.holder] if item.holder else [(0.0, duration)]:
                if min(end, item.end) > max(start, item.start):
                    shown.setdefault(item.thing, []).append((max(start, item.start), min(end, item.end)))
        for subject, intervals in shown.items():
            for start, end in _joined(intervals):
                if end > start:
                    self.chronicle.visits.append(
                        Visit(subject=subject, place=self.location.id, start=self._time(start), end=self._time(end))
                    )

    # -- places

    @staticmethod
    def _walking(origin: Feet, goal: Feet) -> float:
        return max(0.6, math.ceil(math.dist(origin, goal) / _SPEED * 10) / 10)

    @staticmethod
    def _crossing(origin: Feet, goal: Feet) -> float:
        """The share of a walk from outside at which the frame's edge is crossed."""
        edge = 0.0 if origin[0] < 0 else float(WIDTH)
        return (edge - origin[0]) / (goal[0] - origin[0])

    def _free_positions(self, taken: Iterable[float]) -> list[Feet]:
        taken = tuple(taken)
        return [place for place in self.location.plan.positions if all(abs(place[0] - x) >= _APART for x in taken)]

    def _free_places(self, player: Player) -> Sequence[Feet]:
        """Places at which a person covers no other."""
        free = self._free_positions(self.state(other).feet[0] for other in self.others(player))
        return free or self.location.plan.positions

    def _between(self, player: Player, origin: Feet, goal: Feet) -> int:
        """The number of people that a walk passes: each hides the walker, or is hidden, for a moment."""
        near, far = sorted((origin[0], goal[0]))
        return sum(near - _APART / 2 < self.state(other).feet[0] < far + _APART / 2 for other in self.others(player))

    def _way_in(self, player: Player, goals: Sequence[Feet]) -> tuple[Feet, Feet]:
        """The side to come in from and one of some places, past as few people as possible."""
        plan = self.location.plan
        ways = [(origin, goal) for origin in (plan.left, plan.right) for goal in goals]
        self.chance.shuffle(ways)
        return min(ways, key=lambda way: self._between(player, *way))

    def _way_out(self, player: Player) -> Feet:
        """The side to go out at: past as few people as possible, then the nearer one."""
        plan, here = self.location.plan, self.state(player).feet
        return min(
            (plan.left, plan.right), key=lambda side: (self._between(player, here, side), abs(side[0] - here[0]))
        )

    def _make_way(self, player: Player, goal: Feet) -> None:
        """Let people who are in the way step aside first."""
        for other in self.others(player):
            who = self.state(other)
            if who.seat is None and abs(who.feet[0] - goal[0]) < _APART:
                taken = {goal[0], *(self.state(item).feet[0] for item in self.others(other))}
                free, here = self._free_positions(taken) or [who.feet], who.feet[0]
                aside = min(free, key=lambda place: abs(place[0] - here))
                part = self._part(other)
                begin = max(self.now, part.busy)
                part.walk(begin, on_frame(begin + self._walking(who.feet, aside)), aside)
                self.now = max(self.now, on_frame(begin + 0.3))

    def _meeting_place(self, giver: Player, receiver: Player) -> Feet:
        """Where to stand to give another person something."""
        one, other = self.state(giver).feet, self.state(receiver).feet
        side = 1 if one[0] >= other[0] else -1
        x = other[0] + side * GIVING_APART
        if not _NEAREST <= x <= _FARTHEST:
            x = other[0] - side * GIVING_APART
        return x, other[1]

    def _towards(self, player: Player, other: Player | None) -> int:
        who = self.state(player)
        if who.seat is not None or other is None or not self.is_here(other):
            return who.facing
        return 1 if self.state(other).feet[0] > who.feet[0] else -1

    # -- what actions are made of

    def _time(self, moment: float) -> float:
        return on_frame(self.start + moment)

    def _part(self, player: Player) -> _Part:
        if player.id not in self._parts:
            self._parts[player.id] = _Part(self.state(player))
        return self._parts[player.id]

    def _must_stand(self, player: Player) -> None:
        if self.state(player).seat is not None:
            self.stand_up(player)

    def _walk_to(self, player: Player, place: Spot | Opened) -> None:
        """Walk to a spot, or to something that is opened."""
        if isinstance(place, Opened) and place.name not in self.world.open[self.location.id]:
            self.open(player, place)
        self.walk(player, place.stand)

    def _handle(self, player: Player, kind: GestureKind, place: Spot | Opened, article: Article) -> tuple[Event, float]:
        """Pick a thing up or put it down."""
        inside = isinstance(place, Opened)
        grip, target = place.handle if isinstance(place, Opened) else place.place, kept_on(place)
        return self._act(player, kind, article=article, target=target, inside=inside, facing=place.facing, place=grip)

    def _act(
        self,
        player: Player,
        kind: GestureKind,
        *,
        facing: int = 0,
        place: Feet | None = None,
        moves_with_it: bool = True,
        **what: Any,
    ) -> tuple[Event, float]:
        """Add the next action of a person; returns its event, and its middle in seconds of the shot.

        The action after it waits for it. ``moves_with_it``: the arm moves with the thing. ``what`` as for ``_happened``.
        """
        event_kind, seconds = _GESTURES[kind]
        begin = on_frame(max(self.now, self._part(player).busy))
        end = on_frame(begin + seconds)
        self.now = on_frame(end + self.cast.between)
        event = self._happened(event_kind, player, begin, end, **what)
        label, article = event.clause.removeprefix(f"{player.person.description} "), what.get("article")
        prop = article.prop if article is not None and moves_with_it else None
        gesture = Gesture(start=begin, end=end, kind=kind, label=label, facing=facing, place=place, prop=prop)
        self._part(player).gesture(gesture)
        return event, on_frame((begin + end) / 2)

    def _takes_from(self, player: Player) -> Article:
        """Take away what a person holds."""
        who = self.state(player)
        if who.holds is None:
            raise LookupError(f"{player.id} holds nothing")
        article, who.holds = who.holds, None
        return article

    def _let_go(self, player: Player, article: Article, time: float) -> None:
        self._intervals.append(self._part(player).had_until(article, time))
        self.chronicle.ends("holds", player.id, article.id, self._time(time))

    def _rest(self, article: Article, start: float, end: float, spot: Spot) -> None:
        self._resting.append(Resting(start=start, end=end, prop=article.prop, place=spot.place))
        self._intervals.append(_Interval(thing=article.id, holder="", start=start, end=end))

    def _happened(
        self,
        kind: EventKind,
        player: Player,
        begin: float,
        end: float,
        *,
        article: Article | None = None,
        other: Player | None = None,
        target: str = "",
        words: str = "",
        inside: bool = False,
    ) -> Event:
        predicate, base = event_words(
            {"picks_up": "takes_out", "puts_down": "puts_into"}[kind] if inside else kind,
            thing=article.thing.name if article else "",
            other=other.person.description if other else "",
            target=self.cast.in_words(target) if target else "",
            room=self.location.place.name,
            words=words,
        )
        event = Event(
            id=f"e{len(self.chronicle.events) + 1:04d}",
            kind=kind,
            start=self._time(begin),
            end=self._time(end),
            actor=player.id,
            place=self.location.id,
            clause=f"{player.person.description} {predicate}",
            verb_phrase=base,
            thing=article.id if article else "",
            other=other.id if other else "",
            target=target,
            words=words,
        )
        self.chronicle.events.append(event)
        self._events.append(event)
        return event


def _joined(intervals: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Intervals in order, those that touch joined."""
    found: list[tuple[float, float]] = []
    for start, end in sorted(intervals):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


#: Minutes on the clocks for each minute of film: a short film shows hours of a day, a long one passes as it is.
_DAY_MINUTES, _FASTEST = 480.0, 40.0
_SOON = 25.0  #: seconds of film before an appointment in which it is due
_CROWD = 3  #: more people than this are not brought together in a room by chance


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The scene that a plot plays next: its room, and the time on the clock (minutes of the day) if it matters."""

    room: str
    at: int | None = None


Plot = Generator[Wanted, Scene, None]


class Director:
    """What plots can ask for: free people and things, places, the time; it keeps the clock and makes the scenes."""

    def __init__(self, cast: Cast, *, duration: float, chance: random.Random) -> None:
        self.cast = cast
        self.chance = chance
        self.duration = duration
        self.chronicle = Chronicle()
        self.world = World(cast.locations, cast.players)
        self.time = 0.0  #: seconds of the film so far
        self.notices: dict[str, tuple[str, ...]] = {}
        self._engaged: set[str] = set()
        self._arranged: list[int] = []
        self._pace = min(_FASTEST, max(1.0, _DAY_MINUTES / (duration / 60)))
        self._jumped = 0.0
        self._shown = cast.opening_minute

    # -- time

    @property
    def left(self) -> float:
        """Seconds of film that are left."""
        return self.duration - self.time

    def minute(self) -> int:
        """What a clock shows now, in minutes of the day."""
        return int(self.cast.opening_minute + self._jumped + self.time / 60 * self._pace)

    def minute_after(self, seconds: float) -> int:
        """What a clock shows in ``seconds`` of film, to five minutes."""
        return -(-int(max(self.minute(), self._shown) + seconds / 60 * self._pace + 1) // 5) * 5

    def may_arrange(self) -> bool:
        """Whether more may be arranged for a later time: people who wait for it take part in little else."""
        return len(self._arranged) < max(1, len(self.cast.players) // 4)

    def arrange(self, at: int, *, instead_of: int | None = None) -> None:
        """Arrange something for a time; until its scene comes the clocks stay before it."""
        if instead_of is not None:
            self._arranged.remove(instead_of)
        self._arranged.append(at)

    def is_due(self, at: int) -> bool:
        """Whether an appointment is so near that its scene comes next."""
        return self.minute() + _SOON / 60 * self._pace >= at

    # -- who and what is free

    @contextmanager
    def engaged(self, *items: Player | Article) -> Iterator[None]:
        """Reserve people and things for one plot for a while."""
        ids = {item.id for item in items}
        self._engaged |= ids
        try:
            yield
        finally:
            self._engaged -= ids

    def is_free(self, item: Player | Article) -> bool:
        """Whether no plot has reserved a person or a thing."""
        return item.id not in self._engaged

    def free_people(self, count: int) -> list[Player]:
        """Random people who belong to no plot and hold nothing; an empty list if there are fewer than ``count``."""
        found = [
            player
            for player in self.cast.players
            if self.is_free(player) and self.world.people[player.id].holds is None
        ]
        return self.chance.sample(found, count) if len(found) >= count else []

    def free_things(self, *, ruled: bool = False) -> list[Article]:
        """Things that are put somewhere and belong to no plot: those of a rule, or all others."""
        found = [
            article
            for article in self.cast.articles
            if self.is_free(article)
            and (self.cast.rule_of(article) is not None) == ruled
            and self.world.things[article.id].how in {"on", "inside"}
        ]
        self.chance.shuffle(found)
        return found

    def room(self, *, without: tuple[str, ...] = (), sought: int = 2) -> str | None:
        """A random room that is not crowded once ``sought`` more people have come; None if all are."""
        found = [
            location.id
            for location in self.cast.locations
            if location.id not in without and len(self.world.present(location.id)) + sought <= _CROWD + 1
        ]
        return self.chance.choice(found) if found else None

    def room_name(self, room: str) -> str:
        """A room in words."""
        return self.world.locations[room].place.name

    def room_of(self, player: Player) -> str:
        """Where a person is; empty between two rooms."""
        return self.world.people[player.id].room

    # -- scenes

    def play(self, plot: Plot, wanted: Wanted) -> tuple[Scene, Wanted | None]:
        """Let a plot play its scene; returns the scene, not yet finished, and what the plot wants next (None: it is over).

        The clocks stay before the times for which something else is arranged.
        """
        if wanted.at is not None:
            self._jumped += wanted.at - self.minute()
            self._arranged.remove(wanted.at)
        elif self._arranged:
            self._jumped -= max(0, self.minute() - min(self._arranged) + 1)
        self._shown = max(self._shown, self.minute())
        scene = Scene(
            self.world,
            self.chronicle,
            self.cast,
            self.world.locations[wanted.room],
            start=self.time,
            clock=clock_words(self._shown),
            notes=self.notices.get(wanted.room, ()),
            chance=self.chance,
        )
        try:
            following: Wanted | None = plot.send(scene)
        except StopIteration:
            following = None
        # People who are there before the camera looks cannot be distinguished from the furniture: rooms are left empty.
        for who in self.world.present(wanted.room):
            scene.leave(who.player)
        self.time = scene.start + scene.length
        return scene, following

"""The scenes of a story: each action updates state, script and chronicle at once; the director provides the cast."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from eval.sandbox.facts import Event, EventKind, Visit
from eval.sandbox.room_plans import GIVING_APART, Fixture, giving_place
from eval.sandbox.script import (
    WIDTH,
    Actor,
    Carry,
    Gesture,
    GestureKind,
    Line,
    Opening,
    Performance,
    Prop,
    Resting,
    Shot,
    Walk,
    Wear,
    capital,
)
from eval.sandbox.story_world import (
    Chronicle,
    Feet,
    PersonState,
    StoryCast,
    StoryState,
    ThingState,
    caption_of,
    clock_words,
    event_words,
    on_frame,
    relation_to,
)
from world_api.core.spans import TimeSpan, merge_spans

_SPEED = 110.0  #: pixels a second
_APART = 105.0  #: pixels between two people, so that neither covers the other
_NEAREST, _FARTHEST = 50.0, WIDTH - 50.0
_TAIL = 0.7  #: seconds after the last action
_BEFORE_SITTING = 0.8  #: seconds in which a person stands before a seat, fully visible
#: For each gesture the kind of its event, and its duration in seconds.
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


@dataclass(kw_only=True)
class _Role:
    """What one actor does in the shot; times in seconds of the shot. The actor is free from ``busy`` on."""

    who: PersonState
    had_since: dict[str, float]  #: start of holding or wearing, by id of the thing
    busy: float = 0.0
    entered: float = 0.0
    seen: list[TimeSpan] = field(default_factory=list)
    walks: list[Walk] = field(default_factory=list)
    gestures: list[Gesture] = field(default_factory=list)
    carries: list[Carry] = field(default_factory=list)
    wears: list[Wear] = field(default_factory=list)

    def gesture(self, gesture: Gesture) -> None:
        """Add a gesture; if its ``facing`` is 0, the actor keeps the present direction."""
        self.who.facing = gesture.facing or self.who.facing
        self.gestures.append(replace(gesture, facing=self.who.facing))
        self.busy = gesture.end

    def had_until(self, prop: Prop, time: float, *, worn: bool = False) -> None:
        """Record that the actor stops holding, or wearing, a thing at ``time``."""
        start = self.had_since.pop(prop.id)
        if worn:
            self.wears.append(Wear(start=start, end=time, prop=prop))
        else:
            self.carries.append(Carry(start=start, end=time, prop=prop))


class StagedShot:
    """A shot in the making. Its actions follow one another: each begins when the one before is over.

    ``now`` is in seconds of the shot, ``start`` in seconds of the film. The room is empty at the beginning and at the
    end.
    """

    def __init__(self, director: Director, room: str, *, clock: str) -> None:
        self.world = world = director.world
        self.cast = director.cast
        self.location = location = world.locations[room]
        self.chance = director.chance
        self.start = director.time
        self.now = on_frame(self.chance.uniform(1.6, 2.4))
        self.chronicle = director.chronicle
        self._room = replace(location.room, clock=clock, notes=director.notices.get(room, ()))
        self._roles: dict[str, _Role] = {}
        self._resting_since = {
            where.prop.id: 0.0 for where in world.things.values() if where.how == "on" and where.room == location.id
        }
        self._open_since = dict.fromkeys(sorted(world.open[location.id]), 0.0)
        self._resting: list[Resting] = []
        self._openings: list[Opening] = []
        self._lines: list[Line] = []
        self._events: list[Event] = []

    def state(self, actor: Actor) -> PersonState:
        """Return a person's state."""
        return self.world.people[actor.id]

    def is_here(self, actor: Actor) -> bool:
        """Whether a person is in the room of this shot."""
        return self.state(actor).room == self.location.id

    def others(self, actor: Actor) -> list[Actor]:
        """Return the other people in the room of this shot."""
        return [who.actor for who in self.world.present(self.location.id) if who.actor.id != actor.id]

    # -- actions

    def enter(self, actor: Actor, goal: Feet | None = None) -> Event:
        """Let a person come in, walk to ``goal``, by default a free position, and wave if that is their habit here."""
        who = self.state(actor)
        who.room = self.location.id
        if goal is not None:
            self._make_way(actor, goal)
        goals = [goal] if goal is not None else self._free_positions(actor) or self.location.plan.positions
        origin, goal = self._way_in(actor, goals)
        begin, end = self._start_walk(actor, goal, origin=origin)
        inside = self._role_of(actor).entered = on_frame(begin + (end - begin) * self._crossing(origin, goal))
        self.now = on_frame(end + 0.2)
        for subject in (actor.id, *(prop.id for prop in who.has)):
            self.chronicle.begins("in", subject, self.location.id, self._time(inside))
        event = self._happened("enters", actor, inside, end, prop=who.holds)
        if any(habit.is_of("waves", actor, self.location) for habit in self.cast.habits):
            self.wave(actor)
        return event

    def leave(self, actor: Actor, *, waits: bool = True) -> Event:
        """Let a person go out; the next action begins after that, or a second after the start if not ``waits``."""
        self._must_stand(actor)
        who = self.state(actor)
        role = self._role_of(actor)
        origin, goal = who.feet, self._way_out(actor)
        begin, end = self._start_walk(actor, goal)
        outside = on_frame(end - (end - begin) * self._crossing(goal, origin))
        role.seen.append(TimeSpan(start=role.entered, end=outside))
        self.now = on_frame(end if waits else begin + 1.0)
        event = self._happened("leaves", actor, begin, outside, prop=who.holds)
        for subject in (actor.id, *(prop.id for prop in who.has)):
            self.chronicle.ends("in", subject, self.location.id, self._time(outside))
        who.room = ""
        return event

    def walk(self, actor: Actor, goal: Feet) -> None:
        """Let a person walk to a place in the room, unless they are there; a seated person stands up first."""
        self._must_stand(actor)
        who = self.state(actor)
        if abs(who.feet[0] - goal[0]) + abs(who.feet[1] - goal[1]) < 1.0:
            return
        self._make_way(actor, goal)
        _, end = self._start_walk(actor, goal)
        self.now = on_frame(end + 0.1)

    def pick_up(self, actor: Actor, prop: Prop) -> Event:
        """Let a person take a thing that is here; a drawer or cupboard that contains it is opened and closed.

        Raises LookupError: the thing is held or worn.
        """
        place = self.world.things[prop.id].place
        if place is None:
            raise LookupError(f"{prop.id} is not put anywhere")
        self._walk_to(actor, place)
        self.world.hold(prop, actor)
        event, middle = self._at(actor, "picks up", place, prop=prop, inside=place.kind == "opening")
        self._has(actor, prop, middle)
        if place.kind != "opening":
            since = self._resting_since.pop(prop.id)
            self._resting.append(Resting(start=since, end=middle, prop=prop, place=place.place))
        self.chronicle.ends(relation_to(place), prop.id, place.words, self._time(middle))
        if place.kind == "opening":
            self.close(actor, place)
        return event

    def put_down(self, actor: Actor, place: Fixture) -> Event:
        """Let a person put what they hold on a spot, or into a drawer or cupboard, which is opened and closed.

        Raises LookupError: the person holds nothing.
        """
        self._walk_to(actor, place)
        prop = self._takes_from(actor)
        self.world.place(prop, self.location.id, place)
        event, middle = self._at(actor, "puts down", place, prop=prop, inside=place.kind == "opening")
        self._let_go(actor, prop, middle)
        self.chronicle.begins(relation_to(place), prop.id, place.words, self._time(middle))
        if place.kind == "opening":
            self.close(actor, place)
        else:
            self._resting_since[prop.id] = middle
        return event

    def give(self, giver: Actor, receiver: Actor) -> Event:
        """Let a person give what they hold to another person here. Raises LookupError: they hold nothing."""
        self._must_stand(receiver)
        self.walk(giver, self._meeting_place(giver, receiver))
        one, other = self.state(giver).feet, self.state(receiver).feet
        self.now = max(self.now, self._role_of(receiver).busy)
        prop = self._takes_from(giver)
        self.world.hold(prop, receiver)
        facing, place = 1 if other[0] > one[0] else -1, giving_place(one, other)
        event, middle = self._act(giver, "gives", prop=prop, other=receiver, facing=facing, place=place)
        begin, end = on_frame(event.start - self.start), on_frame(event.end - self.start)
        label = f"receives {prop.reference}"
        self._role_of(receiver).gesture(
            Gesture(start=begin, end=end, kind="receives", label=label, facing=-facing, place=place, prop=prop)
        )
        self._let_go(giver, prop, middle)
        self._has(receiver, prop, middle)
        return event

    def put_on(self, actor: Actor) -> Event:
        """Let a person put on the hat or scarf they hold. Raises LookupError: they hold nothing."""
        self._must_stand(actor)
        prop = self._takes_from(actor)
        self.state(actor).wears.append(prop)
        self.world.things[prop.id] = ThingState(prop=prop, how="worn")
        event, middle = self._act(actor, "puts on", prop=prop)
        self._let_go(actor, prop, middle)
        self._has(actor, prop, middle, "wears")
        return event

    def take_off(self, actor: Actor, prop: Prop) -> None:
        """Let a person take off a hat or scarf, which they then hold."""
        self._must_stand(actor)
        self.world.hold(prop, actor)
        self.state(actor).wears.remove(prop)
        _, middle = self._act(actor, "takes off", prop=prop)
        self._let_go(actor, prop, middle, "wears")
        self._has(actor, prop, middle)

    def drink(self, actor: Actor) -> Event:
        """Let a person drink from the cup they hold."""
        return self._act(actor, "drinks", prop=self.state(actor).holds)[0]

    def open(self, actor: Actor, opened: Fixture) -> None:
        """Let a person open a drawer, a cupboard or a door."""
        self.world.open[self.location.id].add(opened.name)
        _, self._open_since[opened.name] = self._at(actor, "opens", opened)

    def close(self, actor: Actor, opened: Fixture) -> None:
        """Let a person close an open drawer, cupboard or door."""
        self.world.open[self.location.id].remove(opened.name)
        _, middle = self._at(actor, "closes", opened)
        self._openings.append(Opening(start=self._open_since.pop(opened.name), end=middle, target=opened.name))

    def sit(self, actor: Actor, seat: Fixture) -> None:
        """Let a person walk to a seat and sit down."""
        self.walk(actor, seat.stand)
        self.pause(_BEFORE_SITTING)
        who = self.state(actor)
        who.seat, who.facing = seat, seat.facing
        self._act(actor, "sits down", target=seat.name, facing=seat.facing)

    def wave(self, actor: Actor, other: Actor | None = None) -> None:
        """Let a person wave, at another person if one is given."""
        self._act(actor, "waves", other=other, facing=self._towards(actor, other))

    def say(self, actor: Actor, words: str, to: Actor | None = None) -> Event:
        """Let a person speak ``words``, to another person if one is given."""
        begin = on_frame(max(self.now, self._role_of(actor).busy))
        end = on_frame(begin + min(5.5, max(1.6, 0.9 + 0.055 * len(words))))
        event = self._happened("says", actor, begin, end, other=to, words=words)
        facing = self._towards(actor, to)
        self._lines.append(Line(start=begin, end=end, speaker=actor, text=words, facing=facing))
        self._role_of(actor).busy = end
        self.now = on_frame(end + self.cast.between)
        return event

    def pause(self, seconds: float) -> None:
        """Let some seconds pass without an action."""
        self.now = on_frame(self.now + seconds)

    # -- the whole shot

    @property
    def length(self) -> float:
        """The least duration of the shot in seconds: all actions so far, and a short pause."""
        return on_frame(_TAIL + max([self.now, *(role.busy for role in self._roles.values())]))

    def finish(self, *, longer: float = 0.0) -> Shot:
        """Return the shot, ``longer`` seconds longer than its ``length``; things remain where they are."""
        duration = on_frame(self.length + longer)
        for article_id, since in self._resting_since.items():
            where = self.world.things[article_id]
            if where.place is not None:
                self._resting.append(Resting(start=since, end=duration, prop=where.prop, place=where.place.place))
        for target, since in self._open_since.items():
            self._openings.append(Opening(start=since, end=duration, target=target))
        for role in self._roles.values():
            for prop in role.who.has:
                role.had_until(prop, duration, worn=prop in role.who.wears)
        self._note_visits()
        room = self._room
        texts = tuple(text for text in (room.sign, room.clock, *room.notes) if text)
        self.chronicle.scene(self.location.id, self._time(0.0), self._time(duration), texts)
        return Shot(
            room=room,
            duration=duration,
            caption=caption_of(self._room.name, self._events),
            performances=tuple(
                Performance(
                    actor=role.who.actor,
                    **{part: tuple(getattr(role, part)) for part in ("walks", "gestures", "carries", "wears")},
                )
                for role in self._roles.values()
            ),
            resting=tuple(self._resting),
            lines=tuple(self._lines),
            captions=tuple(
                (on_frame(event.start - self.start), on_frame(event.end - self.start), capital(event.clause) + ".")
                for event in sorted(self._events, key=lambda event: (event.start, event.end))
            ),
            openings=tuple(self._openings),
        )

    def _note_visits(self) -> None:
        """Record when people and things are on screen; a held or worn thing is when its holder is."""
        shown: dict[str, list[TimeSpan]] = defaultdict(list)
        for role in self._roles.values():
            for seen in role.seen:
                shown[role.who.actor.id].append(seen)
                for item in (*role.carries, *role.wears):
                    had = seen.clip(TimeSpan(start=item.start, end=item.end))
                    shown[item.prop.id] += [had] if had is not None else []
        for resting in self._resting:
            shown[resting.prop.id].append(TimeSpan(start=resting.start, end=resting.end))
        self.chronicle.visits += [
            Visit(subject=subject, place=self.location.id, start=self._time(span.start), end=self._time(span.end))
            for subject, spans in shown.items()
            for span in merge_spans(spans)
        ]

    # -- places

    def _start_walk(self, actor: Actor, goal: Feet, *, origin: Feet | None = None) -> tuple[float, float]:
        """Add a walk, from ``origin`` or where the person is, as soon as they are free; return start and end."""
        role = self._role_of(actor)
        came = origin or role.who.feet
        begin = max(self.now, role.busy)
        end = on_frame(begin + max(0.6, math.ceil(math.dist(came, goal) / _SPEED * 10) / 10))
        role.walks.append(Walk(start=begin, end=end, origin=came, goal=goal))
        if goal[0] != came[0]:
            role.who.facing = 1 if goal[0] > came[0] else -1
        role.who.feet, role.busy = goal, end
        return begin, end

    @staticmethod
    def _crossing(origin: Feet, goal: Feet) -> float:
        """Return the share (0 to 1) of a walk from outside at which the frame's edge is crossed."""
        edge = 0.0 if origin[0] < 0 else float(WIDTH)
        return (edge - origin[0]) / (goal[0] - origin[0])

    def _free_positions(self, actor: Actor, *taken: float) -> list[Feet]:
        """Return positions where the person covers no other, and nothing at the ``taken`` x (pixels)."""
        others = [*taken, *(self.state(other).feet[0] for other in self.others(actor))]
        return [place for place in self.location.plan.positions if all(abs(place[0] - x) >= _APART for x in others)]

    def _between(self, actor: Actor, origin: Feet, goal: Feet) -> int:
        """Return how many people a walk passes: each hides the walker, or is hidden, for a moment."""
        near, far = sorted((origin[0], goal[0]))
        return sum(near - _APART / 2 < self.state(other).feet[0] < far + _APART / 2 for other in self.others(actor))

    def _way_in(self, actor: Actor, goals: Sequence[Feet]) -> tuple[Feet, Feet]:
        """Return the side to come in from and one of the goals, such that the walk passes the fewest people."""
        plan = self.location.plan
        ways = [(origin, goal) for origin in (plan.left, plan.right) for goal in goals]
        self.chance.shuffle(ways)
        return min(ways, key=lambda way: self._between(actor, *way))

    def _way_out(self, actor: Actor) -> Feet:
        """Return the side to leave at: where the walk passes the fewest people, then the nearer one."""
        plan, here = self.location.plan, self.state(actor).feet
        return min((plan.left, plan.right), key=lambda side: (self._between(actor, here, side), abs(side[0] - here[0])))

    def _make_way(self, actor: Actor, goal: Feet) -> None:
        """Let people who stand near the goal step aside first."""
        for other in self.others(actor):
            who = self.state(other)
            if who.seat is None and abs(who.feet[0] - goal[0]) < _APART:
                free, here = self._free_positions(other, goal[0]) or [who.feet], who.feet[0]
                aside = min(free, key=lambda place: abs(place[0] - here))
                begin, _ = self._start_walk(other, aside)
                self.now = max(self.now, on_frame(begin + 0.3))

    def _meeting_place(self, giver: Actor, receiver: Actor) -> Feet:
        """Return the place beside the receiver to which the giver walks."""
        one, other = self.state(giver).feet, self.state(receiver).feet
        side = 1 if one[0] >= other[0] else -1
        x = other[0] + side * GIVING_APART
        if not _NEAREST <= x <= _FARTHEST:
            x = other[0] - side * GIVING_APART
        return x, other[1]

    def _towards(self, actor: Actor, other: Actor | None) -> int:
        who = self.state(actor)
        if who.seat is not None or other is None or not self.is_here(other):
            return who.facing
        return 1 if self.state(other).feet[0] > who.feet[0] else -1

    # -- what actions are made of

    def _time(self, moment: float) -> float:
        return on_frame(self.start + moment)

    def _role_of(self, actor: Actor) -> _Role:
        if actor.id not in self._roles:
            who = self.state(actor)
            self._roles[actor.id] = _Role(who=who, had_since={prop.id: 0.0 for prop in who.has})
        return self._roles[actor.id]

    def _must_stand(self, actor: Actor) -> None:
        """Let a person who sits stand up."""
        who = self.state(actor)
        if who.seat is not None:
            seat, who.seat = who.seat, None
            self._act(actor, "stands up", target=seat.name, facing=seat.facing)

    def _walk_to(self, actor: Actor, place: Fixture) -> None:
        """Let a person walk to a place; a closed drawer, cupboard or door is opened."""
        if place.kind == "opening" and place.name not in self.world.open[self.location.id]:
            self.open(actor, place)
        self.walk(actor, place.stand)

    def _at(self, actor: Actor, kind: GestureKind, place: Fixture, **what: Any) -> tuple[Event, float]:
        """Let a person walk to a place and act there (``what``: see ``_act``); return event and middle (seconds of the shot)."""
        self.walk(actor, place.stand)
        return self._act(actor, kind, target=place.words, facing=place.facing, place=place.place, **what)

    def _act(
        self, actor: Actor, kind: GestureKind, *, facing: int = 0, place: Feet | None = None, **what: Any
    ) -> tuple[Event, float]:
        """Add a person's next action; ``what``: thing, other person, furniture; return event and middle (seconds of the shot)."""
        event_kind, seconds = _GESTURES[kind]
        begin = on_frame(max(self.now, self._role_of(actor).busy))
        end = on_frame(begin + seconds)
        self.now = on_frame(end + self.cast.between)
        event = self._happened(event_kind, actor, begin, end, **what)
        label = event.clause.removeprefix(f"{actor.reference} ")
        prop = what.get("prop") if kind != "drinks" else None  # the gesture of drinking has no thing
        gesture = Gesture(start=begin, end=end, kind=kind, label=label, facing=facing, place=place, prop=prop)
        self._role_of(actor).gesture(gesture)
        return event, on_frame((begin + end) / 2)

    def _takes_from(self, actor: Actor) -> Prop:
        """Return what a person holds and remove it from them. Raises LookupError: they hold nothing."""
        who = self.state(actor)
        if who.holds is None:
            raise LookupError(f"{actor.id} holds nothing")
        prop, who.holds = who.holds, None
        return prop

    def _has(self, actor: Actor, prop: Prop, time: float, how: Literal["holds", "wears"] = "holds") -> None:
        self._role_of(actor).had_since[prop.id] = time
        self.chronicle.begins(how, actor.id, prop.id, self._time(time))

    def _let_go(self, actor: Actor, prop: Prop, time: float, how: Literal["holds", "wears"] = "holds") -> None:
        self._role_of(actor).had_until(prop, time, worn=how == "wears")
        self.chronicle.ends(how, actor.id, prop.id, self._time(time))

    def _happened(
        self,
        kind: EventKind,
        actor: Actor,
        begin: float,
        end: float,
        *,
        prop: Prop | None = None,
        other: Actor | None = None,
        target: str = "",
        words: str = "",
        inside: bool = False,
    ) -> Event:
        predicate, base = event_words(
            {"picks_up": "takes_out", "puts_down": "puts_into"}[kind] if inside else kind,
            thing=prop.reference if prop else "",
            other=other.reference if other else "",
            target=self.cast.in_words(target) if target else "",
            room=self._room.name,
            words=words,
        )
        event = Event(
            id=f"e{len(self.chronicle.events) + 1:04d}",
            kind=kind,
            start=self._time(begin),
            end=self._time(end),
            actor=actor.id,
            place=self.location.id,
            clause=f"{actor.reference} {predicate}",
            verb_phrase=base,
            thing=prop.id if prop else "",
            other=other.id if other else "",
            target=target,
            words=words,
        )
        self.chronicle.events.append(event)
        self._events.append(event)
        return event


#: Minutes of story per minute of film: short films cover hours of a day, long ones run in real time.
_DAY_MINUTES, _FASTEST = 480.0, 40.0
_SOON = 25.0  #: an appointment is due this many seconds of film before it
_CROWD = 3  #: a room is chosen for a plot if, with the plot's people, it has at most one person more than this


@dataclass(frozen=True, kw_only=True)
class SceneRequest:
    """The scene that a plot plays next: its room, and the time on the clock (minutes of the day) if that matters."""

    room: str
    at: int | None = None


Plot = Generator[SceneRequest, StagedShot, None]


class Director:
    """Provides free people, things and rooms to plots; keeps the clock and makes the scenes."""

    def __init__(self, cast: StoryCast, *, duration: float, chance: random.Random) -> None:
        self.cast = cast
        self.chance = chance
        self.duration = duration
        self.chronicle = Chronicle()
        self.world = StoryState(cast.locations, cast.actors)
        self.time = 0.0  #: seconds of the film so far
        self.notices: dict[str, tuple[str, ...]] = {}
        self._engaged: set[str] = set()
        self._arranged: list[int] = []
        self._pace = min(_FASTEST, max(1.0, _DAY_MINUTES / (duration / 60)))
        self._jumped = 0.0
        self._shown = cast.opening_minute

    # -- the state at the beginning

    def begin_at(self, prop: Prop, room: str, place: Fixture) -> None:
        """Place a thing in a room at the beginning of the film."""
        self.world.place(prop, room, place)
        self.chronicle.begins("in", prop.id, room, 0.0)
        self.chronicle.begins(relation_to(place), prop.id, place.words, 0.0)

    def begin_with(self, prop: Prop, actor: Actor) -> None:
        """Let a person hold a thing at the beginning of the film."""
        self.world.hold(prop, actor)
        self.chronicle.begins("holds", actor.id, prop.id, 0.0)

    # -- time

    @property
    def left(self) -> float:
        """The remaining seconds of the film."""
        return self.duration - self.time

    def minute(self) -> int:
        """Return the present time of the story, in minutes of the day."""
        return int(self.cast.opening_minute + self._jumped + self.time / 60 * self._pace)

    def minute_after(self, seconds: float) -> int:
        """Return a clock's time ``seconds`` of film from now: minutes of the day, rounded up to a multiple of five."""
        return -(-int(max(self.minute(), self._shown) + seconds / 60 * self._pace + 1) // 5) * 5

    def may_arrange(self) -> bool:
        """Whether there may be another appointment: people who wait for one take part in little else."""
        return len(self._arranged) < max(1, len(self.cast.actors) // 4)

    def arrange(self, at: int, *, instead_of: int | None = None) -> None:
        """Add an appointment at minute ``at`` of the day; until its scene, clocks show earlier times.

        It replaces the appointment at minute ``instead_of``, if that is given.
        """
        if instead_of is not None:
            self._arranged.remove(instead_of)
        self._arranged.append(at)

    def is_due(self, at: int) -> bool:
        """Whether an appointment at minute ``at`` of the day is so near that its scene comes next."""
        return self.minute() + _SOON / 60 * self._pace >= at

    # -- who and what is free

    @contextmanager
    def engaged(self, *items: Actor | Prop) -> Iterator[None]:
        """Reserve people and things for one plot, within a ``with`` block."""
        ids = {item.id for item in items}
        self._engaged |= ids
        try:
            yield
        finally:
            self._engaged -= ids

    def is_free(self, item: Actor | Prop) -> bool:
        """Whether no plot has reserved a person or a thing."""
        return item.id not in self._engaged

    def free_people(self, count: int) -> list[Actor]:
        """Return ``count`` random people who are free and hold nothing; empty if there are fewer."""
        found = [
            actor for actor in self.cast.actors if self.is_free(actor) and self.world.people[actor.id].holds is None
        ]
        return self.chance.sample(found, count) if len(found) >= count else []

    def free_things(self, *, ruled: bool = False) -> list[Prop]:
        """Return unreserved things on or in furniture, shuffled: with a filing rule if ``ruled``, else without one."""
        free = (prop for prop in self.cast.props if self.is_free(prop))
        put = (prop for prop in free if self.world.things[prop.id].place is not None)
        found = [prop for prop in put if (self.cast.rule_of(prop) is not None) == ruled]
        self.chance.shuffle(found)
        return found

    def room(self, *, without: tuple[str, ...] = (), sought: int = 2) -> str | None:
        """Return the id of a random room, not in ``without``, with space for ``sought`` more people; None if there is none."""
        rooms = [location.id for location in self.cast.locations if location.id not in without]
        found = [room for room in rooms if len(self.world.present(room)) + sought <= _CROWD + 1]
        return self.chance.choice(found) if found else None

    def room_name(self, room: str) -> str:
        """Return the name of a room, given its id: "the kitchen"."""
        return self.world.locations[room].room.name

    # -- scenes

    def play(self, plot: Plot, wanted: SceneRequest) -> tuple[StagedShot, SceneRequest | None]:
        """Let a plot play its scene, then all leave; return the unfinished scene and the next request (None: the plot is over)."""
        # The clocks show a time before all other appointments.
        if wanted.at is not None:
            self._jumped += wanted.at - self.minute()
            self._arranged.remove(wanted.at)
        elif self._arranged:
            self._jumped -= max(0, self.minute() - min(self._arranged) + 1)
        self._shown = max(self._shown, self.minute())
        scene = StagedShot(self, wanted.room, clock=clock_words(self._shown))
        try:
            following: SceneRequest | None = plot.send(scene)
        except StopIteration:
            following = None
        # People present when a shot begins could not be distinguished from its background: all leave.
        for who in self.world.present(wanted.room):
            scene.leave(who.actor)
        self.time = scene.start + scene.length
        return scene, following

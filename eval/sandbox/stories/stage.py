"""One shot as it is being played: its actors, its time, and how it becomes script and facts when it ends."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace

from eval.sandbox.facts import Event, EventKind
from eval.sandbox.script import WIDTH, GestureKind, Line, Opening, Resting, Shot
from eval.sandbox.sets import GIVING_APART, Spot
from eval.sandbox.stories.casting import Article, Cast, Location, Player
from eval.sandbox.stories.chronicle import Chronicle, on_frame
from eval.sandbox.stories.part import Part, Stretch, joined
from eval.sandbox.stories.state import Feet, Standing, World
from eval.sandbox.stories.words import capital, caption_of, tell_event

_SPEED = 110.0  #: pixels a second
_APART = 105.0  #: pixels between two people who do not cover each other, nor seem to be one
_NEAREST, _FARTHEST = 50.0, WIDTH - 50.0
_SECONDS: dict[GestureKind, float] = {
    "puts down": 1.2, "picks up": 1.2, "drinks": 2.2, "waves": 1.8, "sits down": 1.2, "stands up": 1.2, "puts on": 1.6,
    "takes off": 1.6, "gives": 1.2, "opens": 1.0, "closes": 1.0,
}  # fmt: skip
_TAIL = 0.7  #: seconds after the last action


class Stage:
    """What actions are made of. ``now`` is in seconds of the shot, ``start`` in seconds of the film.

    The room is empty when a shot begins and when it ends.
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
        self._parts: dict[str, Part] = {}
        self._lies_since = {
            where.article.id: 0.0 for where in world.things.values() if where.how == "on" and where.room == location.id
        }
        self._open_since = dict.fromkeys(sorted(world.open[location.id]), 0.0)
        self._resting: list[Resting] = []
        self._openings: list[Opening] = []
        self._lines: list[Line] = []
        self._stretches: list[Stretch] = []
        self._told: list[Event] = []

    def state(self, player: Player) -> Standing:
        """Somebody's state."""
        return self.world.people[player.id]

    def is_here(self, player: Player) -> bool:
        """Whether somebody is in this room."""
        return self.state(player).room == self.location.id

    def others(self, player: Player) -> list[Player]:
        """Who else is in this room."""
        return [who.player for who in self.world.present(self.location.id) if who.player.id != player.id]

    def stand_up(self, player: Player) -> Event:
        """Somebody who sits stands up."""
        begin, _, end = self._times(player, "stands up")
        seat = self.world.rise(player)
        event = self._happened("stands_up", player, begin, end, target=seat.name)
        self._do(player, "stands up", begin, end, event, facing=seat.facing)
        return event

    @property
    def length(self) -> float:
        """Seconds that the shot lasts at least: all that has been done so far."""
        return on_frame(_TAIL + max([self.now, *(part.busy for part in self._parts.values())]))

    def finish(self, *, longer: float = 0.0) -> Shot:
        """End the shot, so many seconds later than need be; things stay where they are."""
        duration = on_frame(self.length + longer)
        for article_id, since in self._lies_since.items():
            where = self.world.things[article_id]
            if where.spot is not None:
                self._rest(where.article, since, duration, where.spot)
        for target, since in self._open_since.items():
            self._openings.append(Opening(start=since, end=duration, target=target))
        for part in self._parts.values():
            self._stretches += [Stretch(thing, part.who.player.id, a, b) for thing, a, b in part.ends(duration)]
        self._show(duration)
        performances = tuple(part.performance() for part in self._parts.values())
        room = self._room
        texts = tuple(text for text in (room.sign, room.clock, *room.notes) if text)
        self.chronicle.scene(self.location.id, self._time(0.0), self._time(duration), texts)
        return Shot(
            room=room,
            duration=duration,
            caption=caption_of(self.location.place.name, self._told),
            performances=performances,
            resting=tuple(self._resting),
            lines=tuple(self._lines),
            captions=tuple(
                (on_frame(event.start - self.start), on_frame(event.end - self.start), capital(event.clause) + ".")
                for event in sorted(self._told, key=lambda event: (event.start, event.end))
            ),
            openings=tuple(self._openings),
        )

    # -- time

    def _time(self, moment: float) -> float:
        return on_frame(self.start + moment)

    def _times(self, player: Player, kind: GestureKind) -> tuple[float, float, float]:
        """When the next action of somebody begins, reaches its middle and ends; what follows waits for it."""
        begin = on_frame(max(self.now, self._part(player).busy))
        end = on_frame(begin + _SECONDS[kind])
        self.now = on_frame(end + self.cast.between)
        return begin, on_frame((begin + end) / 2), end

    # -- places

    @staticmethod
    def _walking(origin: Feet, goal: Feet) -> float:
        return max(0.6, math.ceil(math.dist(origin, goal) / _SPEED * 10) / 10)

    @staticmethod
    def _crossing(origin: Feet, goal: Feet) -> float:
        """The share of a walk from outside at which the frame's edge is crossed."""
        edge = 0.0 if origin[0] < 0 else float(WIDTH)
        return (edge - origin[0]) / (goal[0] - origin[0])

    def _free_places(self, player: Player) -> Sequence[Feet]:
        """Where one can stand and nobody is covered."""
        taken = [self.state(other).feet[0] for other in self.others(player)]
        stands = self.location.plan.stands
        return [place for place in stands if all(abs(place[0] - x) >= _APART for x in taken)] or stands

    def _between(self, player: Player, origin: Feet, goal: Feet) -> int:
        """How many people one walks past on the way: each hides who walks, or is hidden, for a moment."""
        near, far = sorted((origin[0], goal[0]))
        return sum(near - _APART / 2 < self.state(other).feet[0] < far + _APART / 2 for other in self.others(player))

    def _way_in(self, player: Player, goals: Sequence[Feet]) -> tuple[Feet, Feet]:
        """From which side to come in, and to which of some places, past as few people as can be."""
        plan = self.location.plan
        ways = [(origin, goal) for origin in (plan.left, plan.right) for goal in goals]
        self.chance.shuffle(ways)
        return min(ways, key=lambda way: self._between(player, *way))

    def _way_out(self, player: Player) -> Feet:
        """The side to go out at: past as few people as can be, then the nearer one."""
        plan, here = self.location.plan, self.state(player).feet
        return min(
            (plan.left, plan.right), key=lambda side: (self._between(player, here, side), abs(side[0] - here[0]))
        )

    def _make_way(self, player: Player, goal: Feet) -> None:
        """Whoever stands where somebody goes steps aside first."""
        for other in self.others(player):
            who = self.state(other)
            if who.seat is None and abs(who.feet[0] - goal[0]) < _APART:
                aside = self._aside(other, {goal[0], *(self.state(item).feet[0] for item in self.others(other))})
                part = self._part(other)
                begin = max(self.now, part.busy)
                end = on_frame(begin + self._walking(who.feet, aside))
                part.walk(begin, end, aside)
                self.now = max(self.now, on_frame(begin + 0.3))

    def _aside(self, player: Player, taken: Iterable[float]) -> Feet:
        here, taken = self.state(player).feet, tuple(taken)
        stands = self.location.plan.stands
        free = [place for place in stands if all(abs(place[0] - x) >= _APART for x in taken)]
        return min(free or [here], key=lambda place: abs(place[0] - here[0]))

    def _meeting_place(self, giver: Player, receiver: Player) -> Feet:
        """Where to stand to give somebody something."""
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

    # -- notes

    def _part(self, player: Player) -> Part:
        if player.id not in self._parts:
            self._parts[player.id] = Part(self.state(player))
        return self._parts[player.id]

    def _must_stand(self, player: Player) -> None:
        if self.state(player).seat is not None:
            self.stand_up(player)

    def _do(
        self,
        player: Player,
        kind: GestureKind,
        begin: float,
        end: float,
        event: Event,
        *,
        facing: int = 0,
        place: Feet | None = None,
        article: Article | None = None,
    ) -> None:
        label = event.clause.removeprefix(f"{self.cast.person(event.actor).description} ")
        self._part(player).gesture(kind, begin, end, label, facing=facing, place=place, article=article)

    def _let_go(self, player: Player, article: Article, time: float) -> None:
        since, until = self._part(player).carried_until(article, time)
        self._stretches.append(Stretch(article.id, player.id, since, until))
        self.chronicle.ends("holds", player.id, article.id, self._time(time))

    def _rest(self, article: Article, start: float, end: float, spot: Spot) -> None:
        self._resting.append(Resting(start=start, end=end, prop=article.prop, place=spot.place))
        self._stretches.append(Stretch(article.id, "", start, end))

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
        told = tell_event(
            kind,
            thing=article.thing.name if article else "",
            other=other.person.description if other else "",
            target=self.cast.in_words(target) if target else "",
            room=self.location.place.name,
            words=words,
            inside=inside,
        )
        event = self.chronicle.happens(
            kind,
            start=self._time(begin),
            end=self._time(end),
            actor=player.id,
            subject=player.person.description,
            place=self.location.id,
            told=told,
            thing=article.id if article else "",
            other=other.id if other else "",
            target=target,
            words=words,
        )
        self._told.append(event)
        return event

    def _show(self, duration: float) -> None:
        """Who and what is on screen when: a thing in hand is, as long as its holder is."""
        place = self.location.id
        shown: dict[str, list[tuple[float, float]]] = {}
        for part in self._parts.values():
            shown[part.who.player.id] = part.seen
        for item in self._stretches:
            seen = shown[item.holder] if item.holder else [(0.0, duration)]
            for start, end in seen:
                if min(end, item.end) > max(start, item.start):
                    shown.setdefault(item.thing, []).append((max(start, item.start), min(end, item.end)))
        for subject, stretches in shown.items():
            for start, end in joined(stretches):
                self.chronicle.shown(subject, place, self._time(start), self._time(end))

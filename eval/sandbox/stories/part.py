"""One actor's part in one shot: walks, gestures, and what is carried and worn, as it is being written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from eval.sandbox.script import Carry, Gesture, GestureKind, Performance, Walk, Wear
from eval.sandbox.stories.casting import Article
from eval.sandbox.stories.state import Feet, Standing


class Part:
    """What one actor does in the shot; times in seconds of the shot. ``busy`` is when the actor is free again."""

    def __init__(self, who: Standing) -> None:
        self.who = who
        self.busy = 0.0
        self.seen: list[tuple[float, float]] = []
        self._walks: list[Walk] = []
        self._gestures: list[Gesture] = []
        self._carries: list[Carry] = []
        self._wears: list[Wear] = []
        self._carried_since = 0.0
        self._worn_since = {article.id: 0.0 for article in who.wears}
        self._seen_since: float | None = None

    def walk(self, start: float, end: float, goal: Feet, *, origin: Feet | None = None) -> None:
        """Walk to a place, from where the actor is or from outside."""
        came = origin or self.who.feet
        self._walks.append(Walk(start=start, end=end, origin=came, goal=goal))
        if goal[0] != came[0]:
            self.who.facing = 1 if goal[0] > came[0] else -1
        self.who.feet = goal
        self.busy = end

    def gesture(
        self,
        kind: GestureKind,
        start: float,
        end: float,
        label: str,
        *,
        facing: int = 0,
        place: Feet | None = None,
        article: Article | None = None,
    ) -> None:
        """Do something, with a thing or without; ``facing`` 0 is where the actor looks anyway."""
        facing = facing or self.who.facing
        self.who.facing = facing
        prop = article.prop if article is not None else None
        self._gestures.append(
            Gesture(start=start, end=end, kind=kind, label=label, facing=facing, place=place, prop=prop)
        )
        self.busy = end

    def carries_from(self, time: float) -> None:
        """The actor holds something from now on."""
        self._carried_since = time

    def carried_until(self, article: Article, time: float) -> tuple[float, float]:
        """The actor no longer holds it; returns the stretch."""
        stretch = (self._carried_since, time)
        self._carries.append(Carry(start=stretch[0], end=time, prop=article.prop))
        return stretch

    def wears_from(self, article: Article, time: float) -> None:
        """The actor wears it from now on."""
        self._worn_since[article.id] = time

    def worn_until(self, article: Article, time: float) -> tuple[float, float]:
        """The actor no longer wears it; returns the stretch."""
        start = self._worn_since.pop(article.id)
        self._wears.append(Wear(start=start, end=time, prop=article.prop))
        return start, time

    def appears(self, time: float) -> None:
        """The actor comes into the picture."""
        self._seen_since = time

    def disappears(self, time: float) -> None:
        """The actor goes out of the picture."""
        if self._seen_since is not None:
            self.seen.append((self._seen_since, time))
            self._seen_since = None

    def ends(self, duration: float) -> list[tuple[str, float, float]]:
        """The shot is over; returns who or what was still carried and worn, and for how long."""
        self.disappears(duration)
        left = []
        if self.who.holds is not None:
            left.append((self.who.holds.id, *self.carried_until(self.who.holds, duration)))
        for article in self.who.wears:
            left.append((article.id, *self.worn_until(article, duration)))
        return left

    def performance(self) -> Performance:
        """The part as a script holds it."""
        return Performance(
            actor=self.who.player.actor,
            walks=tuple(self._walks),
            gestures=tuple(self._gestures),
            carries=tuple(self._carries),
            wears=tuple(self._wears),
        )


@dataclass(frozen=True)
class Stretch:
    """A thing lies here (``holder`` empty), or somebody holds or wears it; seconds of the shot."""

    thing: str
    holder: str
    start: float
    end: float


def joined(stretches: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Stretches in order, those that touch as one."""
    found: list[tuple[float, float]] = []
    for start, end in sorted(stretches):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found

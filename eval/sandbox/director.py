"""Weaves plots into one film: keeps the clock, says who and what is free, and lets one plot after another play a scene."""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from eval.sandbox.scenes import Scene
from eval.sandbox.story_cast import Article, Cast, Player
from eval.sandbox.story_state import Chronicle, World, clock_words

#: Minutes on the clocks for each minute of film: a short film shows hours of a day, a long one passes as it is.
_DAY_MINUTES, _FASTEST = 480.0, 40.0
_SOON = 25.0  #: seconds of film before an appointment in which it is due
_CROWD = 3  #: more people than this are not brought together in a room by chance


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The scene that a plot plays next: in which room, and at what time on the clock (minutes of the day) if it matters."""

    room: str
    at: int | None = None


Plot = Generator[Wanted, Scene, None]


class Director:
    """What plots ask: who is free, what is where, what time it is."""

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
        """What a clock shows after so many seconds of film, to five minutes."""
        return -(-int(max(self.minute(), self._shown) + seconds / 60 * self._pace + 1) // 5) * 5

    def may_arrange(self) -> bool:
        """Whether something more may be arranged for a later time: who waits for it takes part in little else."""
        return len(self._arranged) < max(1, len(self.cast.players) // 4)

    def arrange(self, at: int, *, instead_of: int | None = None) -> None:
        """Something is arranged for that time; until its scene comes the clocks stay before it."""
        if instead_of is not None:
            self._arranged.remove(instead_of)
        self._arranged.append(at)

    def is_due(self, at: int) -> bool:
        """Whether an appointment is so near that its scene comes next."""
        return self.minute() + _SOON / 60 * self._pace >= at

    # -- who and what is free

    @contextmanager
    def engaged(self, *items: Player | Article) -> Iterator[None]:
        """These people and things belong to one plot for a while."""
        ids = {item.id for item in items}
        self._engaged |= ids
        try:
            yield
        finally:
            self._engaged -= ids

    def is_free(self, item: Player | Article) -> bool:
        """Whether no plot needs them."""
        return item.id not in self._engaged

    def free_people(self, count: int, *, without: tuple[Player, ...] = ()) -> list[Player]:
        """So many people who belong to no plot and hold nothing; an empty list when there are not so many."""
        found = [
            player
            for player in self.cast.players
            if self.is_free(player) and player not in without and self.world.people[player.id].holds is None
        ]
        return self.chance.sample(found, count) if len(found) >= count else []

    def free_things(self, *, ruled: bool = False) -> list[Article]:
        """Things that lie or are kept somewhere and belong to no plot; those of a rule, or all others."""
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
        """A room that is not crowded, once so many people more have come; None where all are."""
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
        """Where somebody is; empty between two rooms."""
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
        # Who is there before the camera looks cannot be told from the furniture: rooms are left empty.
        for standing in self.world.present(wanted.room):
            scene.leave(standing.player)
        self.time = scene.start + scene.length
        return scene, following

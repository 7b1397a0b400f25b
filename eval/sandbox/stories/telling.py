"""A story by its seed: a film's script and everything that is true of it, from one minute to ten hours."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from eval.sandbox.facts import FilmFacts
from eval.sandbox.script import Card, Film, Shot
from eval.sandbox.stories.casting import Cast, cast_story
from eval.sandbox.stories.chronicle import FRAME_RATE
from eval.sandbox.stories.director import Director, Plot, Wanted
from eval.sandbox.stories.furnishing import furnish
from eval.sandbox.stories.lessons import learn, rules_are_shown
from eval.sandbox.stories.plots.belongings import errand, lent, misplaced, outing
from eval.sandbox.stories.plots.everyday import moment, relieved, uncovered
from eval.sandbox.stories.plots.filing import consulted, filed
from eval.sandbox.stories.plots.meetings import appointment, called, noticed, told_number
from tool_induction.domains.domain import SplitName

STORY_VERSION = 1  #: counts up when the same seed no longer tells the same story
SHORTEST, LONGEST = 1.0, 600.0  #: minutes

_CARD = 3.0  #: seconds of a card
_CHAPTER = 600.0  #: seconds of film after which a card tells the time
_LAST_PLOT = 45.0  #: seconds before the end in which no plot begins
_END = 7.0  #: seconds before the end in which no scene begins
_TRIES = 12

#: How often each plot begins, and the seconds it takes at least.
_PLOTS: tuple[tuple[Callable[[Director], Plot], float, float], ...] = (
    (errand, 3.0, 40.0),
    (misplaced, 2.0, 70.0),
    (lent, 2.0, 40.0),
    (outing, 1.5, 30.0),
    (filed, 4.0, 15.0),
    (consulted, 3.0, 35.0),
    (appointment, 2.5, 60.0),
    (called, 1.5, 30.0),
    (noticed, 1.0, 60.0),
    (moment, 2.0, 12.0),
    (relieved, 2.5, 8.0),
    (told_number, 1.5, 15.0),
    (uncovered, 1.0, 10.0),
)


#: What happens more often in films of a theme.
_LEANING: dict[str, tuple[Callable[[Director], Plot], ...]] = {
    "office": (appointment, consulted, called),
    "home": (outing, moment, uncovered),
    "workshop": (errand, lent),
    "reading room": (misplaced, noticed, told_number),
}


@dataclass(frozen=True, kw_only=True)
class Story:
    """A film and its facts."""

    film: Film
    facts: FilmFacts


def video_id(seed: int, split: SplitName) -> str:
    """The id of a made film: ``sandbox-test-0007``, as the domains' splits know it."""
    return f"sandbox-{split}-{seed:04d}"


def tell(seed: int, minutes: float, *, split: SplitName = "development") -> Story:
    """Tell a story; the same seed, length and split always tell the same, and another split another one.

    The film lasts ``minutes`` to within half a minute.

    Raises:
        ValueError: when it would be shorter than a minute or longer than ten hours.
    """
    if not SHORTEST <= minutes <= LONGEST:
        raise ValueError(f"a story lasts {SHORTEST:g} to {LONGEST:g} minutes")
    return _Telling(seed, minutes, split).story()


class _Telling:
    """One story in the making."""

    def __init__(self, seed: int, minutes: float, split: SplitName) -> None:
        self._seed, self._minutes, self._split = seed, minutes, split
        self._chance = random.Random(f"story {split} {seed} {minutes:g}")
        self._cast: Cast = cast_story(self._chance.randrange(2**32), minutes)
        self._director = Director(self._cast, duration=minutes * 60, chance=self._chance)
        self._active: list[tuple[Plot, Wanted]] = []
        self._parts: list[Shot | Card] = []
        self._last_room = ""
        self._rules_shown = False
        self._next_chapter = _CHAPTER
        self._together = self._chance.choice((1, 2, 2, 3))

    def story(self) -> Story:
        director = self._director
        furnish(director)
        self._card("A DAY", f"{len(self._cast.players)} people in {len(self._cast.locations)} rooms")
        while director.left > _END:
            self._turn()
        for plot, _ in self._active:
            plot.close()
        self._card("THE END", "drawn by video-world-api")
        learn(director)
        film = Film(title=f"Sandbox {self._seed}", frame_rate=FRAME_RATE, parts=tuple(self._parts))
        extras = {"theme": self._cast.theme, "split": self._split, "minutes": self._minutes, "version": STORY_VERSION}
        facts = director.chronicle.facts(
            video_id(self._seed, self._split), self._seed, self._cast, round(film.duration, 3), extras
        )
        return Story(film=film, facts=facts)

    def _card(self, title: str, subtitle: str) -> None:
        card = Card(title=title, subtitle=subtitle, duration=_CARD, caption=f"A card: {title.capitalize()}.")
        self._parts.append(card)
        self._director.time += _CARD
        self._last_room = ""

    def _turn(self) -> None:
        """One scene more."""
        director = self._director
        if director.time > self._next_chapter:
            self._next_chapter += _CHAPTER
            self._card("LATER", "the same day")
        chosen = self._due() or self._choose()
        if chosen is None:
            self._card("LATER", "a little time has passed")
            return
        plot, wanted = chosen
        if wanted.room == self._last_room:
            self._card("A MOMENT LATER", director.room_name(wanted.room))
        shot, following = director.play(plot, wanted)
        self._parts.append(shot)
        self._last_room = wanted.room
        if following is not None:
            self._active.append((plot, following))

    def _due(self) -> tuple[Plot, Wanted] | None:
        """A plot whose time has come."""
        due = [
            (wanted.at, index)
            for index, (_, wanted) in enumerate(self._active)
            if wanted.at is not None and self._director.is_due(wanted.at)
        ]
        return self._active.pop(min(due)[1]) if due else None

    def _choose(self) -> tuple[Plot, Wanted] | None:
        """The plot that plays next, in another room than the last; one that is under way, or a new one."""
        going = [
            index
            for index, (_, wanted) in enumerate(self._active)
            if wanted.at is None and wanted.room != self._last_room
        ]
        under_way = sum(wanted.at is None for _, wanted in self._active)
        if going and (under_way >= self._together or self._chance.random() < 0.5):
            return self._active.pop(self._chance.choice(going))
        begun = self._begin()
        if begun is not None:
            return begun
        if going:
            return self._active.pop(self._chance.choice(going))
        waiting = [index for index, (_, wanted) in enumerate(self._active) if wanted.at is None]
        return self._active.pop(waiting[0]) if waiting else None

    def _begin(self) -> tuple[Plot, Wanted] | None:
        """A new plot, if one can begin now in another room than the last."""
        self._rules_shown = self._rules_shown or rules_are_shown(self._director)
        for _ in range(_TRIES):
            fitting = [item for item in _PLOTS if item[2] < self._director.left]
            if not fitting:
                return None
            begin, _, _ = self._chance.choices(fitting, [item[1] * self._leaning(item[0]) for item in fitting])[0]
            plot = begin(self._director)
            wanted = next(plot, None)
            if wanted is None:
                continue
            if wanted.room != self._last_room:
                return plot, wanted
            self._active.append((plot, wanted))
            if len(self._active) > self._together + 2:
                return None
        return None

    def _leaning(self, plot: Callable[[Director], Plot]) -> float:
        """How much likelier than usual a plot is: by the theme, and while the film's rules are still to be learned."""
        leaning = 2.0 if plot in _LEANING[self._cast.theme] else 1.0
        return leaning * 2.5 if plot in (filed, consulted) and not self._rules_shown else leaning

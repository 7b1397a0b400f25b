"""Is it a person? Shape and a people detector vote while a thing is followed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from world_api.core.boxes import Box
from world_api.core.ports import DetectedObject, Image

#: Seconds between two looks at the same thing: at first, and once it has been looked at often enough.
_SOON, _LATER, _OFTEN = 0.8, 2.0, 8
#: An upright person's height over width.
_SLIMMEST, _BROADEST = 3.45, 1.4
#: What a look adds to the standing or takes from it, the bounds of the standing, and where it says person.
_HIT, _MISS, _LOWEST, _HIGHEST, _PERSON = 1.0, -0.5, -2.0, 4.0, 2.5


class PersonScorer(Protocol):
    """Judges whether a box holds an upright person, and finds people in a picture."""

    producer: str

    def person_score(self, image: Image, box: Box) -> float:
        """Positive for a person who fills the box (pixels of ``image``), negative for anything else."""
        ...

    def people(self, image: Image) -> Sequence[DetectedObject]:
        """The people in a small picture, the surest first, at a cost that allows for a look every second."""
        ...


@dataclass(kw_only=True)
class PersonVotes:
    """The standing of one thing: how much speaks for a person so far."""

    looks: int = 0
    standing: float = 0.0
    next_look: float = 0.0
    was_person: bool = False

    @property
    def is_person(self) -> bool:
        """What the votes so far say. Once called a person, a thing stays one while half of that speaks for it."""
        return self.standing >= (_PERSON / 2 if self.was_person else _PERSON)

    @property
    def confidence(self) -> float:
        """How sure, 0 to 1 (not calibrated)."""
        return round(0.5 + 0.11 * self.standing, 2) if self.is_person else 0.5

    def is_due(self, time: float) -> bool:
        """Whether it should be looked at again."""
        return time >= self.next_look

    def look(self, scorer: PersonScorer, image: Callable[[], Image], box: Box, time: float) -> None:
        """Vote on one sighting (``box`` in pixels of the ``image``, which is made only when it is needed)."""
        self.looks += 1
        self.next_look = time + (_SOON if self.looks < _OFTEN else _LATER)
        upright = _BROADEST <= box.height / max(box.width, 1.0) <= _SLIMMEST
        hit = upright and scorer.person_score(image(), box) > 0.0
        self.standing = min(_HIGHEST, max(_LOWEST, self.standing + (_HIT if hit else _MISS)))
        self.was_person = self.is_person

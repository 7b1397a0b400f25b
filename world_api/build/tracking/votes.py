"""Is it a person? Shape and a people detector vote while a thing is followed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from world_api.core.boxes import Box
from world_api.core.ports import DetectedObject, Image

#: Seconds between two looks at the same thing: at first (every other sample), and once it was looked at often enough.
_SOON, _LATER, _OFTEN = 0.45, 1.9, 16
#: Boxes that overlap so much show the same view: where the detector saw nobody in it, looking again tells nothing new.
_SAME_VIEW = 0.85
#: An upright person's height over width.
_SLIMMEST, _BROADEST = 3.45, 1.4
#: What a look adds to the standing (less for a part, which may look like anything) or takes from it.
_HIT, _PART_HIT, _MISS = 1.0, 0.5, -0.5
#: The bounds of the standing, and where it says person.
_LOWEST, _HIGHEST, _PERSON = -2.0, 4.0, 2.5


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
    missed_view: Box | None = None
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

    def look(
        self, scorer: PersonScorer, image: Callable[[], Image], box: Box, time: float, *, cut_off: bool = False
    ) -> None:
        """Vote on one sighting (``box`` in pixels of the ``image``, which is made only when it is needed).

        Who stands still in a pose that the detector does not know is not voted down by that view again and again.
        ``cut_off`` tells of a box at the picture's edge, where only a part may be seen.
        """
        self.looks += 1
        self.next_look = time + (_SOON if self.looks < _OFTEN else _LATER)
        upright = _BROADEST <= box.height / max(box.width, 1.0) <= _SLIMMEST
        if upright and scorer.person_score(image(), box) > 0.0:
            self.missed_view = None
            self._add(_PART_HIT if cut_off else _HIT)
        elif self.missed_view is None or box.iou(self.missed_view) < _SAME_VIEW:
            self.missed_view = box
            self._add(_MISS)

    def _add(self, vote: float) -> None:
        self.standing = min(_HIGHEST, max(_LOWEST, self.standing + vote))
        self.was_person = self.is_person

"""People before a moving camera, where no background can be known: what a people detector finds again and again.

A detector is wrong now and then, and wrong for long about a thing that stands still. So only clear finds count, several
of them in a row, each near the place to which the camera's own motion took the last one; something in it must move
beyond the camera's motion; and what is told is less sure than what a background model tells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from world_api.build.camera_motion import CameraWatch
from world_api.build.descriptors import colour_words
from world_api.build.stage import Clip, Record
from world_api.core.boxes import Box
from world_api.core.ports import DetectedObject, Image
from world_api.core.spans import known_time, round_time

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


#: Seconds between two looks for people, and after which one who is not found again has gone.
PEOPLE_STEP, _GONE = 0.8, 2.5
#: A find counts from this confidence on; a person is real after so many, and never surer than this.
_CLEAR, _HITS, _SUREST = 0.5, 4, 0.6
#: A find belongs to a person when the boxes overlap so much, or the middles lie so near (share of the height).
_OVERLAP, _NEAR = 0.3, 0.35
#: Something moves in a box when this share of it changes beyond the camera's motion, and so many times the share around
#: it; a person is real after so many such finds.
_MOVES, _MORE, _MOVING = 0.02, 1.5, 2
#: The part of a box that surely shows the person: left, top, right, bottom as shares of it.
_INNER = (0.3, 0.18, 0.7, 0.85)

Affine = NDArray[np.float64]  #: 2 x 3


@dataclass(kw_only=True)
class _Person:
    """Somebody who was found: where and when last, and what is not written yet."""

    box: Box
    seen: float
    hits: int = 0
    moving: int = 0
    confidence: float = 0.0
    name: str = ""
    pending: list[Record] = field(default_factory=list)


class People:
    """Follows people by detection. ``name`` gives the next free track name of the clip."""

    def __init__(self, clip: Clip, detector: PersonScorer, producer: str, name: Callable[[], str]) -> None:
        self._clip = clip
        self._detector = detector
        self._producer = producer
        self._name = name
        self._alive: list[_Person] = []
        self._looked = -np.inf
        self.sightings: list[Record] = []

    def is_due(self, time: float) -> bool:
        """Whether it is time to look again."""
        return time - self._looked >= PEOPLE_STEP - 1e-6

    def clear(self) -> None:
        """Forget everybody (the shot is over, or the camera stands still again)."""
        self._alive = []

    def look(self, picture: Image, time: float, shape: tuple[int, int], camera: CameraWatch) -> None:
        """Look for people in a picture (BGR) of a frame of that height and width, which the camera watch has seen."""
        motion, changes = camera.motion_since(self._looked, picture.shape[1]), camera.changes()
        self._looked = time
        found = [item for item in self._detector.people(picture) if item.confidence >= _CLEAR]
        self._alive = [person for person in self._alive if time - person.seen <= _GONE]
        for person in self._alive:
            person.box = _moved(person.box, motion)
        for item in found:
            person = self._whose(item, time)
            person.box, person.seen, person.hits = item.box, time, person.hits + 1
            person.moving += changes is not None and _moves(item.box, changes, picture.shape[1])
            person.confidence += (item.confidence - person.confidence) / person.hits
            self._note(person, picture, time, shape)

    def _whose(self, found: DetectedObject, time: float) -> _Person:
        free = [person for person in self._alive if person.seen < time]
        fits = [(found.box.iou(person.box), person) for person in free if _belongs(found.box, person.box)]
        if fits:
            return max(fits, key=lambda pair: pair[0])[1]
        self._alive.append(_Person(box=found.box, seen=time))
        return self._alive[-1]

    def _note(self, person: _Person, picture: Image, time: float, shape: tuple[int, int]) -> None:
        if self._clip.span.contains(time):
            across, down = shape[1] / picture.shape[1], shape[0] / picture.shape[0]
            box = person.box
            grown = Box(x1=box.x1 * across, y1=box.y1 * down, x2=box.x2 * across, y2=box.y2 * down)
            x1, y1, x2, y2 = grown.rounded()
            person.pending.append(
                {"time": round_time(time), "x1": x1, "y1": y1, "x2": x2, "y2": y2, "colours": _colours(picture, box)}
            )
        if person.hits < _HITS or person.moving < _MOVING or not person.pending:
            return
        person.name = person.name or self._name()
        stamp = {
            "track": person.name,
            "category": "person",
            "confidence": round(min(_SUREST, 0.7 * person.confidence), 2),
            "known_at": known_time(time),
            "producer": self._producer,
        }
        self.sightings.extend(record | stamp for record in person.pending)
        person.pending.clear()


def _belongs(one: Box, other: Box) -> bool:
    apart = max(abs(a - b) for a, b in zip(one.center, other.center, strict=True))
    alike = 0.6 < one.height / max(other.height, 1.0) < 1.67
    return alike and (one.iou(other) >= _OVERLAP or apart <= _NEAR * other.height)


def _moves(box: Box, changes: Image, width: int) -> bool:
    """Whether more changes inside a box (pixels of a picture that wide) than around it."""
    scale = changes.shape[1] / width
    rows = slice(max(0, int(box.y1 * scale)), max(1, int(box.y2 * scale)))
    columns = slice(max(0, int(box.x1 * scale)), max(1, int(box.x2 * scale)))
    inside = changes[rows, columns]
    count = int(inside.sum())
    around = (int(changes.sum()) - count) / max(changes.size - inside.size, 1)
    return count >= max(_MOVES, _MORE * around) * inside.size


def _moved(box: Box, motion: Affine | None) -> Box:
    """Where a motion of the whole picture takes a box."""
    if motion is None:
        return box
    (x1, y1), (x2, y2) = (
        motion[:, :2] @ np.array(corner) + motion[:, 2] for corner in ((box.x1, box.y1), (box.x2, box.y2))
    )
    return Box(x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2))


def _colours(picture: Image, box: Box) -> list[str]:
    """The colour words of the inner part of a box."""
    left, top, right, bottom = _INNER
    rows = slice(max(0, round(box.y1 + top * box.height)), max(0, round(box.y1 + bottom * box.height)))
    columns = slice(max(0, round(box.x1 + left * box.width)), max(0, round(box.x1 + right * box.width)))
    part = np.ascontiguousarray(picture[rows, columns])
    return colour_words(part, np.full(part.shape[:2], 255, dtype=np.uint8)) if part.size else []

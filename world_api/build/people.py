"""Detecting people: votes on whether a tracked thing is a person, and tracks of people while the camera moves.

While the camera moves, there is no background model, and a detector makes errors: single ones, and lasting ones about
things that do not move. So a person is reported only after several confident detections, each near the place to which
the camera's motion took the last one, and some with movement beyond the camera's. The confidence is lower than with a
background model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from world_api.build.camera_motion import CameraWatch
from world_api.build.colours import colour_words
from world_api.build.stage import Clip, Record, box_columns
from world_api.core.ports import UPRIGHT, DetectedObject, Image, PersonScorer
from world_api.core.spans import Box, known_time, round_time

#: Seconds between two votes on a thing: at first (every other sample), later, and the number of votes after which "later" begins.
_SOON, _LATER, _OFTEN = 0.45, 1.9, 16
#: Boxes that overlap this much show the same view: if the detector found no person in it, another vote says nothing new.
_SAME_VIEW = 0.85
#: What a vote adds to the score (less for a part of a thing) or subtracts from it.
_HIT, _PART_HIT, _MISS = 1.0, 0.5, -0.5
#: The bounds of the score, and the least score of a person.
_LOWEST, _HIGHEST, _PERSON = -2.0, 4.0, 2.5


@dataclass(kw_only=True)
class PersonVotes:
    """The votes on whether one thing is a person. ``next_look``: when the next vote is due (seconds)."""

    looks: int = 0
    score: float = 0.0
    next_look: float = 0.0
    missed_view: Box | None = None
    was_person: bool = False

    @property
    def is_person(self) -> bool:
        """Whether the score reaches the threshold of a person; for a thing that was a person before, half of it is enough."""
        return self.score >= (_PERSON / 2 if self.was_person else _PERSON)

    @property
    def confidence(self) -> float:
        """The confidence that the thing is a person, 0 to 1 (not calibrated); 0.5 unless ``is_person``."""
        return round(0.5 + 0.11 * self.score, 2) if self.is_person else 0.5

    def look(
        self, scorer: PersonScorer, image: Callable[[], Image], box: Box, time: float, *, cut_off: bool = False
    ) -> None:
        """Vote on one sighting, at ``box`` in pixels of the picture that ``image()`` returns (called only if needed).

        A view in which no person is found counts only once while the box stays nearly the same, so that a person in an
        unusual pose is not voted down. ``cut_off``: the box touches the picture's edge, so that a person found counts less.
        """
        self.looks += 1
        self.next_look = time + (_SOON if self.looks < _OFTEN else _LATER)
        upright = UPRIGHT[0] <= box.height / max(box.width, 1.0) <= UPRIGHT[1]
        if upright and scorer.person_score(image(), box) > 0.0:
            self.missed_view = None
            self._add(_PART_HIT if cut_off else _HIT)
        elif self.missed_view is None or box.iou(self.missed_view) < _SAME_VIEW:
            self.missed_view = box
            self._add(_MISS)

    def _add(self, vote: float) -> None:
        self.score = min(_HIGHEST, max(_LOWEST, self.score + vote))
        self.was_person = self.is_person


#: Seconds between two detections, and after which a person who is not found again has left.
PEOPLE_STEP, _GONE = 0.8, 2.5
#: The least confidence of a detection, the detections that confirm a person, and the greatest confidence of a sighting.
_CLEAR, _HITS, _SUREST = 0.5, 4, 0.6
#: A detection belongs to a person if the boxes overlap this much, or their centres are this near (share of the height).
_OVERLAP, _NEAR = 0.3, 0.35
#: Something moves in a box if this share of it changes beyond the camera's motion, and this many times the share around it; a person
#: is confirmed after this many such detections.
_MOVES, _MORE, _MOVING = 0.02, 1.5, 2
#: The part of a box that certainly shows the person: left, top, right, bottom as shares of it.
_INNER = (0.3, 0.18, 0.7, 0.85)

Affine = NDArray[np.float64]  #: 2 x 3


@dataclass(kw_only=True)
class _Person:
    """A detected person: the last box and time, and sightings that are not written yet."""

    box: Box
    seen: float
    hits: int = 0
    moving: int = 0
    confidence: float = 0.0
    name: str = ""
    pending: list[Record] = field(default_factory=list)


class People:
    """Tracks people by detection while the camera moves. ``name`` returns the next free track name of the clip."""

    def __init__(self, clip: Clip, detector: PersonScorer, name: Callable[[], str]) -> None:
        self._clip = clip
        self._detector = detector
        self._name = name
        self._alive: list[_Person] = []
        self._looked = -np.inf
        self.sightings: list[Record] = []

    def is_due(self, time: float) -> bool:
        """Whether 0.8 seconds have passed since the last detection."""
        return time - self._looked >= PEOPLE_STEP - 1e-6

    def clear(self) -> None:
        """End all tracks, when a new shot or a new background begins."""
        self._alive = []

    def look(self, picture: Image, time: float, shape: tuple[int, int], camera: CameraWatch) -> None:
        """Detect people in the BGR picture of a frame, and update the tracks.

        ``shape``: height and width of the whole frame, which ``camera`` has processed before.
        """
        motion, changes = camera.motion_since(self._looked, picture.shape[1]), camera.changes()
        self._looked = time
        found = [item for item in self._detector.people(picture) if item.confidence >= _CLEAR]
        self._alive = [person for person in self._alive if time - person.seen <= _GONE]
        for person in self._alive:
            person.box = _moved(person.box, motion)
        for item in found:
            person = self._person_of(item, time)
            person.box, person.seen, person.hits = item.box, time, person.hits + 1
            person.moving += changes is not None and _moves(item.box, changes, picture.shape[1])
            person.confidence += (item.confidence - person.confidence) / person.hits
            self._note(person, picture, time, shape)

    def _person_of(self, found: DetectedObject, time: float) -> _Person:
        """Return the person that a detection belongs to, a new one if there is none."""
        free = [one for one in self._alive if one.seen < time and _belongs(found.box, one.box)]
        if not free:
            self._alive.append(free_one := _Person(box=found.box, seen=time))
            return free_one
        return max(free, key=lambda one: found.box.iou(one.box))

    def _note(self, person: _Person, picture: Image, time: float, shape: tuple[int, int]) -> None:
        if self._clip.span.contains(time):
            columns = box_columns(person.box.scaled(shape[1] / picture.shape[1], shape[0] / picture.shape[0]))
            person.pending.append({"time": round_time(time), **columns, "colours": _colours(picture, person.box)})
        if person.hits < _HITS or person.moving < _MOVING or not person.pending:
            return
        person.name = person.name or self._name()
        confidence = round(min(_SUREST, 0.7 * person.confidence), 2)
        stamp = {"track": person.name, "category": "person", "confidence": confidence, "known_at": known_time(time)}
        self.sightings.extend(record | stamp for record in person.pending)
        person.pending.clear()


def _belongs(one: Box, other: Box) -> bool:
    apart = max(abs(a - b) for a, b in zip(one.center, other.center, strict=True))
    alike = 0.6 < one.height / max(other.height, 1.0) < 1.67
    return alike and (one.iou(other) >= _OVERLAP or apart <= _NEAR * other.height)


def _moves(box: Box, changes: Image, width: int) -> bool:
    """Whether 2 % of a box (picture: ``width`` wide) changes, and 1.5 times the share outside it. ``changes``: 1 where changed."""
    scale = changes.shape[1] / width
    rows = slice(max(0, int(box.y1 * scale)), max(1, int(box.y2 * scale)))
    columns = slice(max(0, int(box.x1 * scale)), max(1, int(box.x2 * scale)))
    inside = changes[rows, columns]
    count = int(inside.sum())
    around = (int(changes.sum()) - count) / max(changes.size - inside.size, 1)
    return count >= max(_MOVES, _MORE * around) * inside.size


def _moved(box: Box, motion: Affine | None) -> Box:
    """Return a box moved by a motion of the whole picture; unchanged if the motion is unknown."""
    if motion is None:
        return box
    corners = np.array([[box.x1, box.y1], [box.x2, box.y2]]) @ motion[:, :2].T + motion[:, 2]
    (x1, y1), (x2, y2) = corners.tolist()
    return Box(x1=x1, y1=y1, x2=x2, y2=y2)


def _colours(picture: Image, box: Box) -> list[str]:
    """Return the colour words of what the inner part of a box (pixels of the BGR picture) shows."""
    left, top, right, bottom = _INNER
    rows = slice(max(0, round(box.y1 + top * box.height)), max(0, round(box.y1 + bottom * box.height)))
    columns = slice(max(0, round(box.x1 + left * box.width)), max(0, round(box.x1 + right * box.width)))
    part = np.ascontiguousarray(picture[rows, columns])
    return colour_words(part, np.full(part.shape[:2], 255, dtype=np.uint8)) if part.size else []

"""Tracks from detections: which detection of a frame shows which thing of the frames before.

As in ByteTrack (Zhang et al., 2022), confident detections are assigned first, and then weak ones to tracks that got none; a
weak detection never begins a track. Boxes are predicted with constant velocity by a filter of constant gain, the steady
state of a Kalman filter. Two detections a second are far apart, so that a person may leave the last box between them:
beside the overlap, the distance in sizes counts. Assignments are those of least total cost (Kuhn, 1955).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from world_api.core.ports import DetectedObject
from world_api.core.spans import Box

Floats = NDArray[np.float64]
Affine = Floats  #: 2 x 3

#: The least similarity of a confident detection, and of a weak one, to a track.
_ALIKE, _WEAKLY_ALIKE = 0.3, 0.5
#: Boxes are enlarged by this share before their overlap is measured.
_AROUND = 0.15
#: The distance in sizes at which the similarity by distance is 1/e, and its most.
_NEAR, _NEAR_MOST = 1.0, 0.8
#: The similarity to a track of another category is multiplied by this: a detector may name one thing in two ways.
_OTHER_CATEGORY = 0.6
#: The share of a new velocity in the old one.
_GAIN = 0.6
#: A track that is not seen for this long (seconds) has ended.
_LOST = 2.5
#: A track is confirmed by this many confident detections, if all its detections have at least this mean confidence.
_HITS, _MEAN = 3, 0.5
#: The confidence of a thing that is not detected while its place looks the same is multiplied by this, each time.
_UNSEEN = 0.98


@dataclass(kw_only=True, eq=False)
class Followed:
    """A tracked thing. ``box``: where it was seen last; ``velocity``: pixels a second of left, top, right and bottom.

    ``seen``: the time when it was detected last or its place looked unchanged; ``detected``: when it was detected last.
    """

    number: int
    box: Box
    seen: float
    detected: float
    confidence: float
    velocity: Floats = field(default_factory=lambda: np.zeros(4))
    hits: int = 0
    sure_hits: int = 0
    total: float = 0.0  #: of the confidences
    votes: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    confirmed: bool = False

    @property
    def category(self) -> str:
        """The category with the largest sum of confidences so far."""
        return max(sorted(self.votes), key=lambda name: self.votes[name])

    def expected(self, time: float) -> Box:
        """Return the predicted box at a time."""
        x1, y1, x2, y2 = np.array(_sides(self.box)) + self.velocity * (time - self.detected)
        return Box(x1=float(x1), y1=float(y1), x2=float(max(x1 + 1, x2)), y2=float(max(y1 + 1, y2)))

    def take(self, found: DetectedObject, time: float, *, sure: bool, is_new: bool = True) -> None:
        """Continue the track with a detection; one that is not new confirms nothing."""
        elapsed = time - self.detected
        if elapsed > 0:
            way = (np.array(_sides(found.box)) - np.array(_sides(self.box))) / elapsed
            self.velocity += (way - self.velocity) * (_GAIN if self.hits > 1 else 1.0)
        self.box, self.seen, self.detected, self.confidence = found.box, time, time, found.confidence
        if is_new:
            self.hits, self.sure_hits, self.total = self.hits + 1, self.sure_hits + sure, self.total + found.confidence
            self.votes[found.category] += found.confidence
            self.confirmed |= self.sure_hits >= _HITS and self.total >= _MEAN * self.hits


class Association:
    """Assigns the detections of successive frames to tracks.

    ``sure``: the least confidence of a detection that may begin a track.
    """

    def __init__(self, sure: float) -> None:
        self._sure = sure
        self._count = 0
        self.alive: list[Followed] = []

    def clear(self) -> None:
        """End all tracks, when a new shot begins."""
        self.alive = []

    def step(
        self,
        found: Sequence[DetectedObject],
        time: float,
        *,
        is_new: bool = True,
        motion: Affine | None = None,
        unchanged: Callable[[Followed], bool] = lambda track: False,
    ) -> list[Followed]:
        """Continue, begin and end tracks with the detections of a frame; return the tracks that are seen in it.

        ``is_new`` is False if the detections are those of the step before, since nothing has moved.
        ``motion`` is that of the whole picture since the last frame (None: it was still or is unknown). ``unchanged`` judges
        whether the place of a track that is not detected looks as it did, so that the thing must still be there.
        """
        self.alive = [track for track in self.alive if time - track.seen <= _LOST]
        if motion is not None:
            for track in self.alive:
                track.box = _moved(track.box, motion)
        confident = [item for item in found if item.confidence >= self._sure]
        rest, free = self._assign(self.alive, confident, time, least=_ALIKE, sure=True, is_new=is_new)
        weak = [item for item in found if item.confidence < self._sure]
        rest, _ = self._assign(rest, weak, time, least=_WEAKLY_ALIKE, sure=False, is_new=is_new)
        for track in rest:
            if track.confirmed and unchanged(track):
                track.seen, track.confidence = time, track.confidence * _UNSEEN
        for item in free:
            if all(item.box.iou(track.box) < _WEAKLY_ALIKE or track.seen < time for track in self.alive):
                self._begin(item, time)
        return [track for track in self.alive if track.seen == time]

    def _begin(self, item: DetectedObject, time: float) -> None:
        self._count += 1
        track = Followed(number=self._count, box=item.box, seen=time, detected=time, confidence=item.confidence)
        track.take(item, time, sure=True)
        self.alive.append(track)

    @staticmethod
    def _assign(
        tracks: Sequence[Followed],
        found: Sequence[DetectedObject],
        time: float,
        *,
        least: float,
        sure: bool,
        is_new: bool,
    ) -> tuple[list[Followed], list[DetectedObject]]:
        """Continue tracks with detections that are at least ``least`` alike; return the tracks and detections that remain."""
        if not tracks or not found:
            return list(tracks), list(found)
        alike = _similarities(tracks, found, time)
        pairs = [(row, column) for row, column in least_cost(1.0 - alike) if alike[row, column] >= least]
        for row, column in pairs:
            tracks[row].take(found[column], time, sure=sure, is_new=is_new)
        rows, columns = {row for row, _ in pairs}, {column for _, column in pairs}
        rest = [track for row, track in enumerate(tracks) if row not in rows]
        return rest, [item for column, item in enumerate(found) if column not in columns]


def _sides(box: Box) -> tuple[float, float, float, float]:
    return box.x1, box.y1, box.x2, box.y2


def _similarities(tracks: Sequence[Followed], found: Sequence[DetectedObject], time: float) -> Floats:
    """Return how well each detection continues each track (n x m), 0 to 1: by overlap, else by distance and size."""
    boxes = np.array([_sides(item.box) for item in found])[None]
    best = np.zeros((len(tracks), len(found)))
    for places in ([track.expected(time) for track in tracks], [track.box for track in tracks]):
        own = np.array([_sides(place) for place in places])[:, None]
        middle, other = own[..., :2] + own[..., 2:], boxes[..., :2] + boxes[..., 2:]
        apart = np.hypot(*np.moveaxis(middle - other, -1, 0)) / 2
        side, other_side = own[..., 2:] - own[..., :2], boxes[..., 2:] - boxes[..., :2]
        size = np.sqrt((side.prod(axis=-1) + other_side.prod(axis=-1)) / 2)
        shape = (np.minimum(side, other_side) / np.maximum(np.maximum(side, other_side), 1e-6)).prod(axis=-1)
        by_distance = _NEAR_MOST * np.sqrt(shape) * np.exp(-((apart / np.maximum(size, 1.0) / _NEAR) ** 2))
        best = np.maximum(best, np.maximum(by_distance, _overlap(own, boxes)))
    known = np.array([[item.category in track.votes for item in found] for track in tracks])
    return np.where(known, best, best * _OTHER_CATEGORY)


def _overlap(one: Floats, other: Floats) -> Floats:
    """Return the overlap (IoU) of boxes, the last axes of two arrays, each enlarged by ``_AROUND`` on each side."""
    (first, last), (other_first, other_last) = (
        (box[..., :2] - _AROUND * (box[..., 2:] - box[..., :2]), box[..., 2:] + _AROUND * (box[..., 2:] - box[..., :2]))
        for box in (one, other)
    )
    shared = np.maximum(0.0, np.minimum(last, other_last) - np.maximum(first, other_first)).prod(axis=-1)
    both = (last - first).prod(axis=-1) + (other_last - other_first).prod(axis=-1)
    return np.asarray(shared / np.maximum(both - shared, 1e-6))


def _moved(box: Box, motion: Affine) -> Box:
    """Return a box moved by a motion of the whole picture."""
    (x1, y1), (x2, y2) = (np.array([[box.x1, box.y1], [box.x2, box.y2]]) @ motion[:, :2].T + motion[:, 2]).tolist()
    return Box(x1=x1, y1=y1, x2=max(x1, x2), y2=max(y1, y2))


def least_cost(costs: Floats) -> list[tuple[int, int]]:
    """Return the assignment of rows to columns (n x m) of least total cost, min(n, m) pairs in order of the rows.

    It is found by shortest augmenting paths, in O(n²m) steps.
    """
    if costs.shape[0] > costs.shape[1]:
        return sorted((row, column) for column, row in least_cost(costs.T))
    rows, columns = costs.shape
    of_row, of_column = np.zeros(rows), np.zeros(columns)  # the dual prices
    owner = np.full(columns, -1)
    for start in range(rows):
        shortest, before = np.full(columns, np.inf), np.full(columns, -1)
        done = np.zeros(columns, dtype=np.bool_)
        row, column = start, -1
        while row >= 0:
            reduced = costs[row] - of_row[row] - of_column
            if column >= 0:
                reduced = reduced + shortest[column]
            better = ~done & (reduced < shortest)
            shortest[better], before[better] = reduced[better], column
            column = int(np.argmin(np.where(done, np.inf, shortest)))
            done[column] = True
            row = int(owner[column])
        total = shortest[column]
        seen = done & (np.arange(columns) != column)
        of_row[start] += total
        of_row[owner[seen]] += total - shortest[seen]
        of_column[seen] -= total - shortest[seen]
        while column >= 0:
            previous = int(before[column])
            owner[column] = start if previous < 0 else owner[previous]
            column = previous
    return sorted((int(row), column) for column, row in enumerate(owner.tolist()) if row >= 0)

"""Who in one world is who in another of the same video: those whose boxes lie over each other for longest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from world_api.core.boxes import Box
from world_api.core.spans import TimeSpan
from world_api.session.session import Registration
from world_api.world.tracks import Track

Floats = NDArray[np.float64]

#: Boxes of one thing in two worlds overlap at least so much (a detector's box is seldom the drawn one).
_SAME = 0.3
#: Sightings are compared that lie at most so far apart (seconds), and each stands for the time to the next, up to that.
_NEAR, _HOLDS = 0.3, 1.0


class Counterparts:
    """The entities of a perceived world and those of the true one. A true entity may be several perceived ones, not the reverse.

    ``true_of`` and ``perceived_of`` give None where the other world has nothing of the kind: a thing that was not seen, a track of
    nothing. Ids that are true ones already stay as they are.
    """

    def __init__(self, perceived: Sequence[Track], true: Sequence[Track]) -> None:
        self._perceived = list(perceived)
        self._true = list(true)

    def true_of(self, entity_id: str, registered: Sequence[Registration] = ()) -> str | None:
        """The true entity of a perceived one, or of what somebody registered at a moment."""
        if entity_id in self._true_ids:
            return entity_id
        if (found := self._best.get(entity_id)) is not None:
            return found
        for item in registered:
            if item.entity_id == entity_id:
                return self._true_at(item)
        return None

    def perceived_of(self, entity_id: str, during: TimeSpan | None = None) -> str | None:
        """The perceived entity of a true one: of several the one that is there for longest, in a stretch where one is given."""
        tracks = self._parts.get(entity_id, [])
        if not tracks:
            return None
        return max(tracks, key=lambda track: (_seconds(track, during), _seconds(track, None))).entity_id

    @cached_property
    def _true_ids(self) -> frozenset[str]:
        return frozenset(track.entity_id for track in self._true)

    @cached_property
    def _best(self) -> dict[str, str]:
        """Of each perceived entity the true one it lies over for longest."""
        found: dict[str, str] = {}
        for track in self._perceived:
            shared = [(overlap_seconds(track, other), other.entity_id) for other in self._true if _meet(track, other)]
            seconds, entity_id = max(shared, default=(0.0, ""))
            if seconds > 0:
                found[track.entity_id] = entity_id
        return found

    @cached_property
    def _parts(self) -> dict[str, list[Track]]:
        found: dict[str, list[Track]] = {}
        for track in self._perceived:
            if (true := self._best.get(track.entity_id)) is not None:
                found.setdefault(true, []).append(track)
        return found

    def _true_at(self, item: Registration) -> str | None:
        """The true entity whose box lies over a registered one at its moment."""
        own = Box(x1=item.box[0], y1=item.box[1], x2=item.box[2], y2=item.box[3])
        best, found = _SAME, None
        for track in self._true:
            place = track.nearest(item.time)
            if abs(float(track.times[place]) - item.time) <= _NEAR:
                x1, y1, x2, y2 = (float(edge) for edge in track.boxes[place])
                if (shared := own.iou(Box(x1=x1, y1=y1, x2=x2, y2=y2))) >= best:
                    best, found = shared, track.entity_id
        return found


def overlap_seconds(one: Track, other: Track) -> float:
    """For how many seconds the boxes of two tracks lie over each other, by the sightings of the first."""
    after = np.clip(np.searchsorted(other.times, one.times), 1, max(1, len(other.times) - 1))
    before = after - 1
    after = np.minimum(after, len(other.times) - 1)
    is_before = np.abs(other.times[before] - one.times) <= np.abs(other.times[after] - one.times)
    nearest = np.where(is_before, before, after)
    is_near = np.abs(other.times[nearest] - one.times) <= _NEAR
    shared = _ious(one.boxes.astype(np.float64), other.boxes[nearest].astype(np.float64)) >= _SAME
    holds = np.minimum(np.append(np.diff(one.times), 0.0), _HOLDS)
    return float(holds[is_near & shared].sum())


def _ious(one: Floats, other: Floats) -> Floats:
    """Intersection over union, box by box (n x 4 pixels each)."""
    low, high = np.maximum(one[:, :2], other[:, :2]), np.minimum(one[:, 2:], other[:, 2:])
    shared = np.prod(np.clip(high - low, 0, None), axis=1)
    both = np.prod(one[:, 2:] - one[:, :2], axis=1) + np.prod(other[:, 2:] - other[:, :2], axis=1) - shared
    found: Floats = shared / np.maximum(both, 1e-9)
    return found


def _meet(one: Track, other: Track) -> bool:
    return one.span.start <= other.span.end + _NEAR and other.span.start <= one.span.end + _NEAR


def _seconds(track: Track, during: TimeSpan | None) -> float:
    if during is None:
        return sum(item.duration for item in track.appearances)
    wide = TimeSpan(start=during.start - _NEAR, end=during.end + _NEAR)
    return sum(part.duration for item in track.appearances if (part := item.clip(wide)) is not None)

"""Blobs to tracks: which blob is which thing, and which things are real."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from world_api.build.tracking.blobs import Blob, unite
from world_api.core.boxes import Box

#: A thing not seen for this long (seconds) has gone.
_GONE = 1.2
#: A thing is real once it was seen this often and has moved by this share of its own size.
_SIGHTINGS, _MOVED = 4, 0.35
#: The least step (share of its size) that counts as movement.
_STEP = 0.15
#: A thing that is not real after this long (seconds) is something left behind.
_UNDECIDED = 4.0
#: A blob belongs to a track when it covers, or is covered by, so much of the place where the track is expected.
_INSIDE = 0.4
#: Pieces of a thing have their middle inside its largest piece grown by this share of its size.
_AROUND = 0.3
#: How far (share of its size, each second) a thing may get from where it is expected.
_REACH = 1.5


@dataclass(kw_only=True)
class Candidate:
    """A thing being followed. ``confirmed_at`` is when it was seen to be real, ``moved_at`` when it last moved (seconds)."""

    number: int
    born: float
    box: Box
    seen: float
    hits: int = 0
    confirmed_at: float | None = None
    velocity: tuple[float, float] = (0.0, 0.0)
    moved_at: float = 0.0
    last_blob: Blob | None = None
    origin: tuple[float, float] = (0.0, 0.0)
    travelled: float = 0.0

    def expected(self, time: float) -> Box:
        """Where it should be: its last box carried on at its speed, for at most half a second."""
        ahead = min(time - self.seen, 0.5)
        right, down = self.velocity[0] * ahead, self.velocity[1] * ahead
        return Box(x1=self.box.x1 + right, y1=self.box.y1 + down, x2=self.box.x2 + right, y2=self.box.y2 + down)

    def take(self, blob: Blob, time: float) -> None:
        """Note a sighting."""
        elapsed = max(time - self.seen, 1e-3)
        (x, y), (was_x, was_y) = blob.box.center, self.box.center
        if self.hits:
            new = ((x - was_x) / elapsed, (y - was_y) / elapsed)
            self.velocity = (0.5 * (self.velocity[0] + new[0]), 0.5 * (self.velocity[1] + new[1]))
        else:
            self.origin, self.moved_at = (x, y), time
        self.box, self.seen, self.last_blob, self.hits = blob.box, time, blob, self.hits + 1
        self._note_movement(time)

    def _note_movement(self, time: float) -> None:
        """Add up how far it got, step by step of some size, so that a trembling outline adds up to nothing."""
        x, y = self.box.center
        off = max(abs(x - self.origin[0]), abs(y - self.origin[1]))
        if off > _STEP * _size(self.box):
            self.travelled += off
            self.origin, self.moved_at = (x, y), time
        if self.confirmed_at is None and self.hits >= _SIGHTINGS and self.travelled >= _MOVED * _size(self.box):
            self.confirmed_at = time


class Tracker:
    """Follows the things of one shot."""

    def __init__(self) -> None:
        self.alive: list[Candidate] = []
        self._count = 0

    def step(self, blobs: Sequence[Blob], time: float) -> list[Candidate]:
        """Give each track its blobs; returns the tracks seen at this moment."""
        claims = self._claims(blobs, time)
        seen = []
        for track in sorted(self.alive, key=lambda item: (item.confirmed_at is None, item.born, item.number)):
            if mine := claims.get(track.number):
                track.take(unite(mine), time)
                seen.append(track)
        claimed = {id(blob) for own in claims.values() for blob in own}
        for blob in blobs:
            if id(blob) not in claimed:
                seen.append(self._begin(blob, time))
        self.alive = [track for track in self.alive if time - track.seen <= _GONE]
        return seen

    def drop(self, track: Candidate) -> None:
        """Follow it no longer."""
        self.alive = [other for other in self.alive if other is not track]

    def clear(self) -> None:
        """Forget all tracks (the shot is over)."""
        self.alive = []

    def undecided(self, time: float) -> list[Candidate]:
        """Things that stay where they appeared: left behind, not moving."""
        return [t for t in self.alive if t.confirmed_at is None and time - t.born > _UNDECIDED]

    def _claims(self, blobs: Sequence[Blob], time: float) -> dict[int, list[Blob]]:
        claims: dict[int, list[Blob]] = {}
        expected = {track.number: track.expected(time) for track in self.alive}
        for blob in blobs:
            fits = ((_affinity(track, expected[track.number], blob, time), -track.number) for track in self.alive)
            best = max(fits, default=(0.0, 0))
            if best[0] > 0.0:
                claims.setdefault(-best[1], []).append(blob)
        return {number: _belonging_together(own, expected[number]) for number, own in claims.items()}

    def _begin(self, blob: Blob, time: float) -> Candidate:
        self._count += 1
        track = Candidate(number=self._count, born=time, box=blob.box, seen=time)
        track.take(blob, time)
        self.alive.append(track)
        return track


def _affinity(track: Candidate, expected: Box, blob: Blob, time: float) -> float:
    """How well a blob fits a track expected there: 0 for not at all; real things come before undecided ones."""
    bonus = 1.0 if track.confirmed_at is not None else 0.0
    share = max(_cover(expected, blob.box), _cover(track.box, blob.box))  # it may have stopped
    if share >= _INSIDE:
        return share + bonus
    reach = _REACH * max(expected.width, expected.height) * min(max(time - track.seen, 0.2), 1.0)
    distance = max(abs(a - b) for a, b in zip(expected.center, blob.box.center, strict=True))
    alike = 0.5 < blob.box.area / max(expected.area, 1.0) < 2.0
    return 0.1 + bonus * 0.1 if alike and distance < reach else 0.0


def _belonging_together(blobs: list[Blob], expected: Box) -> list[Blob]:
    """The blob that fits a place best, and the pieces close around it; what lies apart is something else."""
    main = max(blobs, key=lambda blob: blob.box.iou(expected))
    across, down = _AROUND * main.box.width, _AROUND * main.box.height
    x1, y1, x2, y2 = main.box.x1 - across, main.box.y1 - down, main.box.x2 + across, main.box.y2 + down
    return [
        blob for blob in blobs if (x1 <= blob.box.center[0] <= x2 and y1 <= blob.box.center[1] <= y2) or blob is main
    ]


def _size(box: Box) -> float:
    return max(4.0, min(box.width, box.height))


def _cover(one: Box, other: Box) -> float:
    """What the two boxes share, as a share of the smaller one."""
    width = min(one.x2, other.x2) - max(one.x1, other.x1)
    height = min(one.y2, other.y2) - max(one.y1, other.y1)
    if width <= 0.0 or height <= 0.0:
        return 0.0
    return width * height / max(min(one.area, other.area), 1.0)

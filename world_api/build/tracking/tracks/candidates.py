"""One thing that is being followed: where it is, how it moves, and since when it is taken for real."""

from __future__ import annotations

from dataclasses import dataclass

from world_api.build.tracking.blobs import Blob
from world_api.core.boxes import Box
from world_api.core.ports import Vector

#: A thing not seen for this long (seconds) has gone.
GONE = 1.2
#: A thing that is not real after this long (seconds) is something left behind.
UNDECIDED = 4.0
#: A thing is real once it was seen this often and has moved by this share of its own size.
_SIGHTINGS, _MOVED = 4, 0.35
#: The least step (share of its size) that counts as movement.
_STEP = 0.15
#: How large it is (pixels) is remembered from when it was seen whole; each sighting forgets so much of that.
_FORGET = 0.03


@dataclass(kw_only=True)
class Candidate:
    """A thing being followed. ``confirmed_at`` is when it was seen to be real, ``moved_at`` when it last moved (seconds).

    While it shares a blob with others (``shared``), its box is where it should be inside that; ``look`` is how it looked before.
    Since ``doubted_at`` (seconds) nothing shows that it is still there.
    """

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
    area: float = 0.0
    size: tuple[float, float] = (0.0, 0.0)
    shared: Blob | None = None
    look: Vector | None = None
    doubted_at: float | None = None

    def expected(self, time: float) -> Box:
        """Where it should be: its last box carried on at its speed, for at most half a second."""
        ahead = min(time - self.seen, 0.5)
        right, down = self.velocity[0] * ahead, self.velocity[1] * ahead
        return Box(x1=self.box.x1 + right, y1=self.box.y1 + down, x2=self.box.x2 + right, y2=self.box.y2 + down)

    def take(self, blob: Blob, time: float) -> None:
        """Note a sighting."""
        if self.hits:
            self._note_speed(blob.box, time)
        else:
            self.origin, self.moved_at = blob.box.center, time
        self.box, self.seen, self.last_blob, self.hits = blob.box, time, blob, self.hits + 1
        self.shared, self.look, self.doubted_at = None, None, None
        self.area = max(float(blob.area), (1.0 - _FORGET) * self.area)
        self.size = (blob.box.width, blob.box.height)
        self._note_movement(time)

    def share(self, blob: Blob, box: Box, time: float) -> None:
        """Note that it is somewhere in a blob that it shares, most likely in a box."""
        self._note_speed(box, time)
        self.box, self.seen, self.last_blob, self.shared = box, time, blob, blob
        self._note_movement(time)

    def _note_speed(self, box: Box, time: float) -> None:
        elapsed = max(time - self.seen, 1e-3)
        (x, y), (was_x, was_y) = box.center, self.box.center
        self.velocity = (
            0.5 * (self.velocity[0] + (x - was_x) / elapsed),
            0.5 * (self.velocity[1] + (y - was_y) / elapsed),
        )

    def _note_movement(self, time: float) -> None:
        """Add up how far it got, step by step of some size, so that a trembling outline adds up to nothing."""
        x, y = self.box.center
        off = max(abs(x - self.origin[0]), abs(y - self.origin[1]))
        if off > _STEP * side_of(self.box):
            self.travelled += off
            self.origin, self.moved_at = (x, y), time
        if self.confirmed_at is None and self.hits >= _SIGHTINGS and self.travelled >= _MOVED * side_of(self.box):
            self.confirmed_at = time


def side_of(box: Box) -> float:
    """The shorter side of a box, for comparing ways with (pixels)."""
    return max(4.0, min(box.width, box.height))


def cover(one: Box, other: Box) -> float:
    """What two boxes share, as a share of the smaller one."""
    return common(one, other) / max(min(one.area, other.area), 1.0)


def common(one: Box, other: Box) -> float:
    """The area that two boxes share."""
    width = min(one.x2, other.x2) - max(one.x1, other.x1)
    height = min(one.y2, other.y2) - max(one.y1, other.y1)
    return width * height if width > 0.0 and height > 0.0 else 0.0

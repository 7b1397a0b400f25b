"""Shared memory in which the decoding process lays frames, and the building process finds them.

A slot holds the planes of one frame one after another, each row by row without padding. The memory is reserved and not
taken: pages that no frame reaches cost nothing.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

#: Slots hold at least this much (bytes), and four times the first frame: pictures may grow within a file.
_LEAST, _HEADROOM = 1 << 20, 4
#: All slots together are meant to hold about so much at the size of the first frame (bytes), within these numbers.
_TOGETHER, _FEWEST, _MOST = 64 << 20, 4, 16

Bytes = NDArray[np.uint8]


class Slots:
    """A file of equal slots, mapped by both processes."""

    def __init__(self, *, handle: int, count: int, size: int) -> None:
        self.handle, self.count, self.size = handle, count, size
        self._memory = mmap.mmap(handle, count * size)

    @classmethod
    def for_frames(cls, width: int, height: int) -> Slots:
        """Slots for frames of about that size; ends with the handle."""
        frame = width * height * 3 // 2
        count = max(_FEWEST, min(_MOST, _TOGETHER // max(frame, 1)))
        size = -(-max(_LEAST, _HEADROOM * frame) // mmap.PAGESIZE) * mmap.PAGESIZE
        handle = _anonymous_file()
        os.ftruncate(handle, count * size)
        return cls(handle=handle, count=count, size=size)

    def slot(self, number: int) -> Bytes:
        """The bytes of one slot."""
        whole = np.frombuffer(self._memory, dtype=np.uint8)
        return whole[number * self.size : (number + 1) * self.size]

    def record(self) -> dict[str, int]:
        """As the other process is told."""
        return {"handle": self.handle, "count": self.count, "size": self.size}


def lay(raw: VideoFrame, slot: Bytes) -> dict[str, Any] | None:
    """Copy a frame into a slot; what is needed to take it out again, or None where it does not fit."""
    if raw.format.has_palette or raw.format.is_bit_stream:
        raw = raw.reformat(format="rgb24")
    rows, at = [], 0
    for plane, view in _planes(raw):
        width = view.shape[1]
        end = at + view.size
        if end > slot.size:
            return None
        slot[at:end].reshape(view.shape)[:] = view
        rows.append([width, plane])
        at = end
    return {
        "format": raw.format.name, "width": raw.width, "height": raw.height, "planes": rows,
        "colorspace": int(raw.colorspace), "range": int(raw.color_range),
    }  # fmt: skip


def take(facts: dict[str, Any], slot: Bytes, into: VideoFrame | None) -> VideoFrame:
    """A frame with the pixels of a slot; ``into`` is used again where it is of the same kind.

    Raises:
        ValueError: facts that do not fit together.
    """
    import av

    name, width, height = str(facts["format"]), int(facts["width"]), int(facts["height"])
    frame = into
    if frame is None or (frame.format.name, frame.width, frame.height) != (name, width, height):
        frame = av.VideoFrame(width, height, name)
    at = 0
    for (rows, view), (row, count) in zip(_planes(frame), facts["planes"], strict=True):
        end = at + row * count
        if count != rows or end > slot.size:
            raise ValueError("a frame that does not fit its slot")
        used = min(row, view.shape[1])
        view[:, :used] = slot[at:end].reshape(count, row)[:, :used]
        at = end
    frame.colorspace, frame.color_range = facts["colorspace"], facts["range"]
    return frame


def _planes(raw: VideoFrame) -> Iterator[tuple[int, Bytes]]:
    """The number of rows of each plane, and its bytes as rows x row length (padding included)."""
    for plane in raw.planes:
        length = abs(plane.line_size)
        rows = plane.buffer_size // length if length else 0
        yield rows, np.frombuffer(memoryview(plane), dtype=np.uint8)[: rows * length].reshape(rows, length)


def _anonymous_file() -> int:
    """A file without a name, in memory where the system has such."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("video-frames", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())

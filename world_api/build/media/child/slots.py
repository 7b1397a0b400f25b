"""Shared memory in which the decoding process lays frames, and the building process finds them.

A slot holds what is wanted of one frame: small pictures, and the planes of the whole where somebody wants more. The
memory is reserved and not taken: pages that no frame reaches cost nothing.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from world_api.build.media.frames import Frame
from world_api.build.media.wants import Want

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

#: Slots hold at least this much (bytes), and four times a frame of a common format: some take more bytes a pixel.
_LEAST, _HEADROOM = 1 << 20, 4
#: All slots together are meant to hold about so much at the size of the first frame (bytes), within these numbers.
_TOGETHER, _FEWEST, _MOST = 64 << 20, 4, 32

Bytes = NDArray[np.uint8]


class Slots:
    """A file of equal slots, mapped by both processes."""

    def __init__(self, *, handle: int, count: int, size: int) -> None:
        self.handle, self.count, self.size = handle, count, size
        whole = np.frombuffer(mmap.mmap(handle, count * size), dtype=np.uint8)
        self._slots = list(whole.reshape(count, size))

    @classmethod
    def for_frames(cls, width: int, height: int, *, handle: int) -> Slots:
        """Slots in a shared file for frames of about that size."""
        frame = width * height * 3 // 2
        count = max(_FEWEST, min(_MOST, _TOGETHER // max(frame, 1)))
        size = -(-max(_LEAST, _HEADROOM * frame) // mmap.PAGESIZE) * mmap.PAGESIZE
        os.ftruncate(handle, count * size)
        return cls(handle=handle, count=count, size=size)

    def slot(self, number: int) -> Bytes:
        """The bytes of one slot."""
        return self._slots[number]

    def record(self) -> dict[str, int]:
        """As the other process is told, which knows the file by its own handle."""
        return {"count": self.count, "size": self.size}


def lay(frame: Frame, slot: Bytes, wants: Sequence[Want]) -> dict[str, Any] | None:
    """Copy what is wanted of a frame into a slot; what is needed to take it out again, or None where it does not fit."""
    height, width = frame.shape
    laid: dict[str, Any] = {"shape": (height, width), "pictures": [], "facts": None}
    at = 0
    wanted = dict.fromkeys([want.picture for want in wants])
    for asked in wanted:
        if asked is None:
            continue
        side, pixel_format = asked
        picture = frame.picture(side, pixel_format)
        end = at + picture.size
        if end > slot.size:
            return None
        slot[at:end] = picture.reshape(-1)
        laid["pictures"].append([None if side >= max(width, height) else side, pixel_format, at, picture.shape])
        at = end
    if None in wanted:
        laid["facts"] = _lay_whole(frame, slot, at)
        if laid["facts"] is None:
            return None
    return laid


def _lay_whole(frame: Frame, slot: Bytes, at: int) -> dict[str, Any] | None:
    """Copy the planes of a frame to a place in a slot."""
    raw = frame.pixels.video_frame()
    if raw.format.has_palette or raw.format.is_bit_stream:
        raw = raw.reformat(format="rgb24")
    facts: dict[str, Any] = {
        "format": raw.format.name, "width": raw.width, "height": raw.height, "at": at, "planes": [],
        "turn": frame.pixels.turn, "colorspace": int(raw.colorspace), "range": int(raw.color_range),
    }  # fmt: skip
    for rows, view in _planes(raw):
        end = at + view.size
        if end > slot.size:
            return None
        slot[at:end].reshape(view.shape)[:] = view
        facts["planes"].append([view.shape[1], rows])
        at = end
    return facts


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
    at = int(facts["at"])
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


def anonymous_file() -> int:
    """A file without a name, in memory where the system has such."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("video-frames", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())

"""Shared memory in which one process writes frames and pictures, and another one reads them.

The memory is reserved, not allocated: pages that are never written cost nothing.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from world_api.media.frames import Frame, Want

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

#: A slot holds at least this many bytes, and four times a frame of a common format: some formats take more bytes a pixel.
_LEAST, _HEADROOM = 1 << 20, 4
#: All slots together hold about this many bytes; the least and the greatest number of slots.
_TOGETHER, _FEWEST, _MOST = 64 << 20, 4, 32

Bytes = NDArray[np.uint8]


class Slots:
    """A file of equal slots, mapped by both processes. A slot holds the wanted pictures of one frame."""

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
        """The JSON form, without the handle: each process has a descriptor of its own."""
        return {"count": self.count, "size": self.size}


def anonymous_file() -> int:
    """Return the descriptor of a file without a name, in memory if the system supports that."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("video-frames", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def write_frame(frame: Frame, slot: Bytes, wants: Sequence[Want]) -> dict[str, Any] | None:
    """Write the wanted pictures of a frame into a slot, and the planes of the whole frame if a want needs it.

    Returns their places as JSON, or None if they do not fit.
    """
    height, width = frame.shape
    written: dict[str, Any] = {"shape": (height, width), "pictures": [], "whole": None}
    wanted = dict.fromkeys(want.picture for want in wants)
    at = 0
    for key in wanted:
        if key is None:
            continue
        side, pixel_format = key
        picture = frame.picture(side, pixel_format)
        end = at + picture.size
        if end > slot.size:
            return None
        slot[at:end] = picture.reshape(-1)
        written["pictures"].append([None if side >= max(width, height) else side, pixel_format, at, picture.shape])
        at = end
    if None in wanted:
        written["whole"] = _write_planes(frame, slot, at)
        if written["whole"] is None:
            return None
    return written


def _write_planes(frame: Frame, slot: Bytes, at: int) -> dict[str, Any] | None:
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


def read_frame(facts: dict[str, Any], slot: Bytes) -> VideoFrame:
    """Return a frame with the pixels of a slot. ``facts`` is the ``whole`` that :func:`write_frame` returned.

    Raises:
        ValueError: the facts contradict each other.
    """
    import av

    frame = av.VideoFrame(int(facts["width"]), int(facts["height"]), str(facts["format"]))
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
    """Yield the number of rows of each plane, and its bytes as rows x row length (padding included)."""
    for plane in raw.planes:
        length = abs(plane.line_size)
        rows = plane.buffer_size // length if length else 0
        yield rows, np.frombuffer(memoryview(plane), dtype=np.uint8)[: rows * length].reshape(rows, length)

"""Shared memory in which one process writes frames and pictures, and another one reads them.

The memory is reserved and not taken: pages that no frame reaches cost nothing.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from world_api.core.ports import Image
from world_api.media.frames import Frame, Want

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

#: Slots hold at least this much (bytes), and four times a frame of a common format: some take more bytes a pixel.
_LEAST, _HEADROOM = 1 << 20, 4
#: All slots together are meant to hold about so much at the size of the first frame (bytes), within these numbers.
_TOGETHER, _FEWEST, _MOST = 64 << 20, 4, 32
_GROWTH = 1 << 20

Bytes = NDArray[np.uint8]


class Slots:
    """A file of equal slots, mapped by both processes. A slot holds what is wanted of one frame."""

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
        """The wire form, without the handle, by which each process knows the file for itself."""
        return {"count": self.count, "size": self.size}


class PictureMemory:
    """A shared file of the pictures of one frame at a time; it grows with what is written."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._memory: mmap.mmap | None = None
        self._size = 0
        self._end = 0

    def clear(self) -> None:
        """Begin with another frame."""
        self._end = 0

    def write(self, picture: Image) -> dict[str, Any]:
        """Write a picture behind those that are there; its place, as JSON can hold it."""
        start, end = self._end, self._end + picture.size
        if end > self._size:
            os.ftruncate(self._handle, -(-end // _GROWTH) * _GROWTH)
        self._bytes(start, end).reshape(picture.shape)[:] = picture
        self._end = end
        return {"at": start, "shape": picture.shape}

    def read(self, place: dict[str, Any]) -> Image:
        """A copy of the picture at a place."""
        shape = tuple(place["shape"])
        return self._bytes(place["at"], place["at"] + prod(shape)).reshape(shape).copy()

    def _bytes(self, start: int, end: int) -> Bytes:
        """Part of the file, which is mapped again where it has grown."""
        if self._memory is None or end > self._size:
            self._size = os.fstat(self._handle).st_size
            self._memory = mmap.mmap(self._handle, self._size)
        return np.frombuffer(self._memory, dtype=np.uint8)[start:end]


def anonymous_file() -> int:
    """The descriptor of a file without a name, in memory where the system has such."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("video-frames", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def write_frame(frame: Frame, slot: Bytes, wants: Sequence[Want]) -> dict[str, Any] | None:
    """Write what is wanted of a frame into a slot: small pictures, and the planes of the whole frame if a want asks for it.

    Returns what is needed to read it again, as JSON can hold it; None if it does not fit.
    """
    height, width = frame.shape
    written: dict[str, Any] = {"shape": (height, width), "pictures": [], "whole": None}
    wanted = dict.fromkeys(want.picture for want in wants)
    at = 0
    for asked in wanted:
        if asked is None:
            continue
        side, pixel_format = asked
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
    """A frame with the pixels of a slot, by the ``whole`` of what :func:`write_frame` returned.

    Raises:
        ValueError: facts that do not fit together.
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
    """The number of rows of each plane, and its bytes as rows x row length (padding included)."""
    for plane in raw.planes:
        length = abs(plane.line_size)
        rows = plane.buffer_size // length if length else 0
        yield rows, np.frombuffer(memoryview(plane), dtype=np.uint8)[: rows * length].reshape(rows, length)

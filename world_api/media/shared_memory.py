"""Shared memory in which one process writes frames and pictures, and another one reads them.

The memory is reserved, not allocated: pages that are never written cost nothing.
"""

from __future__ import annotations

import mmap
import os
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
    """A file of slots of equal size, mapped by two processes. A slot holds the wanted pictures of one frame.

    ``handle`` is the file's descriptor; each process has its own.
    """

    def __init__(self, *, handle: int, count: int, size: int) -> None:
        self.count, self.size = count, size
        self.slots: list[Bytes] = list(
            np.frombuffer(mmap.mmap(handle, count * size), dtype=np.uint8).reshape(count, size)
        )

    @classmethod
    def for_frames(cls, width: int, height: int, *, handle: int) -> Slots:
        """Resize the file ``handle`` and return its slots, as many and as large as suits frames of this size in pixels."""
        frame = width * height * 3 // 2
        count = max(_FEWEST, min(_MOST, _TOGETHER // max(frame, 1)))
        size = -(-max(_LEAST, _HEADROOM * frame) // mmap.PAGESIZE) * mmap.PAGESIZE
        os.ftruncate(handle, count * size)
        return cls(handle=handle, count=count, size=size)


def write_frame(frame: Frame, slot: Bytes, wants: Sequence[Want]) -> dict[str, Any] | None:
    """Write the wanted pictures of a frame into a slot, and the planes of the whole frame if a want needs it.

    Return their positions (bytes from the start of the slot) and shapes, as values for JSON, or None if they do not fit.
    """
    written: dict[str, Any] = {"shape": frame.shape, "pictures": [], "whole": None}
    at = 0

    def put(values: Bytes) -> int | None:
        nonlocal at
        start, at = at, at + values.size
        if at > slot.size:
            return None
        slot[start:at].reshape(values.shape)[:] = values
        return start

    wanted = dict.fromkeys(want.picture for want in wants)
    for side, pixel_format in (picture for picture in wanted if picture is not None):
        made = frame.picture(side, pixel_format)
        if (place := put(made)) is None:
            return None
        written["pictures"].append([None if side >= max(frame.shape) else side, pixel_format, place, made.shape])
    if None in wanted:
        raw = frame.video_frame()
        if raw.format.has_palette or raw.format.is_bit_stream:
            raw = raw.reformat(format="rgb24")
        written["whole"] = {
            "format": raw.format.name, "width": raw.width, "height": raw.height, "at": at, "turn": frame.turn,
            "planes": [[view.shape[1], rows] for rows, view in _planes(raw)],
            "colorspace": int(raw.colorspace), "range": int(raw.color_range),
        }  # fmt: skip
        if any(put(view) is None for _, view in _planes(raw)):
            return None
    return written


def read_frame(facts: dict[str, Any], slot: Bytes) -> VideoFrame:
    """Return a frame with the pixels of a slot. ``facts`` is the value of ``whole`` in what :func:`write_frame` returned.

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

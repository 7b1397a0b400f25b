"""Pictures that two processes look at: in shared memory, one after another, for one frame at a time."""

from __future__ import annotations

import mmap
import os
from math import prod
from typing import Any

import numpy as np

from world_api.build.media.frames import PixelFormat
from world_api.core.ports import Image

PictureKey = tuple[int | None, PixelFormat]  #: longest side (None: as it is) and pixel format
Place = dict[str, Any]  #: where a picture lies, as JSON can hold it

_STEP = 1 << 20


class PictureMemory:
    """A shared file of pictures; it grows with what is laid into it."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._memory: mmap.mmap | None = None
        self._size = 0
        self._end = 0

    def clear(self) -> None:
        """Begin with another frame."""
        self._end = 0

    def lay(self, picture: Image) -> Place:
        """Copy a picture behind those that are there; where it lies."""
        start, end = self._end, self._end + picture.size
        self._reach(end)
        self._bytes(start, end).reshape(picture.shape)[:] = picture
        self._end = end
        return {"at": start, "shape": picture.shape}

    def take(self, place: Place) -> Image:
        """A copy of the picture that lies there."""
        shape = tuple(place["shape"])
        end = place["at"] + prod(shape)
        self._map(end)
        return self._bytes(place["at"], end).reshape(shape).copy()

    def _reach(self, end: int) -> None:
        """Make room up to a place."""
        if end > self._size:
            os.ftruncate(self._handle, -(-end // _STEP) * _STEP)
            self._map(end)

    def _map(self, end: int) -> None:
        """See the file as far as it reaches by now, where less than is needed was seen before."""
        if end > self._size:
            self._size = os.fstat(self._handle).st_size
            self._memory = mmap.mmap(self._handle, self._size)

    def _bytes(self, start: int, end: int) -> Image:
        assert self._memory is not None  # noqa: S101 - whoever asks has mapped it
        return np.frombuffer(self._memory, dtype=np.uint8)[start:end]

"""Cutting out of a frame what is around a box."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from world_api.core.ports import Image

_MARGIN = 0.35  #: of a box's size, shown around what is cut out
_SMALLEST_PART = 32  #: pixels; a smaller part shows nothing


def part_of(image: Image, box: Sequence[float]) -> Image:
    """What is around a box, with a margin, inside the frame."""
    height, width = image.shape[:2]
    x1, y1, x2, y2 = box
    across, down = _MARGIN * (x2 - x1) + 1, _MARGIN * (y2 - y1) + 1
    left, right = _bounds(x1 - across, x2 + across, width)
    top, bottom = _bounds(y1 - down, y2 + down, height)
    return np.ascontiguousarray(image[top:bottom, left:right])


def _bounds(first: float, last: float, size: int) -> tuple[int, int]:
    """Whole pixels inside the frame, at least ``_SMALLEST_PART`` of them where it has so many."""
    middle, half = (first + last) / 2, max((last - first) / 2, _SMALLEST_PART / 2)
    low, high = math.floor(middle - half), math.ceil(middle + half)
    low, high = max(0, min(low, size - _SMALLEST_PART)), min(size, max(high, _SMALLEST_PART))
    return low, high

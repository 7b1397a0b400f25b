"""Where a picture may hold text, and whether a place looks as it did before: cheap looks at a small grey picture.

Text is strokes, thin and close together, in rows wider than high. Leaves, blinds and shelves are so, too: what is found
here is asked about, once, and left alone while it stays the same.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from world_api.core.boxes import Box

Gray = NDArray[np.uint8]

#: A stroke is narrower than this (pixels) and stands out by so many grey levels.
_STROKE, _CONTRAST = 7, 40
#: Around a pixel (width, height) such a share of pixels are strokes, where there is text.
_AROUND = (25, 7)
_DENSITY = (0.22, 0.75)
#: The least row of text: pixels wide and high, width over height; the most of the picture's height that is one row.
_LEAST_WIDTH, _LEAST_HEIGHT, _LONG, _HIGHEST = 20, 4, 1.3, 0.35
#: Mean change (grey levels) of one block of so many pixels that makes a place another one.
_BLOCK, _CHANGED = 8, 24.0


def likely_places(gray: Gray) -> list[Box]:
    """Rows of the picture that may be text (pixels); takes about half a millisecond at 320 x 180."""
    density = cv2.boxFilter(_strokes(gray), cv2.CV_32F, _AROUND)
    rows = cv2.inRange(density, *_DENSITY)
    rows = cv2.morphologyEx(rows, cv2.MORPH_OPEN, np.ones((3, 9), np.uint8))
    _, _, found, _ = cv2.connectedComponentsWithStats(rows)
    return [
        Box(x1=float(x), y1=float(y), x2=float(x + width), y2=float(y + height))
        for x, y, width, height in (row[:4] for row in found[1:])
        if width >= max(_LEAST_WIDTH, _LONG * height) and _LEAST_HEIGHT <= height <= _HIGHEST * gray.shape[0]
    ]


def looks_same(one: Gray, other: Gray, place: Box) -> bool:
    """Whether no block of a place differs between two pictures of the same size."""
    if one.shape != other.shape:
        return False
    change = cv2.absdiff(_part(one, place), _part(other, place))
    return change.size == 0 or float(cv2.blur(change, (_BLOCK, _BLOCK)).max()) < _CHANGED


def ink(gray: Gray, place: Box) -> int:
    """How many pixels of a place are strokes."""
    return int(_part(_strokes(gray), place).sum())


def _strokes(gray: Gray) -> Gray:
    """1 where a thin stroke is, dark or light."""
    across = cv2.getStructuringElement(cv2.MORPH_RECT, (_STROKE, 1))
    dark = cv2.subtract(cv2.morphologyEx(gray, cv2.MORPH_CLOSE, across), gray)
    light = cv2.subtract(gray, cv2.morphologyEx(gray, cv2.MORPH_OPEN, across))
    return np.asarray(cv2.threshold(cv2.max(dark, light), _CONTRAST, 1, cv2.THRESH_BINARY)[1], dtype=np.uint8)


def _part(gray: Gray, place: Box) -> Gray:
    top, left = max(0, int(place.y1)), max(0, int(place.x1))
    return gray[top : max(top, int(np.ceil(place.y2))), left : max(left, int(np.ceil(place.x2)))]

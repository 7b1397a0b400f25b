"""Descriptors of whole pictures: colours and the layout of edges."""

from __future__ import annotations

from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from world_api.core.ports import Image

_GRID, _ORIENTATIONS, _COLOUR_STEPS = 4, 4, 4
#: Lightness fills its range; the two colour axes of natural pictures stay near the middle.
_LAB_RANGES = ((0, 255), (96, 159), (96, 175))
#: Added to every cell, so that a picture without edges has a flat layout.
_EDGE_FLOOR = 50.0

Look = NDArray[np.float32]  #: of unit length


def look_of(picture: Image) -> Look:
    """Return a descriptor of the colours and edges of a small BGR picture: 128 numbers, a vector of length 1.

    Half is a colour histogram (4 x 4 x 4 in CIE Lab), half the strength of edges by direction in a 4 x 4 grid. Both are
    under a square root, so that the cosine of two looks is the Bhattacharyya coefficient of their histograms.
    """
    halves = [_colours(picture), _edges(picture)]
    vector = np.concatenate([np.sqrt(half / max(float(half.sum()), 1e-9) / 2) for half in halves])
    length = float(np.linalg.norm(vector))
    return (vector / length if length > 0 else vector).astype(np.float32)


def _colours(picture: Image) -> NDArray[np.float64]:
    lab = cv2.LUT(cv2.cvtColor(cv2.GaussianBlur(picture, (3, 3), 0), cv2.COLOR_BGR2LAB), _clipped())
    ranges = [float(end) for low, high in _LAB_RANGES for end in (low, high + 1)]
    histogram = cv2.calcHist([lab], [0, 1, 2], None, [_COLOUR_STEPS] * 3, ranges)
    return np.asarray(histogram, dtype=np.float64).ravel()


@cache
def _clipped() -> NDArray[np.uint8]:
    """Return a table (1 x 256 x 3) from each value of each CIE Lab channel to the nearest in that channel's range of the histogram."""
    table = np.stack([np.arange(256).clip(low, high) for low, high in _LAB_RANGES], axis=-1)
    return table.astype(np.uint8)[None]


def _edges(picture: Image) -> NDArray[np.float64]:
    gray = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)
    right, down = cv2.Sobel(gray, cv2.CV_16S, 1, 0), cv2.Sobel(gray, cv2.CV_16S, 0, 1)
    cells = _first_bins(*gray.shape) + _directions(right, down)
    # Squares of whole numbers are exact; OpenCV's magnitude differs in the last bit by where the picture is in memory.
    across, along = right.astype(np.float32), down.astype(np.float32)
    strength = np.sqrt(across * across + along * along)
    layout = np.bincount(cells.ravel(), weights=strength.ravel(), minlength=_GRID * _GRID * _ORIENTATIONS)
    return np.asarray(layout, dtype=np.float64) + _EDGE_FLOOR


def _directions(right: NDArray[np.int16], down: NDArray[np.int16]) -> NDArray[np.uint8]:
    """Return the direction of each gradient, without its sign, as one of four bins of 45 degrees: 0 to 3 from horizontal.

    A pixel without gradient gets 3. Comparing signs and sizes takes a fifteenth of the time that arctangents do.
    """
    falling = (((right ^ down) < 0) & (down != 0)) | (right == 0)
    across, along = np.abs(down), np.abs(right)
    flat = (across < along) | (falling & (across == along))
    eighths: NDArray[np.uint8] = (falling.view(np.uint8) << 1) | (falling == flat).view(np.uint8)
    return eighths


@cache
def _first_bins(height: int, width: int) -> NDArray[np.int64]:
    """Return for each pixel the index of the first of the four bins of its cell in the 4 x 4 grid, counted over all cells."""
    rows, columns = np.arange(height) * _GRID // height, np.arange(width) * _GRID // width
    return (rows[:, None] * _GRID + columns[None, :]) * _ORIENTATIONS

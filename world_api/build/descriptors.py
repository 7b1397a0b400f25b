"""Descriptors of whole pictures: colours and the layout of edges."""

from __future__ import annotations

from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from world_api.build.colours import lab_of
from world_api.core.ports import Image

_GRID, _ORIENTATIONS, _COLOUR_STEPS = 4, 4, 4
#: The lowest level of each channel of Lab that the steps divide, and the steps for each level: lightness fills its range, the two
#: colour axes of natural pictures stay near the middle.
_LOWEST = np.array([0, 96, 96], dtype=np.float32)
_STEPS_A_LEVEL = _COLOUR_STEPS / np.array([256, 64, 80], dtype=np.float32)
#: What a step in each channel adds to the place in the histogram.
_PLACES = np.array([_COLOUR_STEPS**2, _COLOUR_STEPS, 1], dtype=np.float32)
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
    smooth = cv2.GaussianBlur(picture, (3, 3), 0)[::2, ::2]  # of neighbours that were averaged, one of four is enough
    steps = np.floor((lab_of(smooth.reshape(-1, 3)) - _LOWEST) * _STEPS_A_LEVEL).clip(0, _COLOUR_STEPS - 1)
    places = (steps @ _PLACES).astype(np.intp)
    return np.bincount(places, minlength=_COLOUR_STEPS**3).astype(np.float64)


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

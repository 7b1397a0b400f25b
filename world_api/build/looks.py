"""The stage that writes ``looks``: how the picture looks about once a second."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from world_api.build.stage import Clip, Record, Records, Sampling, StageSpec
from world_api.core.spans import known_time, round_time
from world_api.media.frames import Frame
from world_api.world.tables import DESCRIPTOR_DIMENSION

if TYPE_CHECKING:
    from world_api.core.ports import Image

LOOK_SIDE = 160
_GRID, _ORIENTATIONS, _COLOUR_STEPS = 4, 4, 4
#: Lightness fills its range; the two colour axes of natural pictures stay near the middle.
_LAB_RANGES = ((0, 255), (96, 159), (96, 175))
#: A little edge everywhere, so that a flat picture has a flat layout rather than none.
_EDGE_FLOOR = 50.0

Look = NDArray[np.float32]  #: of unit length


class Looks:
    """One descriptor a second."""

    spec = StageSpec(
        name="looks",
        version=2,
        tables=("looks",),
        sampling=Sampling(fps=1.0, max_side=LOOK_SIDE),
        parameters={"max_side": LOOK_SIDE},
        quick=True,
        libraries=("opencv-python-headless", "av", "numpy"),
        modules=("world_api.build.looks",),
    )

    def open(self, clip: Clip) -> LooksWorker:
        """A fresh worker."""
        return LooksWorker(self.spec.producer)


class LooksWorker:
    """Describes every frame it is fed."""

    def __init__(self, producer: str) -> None:
        self._producer = producer
        self._rows: list[Record] = []

    def see(self, frame: Frame) -> None:
        """Take one frame."""
        self._rows.append(
            {
                "time": round_time(frame.time),
                "vector": look_of(frame.picture(LOOK_SIDE)),
                "known_at": known_time(frame.time),
                "producer": self._producer,
            }
        )

    def finish(self) -> Records:
        """The looks of the clip's span."""
        return {"looks": self._rows}


def look_of(picture: Image) -> Look:
    """Colour and edge layout of a small BGR picture: 128 numbers of unit length.

    Half is a colour histogram (4 x 4 x 4 in CIE Lab), half the strength of edges by direction in a 4 x 4 grid; both under
    a square root, so that the cosine of two looks is the Bhattacharyya coefficient of their histograms.
    """
    halves = [_colours(picture), _edges(picture)]
    vector = np.concatenate([np.sqrt(half / max(float(half.sum()), 1e-9) / 2) for half in halves])
    length = float(np.linalg.norm(vector))
    assert vector.size == DESCRIPTOR_DIMENSION  # noqa: S101 - the table's schema fixes it
    return (vector / length if length > 0 else vector).astype(np.float32)


def _colours(picture: Image) -> NDArray[np.float64]:
    lab = cv2.LUT(cv2.cvtColor(cv2.GaussianBlur(picture, (3, 3), 0), cv2.COLOR_BGR2LAB), _clipped())
    ranges = [float(end) for low, high in _LAB_RANGES for end in (low, high + 1)]
    histogram = cv2.calcHist([lab], [0, 1, 2], None, [_COLOUR_STEPS] * 3, ranges)
    return np.asarray(histogram, dtype=np.float64).ravel()


@cache
def _clipped() -> NDArray[np.uint8]:
    """A table that brings each of the three values into its range."""
    table = np.stack([np.arange(256).clip(low, high) for low, high in _LAB_RANGES], axis=-1)
    return table.astype(np.uint8)[None]


def _edges(picture: Image) -> NDArray[np.float64]:
    gray = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)
    right, down = cv2.Sobel(gray, cv2.CV_16S, 1, 0), cv2.Sobel(gray, cv2.CV_16S, 0, 1)
    cells = _first_bins(*gray.shape) + _directions(right, down)
    # Squares of whole numbers are exact; OpenCV's magnitude differs in the last bit by where the picture lies in memory.
    across, along = right.astype(np.float32), down.astype(np.float32)
    strength = np.sqrt(across * across + along * along)
    layout = np.bincount(cells.ravel(), weights=strength.ravel(), minlength=_GRID * _GRID * _ORIENTATIONS)
    return np.asarray(layout, dtype=np.float64) + _EDGE_FLOOR


def _directions(right: NDArray[np.int16], down: NDArray[np.int16]) -> NDArray[np.uint8]:
    """Which eighth of a turn a gradient lies in, whatever its sign: 0 to 3 from level on. Signs tell it without angles."""
    falling = (((right ^ down) < 0) & (down != 0)) | (right == 0)
    across, along = np.abs(down), np.abs(right)
    flat = (across < along) | (falling & (across == along))
    eighths: NDArray[np.uint8] = (falling.view(np.uint8) << 1) | (falling == flat).view(np.uint8)
    return eighths


@cache
def _first_bins(height: int, width: int) -> NDArray[np.int64]:
    """Where the bins of each pixel's cell of the grid begin."""
    rows, columns = np.arange(height) * _GRID // height, np.arange(width) * _GRID // width
    return (rows[:, None] * _GRID + columns[None, :]) * _ORIENTATIONS

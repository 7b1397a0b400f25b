"""How a picture as a whole went from one moment to another: corners followed by optical flow.

Sources: Shi and Tomasi, "Good features to track" (1994); Lucas and Kanade's pyramidal flow as in OpenCV; a motion of four
parameters (shift, turn, zoom) by RANSAC.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from world_api.core.ports import Image

#: The picture's parts (rows, columns), how strong a corner must be, and how many parts must have one.
PARTS, _CORNER, _FEWEST_CORNERS = (5, 8), 4e-4, 8
#: A corner has moved when it went further than this; it fits a motion when it lies no further off than that (pixels).
_SHIFT, _FITS = 0.3, 0.5

Points = NDArray[np.float32]  #: n x 1 x 2, (x, y)


@dataclass(frozen=True)
class Look:
    """A gray picture and its moment (seconds)."""

    time: float
    gray: Image
    _flows: dict[float, Flow] = field(default_factory=dict, repr=False)

    @cached_property
    def corners(self) -> Points:
        """The strongest corner of each part of the picture, where it is strong enough."""
        strength = cv2.cornerMinEigenVal(self.gray, 5)
        rows, columns = PARTS
        height, width = strength.shape[0] // rows, strength.shape[1] // columns
        if height == 0 or width == 0:
            return np.empty((0, 1, 2), dtype=np.float32)
        cells = strength[: rows * height, : columns * width].reshape(rows, height, columns, width)
        cells = cells.transpose(0, 2, 1, 3).reshape(rows * columns, height * width)
        best = cells.argmax(axis=1)
        strong = np.flatnonzero(cells[np.arange(len(cells)), best] > _CORNER)
        x = (strong % columns) * width + best[strong] % width
        y = (strong // columns) * height + best[strong] // width
        return np.stack([x, y], axis=1).astype(np.float32).reshape(-1, 1, 2)

    def flow_from(self, earlier: Look) -> Flow:
        """Where the corners of an earlier look of the same video went; worked out once."""
        if earlier.time not in self._flows:
            self._flows[earlier.time] = Flow(earlier, self)
        return self._flows[earlier.time]


@dataclass(frozen=True, kw_only=True)
class Motion:
    """A motion of the whole picture: where a point (x, y) goes is ``matrix @ (x, y, 1)``.

    ``gain``: the share of corners that it explains beyond those that a picture standing still explains; ``fit``: the
    share that it explains at all.
    """

    matrix: NDArray[np.float64]
    shape: tuple[int, int]
    gain: float
    fit: float

    @property
    def shift(self) -> tuple[float, float]:
        """How far the picture's middle goes: right and down, in pixels."""
        height, width = self.shape
        middle = np.array([width / 2, height / 2])
        right, down = self.matrix[:, :2] @ middle + self.matrix[:, 2] - middle
        return float(right), float(down)

    @property
    def zoom(self) -> float:
        """The factor by which things grow."""
        return float(math.hypot(self.matrix[0, 0], self.matrix[1, 0]))

    @property
    def turn(self) -> float:
        """The angle (radians) by which the picture turns clockwise."""
        return float(math.atan2(self.matrix[1, 0], self.matrix[0, 0]))

    @property
    def reach(self) -> float:
        """How far the picture's own corner that goes furthest goes, in pixels."""
        height, width = self.shape
        ends = np.array([[0, 0], [width, 0], [0, height], [width, height]], dtype=np.float64)
        return float(np.abs(ends @ self.matrix[:, :2].T + self.matrix[:, 2] - ends).max())


class Flow:
    """Where the corners of an earlier look went in a later one."""

    def __init__(self, earlier: Look, later: Look) -> None:
        self._corners = earlier.corners
        self._shape = (earlier.gray.shape[0], earlier.gray.shape[1])
        self.known = len(self._corners) >= _FEWEST_CORNERS
        if self.known:
            reached, found, _ = cv2.calcOpticalFlowPyrLK(
                earlier.gray, later.gray, self._corners, None, winSize=(9, 9), maxLevel=2
            )
            self._reached, self._found = reached, found[:, 0] > 0
            self._way = np.abs(reached - self._corners)[:, 0].max(axis=1)

    @property
    def moved(self) -> float:
        """The share of corners that moved; 0 where there are too few to tell."""
        # A corner that is lost has been covered or has gone far.
        return np.count_nonzero((self._way > _SHIFT) | ~self._found) / len(self._corners) if self.known else 0.0

    @cached_property
    def motion(self) -> Motion | None:
        """The motion of the whole picture that explains most corners, or None."""
        if not self.known or np.count_nonzero(self._found) < _FEWEST_CORNERS:
            return None
        matrix, fits = cv2.estimateAffinePartial2D(
            self._corners[self._found], self._reached[self._found], ransacReprojThreshold=_FITS
        )
        if matrix is None:
            return None
        still = int(np.count_nonzero((self._way < _FITS) & self._found))
        fitting = int(np.count_nonzero(fits))
        every = len(self._corners)
        return Motion(matrix=matrix, shape=self._shape, gain=(fitting - still) / every, fit=fitting / every)

"""Where one figure is drawn large, part by part, before it is reduced into the frame.

A figure is built in its own units: the origin is the floor between the feet, y points up, 1 is the figure's size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from eval.sandbox.drawing.palette import Colour
from world_api.core.boxes import Box
from world_api.core.ports import Image

Point = tuple[float, float]

_FINE = 3  #: figures are drawn three times larger, then reduced
_SEEN = 0.3  #: the part of a thing that must be in the frame for it to count as seen
_LIGHT = (-5, -7)  #: where the light comes from, in fine pixels

_TURNS = np.linspace(0, 2 * math.pi, 24, endpoint=False)
_RIM = np.stack([np.cos(_TURNS), np.sin(_TURNS)], axis=1)  #: a circle of radius 1


class Sheet:
    """Where one figure is drawn large, part by part, before it is reduced into the frame."""

    def __init__(self, feet: Point, size: float, *, broad: float = 1.0) -> None:
        self.left, self.top = math.floor(feet[0] - 0.62 * size), math.floor(feet[1] - 1.12 * size)
        self.width, self.height = math.ceil(1.24 * size) + 1, math.ceil(1.2 * size) + 1
        self.feet, self.size, self.broad = feet, size, broad
        self.colour = np.zeros((self.height * _FINE, self.width * _FINE, 3), np.uint8)
        self.cover = np.zeros((self.height * _FINE, self.width * _FINE), np.uint8)

    def hull(self, circles: Sequence[tuple[Point, float]], colour: Colour, *, flat: bool = False) -> None:
        """Paint the convex hull of some circles (centre and radius in units of height)."""
        points = np.concatenate([np.asarray([self._place(centre)]) + _RIM * self._length(r) for centre, r in circles])
        self._fill(cv2.convexHull(points.astype(np.float32))[:, 0, :], colour, flat)

    def polygon(self, points: Sequence[Point], colour: Colour, *, flat: bool = False) -> None:
        """Paint a polygon given in units of height."""
        self._fill(np.asarray([self._place(point) for point in points], np.float32), colour, flat)

    def _place(self, point: Point) -> Point:
        x = (self.feet[0] + point[0] * self.size * self.broad - self.left) * _FINE
        y = (self.feet[1] - point[1] * self.size - self.top) * _FINE
        return x, y

    def _length(self, value: float) -> float:
        return value * self.size * _FINE

    def _fill(self, points: NDArray[np.float32], colour: Colour, flat: bool) -> None:
        low = np.maximum(np.floor(points.min(axis=0)).astype(int) - 1, 0)
        high = np.minimum(np.ceil(points.max(axis=0)).astype(int) + 2, [self.cover.shape[1], self.cover.shape[0]])
        if (high <= low).any():
            return
        mask = np.zeros((high[1] - low[1], high[0] - low[0]), np.uint8)
        cv2.fillPoly(mask, [np.round((points - low) * 16).astype(np.int32)], 255, cv2.LINE_8, 4)
        region = (slice(low[1], high[1]), slice(low[0], high[0]))
        light = np.ones(mask.shape, np.float32) if flat else _light(mask)
        paint = cv2.merge([cv2.convertScaleAbs(light, alpha=channel) for channel in colour])
        cv2.copyTo(paint, mask, self.colour[region])
        cv2.copyTo(mask, mask, self.cover[region])

    def stamp(self, frame: Image) -> Box | None:
        """Reduce into the frame; returns the box of what is there, or None when most of it is outside the frame."""
        x1, y1 = max(self.left, 0), max(self.top, 0)
        x2 = min(self.left + self.width, frame.shape[1])
        y2 = min(self.top + self.height, frame.shape[0])
        if x2 <= x1 or y2 <= y1:
            return None
        small = (self.width, self.height)
        alpha = cv2.resize(self.cover, small, interpolation=cv2.INTER_AREA).astype(np.float32) / 255
        paint = cv2.resize(self.colour, small, interpolation=cv2.INTER_AREA)
        part = (slice(y1 - self.top, y2 - self.top), slice(x1 - self.left, x2 - self.left))
        whole, alpha, paint = float(alpha.sum()), alpha[part], paint[part]
        region = frame[y1:y2, x1:x2]
        region[:] = np.clip(region * (1 - alpha[:, :, None]) + paint + 0.5, 0, 255).astype(np.uint8)
        return _ink(alpha > 0.5, x1, y1) if alpha.sum() >= _SEEN * whole else None


def _light(mask: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Brighter towards the light, darker at the far rim: 0.7 to 1.04."""
    reach = max(9, min(61, int(min(mask.shape) * 0.35) | 1))
    soft = cv2.blur(mask, (reach, reach), borderType=cv2.BORDER_CONSTANT).astype(np.float32) / 255
    move = np.asarray([[1, 0, _LIGHT[0]], [0, 1, _LIGHT[1]]], np.float32)
    lit = cv2.warpAffine(soft, move, (mask.shape[1], mask.shape[0]))
    return np.asarray(0.70 + 0.34 * lit, np.float32)


def _ink(mask: NDArray[np.bool_], left: int, top: int) -> Box | None:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        return None
    return Box(
        x1=float(left + columns[0]),
        y1=float(top + rows[0]),
        x2=float(left + columns[-1] + 1),
        y2=float(top + rows[-1] + 1),
    )

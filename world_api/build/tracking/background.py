"""A background picture of a steady scene, kept up selectively, and what stands out from it.

Selective update with ghost removal follows Cucchiara et al., "Detecting moving objects, ghosts, and shadows in video
streams" (2003): pixels of things are left alone, pixels of the background follow slowly, and a "thing" whose outline is
in the background picture and not in the frame is a ghost, whose place takes the frame's pixels at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from world_api.core.ports import Image

Mask = NDArray[np.uint8]
Floats = NDArray[np.float32]
Place = tuple[slice, slice]  #: rows and columns

#: How far (of 255) a channel must be off the background to stand out.
_WEAK = 18
#: A shadow is darker by a factor in this range and keeps its colour to within so much.
_SHADOW_DARKEST, _SHADOW_LIGHTEST, _SHADOW_COLOUR = 0.6, 1.25, 16.0
#: Along a ghost's outline the background's edges are this much stronger than the frame's.
_GHOST_RATIO = 1.3
#: Seconds in which the background goes most of the way to what it sees.
_FOLLOW = 6.0
#: It moves only once so many seconds have gone by; more often costs much and changes nothing.
_STEP = 0.55
#: The gap (of 255) beyond which a pixel says nothing about noise.
_NOISE_LIMIT = 12
#: The exposure is compared on a grid this coarse (pixels); factors nearer to 1 than this are none.
_GRID, _SAME_LIGHT = 12, 0.012
_SUM = np.ones(3, dtype=np.float32)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """What stands out: ``weak`` (anything, shadows included), ``solid`` (surely a thing's pixels); 0 or 255."""

    weak: Mask
    solid: Mask

    @property
    def share(self) -> float:
        """The share of the picture that stands out, 0 to 1."""
        return cv2.countNonZero(self.solid) / self.solid.size


class Background:
    """The empty scene, as far as it is known: a BGR picture kept in floats, looked at in bytes."""

    def __init__(self, picture: Image) -> None:
        self._mean: Floats = picture.astype(np.float32)
        self._noise: Floats = np.full(picture.shape[:2], 4.0, dtype=np.float32)
        self._owed = 0.0
        self._refresh()

    @property
    def picture(self) -> Image:
        """The empty scene, height x width x 3. Do not write into it."""
        return self._known

    def difference(self, picture: Image) -> Difference:
        """Compare a picture (height x width x 3) with the background, allowing for a change of exposure."""
        expected = self._lit_like(picture)
        weak: Mask = cv2.compare(_largest_gap(picture, expected), self._limit, cv2.CMP_GT)
        return Difference(weak=weak, solid=_without_shadow(weak, picture, expected))

    def follow(self, picture: Image, things: Mask, elapsed: float) -> None:
        """Move the background towards a picture wherever no thing stands; ``elapsed`` seconds since the last time."""
        self._owed += elapsed
        if self._owed < _STEP:
            return
        rate = 1.0 - float(np.exp(-self._owed / _FOLLOW))
        free = cv2.compare(things, 0, cv2.CMP_EQ)
        gap = cv2.min(_largest_gap(picture, self._known), _NOISE_LIMIT)
        cv2.accumulateWeighted(gap, self._noise, rate, free)
        cv2.accumulateWeighted(picture, self._mean, rate, free)
        self._owed = 0.0
        self._refresh()

    def replace(self, picture: Image, where: Mask) -> None:
        """Take a picture's pixels for background at once."""
        self._mean[where > 0] = picture[where > 0]
        self._refresh()

    def edge_gain(self, picture: Image, place: Place) -> Floats:
        """How much stronger edges are in the background than in the frame; positive along the outline of a ghost."""
        gain: Floats = _edges(self._known[place]) - _GHOST_RATIO * _edges(picture[place])
        return gain

    def _refresh(self) -> None:
        self._known: Image = cv2.convertScaleAbs(self._mean)
        self._limit: Mask = cv2.max(cv2.convertScaleAbs(self._noise, alpha=4.0), _WEAK)

    def _lit_like(self, picture: Image) -> Image:
        """The background under the exposure of a picture: each channel times its median ratio over a coarse grid."""
        now = picture[::_GRID, ::_GRID].reshape(-1, 3).astype(np.float32)
        known = self._known[::_GRID, ::_GRID].reshape(-1, 3).astype(np.float32)
        gains = np.clip(_medians((now + 8.0) / (known + 8.0)), 0.75, 1.33)
        if float(np.abs(gains - 1.0).max()) < _SAME_LIGHT:
            return self._known
        steps = np.arange(256, dtype=np.float32)[None, :, None] * gains[None, None, :]
        lit: Image = cv2.LUT(self._known, np.minimum(steps + 0.5, 255).astype(np.uint8))
        return lit


def _largest_gap(one: Image, other: Image) -> Mask:
    off = cv2.absdiff(one, other)
    blue, green, red = (cv2.extractChannel(off, channel) for channel in range(3))  # cv2.split takes twice as long
    gap: Mask = cv2.max(cv2.max(blue, green), red)
    return gap


def _medians(values: Floats) -> Floats:
    """The median of each column; sorting so few costs less than what NumPy's own does around it."""
    ordered = np.sort(values, axis=0)
    middle: Floats = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
    return middle


def _without_shadow(weak: Mask, picture: Image, expected: Image) -> Mask:
    """What stands out without the places where the light changed and the colour did not."""
    places = np.flatnonzero((weak & 1).view(np.bool_))
    # np.take: several times as fast as an index of rows.
    now = np.take(picture.reshape(-1, 3), places, axis=0).astype(np.float32)
    then = np.take(expected.reshape(-1, 3), places, axis=0).astype(np.float32)
    factor = (now @ _SUM + 3.0) / (then @ _SUM + 3.0)
    off = np.abs(now - then * factor[:, None])
    off_colour = np.maximum(np.maximum(off[:, 0], off[:, 1]), off[:, 2])
    shadow = (factor > _SHADOW_DARKEST) & (factor < _SHADOW_LIGHTEST) & (off_colour < _SHADOW_COLOUR)
    solid = weak.copy()
    solid.reshape(-1)[places[shadow]] = 0
    return solid


def _edges(picture: Image) -> Floats:
    gray = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)
    horizontal = cv2.Sobel(gray, cv2.CV_32F, 1, 0, ksize=3)
    vertical = cv2.Sobel(gray, cv2.CV_32F, 0, 1, ksize=3)
    found: Floats = np.abs(horizontal) + np.abs(vertical)
    return found

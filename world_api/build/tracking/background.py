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
Planes = list[Floats]  #: blue, green, red: each height x width

#: How far (of 255) a channel must be off the background to stand out.
_WEAK = 18.0
#: A shadow is darker by a factor in this range and keeps its colour to within so much.
_SHADOW_DARKEST, _SHADOW_LIGHTEST, _SHADOW_COLOUR = 0.6, 1.25, 16.0
#: Along a ghost's outline the background's edges are this much stronger than the frame's.
_GHOST_RATIO = 1.3
#: Seconds in which the background goes most of the way to what it sees.
_FOLLOW = 6.0


@dataclass(frozen=True, kw_only=True)
class Difference:
    """What stands out: ``weak`` (anything, shadows included), ``solid`` (surely a thing's pixels); 0 or 255."""

    weak: Mask
    solid: Mask

    @property
    def share(self) -> float:
        """The share of the picture that stands out, 0 to 1."""
        return float(np.count_nonzero(self.solid)) / self.solid.size


class Background:
    """The empty scene, as far as it is known, in float BGR planes."""

    def __init__(self, picture: Image) -> None:
        self._mean = _planes(picture)
        self._noise: Floats = np.full(picture.shape[:2], 4.0, dtype=np.float32)

    def difference(self, picture: Image) -> Difference:
        """Compare a picture (height x width x 3) with the background, allowing for a change of exposure."""
        current = _planes(picture)
        expected = [plane * gain for plane, gain in zip(self._mean, self._gain(current), strict=True)]
        gap = _largest_gap(current, expected)
        limit = np.maximum(_WEAK, 4.0 * self._noise)
        weak = gap > limit
        solid = weak & ~_shadow(current, expected)
        return Difference(weak=_as_mask(weak), solid=_as_mask(solid))

    def follow(self, picture: Image, things: Mask, elapsed: float) -> None:
        """Move the background towards a picture wherever no thing stands; ``elapsed`` seconds since the last time."""
        rate = 1.0 - float(np.exp(-elapsed / _FOLLOW))
        rates = (things == 0).astype(np.float32) * np.float32(rate)
        current = _planes(picture)
        gap = np.minimum(_largest_gap(current, self._mean), 12.0)
        self._noise += (gap - self._noise) * rates
        self._mean = [mean + (plane - mean) * rates for mean, plane in zip(self._mean, current, strict=True)]

    def replace(self, picture: Image, where: Mask) -> None:
        """Take a picture's pixels for background at once."""
        place = where > 0
        for channel, mean in enumerate(self._mean):
            mean[place] = picture[..., channel][place]

    def edge_gain(self, picture: Image) -> Floats:
        """How much stronger edges are in the background than in the frame; positive along the outline of a ghost."""
        known = cv2.merge(self._mean).astype(np.uint8)
        gain: Floats = _edges(known) - _GHOST_RATIO * _edges(picture)
        return gain

    def _gain(self, current: Planes) -> list[np.float32]:
        """The exposure factor of each channel: the median ratio over a coarse grid."""
        gains = []
        for plane, mean in zip(current, self._mean, strict=True):
            ratio = np.median((plane[::6, ::6] + 8.0) / (mean[::6, ::6] + 8.0))
            gains.append(np.float32(min(max(float(ratio), 0.75), 1.33)))
        return gains


def _planes(picture: Image) -> Planes:
    return [plane.astype(np.float32) for plane in cv2.split(picture)]


def _largest_gap(one: Planes, other: Planes) -> Floats:
    blue, green, red = (cv2.absdiff(a, b) for a, b in zip(one, other, strict=True))
    gap: Floats = cv2.max(cv2.max(blue, green), red)
    return gap


def _shadow(current: Planes, expected: Planes) -> NDArray[np.bool_]:
    """Where the light changed and the colour did not."""
    factor = (current[0] + current[1] + current[2] + 3.0) / (expected[0] + expected[1] + expected[2] + 3.0)
    off_colour = _largest_gap(current, [plane * factor for plane in expected])
    inside = (factor > _SHADOW_DARKEST) & (factor < _SHADOW_LIGHTEST)
    found: NDArray[np.bool_] = inside & (off_colour < _SHADOW_COLOUR)
    return found


def _as_mask(found: NDArray[np.bool_]) -> Mask:
    return found.view(np.uint8) * np.uint8(255)


def _edges(picture: Image) -> Floats:
    gray = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)
    horizontal = cv2.Sobel(gray, cv2.CV_32F, 1, 0, ksize=3)
    vertical = cv2.Sobel(gray, cv2.CV_32F, 0, 1, ksize=3)
    found: Floats = np.abs(horizontal) + np.abs(vertical)
    return found

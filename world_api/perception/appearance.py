"""Vectors of the look of tracked things, without a model: colours of the upper, middle and lower third, and shape.

Colours are corrected for the light of the scene (grey world: the mean of the empty scene becomes grey), so that the
same thing has a similar vector in another scene. All components are square roots of shares, so that the inner product
of two vectors is a weighted Bhattacharyya coefficient: 1 for equal distributions, 0 for nothing in common.
"""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from world_api.build.colours import lab_of
from world_api.core.ports import Image, Vector

_PARTS, _BINS, _SHAPE_BINS = 3, 8, 4
#: Lab ranges (of 255) of the bins of lightness and of the two colour axes; values outside are in the outermost bin.
_RANGES = ((0.0, 255.0), (96.0, 160.0), (96.0, 160.0))
#: Weights of lightness, the two colour axes and the shape.
_WEIGHTS, _SHAPE_WEIGHT = (0.4, 0.27, 0.27), 0.06
#: Range of the bins of the shape: natural logarithm of height over width.
_SLIM = (-1.0, 1.5)
#: The mean of the empty scene is scaled to this level, each channel by at most this factor.
_GREY, _MOST = 118.0, 1.8
_FEWEST = 120  #: pixels


class ColourAppearance:
    """An ``AppearanceEmbedder`` that uses colours and shape."""

    producer = "colour-thirds/1"

    def embed(self, picture: Image, mask: Image, scene: Image) -> Vector | None:
        """Return a unit vector for the masked part of a picture; None if it or one third of its height has too few pixels.

        The mean colour of ``scene``, the background picture, is used to compensate for the light.
        """
        pixels = np.flatnonzero(cv2.erode(mask, np.ones((3, 3), np.uint8)))
        if len(pixels) < _FEWEST:
            return None
        height, width = mask.shape
        part = np.minimum(pixels // width * _PARTS // height, _PARTS - 1)
        if int(np.bincount(part, minlength=_PARTS).min()) < _FEWEST // (4 * _PARTS):
            return None
        gains = np.clip(_GREY / np.maximum(cv2.mean(scene)[:3], 1.0), 1 / _MOST, _MOST).astype(np.float32)
        lit = np.minimum(np.take(picture.reshape(-1, 3), pixels, axis=0).astype(np.float32) * gains, 255.0).astype(
            np.uint8
        )
        lab = lab_of(lit)
        channels = [
            weight / _PARTS * _shares(lab[:, channel], part, _PARTS, _BINS, span)
            for channel, (weight, span) in enumerate(zip(_WEIGHTS, _RANGES, strict=True))
        ]
        slim, whole = np.array([math.log(height / max(width, 1))]), np.zeros(1, dtype=np.int64)
        shape = _SHAPE_WEIGHT * _shares(slim, whole, 1, _SHAPE_BINS, _SLIM)
        vector = np.sqrt(np.concatenate([np.concatenate(channels, axis=1).ravel(), shape[0]]))
        found: Vector = (vector / np.linalg.norm(vector)).astype(np.float32)
        return found


def _shares(
    values: NDArray[np.floating], part: NDArray[np.int64], parts: int, bins: int, span: tuple[float, float]
) -> NDArray[np.float64]:
    """Return which share of the values of each part is in each bin (parts x bins).

    ``part``: the number of each value's part; ``span``: the range of the bins. A value counts in the two nearest bins.
    """
    place = np.clip((values - span[0]) / (span[1] - span[0]), 0.0, 1.0) * (bins - 1)
    lower = np.minimum(place.astype(np.int64), bins - 2)
    counts = np.bincount(part * bins + lower, weights=1.0 - (place - lower), minlength=parts * bins)
    counts += np.bincount(part * bins + lower + 1, weights=place - lower, minlength=parts * bins)
    table = counts.reshape(parts, bins)
    shares: NDArray[np.float64] = table / np.maximum(table.sum(axis=1, keepdims=True), 1e-9)
    return shares

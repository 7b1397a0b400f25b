"""Descriptors: of a tracked thing (the colours of its thirds and its shape), of a whole picture, and colour words.

Colours of things are corrected for the light of the scene (grey world: the mean of the empty scene becomes grey), so that the same
thing has a similar descriptor in another scene. All parts are square roots of shares, so that the dot product of two vectors is
a weighted Bhattacharyya coefficient: 1 for the same, 0 for nothing in common.
"""

from __future__ import annotations

import math
from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from world_api.build.background import Mask
from world_api.core.lexicon import COLOURS
from world_api.core.ports import Image, Vector

_PARTS, _BINS = 3, 8
_SHAPE_BINS = 4
#: Lab ranges (of 255) of the bins of lightness and of the two colour axes; values outside are in the outermost bin.
_RANGES = ((0.0, 255.0), (96.0, 160.0), (96.0, 160.0))
#: Weights of lightness, the two colour axes and the shape.
_WEIGHTS, _SHAPE_WEIGHT = (0.4, 0.27, 0.27), 0.06
#: Range of the bins of the shape: natural logarithm of height over width.
_SLIM = (-1.0, 1.5)
#: The mean of the empty scene is scaled to this level, each channel by at most this factor.
_GREY, _MOST = 118.0, 1.8
_FEWEST = 120
_THIN = np.ones((3, 3), dtype=np.uint8)


def light_gains(scene: Image) -> NDArray[np.float32]:
    """The factor for each channel under which the mean of an empty scene (BGR) is grey."""
    means = np.array(cv2.mean(scene)[:3])
    gains: NDArray[np.float32] = np.clip(_GREY / np.maximum(means, 1.0), 1 / _MOST, _MOST).astype(np.float32)
    return gains


def describe(picture: Image, mask: Mask, gains: NDArray[np.float32]) -> Vector | None:
    """Describe the masked part of a picture (BGR, same size as the mask), unit length; None if too little is visible."""
    inner = cv2.erode(mask, _THIN)
    rows, columns = np.nonzero(inner)
    if len(rows) < _FEWEST:
        return None
    lit = np.minimum(picture[rows, columns].astype(np.float32) * gains, 255.0).astype(np.uint8)
    lab = cv2.cvtColor(lit[None], cv2.COLOR_BGR2LAB)[0].astype(np.float32)
    height, width = mask.shape
    part = np.minimum(rows * _PARTS // height, _PARTS - 1)
    if int(np.bincount(part, minlength=_PARTS).min()) < _FEWEST // (4 * _PARTS):
        return None
    channels = [
        weight / _PARTS * _shares(lab[:, channel], part, low, high)
        for channel, (weight, (low, high)) in enumerate(zip(_WEIGHTS, _RANGES, strict=True))
    ]
    slim = math.log(height / max(width, 1))
    shape = _SHAPE_WEIGHT * _soft(np.array([slim]), *_SLIM, _SHAPE_BINS)[0]
    vector = np.sqrt(np.concatenate([np.concatenate(channels, axis=1).ravel(), shape]))
    found: Vector = (vector / np.linalg.norm(vector)).astype(np.float32)
    return found


def _shares(values: NDArray[np.float32], part: NDArray[np.int64], low: float, high: float) -> NDArray[np.float64]:
    """The share of each bin in each part: parts x bins."""
    place = np.clip((values - low) / (high - low), 0.0, 1.0) * (_BINS - 1)
    lower = np.minimum(place.astype(np.int64), _BINS - 2)
    upper_share = place - lower
    size = _PARTS * _BINS
    counts = np.bincount(part * _BINS + lower, weights=1.0 - upper_share, minlength=size)
    counts += np.bincount(part * _BINS + lower + 1, weights=upper_share, minlength=size)
    table = counts.reshape(_PARTS, _BINS)
    shares: NDArray[np.float64] = table / np.maximum(table.sum(axis=1, keepdims=True), 1e-9)
    return shares


def _soft(values: NDArray[np.float64], low: float, high: float, bins: int) -> NDArray[np.float64]:
    """Each value shared between the two bins nearest to it: values x bins."""
    place = np.clip((values - low) / (high - low), 0.0, 1.0) * (bins - 1)
    found: NDArray[np.float64] = np.maximum(0.0, 1.0 - np.abs(place[:, None] - np.arange(bins)[None, :]))
    return found


_GRID, _ORIENTATIONS, _COLOUR_STEPS = 4, 4, 4
#: Lightness fills its range; the two colour axes of natural pictures stay near the middle.
_LAB_RANGES = ((0, 255), (96, 159), (96, 175))
#: Added to every cell, so that a picture without edges has a flat layout.
_EDGE_FLOOR = 50.0

Look = NDArray[np.float32]  #: of unit length


def look_of(picture: Image) -> Look:
    """Colour and edge layout of a small BGR picture: 128 numbers of unit length.

    Half is a colour histogram (4 x 4 x 4 in CIE Lab), half the strength of edges by direction in a 4 x 4 grid; both under
    a square root, so that the cosine of two looks is the Bhattacharyya coefficient of their histograms.
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
    """A table that brings each of the three values into its range."""
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
    """The direction of a gradient without its sign, in eighths of a turn: 0 to 3 from horizontal on, without computing angles."""
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


#: A colour is named if it covers this share of the region; at most this many are named.
_SHARE, _MOST_COLOURS = 0.18, 3
#: The fewest pixels from which colours are named.
_FEWEST_PIXELS = 30
#: The head's share of an upright figure's height; hair and skin are no clothing.
_HEAD = 0.14
_UPRIGHT = 1.8

#: Bits of each channel that distinguish colours, and the bits that are dropped.
_BITS, _STEP = 6, 2
_WORDS = tuple(COLOURS)
_NUMBER = {word: number for number, word in enumerate(_WORDS)}
_SKIN = len(_WORDS)  # a bin of its own, never named

#: Upper end of each hue range (OpenCV's 0 to 180) and its word.
_HUES = (
    (7, "red"),
    (19, "orange"),
    (33, "yellow"),
    (86, "green"),
    (129, "blue"),
    (150, "purple"),
    (171, "pink"),
    (181, "red"),
)


def colour_words(picture: Image, mask: Mask) -> list[str]:
    """The words for the masked pixels of a picture (BGR, same size as the mask), the largest share first."""
    mask = cv2.erode(_without_head(mask), _THIN)
    pixels = np.take(picture.reshape(-1, 3), np.flatnonzero(mask), axis=0)
    if len(pixels) < _FEWEST_PIXELS:
        return []
    coarse = pixels >> _STEP
    places = (coarse[:, 0].astype(np.intp) << 2 * _BITS) | (coarse[:, 1].astype(np.intp) << _BITS) | coarse[:, 2]
    shares = np.bincount(_names()[places], minlength=len(_WORDS) + 1)[: len(_WORDS)] / len(pixels)
    order = np.argsort(-shares, kind="stable")
    return [_WORDS[number] for number in order if shares[number] >= _SHARE][:_MOST_COLOURS]


@cache
def _names() -> NDArray[np.uint8]:
    """A look-up table from coarse colours to the number of their colour word."""
    levels = (np.arange(1 << _BITS, dtype=np.uint8) << _STEP) + (1 << _STEP >> 1)
    colours = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(-1, 3).astype(np.uint8)
    return _name(colours).astype(np.uint8)


def _without_head(mask: Mask) -> Mask:
    height, width = mask.shape
    if height < _UPRIGHT * width:
        return mask
    body = mask.copy()
    body[: int(height * _HEAD)] = 0
    return body


def _name(pixels: Image) -> NDArray[np.int64]:
    """The number of the colour word of each pixel (n x 3 BGR)."""
    hsv = cv2.cvtColor(pixels[None], cv2.COLOR_BGR2HSV)[0].astype(np.int64)
    hue, saturation, value = hsv[:, 0], hsv[:, 1], hsv[:, 2]
    chroma = saturation * value // 255
    table = np.zeros(182, dtype=np.int64)
    start = 0
    for end, word in _HUES:
        table[start : end + 1] = _NUMBER[word]
        start = end + 1
    names: NDArray[np.int64] = table[hue]
    warm = (hue <= 19) | (hue >= 172)
    names[warm & (value < 150)] = _NUMBER["brown"]
    names[((hue <= 5) | (hue >= 172)) & (value < 150) & (saturation > 150)] = _NUMBER["red"]
    names[((hue <= 3) | (hue >= 165)) & (value > 170) & (saturation < 130)] = _NUMBER["pink"]
    names[(hue >= 3) & (hue <= 19) & (value > 90) & (saturation > 45) & (saturation < 160)] = _SKIN
    plain = (chroma < 22) | (saturation < 38)
    names[plain] = np.where(
        value[plain] < 70, _NUMBER["black"], np.where(value[plain] < 190, _NUMBER["grey"], _NUMBER["white"])
    )
    names[value < 46] = _NUMBER["black"]
    return names

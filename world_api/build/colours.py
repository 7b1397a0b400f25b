"""Colour words: names of the main colours of things in a picture."""

from __future__ import annotations

from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from world_api.build.background import Mask
from world_api.core.lexicon import COLOURS
from world_api.core.ports import Image

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
_HUES = {7: "red", 19: "orange", 33: "yellow", 86: "green", 129: "blue", 150: "purple", 171: "pink", 181: "red"}


def colour_words(picture: Image, mask: Mask) -> list[str]:
    """Return up to three words for the masked pixels of a picture (BGR, size of the mask), the largest share first.

    Empty if there are too few pixels. The top of an upright mask, the head of a person, is ignored.
    """
    height, width = mask.shape
    mask = mask.copy()
    mask[: int(height * _HEAD) if height >= _UPRIGHT * width else 0] = 0
    mask = cv2.erode(mask, np.ones((3, 3), np.uint8))
    return list(colour_shares(np.take(picture.reshape(-1, 3), np.flatnonzero(mask), axis=0)))


def colour_shares(pixels: Image) -> dict[str, float]:
    """Return up to three colours of pixels (n x 3, BGR) with the share that each covers, the largest first.

    Colours of skin are not named. Empty if there are too few pixels.
    """
    if len(pixels) < _FEWEST_PIXELS:
        return {}
    coarse = pixels >> _STEP
    places = (coarse[:, 0].astype(np.intp) << 2 * _BITS) | (coarse[:, 1].astype(np.intp) << _BITS) | coarse[:, 2]
    shares = np.bincount(_names()[places], minlength=len(_WORDS) + 1)[: len(_WORDS)] / len(pixels)
    order = np.argsort(-shares, kind="stable")[:_MOST_COLOURS]
    return {_WORDS[number]: float(shares[number]) for number in order if shares[number] >= _SHARE}


@cache
def _names() -> NDArray[np.uint8]:
    """Return a table of the numbers of colour words. Its index, of 18 bits, is the upper 6 bits of B, of G and of R in a row."""
    levels = (np.arange(1 << _BITS, dtype=np.uint8) << _STEP) + (1 << _STEP >> 1)
    colours = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(-1, 3).astype(np.uint8)
    return _name(colours).astype(np.uint8)


def _name(pixels: Image) -> NDArray[np.int64]:
    """Return the number of the colour word of each pixel (n x 3 BGR)."""
    hsv = cv2.cvtColor(pixels[None], cv2.COLOR_BGR2HSV)[0].astype(np.int64)
    hue, saturation, value = hsv[:, 0], hsv[:, 1], hsv[:, 2]
    chroma = saturation * value // 255
    table = np.array([_NUMBER[word] for word in _HUES.values()])
    names: NDArray[np.int64] = table[np.searchsorted(list(_HUES), hue)]
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

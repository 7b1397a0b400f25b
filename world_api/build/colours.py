"""Colour words, names of the main colours of things in a picture, and the conversion of pixels to CIE Lab.

Sources: CIE 15 (Lab, white point D65); IEC 61966-2-1 (sRGB). OpenCV converts to Lab, too, but first it fills tables, which
takes as long as converting a thousand small pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
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
#: Bits of each channel of the colours that others are compared with.
_COARSE = 5
#: How much stronger the light may be; the distance in Lab within which a colour may have another name, and that of black; the
#: lightness (0 to 100) from which a colour is not dark. All chosen, not fitted: such light is half a stop of a camera.
_LIGHTS, _NEAR, _NEAR_BLACK, _DARK = (0.7, 1.0, 1.4), 8.0, 18.0, 25.0
#: From linear blue, green and red to X, Y and Z, each divided by that of white.
_TO_XYZ = np.array(
    [[0.180423, 0.357580, 0.412453], [0.072169, 0.715160, 0.212671], [0.950227, 0.119193, 0.019334]]
) / np.array([[0.950456], [1.0], [1.088754]])
#: Levels are converted in whole steps, as by OpenCV, so that the results are equal: of linear light, X, Y and Z, and of the factors.
_LIGHT, _FACTOR = 2040, 4096

#: Returns the number of the name of each pixel (n x 3, BGR).
Naming = Callable[[Image], NDArray[np.uint8]]

_WORDS = tuple(COLOURS)
_NUMBER = {word: number for number, word in enumerate(_WORDS)}
_SKIN = len(_WORDS)  # a bin of its own, never named

#: Words for light colours, and the lightness (0 to 100) below which they are not used.
_LIGHT_WORDS, _DARK_SHADE = [_NUMBER[word] for word in ("orange", "yellow", "pink")], 40.0

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
    shares = np.bincount(np.take(_names(), _places(pixels)), minlength=len(_WORDS) + 1)[: len(_WORDS)] / len(pixels)
    order = np.argsort(-shares, kind="stable")[:_MOST_COLOURS]
    return {_WORDS[number]: float(shares[number]) for number in order if shares[number] >= _SHARE}


def colours_near(pixels: Image, words: Collection[str]) -> list[str]:
    """Return the words of colours that pixels (n x 3, BGR) may be called as well as ``words``, the names that they have."""
    names = np.take(_names(), _places(pixels))
    own = (np.median(pixels[names == _NUMBER[word]], axis=0) for word in words)
    near = {number for centre in own for number in near_names(centre, usual_names)}
    return [word for word in _WORDS if _NUMBER[word] in near and word not in words]


def usual_names(pixels: Image) -> NDArray[np.uint8]:
    """Return the number of the colour word of each pixel (n x 3 BGR); none for dark shades of orange, yellow and pink.

    These words are for light colours: a black coat is no pink one.
    """
    names = _name(pixels)
    names[np.isin(names, _LIGHT_WORDS) & (_scaled_lab(pixels)[:, 0] < _DARK_SHADE)] = _SKIN
    return names


def near_names(centre: NDArray[np.float64], name: Naming) -> frozenset[int]:
    """Return the numbers of the names that a colour (BGR) may have in other light, or as another camera shows it.

    Light may be half a stop weaker or stronger. A name is near if it is that of a colour at most ``_NEAR`` away in Lab (CIE 1976), for
    black up to ``_NEAR_BLACK``: the darker a colour, the less its hue shows. ``name`` returns the numbers of the names of pixels.
    """
    lab, squares, numbers = _named_samples(name)
    found: set[int] = set()
    for light in _LIGHTS:
        shown = _in_light(centre, light)
        here = _scaled_lab(shown[None])[0]
        dark = max(0.0, 1.0 - float(here[0]) / _DARK)
        most = _NEAR + (_NEAR_BLACK - _NEAR) * dark
        is_near = squares - 2 * (lab @ here) + here @ here <= most**2
        found.update(np.flatnonzero(np.bincount(numbers[is_near])).tolist())
    return frozenset(found)


@cache
def _named_samples(name: Naming) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.uint8]]:
    """Return Lab, its squared length, and the numbers of the names of colours at even steps of B, G and R."""
    colours = _even(_COARSE)
    lab = _scaled_lab(colours)
    return lab, (lab * lab).sum(axis=1), name(colours)


def _scaled_lab(pixels: Image) -> NDArray[np.float32]:
    """Return Lab with lightness 0 to 100 and grey at 0."""
    lab = lab_of(pixels)
    lab[:, 0] *= 100 / 255
    lab[:, 1:] -= 128
    return lab


def _in_light(colour: NDArray[np.float64], factor: float) -> Image:
    """Return a colour (BGR) in light that is stronger by a factor."""
    level = colour / 255
    linear = factor * np.where(level <= 0.04045, level / 12.92, ((level + 0.055) / 1.055) ** 2.4)
    shown = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * np.minimum(linear, 1.0) ** (1 / 2.4) - 0.055)
    found: Image = np.rint(255 * np.clip(shown, 0, 1)).astype(np.uint8)
    return found


def lab_of(pixels: Image) -> NDArray[np.float32]:
    """Return CIE Lab of pixels (n x 3 BGR) as whole numbers like OpenCV's: lightness 0 to 255, the other axes with grey at 128."""
    linear, curve, factors = _lab_tables()
    light = (np.take(linear, pixels) @ factors + 0.5).astype(np.intp)
    x, y, z = np.take(curve, light).T
    lab: NDArray[np.float32] = np.stack([296 * y - 40.8, 500 * (x - y) + 128, 200 * (y - z) + 128], axis=1)
    return np.rint(lab, out=lab)


@cache
def _lab_tables() -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Return the linear light of each of 256 levels of sRGB, Lab's curve for each step of light, and factors to X, Y and Z (3 x 3)."""
    level, share = np.arange(256) / 255, np.arange(_LIGHT + 1) / _LIGHT
    linear = np.where(level <= 0.04045, level / 12.92, ((level + 0.055) / 1.055) ** 2.4)
    curve = np.where(share > (6 / 29) ** 3, np.cbrt(share), share * (29 / 6) ** 2 / 3 + 4 / 29)
    factors = np.rint(_FACTOR * _TO_XYZ.T) / _FACTOR
    return np.rint(_LIGHT * linear).astype(np.float32), curve.astype(np.float32), factors.astype(np.float32)


@cache
def _names() -> NDArray[np.uint8]:
    """Return a table of the numbers of colour words. Its index, of 18 bits, is the upper 6 bits of B, of G and of R in a row."""
    return _name(_even(_BITS))


def _even(bits: int) -> Image:
    """Return colours (n x 3 BGR) at even steps, B before G before R; each channel has ``2 ** bits`` levels."""
    step = 8 - bits
    levels = ((np.arange(1 << bits) << step) + (1 << step >> 1)).astype(np.uint8)
    return np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(-1, 3)


def _places(pixels: Image) -> NDArray[np.intp]:
    """Return where the colours of pixels are in ``_names``."""
    coarse = (pixels >> _STEP).astype(np.intp)
    return (coarse[:, 0] << 2 * _BITS) | (coarse[:, 1] << _BITS) | coarse[:, 2]


def _name(pixels: Image) -> NDArray[np.uint8]:
    """Return the number of the colour word of each pixel (n x 3 BGR)."""
    hsv = cv2.cvtColor(pixels[None], cv2.COLOR_BGR2HSV)[0]
    hue, saturation, value = (np.ascontiguousarray(hsv[:, channel]) for channel in range(3))
    chroma = saturation.astype(np.uint16) * value // 255
    table = np.array([_NUMBER[word] for word in _HUES.values()], dtype=np.uint8)
    names: NDArray[np.uint8] = table[np.searchsorted(list(_HUES), np.arange(256)).clip(max=len(table) - 1)][hue]
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

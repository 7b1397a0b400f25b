"""Colours, the canvas for still pictures, and the sheet on which figures are drawn.

A canvas is drawn at twice its size and then reduced; its coordinates are pixels of the finished picture, with the
origin at the top left. A sheet contains one figure, in units of the figure's size: the origin is on the floor between
the feet, and y points up. Colours are BGR, 0 to 255.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image as PillowImage, ImageDraw, ImageFont

from world_api.core.ports import Image
from world_api.core.spans import Box

Colour = tuple[float, float, float]


def hexa(code: str) -> Colour:
    """Return the colour ``#rrggbb`` as (blue, green, red)."""
    red, green, blue = (int(code[place : place + 2], 16) for place in (1, 3, 5))
    return float(blue), float(green), float(red)


def shade(colour: Colour, factor: float) -> Colour:
    """Return the colour made darker (``factor`` below 1) or lighter (above 1)."""
    blue, green, red = (min(255.0, max(0.0, part * factor)) for part in colour)
    return blue, green, red


#: Colours of clothes and things, by their common names.
COLOURS: dict[str, Colour] = {
    "red": hexa("#d6322c"), "orange": hexa("#ef8a1d"), "yellow": hexa("#f2cb2e"), "green": hexa("#2f9a4a"),
    "blue": hexa("#2b66d9"), "purple": hexa("#8440b5"), "pink": hexa("#ee7fae"), "white": hexa("#f1f0ec"),
    "grey": hexa("#84878c"), "brown": hexa("#75492a"), "black": hexa("#26262b"),
}  # fmt: skip

SKINS: dict[str, Colour] = {"light": hexa("#f3cdb0"), "tan": hexa("#d9a276"), "dark": hexa("#8f5c3c")}

HAIRS: dict[str, Colour] = {
    "black": hexa("#2a2523"), "brown": hexa("#5f3d26"), "blond": hexa("#dcb462"), "grey": hexa("#b9b6b1"),
    "ginger": hexa("#b5562a"),
}  # fmt: skip


Point = tuple[float, float]


def rectangle_corners(x: float, y: float, width: float, height: float) -> list[Point]:
    """Return the corners of an upright rectangle with this upper left corner, clockwise."""
    return [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]


SCALE = 2
_FRACTION_BITS = 4  #: OpenCV draws in sixteenths of a pixel


class Canvas:
    """A still picture in the making. Positions are in pixels, right and down from its upper left corner."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self._pixels = np.zeros((height * SCALE, width * SCALE, 3), np.float32)

    def image(self) -> Image:
        """Return the finished picture: (height, width, 3), BGR, 0 to 255."""
        small = cv2.resize(self._pixels, (self.width, self.height), interpolation=cv2.INTER_AREA)
        return np.asarray(np.clip(small + 0.5, 0, 255), np.uint8)

    def gradient(self, x: float, y: float, width: float, height: float, top: Colour, bottom: Colour) -> None:
        """Fill a rectangle with upper left corner ``(x, y)``; its colour changes downwards from ``top`` to ``bottom``."""
        left, above = max(0, round(x * SCALE)), max(0, round(y * SCALE))
        region = self._pixels[above : round((y + height) * SCALE), left : round((x + width) * SCALE)]
        mix = np.linspace(0, 1, region.shape[0], dtype=np.float32)[:, None, None]
        region[:] = np.asarray(top, np.float32) * (1 - mix) + np.asarray(bottom, np.float32) * mix

    def rectangle(
        self, x: float, y: float, width: float, height: float, colour: Colour, *, radius: float = 0.0
    ) -> None:
        """Fill a rectangle with upper left corner ``(x, y)``; its corners are rounded by ``radius`` pixels."""
        if radius <= 0:
            self.polygon(rectangle_corners(x, y, width, height), colour)
            return
        outline = []
        left, top, right, bottom = x + radius, y + radius, x + width - radius, y + height - radius
        for number, (cx, cy) in enumerate(((right, bottom), (left, bottom), (left, top), (right, top))):
            for turn in number * np.pi / 2 + np.linspace(0, np.pi / 2, 8):
                outline.append((cx + radius * float(np.cos(turn)), cy + radius * float(np.sin(turn))))
        self.polygon(outline, colour)

    def polygon(self, points: Sequence[Point], colour: Colour) -> None:
        """Fill a polygon."""
        cv2.fillPoly(self._pixels, [_fixed(points)], colour, cv2.LINE_AA, _FRACTION_BITS)

    def ellipse(self, x: float, y: float, radius_x: float, radius_y: float, colour: Colour) -> None:
        """Fill an ellipse around ``(x, y)``."""
        turns = np.linspace(0, 2 * np.pi, 60, endpoint=False)
        points = [(x + radius_x * float(np.cos(turn)), y + radius_y * float(np.sin(turn))) for turn in turns]
        self.polygon(points, colour)

    def line(self, points: Sequence[Point], colour: Colour, width: float = 1.0) -> None:
        """Draw an open line that is ``width`` pixels wide."""
        thick = max(1, round(width * SCALE))
        cv2.polylines(self._pixels, [_fixed(points)], False, colour, thick, cv2.LINE_AA, _FRACTION_BITS)

    def shadow(
        self, x: float, y: float, width: float, height: float, *, blur: float = 8.0, strength: float = 0.3
    ) -> None:
        """Darken a rectangle with upper left corner ``(x, y)`` and edges ``blur`` pixels soft; ``strength``: 0 to 1 (black)."""
        mask = np.zeros(self._pixels.shape[:2], np.float32)
        cv2.fillPoly(mask, [_fixed(rectangle_corners(x, y, width, height))], 1.0, 8, _FRACTION_BITS)
        soft = np.asarray(cv2.GaussianBlur(mask, (0, 0), blur * SCALE / 2), np.float32)
        self._pixels *= 1 - strength * soft[:, :, None]

    def glow(self, x: float, y: float, radius: float, colour: Colour, *, strength: float = 0.35) -> None:
        """Mix a colour into the picture around a point: the part ``strength`` (0 to 1) at it, 13 % of that at ``radius``."""
        rows, columns = np.mgrid[0 : self.height * SCALE, 0 : self.width * SCALE].astype(np.float32) / SCALE
        mask = strength * np.exp(-(((columns - x) ** 2 + (rows - y) ** 2) / (2 * (radius / 2) ** 2)))
        self._pixels += (np.asarray(colour, np.float32) - self._pixels) * mask[:, :, None]

    def grain(self, seed: int, *, strength: float = 3.0) -> None:
        """Add a fine and a coarse texture, so that no surface is perfectly flat."""
        random = np.random.default_rng(seed)
        fine = random.normal(0, strength, (self.height, self.width)).astype(np.float32)
        coarse = cv2.GaussianBlur(random.normal(0, 1, (self.height, self.width)).astype(np.float32), (0, 0), 12)
        coarse *= 0.5 * strength / max(float(coarse.std()), 1e-6)
        texture = cv2.resize(fine + coarse, (self.width * SCALE, self.height * SCALE), interpolation=cv2.INTER_NEAREST)
        self._pixels += texture[:, :, None]

    def vignette(self, *, strength: float = 0.18) -> None:
        """Darken towards the corners, as lenses do."""
        rows = np.linspace(-1, 1, self.height * SCALE, dtype=np.float32)[:, None]
        columns = np.linspace(-1, 1, self.width * SCALE, dtype=np.float32)[None, :]
        self._pixels *= (1 - strength * ((rows**2 + columns**2) / 2) ** 1.5)[:, :, None]

    def text(self, words: str, x: float, y: float, size: float, colour: Colour) -> Box:
        """Write a line of text centred on ``(x, y)``, ``size`` pixels high; return the bounding box of its pixels."""
        font = ImageFont.load_default(size * SCALE)
        sheet = PillowImage.new("L", (self.width * SCALE, self.height * SCALE), 0)
        ImageDraw.Draw(sheet).text((x * SCALE, y * SCALE), words, fill=255, font=font, anchor="mm")
        mask = np.asarray(sheet, np.float32)
        rows, columns = np.flatnonzero(mask.max(axis=1) > 127), np.flatnonzero(mask.max(axis=0) > 127)
        self._pixels += (np.asarray(colour, np.float32) - self._pixels) * (mask / 255)[:, :, None]
        return Box(x1=columns[0] / SCALE, y1=rows[0] / SCALE, x2=(columns[-1] + 1) / SCALE, y2=(rows[-1] + 1) / SCALE)


def _fixed(points: Sequence[Point]) -> NDArray[np.int32]:
    # OpenCV puts a pixel's centre at whole numbers; a picture's coordinates begin at its edge.
    return np.asarray(np.round((np.asarray(points, np.float64) * SCALE - 0.5) * 2**_FRACTION_BITS), np.int32)


_FINE = 3  #: figures are drawn three times larger, then reduced
_SEEN = 0.3  #: the share of a figure that must be in the frame for it to count as seen
_LIGHT = (-5, -7)  #: the direction of the light, in enlarged pixels

_TURNS = np.linspace(0, 2 * math.pi, 24, endpoint=False)
_RIM = np.stack([np.cos(_TURNS), np.sin(_TURNS)], axis=1)  #: a circle of radius 1


class Sheet:
    """A sheet on which one figure is drawn enlarged, part by part, before it is reduced into the frame.

    Its points are (right, up) from ``feet`` (pixels of the frame), in units of ``size`` pixels; ``broad`` multiplies x.
    """

    def __init__(self, feet: Point, size: float, *, broad: float = 1.0) -> None:
        self.left, self.top = math.floor(feet[0] - 0.62 * size), math.floor(feet[1] - 1.12 * size)
        self.width, self.height = math.ceil(1.24 * size) + 1, math.ceil(1.2 * size) + 1
        self.feet, self.size, self.broad = feet, size, broad
        self.colour = np.zeros((self.height * _FINE, self.width * _FINE, 3), np.uint8)
        self.cover = np.zeros((self.height * _FINE, self.width * _FINE), np.uint8)

    def hull(self, circles: Sequence[tuple[Point, float]], colour: Colour, *, flat: bool = False) -> None:
        """Paint the convex hull of circles, each (centre, radius) in units of ``Sheet.size``; ``flat`` without shading."""
        points = np.concatenate(
            [np.asarray([self._place(centre)]) + _RIM * (r * self.size * _FINE) for centre, r in circles]
        )
        self._fill(cv2.convexHull(points.astype(np.float32))[:, 0, :], colour, flat)

    def polygon(self, points: Sequence[Point], colour: Colour, *, flat: bool = False) -> None:
        """Paint a polygon given in units of ``Sheet.size``; ``flat`` without shading."""
        self._fill(np.asarray([self._place(point) for point in points], np.float32), colour, flat)

    def rectangle(self, x1: float, y1: float, x2: float, y2: float, colour: Colour, *, flat: bool = False) -> None:
        """Paint an upright rectangle between two corners, in units of ``Sheet.size``; ``flat`` without shading."""
        self.polygon([(x1, y1), (x2, y1), (x2, y2), (x1, y2)], colour, flat=flat)

    def _place(self, point: Point) -> Point:
        x = (self.feet[0] + point[0] * self.size * self.broad - self.left) * _FINE
        y = (self.feet[1] - point[1] * self.size - self.top) * _FINE
        return x, y

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
        """Reduce the figure into the frame; return the box of its visible part in pixels.

        None if less than ``_SEEN`` of the figure is inside the frame.
        """
        x1, y1 = max(self.left, 0), max(self.top, 0)
        x2, y2 = min(self.left + self.width, frame.shape[1]), min(self.top + self.height, frame.shape[0])
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
    """Return the brightness of each pixel of a part, 0.7 to 1.04: bright on the side of the light, dark on the other."""
    width = max(9, min(61, int(min(mask.shape) * 0.35) | 1))
    soft = cv2.blur(mask, (width, width), borderType=cv2.BORDER_CONSTANT).astype(np.float32) / 255
    move = np.asarray([[1, 0, _LIGHT[0]], [0, 1, _LIGHT[1]]], np.float32)
    lit = cv2.warpAffine(soft, move, (mask.shape[1], mask.shape[0]))
    return np.asarray(0.70 + 0.34 * lit, np.float32)


def _ink(mask: NDArray[np.bool_], left: int, top: int) -> Box | None:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        return None
    x1, x2, y1, y2 = left + columns[0], left + columns[-1] + 1, top + rows[0], top + rows[-1] + 1
    return Box(x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2))

"""A canvas for still pictures: drawn at twice the size in soft shapes, then reduced.

All coordinates are pixels of the finished picture, origin top left.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image as PillowImage
from PIL import ImageDraw, ImageFont

from eval.sandbox.drawing.palette import Colour
from world_api.core.boxes import Box
from world_api.core.ports import Image

SCALE = 2
_FRACTION_BITS = 4  #: OpenCV draws in sixteenths of a pixel


class Canvas:
    """A picture in the making."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self._pixels = np.zeros((height * SCALE, width * SCALE, 3), np.float32)

    def image(self) -> Image:
        """The finished picture, ``height x width x 3``, BGR."""
        small = cv2.resize(self._pixels, (self.width, self.height), interpolation=cv2.INTER_AREA)
        return np.asarray(np.clip(small + 0.5, 0, 255), np.uint8)

    def gradient(self, x: float, y: float, width: float, height: float, top: Colour, bottom: Colour) -> None:
        """Fill a rectangle with a colour that changes downwards."""
        region = self._region(x, y, width, height)
        mix = np.linspace(0, 1, region.shape[0], dtype=np.float32)[:, None, None]
        region[:] = np.asarray(top, np.float32) * (1 - mix) + np.asarray(bottom, np.float32) * mix

    def rectangle(
        self, x: float, y: float, width: float, height: float, colour: Colour, *, radius: float = 0.0
    ) -> None:
        """Fill a rectangle, its corners rounded by ``radius`` pixels."""
        if radius <= 0:
            self.polygon([(x, y), (x + width, y), (x + width, y + height), (x, y + height)], colour)
            return
        turns = np.linspace(0, np.pi / 2, 8)
        corners = [
            (x + width - radius, y + height - radius, 0.0),
            (x + radius, y + height - radius, np.pi / 2),
            (x + radius, y + radius, np.pi),
            (x + width - radius, y + radius, 1.5 * np.pi),
        ]
        outline = [
            (cx + radius * float(np.cos(first + turn)), cy + radius * float(np.sin(first + turn)))
            for cx, cy, first in corners
            for turn in turns
        ]
        self.polygon(outline, colour)

    def polygon(self, points: Sequence[tuple[float, float]], colour: Colour) -> None:
        """Fill a polygon."""
        cv2.fillPoly(self._pixels, [_fixed(points)], colour, cv2.LINE_AA, _FRACTION_BITS)

    def ellipse(self, x: float, y: float, radius_x: float, radius_y: float, colour: Colour) -> None:
        """Fill an ellipse around ``(x, y)``."""
        turns = np.linspace(0, 2 * np.pi, 60, endpoint=False)
        points = [(x + radius_x * float(np.cos(turn)), y + radius_y * float(np.sin(turn))) for turn in turns]
        self.polygon(points, colour)

    def line(self, points: Sequence[tuple[float, float]], colour: Colour, width: float = 1.0) -> None:
        """Draw an open line of that width in pixels."""
        thick = max(1, round(width * SCALE))
        cv2.polylines(self._pixels, [_fixed(points)], False, colour, thick, cv2.LINE_AA, _FRACTION_BITS)

    def shadow(
        self, x: float, y: float, width: float, height: float, *, blur: float = 8.0, strength: float = 0.3
    ) -> None:
        """Darken a rectangle with soft edges: ``strength`` 1 is black."""
        mask = self._soft_rectangle(x, y, width, height, blur)
        self._pixels *= 1 - strength * mask[:, :, None]

    def glow(self, x: float, y: float, radius: float, colour: Colour, *, strength: float = 0.35) -> None:
        """Light up the surroundings of a point."""
        rows, columns = np.mgrid[0 : self.height * SCALE, 0 : self.width * SCALE].astype(np.float32) / SCALE
        mask = strength * np.exp(-(((columns - x) ** 2 + (rows - y) ** 2) / (2 * (radius / 2) ** 2)))
        self._pixels += (np.asarray(colour, np.float32) - self._pixels) * mask[:, :, None]

    def grain(self, seed: int, *, strength: float = 3.0) -> None:
        """Lay a fine and a coarse texture over everything, so that no surface is perfectly flat."""
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
        """Write a line centred on ``(x, y)``, ``size`` pixels high; returns the box of its ink."""
        font = ImageFont.load_default(size * SCALE)
        sheet = PillowImage.new("L", (self.width * SCALE, self.height * SCALE), 0)
        ImageDraw.Draw(sheet).text((x * SCALE, y * SCALE), words, fill=255, font=font, anchor="mm")
        mask = np.asarray(sheet, np.float32)
        rows, columns = np.flatnonzero(mask.max(axis=1) > 127), np.flatnonzero(mask.max(axis=0) > 127)
        self._pixels += (np.asarray(colour, np.float32) - self._pixels) * (mask / 255)[:, :, None]
        return Box(x1=columns[0] / SCALE, y1=rows[0] / SCALE, x2=(columns[-1] + 1) / SCALE, y2=(rows[-1] + 1) / SCALE)

    def _region(self, x: float, y: float, width: float, height: float) -> NDArray[np.float32]:
        left, top = max(0, round(x * SCALE)), max(0, round(y * SCALE))
        return self._pixels[top : round((y + height) * SCALE), left : round((x + width) * SCALE)]

    def _soft_rectangle(self, x: float, y: float, width: float, height: float, blur: float) -> NDArray[np.float32]:
        mask = np.zeros(self._pixels.shape[:2], np.float32)
        cv2.fillPoly(
            mask, [_fixed([(x, y), (x + width, y), (x + width, y + height), (x, y + height)])], 1.0, 8, _FRACTION_BITS
        )
        return np.asarray(cv2.GaussianBlur(mask, (0, 0), blur * SCALE / 2), np.float32)


def _fixed(points: Sequence[tuple[float, float]]) -> NDArray[np.int32]:
    # OpenCV puts a pixel's centre at whole numbers; a picture's coordinates begin at its edge.
    return np.asarray(np.round((np.asarray(points, np.float64) * SCALE - 0.5) * 2**_FRACTION_BITS), np.int32)

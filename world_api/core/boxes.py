"""Boxes in the displayed frame."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Box:
    """``[x1, y1, x2, y2]`` in pixels of the displayed (rotated) frame, origin top left."""

    x1: float
    y1: float
    x2: float
    y2: float

    @property
    def width(self) -> float:
        """Pixels; never negative."""
        return max(0.0, self.x2 - self.x1)

    @property
    def height(self) -> float:
        """Pixels; never negative."""
        return max(0.0, self.y2 - self.y1)

    @property
    def area(self) -> float:
        """Square pixels."""
        return self.width * self.height

    @property
    def center(self) -> tuple[float, float]:
        """``(x, y)`` of the middle, in pixels."""
        return (self.x1 + self.x2) / 2, (self.y1 + self.y2) / 2

    def iou(self, other: Box) -> float:
        """Intersection over union in ``[0, 1]``."""
        width = min(self.x2, other.x2) - max(self.x1, other.x1)
        height = min(self.y2, other.y2) - max(self.y1, other.y1)
        if width <= 0 or height <= 0:
            return 0.0
        shared = width * height
        return shared / (self.area + other.area - shared)

    def rounded(self) -> list[float]:
        """The wire form: four numbers, to a tenth of a pixel."""
        return [round(float(value), 1) for value in (self.x1, self.y1, self.x2, self.y2)]

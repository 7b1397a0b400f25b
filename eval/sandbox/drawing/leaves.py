"""Drawers and doors that stand open, painted over the closed ones of the empty room."""

from __future__ import annotations

from collections.abc import Sequence

from eval.sandbox.drawing.fittings import LEAF_FOOT, LEAF_TOP, drawer_front
from eval.sandbox.drawing.furniture import METAL
from eval.sandbox.drawing.palette import Colour, hexa, shade
from eval.sandbox.drawing.sheet import Point, Sheet
from eval.sandbox.sets.arranging import Arrangement, Piece
from eval.sandbox.sets.planning import LEAVES, hinge_side
from world_api.core.ports import Image

_DARK = hexa("#1d1713")
_PULLED = 15.0  #: pixels by which the front of an open drawer comes down towards the viewer
_FOLDED = 0.72  #: the part of its width that an open door loses to the eye


def paint_open(frame: Image, made: Arrangement, target: str, amount: float) -> None:
    """Paint a drawer or a door of a room open into the frame, in place; ``amount`` is 0 (closed) to 1.

    Names that the room's plan does not have are left out.
    """
    if amount <= 0:
        return
    if target in {"the left drawer", "the right drawer"}:
        for piece in made.only("chest"):
            _drawer(frame, piece, -1 if target == "the left drawer" else 1, hexa(made.style.wood), amount)
        return
    for piece in made.only(*LEAVES):
        if target == f"the {piece.name}":
            tone = {"cupboard": made.style.accent, "fridge": "#dfe4e6", "door": made.style.wood}[piece.kind]
            _leaf(frame, piece, hexa(tone), amount)


def _drawer(frame: Image, piece: Piece, side: int, wood: Colour, amount: float) -> None:
    x, y, width, height = drawer_front(piece, side)
    pull, grow = _PULLED * amount, 4.0 * amount
    pen = _Pen(x + width / 2, y + height + 30, max(width + 30, 90.0))
    pen.fill([(x, y), (x + width, y), (x + width, y + height), (x, y + height)], _DARK)
    inner = [(x + 3, y + 3), (x + width - 3, y + 3), (x + width + grow, y + pull + 3), (x - grow, y + pull + 3)]
    pen.fill(inner, shade(wood, 0.5))
    for edge in (-1, 1):
        far, near = (x + 3, x - grow) if edge < 0 else (x + width - 3, x + width + grow)
        pen.fill([(far, y + 2), (near, y + pull), (near, y + pull + 8), (far, y + 8)], shade(wood, 0.8))
    pen.fill(_rectangle(x - grow, y + pull, width + 2 * grow, height + grow * 0.4), shade(wood, 1.3))
    pen.fill(_rectangle(x - grow, y + pull, width + 2 * grow, 3), shade(wood, 1.55))
    pen.fill(_rectangle(x + width / 2 - 9, y + pull + height / 2 - 1, 18, 4), METAL)
    pen.sheet.stamp(frame)


def _leaf(frame: Image, piece: Piece, colour: Colour, amount: float) -> None:
    hinge = hinge_side(piece)
    left, right = piece.x - piece.width / 2 + 4, piece.x + piece.width / 2 - 4
    top, foot = LEAF_TOP[piece.kind], LEAF_FOOT[piece.kind]
    pen = _Pen(piece.x, foot + 24, (foot - top + 44) / 1.1)
    inside = {"door": hexa("#39424c"), "fridge": hexa("#f4f7f8")}.get(piece.kind, _DARK)
    pen.fill([(left, top), (right, top), (right, foot), (left, foot)], inside)
    if piece.kind == "door":
        pen.fill([(left, foot), (right, foot), (right - 12, foot - 26), (left + 12, foot - 26)], hexa("#6d6256"))
    else:
        for number in range(1, 4):
            y = top + (foot - top) * number / 4
            pen.fill(_rectangle(left + 2, y, right - left - 4, 5), shade(colour, 0.6))
            for place, tone in ((0.22, "#c98f3c"), (0.5, "#3f6a58"), (0.72, "#8c3b32")):
                x = left + place * (right - left)
                pen.fill(_rectangle(x - 6, y - 16 - 4 * (number % 2), 12, 16 + 4 * (number % 2)), hexa(tone))
    near, far = (right, left) if hinge > 0 else (left, right)
    edge = near + (far - near) * (1 - _FOLDED * amount)
    drop = 14 * amount
    pen.fill([(near, top), (edge, top - drop), (edge, foot + drop), (near, foot)], shade(colour, 0.82))
    pen.fill([(near, top + 12), (edge - (edge - near) * 0.3, top + 12), (edge - (edge - near) * 0.3, foot - 14),
              (near + (edge - near) * 0.2, foot - 14)], shade(colour, 0.72))  # fmt: skip
    pen.sheet.stamp(frame)


def _rectangle(x: float, y: float, width: float, height: float) -> list[Point]:
    return [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]


class _Pen:
    """Fills polygons given in pixels of the frame."""

    def __init__(self, x: float, foot: float, size: float) -> None:
        self.sheet = Sheet((x, foot), size)

    def fill(self, points: Sequence[Point], colour: Colour) -> None:
        """Fill a polygon with one colour."""
        (x, foot), size = self.sheet.feet, self.sheet.size
        self.sheet.polygon([((a - x) / size, (foot - b) / size) for a, b in points], colour, flat=True)

"""Furniture of rooms that are arranged by a variant: surfaces, chests, cupboards, doors, seats and hooks.

Each function paints one piece where ``sets.planning`` says that hands reach for it.
"""

from __future__ import annotations

import random

from eval.sandbox.drawing import furniture
from eval.sandbox.drawing.canvas import Canvas
from eval.sandbox.drawing.palette import Colour, hexa, shade
from eval.sandbox.sets.arranging import Piece
from eval.sandbox.sets.planning import HOOK_STEP, HOOK_TOP, SEATED_FEET, TOPS, leaf_handle

FOOT = 300.0  #: pixels from the top to where furniture stands
SEAT = SEATED_FEET - 38.0  #: and to what is sat on
LEAF_TOP = {"cupboard": 84.0, "fridge": 92.0, "door": 68.0}
LEAF_FOOT = {"cupboard": 294.0, "fridge": 292.0, "door": 236.0}


def surface(canvas: Canvas, piece: Piece, wood: Colour, front: Colour) -> None:
    """A desk, table, counter, workbench or sideboard."""
    left, width, edge = piece.x - piece.width / 2, piece.width, TOPS[piece.kind] + 7
    canvas.shadow(left + 4, FOOT - 8, width - 4, 16, blur=10, strength=0.4)
    if piece.kind in {"counter", "sideboard"}:
        furniture.cupboard(canvas, left + 4, edge, width - 8, FOOT - edge, max(2, round(width / 70)), front)
    else:
        thick = 12 if piece.kind == "workbench" else 8
        for leg in (left + 8, left + width - 8 - thick):
            canvas.rectangle(leg, edge, thick, FOOT - edge, shade(wood, 0.68))
    if piece.kind == "workbench":
        canvas.rectangle(left + 14, FOOT - 24, width - 28, 7, shade(wood, 0.8))
        for number, tone in enumerate(("#b9bec4", "#c2703d", "#7d8a93")):
            canvas.rectangle(left + 30 + number * 44, FOOT - 44, 30, 20, hexa(tone), radius=2)
    top = [(left + 9, edge - 17), (left + width - 9, edge - 17), (left + width, edge), (left, edge)]
    canvas.polygon(top, shade(wood, 1.25))
    canvas.rectangle(left, edge, width, 7, shade(wood, 0.95))


def chest(canvas: Canvas, piece: Piece, wood: Colour) -> None:
    """A chest: a left and a right drawer that can be opened, and two wide ones below."""
    left, width, edge = piece.x - piece.width / 2, piece.width, TOPS["chest"] + 6
    canvas.shadow(left + 2, edge + 6, width + 2, FOOT - edge, blur=10, strength=0.35)
    canvas.rectangle(left + 4, edge, width - 8, FOOT - edge, shade(wood, 0.72))
    canvas.polygon([(left + 8, edge - 15), (left + width - 8, edge - 15), (left + width, edge), (left, edge)], wood)
    canvas.rectangle(left, edge, width, 6, shade(wood, 1.18))
    for side in (-1, 1):
        x, y, wide, high = drawer_front(piece, side)
        _front(canvas, x, y, wide, high, wood)
    for top in (246.0, 273.0):
        _front(canvas, left + 9, top, width - 18, 23, shade(wood, 0.94))


def drawer_front(piece: Piece, side: int) -> tuple[float, float, float, float]:
    """Left, top, width and height of the front of a chest's left (-1) or right (1) drawer."""
    half = (piece.width - 18) / 2
    return (piece.x - half if side < 0 else piece.x + 2), 214.0, half - 2, 28.0


def _front(canvas: Canvas, x: float, y: float, width: float, height: float, wood: Colour) -> None:
    canvas.rectangle(x, y, width, height, shade(wood, 1.12), radius=2)
    canvas.rectangle(x + width / 2 - 9, y + height / 2 - 2, 18, 4, furniture.METAL, radius=2)


def tall_cupboard(canvas: Canvas, piece: Piece, colour: Colour) -> None:
    """A cupboard with one door."""
    left, top = piece.x - piece.width / 2, LEAF_TOP["cupboard"]
    canvas.shadow(left + 3, top + 8, piece.width + 3, FOOT - top, blur=10, strength=0.4)
    canvas.rectangle(left, top - 6, piece.width, FOOT - top + 4, shade(colour, 0.72), radius=2)
    canvas.gradient(
        left + 4, top, piece.width - 8, LEAF_FOOT["cupboard"] - top, shade(colour, 1.1), shade(colour, 0.95)
    )
    for y, high in ((top + 10, 84), (top + 106, 92)):
        canvas.rectangle(left + 14, y, piece.width - 28, high, shade(colour, 0.9), radius=2)
    x, y = leaf_handle(piece)
    canvas.rectangle(x - 2, y - 11, 4, 22, furniture.METAL, radius=2)


def door(canvas: Canvas, piece: Piece, wood: Colour) -> None:
    """A closed door in the wall."""
    left, top, high = piece.x - piece.width / 2 + 4, LEAF_TOP["door"], LEAF_FOOT["door"] - LEAF_TOP["door"]
    wide = piece.width - 8
    canvas.rectangle(left - 8, top - 8, wide + 16, high + 8, hexa("#efe9dd"))
    canvas.gradient(left, top, wide, high, shade(wood, 1.05), shade(wood, 0.9))
    for y, part in ((top + 14, 62.0), (top + 88, 66.0)):
        canvas.rectangle(left + 13, y, wide - 26, part, shade(wood, 0.84))
        canvas.rectangle(left + 15, y + 2, wide - 30, part - 4, shade(wood, 1.04))
    x, y = leaf_handle(piece)
    canvas.ellipse(x, y, 4, 4, hexa("#e3c26a"))


def seat(canvas: Canvas, piece: Piece, wood: Colour, cloth: Colour) -> None:
    """A chair, armchair, stool or bench; the first two are seen from the side."""
    x, side = piece.x, piece.facing
    canvas.shadow(x - piece.width * 0.4, SEATED_FEET - 5, piece.width * 0.8, 10, blur=8, strength=0.4)
    if piece.kind == "armchair":
        _armchair(canvas, x, side, cloth)
        return
    half = piece.width / 2 - 4 if piece.kind == "bench" else 23.0
    for leg in (x - half + 3, x + half - 9):
        canvas.rectangle(leg, SEAT + 4, 6, SEATED_FEET - SEAT - 4, shade(wood, 0.75))
    if piece.kind == "chair":
        back = x - side * 24
        canvas.polygon(
            [
                (back - 3, SEAT + 6),
                (back + 3, SEAT + 6),
                (back + 3 - side * 6, SEAT - 62),
                (back - 3 - side * 6, SEAT - 62),
            ],
            shade(wood, 0.85),
        )
    canvas.rectangle(x - half, SEAT - 2, half * 2, 8, cloth if piece.kind != "bench" else shade(wood, 1.1), radius=3)


def _armchair(canvas: Canvas, x: float, side: int, cloth: Colour) -> None:
    back = x - side * 34
    canvas.rectangle(x - 38, SEAT - 4, 76, SEATED_FEET - SEAT - 4, shade(cloth, 0.82), radius=8)
    canvas.polygon(
        [
            (back - 13, SEAT + 24),
            (back + 13, SEAT + 24),
            (back + 9 - side * 10, SEAT - 62),
            (back - 13 - side * 10, SEAT - 62),
        ],
        shade(cloth, 0.92),
    )
    canvas.ellipse(back - 2 - side * 10, SEAT - 62, 11, 8, shade(cloth, 0.92))
    canvas.rectangle(x - 32, SEAT - 6, 64, 13, shade(cloth, 1.15), radius=6)
    for leg in (x - 30, x + 24):
        canvas.rectangle(leg, SEATED_FEET - 8, 6, 8, furniture.DARK_WOOD)


def hooks(canvas: Canvas, piece: Piece, wood: Colour) -> None:
    """A board with three hooks."""
    canvas.shadow(piece.x - 56, HOOK_TOP - 8, 114, 18, blur=6, strength=0.3)
    canvas.rectangle(piece.x - 56, HOOK_TOP - 12, 112, 14, wood, radius=3)
    for number in (-1, 0, 1):
        x = piece.x + number * HOOK_STEP
        canvas.line([(x, HOOK_TOP - 6), (x, HOOK_TOP + 4), (x + 4, HOOK_TOP + 2)], furniture.INK, 2.5)


def plant(canvas: Canvas, piece: Piece) -> None:
    """A plant in its pot."""
    furniture.plant(canvas, piece.x, FOOT, seed=piece.seed)


def fridge(canvas: Canvas, piece: Piece) -> None:
    """A fridge, its handles at the left."""
    furniture.fridge(canvas, piece.x - piece.width / 2, LEAF_TOP["fridge"], piece.width, FOOT - LEAF_TOP["fridge"])


def bookshelf(canvas: Canvas, piece: Piece, wood: Colour) -> None:
    """A bookcase: light, and half empty, so that dark clothes can be seen in front of it."""
    chance = random.Random(piece.seed)
    left, top, rows = piece.x - piece.width / 2, 40.0, 6
    step = (FOOT - top - 8) / rows
    canvas.shadow(left + 2, top + 4, piece.width + 2, FOOT - top, blur=10, strength=0.4)
    canvas.rectangle(left, top, piece.width, FOOT - top - 2, shade(wood, 0.86))
    for row in range(rows):
        shelf = top + 6 + row * step
        canvas.rectangle(left + 5, shelf, piece.width - 10, step - 6, shade(wood, 1.16))
        place = left + 7 + chance.uniform(0, 18)
        end = place + chance.uniform(0.35, 0.6) * piece.width
        while place < min(end, left + piece.width - 16):
            wide, high = chance.uniform(6, 10), (step - 8) * chance.uniform(0.62, 0.92)
            tone = shade(chance.choice(furniture.BOOKS), chance.uniform(1.1, 1.45))
            canvas.rectangle(place, shelf + step - 6 - high, wide - 0.8, high, tone)
            place += wide

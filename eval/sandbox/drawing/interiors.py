"""Rooms that are arranged by a variant, as the camera sees them when nobody is there."""

from __future__ import annotations

from collections.abc import Callable

from eval.sandbox.drawing import fittings, furniture
from eval.sandbox.drawing.canvas import Canvas
from eval.sandbox.drawing.palette import hexa, shade
from eval.sandbox.drawing.written import WrittenText
from eval.sandbox.script import HEIGHT, WIDTH, Room
from eval.sandbox.sets.arranging import Arrangement, Piece, arrange
from eval.sandbox.sets.planning import SEATS, TOPS
from eval.sandbox.sets.styles import Style

FLOOR = 236  #: pixels from the top to where the wall meets the floor
_BAND = 168  #: and to the upper edge of the band along the wall's foot
_SIGN, _SIGN_ROOM = 21.0, 190.0  #: height of a sign's letters, and the width it may have at most (pixels)
_BOARD = (134.0, 90.0)
_LINE = 19.0


def paint_interior(canvas: Canvas, room: Room) -> list[WrittenText]:
    """Paint a room of a variant from 1 on; returns what can be read in it."""
    made = arrange(room.kind, room.variant)
    _shell(canvas, made.style)
    texts: list[WrittenText] = []
    for piece in made.pieces:
        if piece.kind in _ON_WALLS:
            texts += _ON_WALLS[piece.kind](canvas, room, piece)
        else:
            _furnish(canvas, made, piece)
    return texts


def _shell(canvas: Canvas, style: Style) -> None:
    wall = hexa(style.wall)
    canvas.gradient(0, 0, WIDTH, FLOOR, shade(wall, 1.03), shade(wall, 0.94))
    if style.lower:
        canvas.gradient(0, _BAND, WIDTH, FLOOR - _BAND, hexa(style.lower), shade(hexa(style.lower), 0.92))
        canvas.rectangle(0, _BAND - 4, WIDTH, 5, shade(wall, 1.12))
    canvas.rectangle(0, FLOOR - 10, WIDTH, 10, shade(wall, 0.78))
    tone = hexa(style.floor_tone)
    if style.floor == "planks":
        furniture.planks(canvas, FLOOR, shade(tone, 1.08), shade(tone, 0.9), seams=shade(tone, 0.78))
    else:
        canvas.gradient(0, FLOOR, WIDTH, HEIGHT - FLOOR, shade(tone, 0.9), shade(tone, 1.1))
    if style.floor == "tiles":
        for number in range(-9, 10):
            canvas.line([(320 + number * 58, FLOOR), (320 + number * 130, HEIGHT)], shade(tone, 0.8), 1)
        for y in (250, 272, 306):
            canvas.line([(0, y), (WIDTH, y)], shade(tone, 0.8), 1)
    canvas.shadow(0, FLOOR - 2, WIDTH, 9, blur=6, strength=0.35)


def _furnish(canvas: Canvas, made: Arrangement, piece: Piece) -> None:
    wood, accent = hexa(made.style.wood), hexa(made.style.accent)
    if piece.kind == "chest":
        fittings.chest(canvas, piece, wood)
    elif piece.kind in TOPS:
        fittings.surface(canvas, piece, wood, accent)
    elif piece.kind in SEATS:
        fittings.seat(canvas, piece, wood, accent)
    elif piece.kind == "cupboard":
        fittings.tall_cupboard(canvas, piece, accent)
    elif piece.kind == "door":
        fittings.door(canvas, piece, wood)
    elif piece.kind == "shelf":
        fittings.bookshelf(canvas, piece, wood)
    elif piece.kind == "hooks":
        fittings.hooks(canvas, piece, wood)
    else:
        {"fridge": fittings.fridge, "plant": fittings.plant}[piece.kind](canvas, piece)


def _sign(canvas: Canvas, room: Room, piece: Piece) -> list[WrittenText]:
    if not room.sign:
        return []
    size = min(_SIGN, (_SIGN_ROOM - 22) / (0.68 * len(room.sign)))
    half = (len(room.sign) * size * 0.68 + 22) / 2
    x = min(max(piece.x, half + 6), WIDTH - half - 6)
    return [WrittenText(text=room.sign, box=furniture.sign(canvas, room.sign, x, 58, size=size))]


def _clock(canvas: Canvas, room: Room, piece: Piece) -> list[WrittenText]:
    if not room.clock:
        return _picture(canvas, room, piece)
    x = min(max(piece.x, 46), WIDTH - 46)
    return [WrittenText(text=room.clock, box=furniture.clock(canvas, room.clock, x, 58))]


def _board(canvas: Canvas, room: Room, piece: Piece) -> list[WrittenText]:
    if not room.notes:
        furniture.window(canvas, piece.x - 50, 34, 100, 76, seed=piece.seed + room.seed)
        return []
    width, height = _BOARD
    boxes = furniture.board(canvas, room.notes, piece.x - width / 2, 20, width, height)
    return [WrittenText(text=line, box=box) for line, box in zip(room.notes, boxes, strict=True)]


def _picture(canvas: Canvas, room: Room, piece: Piece) -> list[WrittenText]:
    furniture.picture(canvas, piece.x - 29, 46, 58, 44, seed=piece.seed + room.seed)
    return []


_ON_WALLS: dict[str, Callable[[Canvas, Room, Piece], list[WrittenText]]] = {
    "sign": _sign,
    "clock": _clock,
    "board": _board,
    "picture": _picture,
}

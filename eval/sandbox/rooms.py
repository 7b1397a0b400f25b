"""Empty rooms and cards as the camera sees them: the four rooms of the sample film, and arranged rooms of a variant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from eval.sandbox import furniture
from eval.sandbox.canvas import Canvas, hexa, shade
from eval.sandbox.room_plans import SEATS, Arrangement, Piece, Style, arrange
from eval.sandbox.script import HEIGHT, WIDTH, Card, Room, RoomKind
from world_api.core.ports import Image
from world_api.core.spans import Box


@dataclass(frozen=True, kw_only=True)
class WrittenText:
    """A line that can be read in a picture, and where its ink is."""

    text: str
    box: Box


@dataclass(frozen=True, kw_only=True)
class Backdrop:
    """An empty room or a card: the picture and everything written in it."""

    image: Image
    texts: tuple[WrittenText, ...]


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
    match piece.kind:
        case "chest":
            furniture.chest(canvas, piece, wood)
        case "cupboard":
            furniture.tall_cupboard(canvas, piece, accent)
        case "fridge":
            top = furniture.LEAF_TOP["fridge"]
            furniture.fridge(canvas, piece.x - piece.width / 2, top, piece.width, furniture.FOOT - top)
        case "door":
            furniture.panelled_door(canvas, piece, wood)
        case "shelf":
            furniture.bookshelf(canvas, piece, wood)
        case "hooks":
            furniture.hooks(canvas, piece, wood)
        case "plant":
            furniture.plant(canvas, piece.x, furniture.FOOT, seed=piece.seed)
        case kind if kind in SEATS:
            furniture.seat(canvas, piece, wood, accent)
        case _:
            furniture.surface(canvas, piece, wood, accent)


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


DESK_TOP = (438.0, 246.0)  #: where things lie on the office's desk
TABLE_TOP = (398.0, 238.0)  #: where things lie on the library's table


def paint_room(room: Room) -> Backdrop:
    """Paint a room; the same room always gives the same picture.

    Raises:
        KeyError: for a kind of which there is no variant 0.
    """
    canvas = Canvas(WIDTH, HEIGHT)
    texts = paint_interior(canvas, room) if room.variant else _PAINTERS[room.kind](canvas, room)
    canvas.vignette()
    canvas.grain(room.seed)
    return Backdrop(image=canvas.image(), texts=tuple(texts))


def paint_card(card: Card) -> Backdrop:
    """Paint a title card."""
    canvas = Canvas(WIDTH, HEIGHT)
    canvas.gradient(0, 0, WIDTH, HEIGHT, hexa("#20303f"), hexa("#101820"))
    canvas.glow(WIDTH / 2, HEIGHT * 0.45, 420, hexa("#3f5f7a"), strength=0.55)
    gold = hexa("#e3b868")
    for y in (112, 238):
        canvas.rectangle(WIDTH / 2 - 120, y, 240, 2, gold)
        canvas.ellipse(WIDTH / 2, y + 1, 5, 5, gold)
    texts = [
        WrittenText(text=text, box=canvas.text(text, WIDTH / 2, y, size, hexa(colour)))
        for text, y, size, colour in ((card.title, 166, 46, "#f7f3e8"), (card.subtitle, 213, 20, "#cfd8df"))
        if text
    ]
    canvas.vignette(strength=0.3)
    canvas.grain(len(card.title), strength=1.5)
    return Backdrop(image=canvas.image(), texts=tuple(texts))


def _wall(canvas: Canvas, colour: str, *, skirting: str) -> None:
    tone = hexa(colour)
    canvas.gradient(0, 0, WIDTH, FLOOR, shade(tone, 1.03), shade(tone, 0.93))
    canvas.rectangle(0, FLOOR - 11, WIDTH, 11, hexa(skirting))
    canvas.rectangle(0, FLOOR - 11, WIDTH, 1.5, shade(hexa(skirting), 1.1))


def _office(canvas: Canvas, room: Room) -> list[WrittenText]:
    _wall(canvas, "#c3cdd2", skirting="#e9e8e3")
    furniture.planks(canvas, FLOOR, hexa("#b98c61"), hexa("#9f7550"), seams=hexa("#8a6340"))
    canvas.shadow(0, FLOOR - 2, WIDTH, 8, blur=6, strength=0.35)
    furniture.window(canvas, 46, 44, 128, 118, seed=room.seed)
    canvas.glow(110, 300, 190, hexa("#fff0d0"), strength=0.22)
    furniture.rug(canvas, 300, 282, 420, 62, hexa("#8b97a1"))
    furniture.picture(canvas, 214, 92, 62, 46, seed=room.seed + 1)
    texts = [WrittenText(text=room.sign, box=furniture.sign(canvas, room.sign, 396, 60))]
    if room.clock:
        texts.append(WrittenText(text=room.clock, box=furniture.clock(canvas, room.clock, 560, 62)))
    furniture.desk(canvas, 392, 250, 168)
    furniture.monitor(canvas, 512, 240)
    furniture.plant(canvas, 604, 300, seed=room.seed)
    return texts


def _kitchen(canvas: Canvas, room: Room) -> list[WrittenText]:
    _wall(canvas, "#e5dcc3", skirting="#d8cfb8")
    for row in range(5):
        for column in range(33):
            tone = shade(hexa("#a9cabd"), 1.0 + 0.03 * ((row * 7 + column * 3 + room.seed) % 5 - 2))
            canvas.rectangle(column * 20 - 9 * (row % 2), 128 + row * 13, 19, 12, tone, radius=1)
    canvas.gradient(0, FLOOR, WIDTH, HEIGHT - FLOOR, hexa("#b6aca0"), hexa("#d0c8bd"))
    for number in range(-9, 10):
        canvas.line([(320 + number * 58, FLOOR), (320 + number * 130, HEIGHT)], hexa("#a79d91"), 1)
    for y in (252, 278, 318):
        canvas.line([(0, y), (WIDTH, y)], hexa("#a79d91"), 1)
    canvas.shadow(0, FLOOR - 2, WIDTH, 10, blur=6, strength=0.35)
    furniture.cupboard(canvas, 14, 22, 168, 84, 3, hexa("#f0ebe0"))
    texts = [WrittenText(text=room.sign, box=furniture.sign(canvas, room.sign, 268, 52))]
    if room.notes:
        boxes = furniture.board(canvas, room.notes, 366, 26, 150, 76)
        texts += [WrittenText(text=line, box=box) for line, box in zip(room.notes, boxes, strict=True)]
    furniture.cupboard(canvas, 0, 196, 532, 62, 7, hexa("#6f8f86"))
    canvas.polygon([(0, 186), (534, 186), (540, 196), (0, 196)], hexa("#d9d2c6"))
    canvas.rectangle(0, 195, 540, 4, hexa("#b5ada0"))
    furniture.kettle(canvas, 214, 190)
    canvas.rectangle(92, 187, 70, 5, hexa("#8f979d"), radius=2)
    canvas.line([(128, 187), (128, 160), (142, 158), (144, 166)], hexa("#8f979d"), 3)
    for x, tin in ((404, "#c65b46"), (424, "#e0b24a"), (444, "#4a7fa5")):
        canvas.rectangle(x, 168, 15, 21, hexa(tin), radius=2)
        canvas.ellipse(x + 7.5, 168, 7.5, 2.5, hexa("#ece6da"))
    furniture.fridge(canvas, 548, 78, 86, 190)
    return texts


def _library(canvas: Canvas, room: Room) -> list[WrittenText]:
    _wall(canvas, "#b9a184", skirting="#7d6047")
    furniture.planks(canvas, FLOOR, hexa("#8a6244"), hexa("#6f4d35"), seams=hexa("#5b3e29"))
    for number, x in enumerate((8, 138)):
        furniture.shelf(canvas, x, 34, 120, 206, rows=5, seed=room.seed + number)
    furniture.shelf(canvas, 508, 34, 124, 206, rows=5, seed=room.seed + 9)
    furniture.window(canvas, 322, 104, 122, 88, seed=room.seed + 4)
    furniture.rug(canvas, 330, 280, 440, 64, hexa("#a5684e"))
    canvas.shadow(0, FLOOR - 2, WIDTH, 8, blur=6, strength=0.4)
    texts = [WrittenText(text=room.sign, box=furniture.sign(canvas, room.sign, 384, 56, size=22))]
    furniture.table(canvas, 412, 246, 130)
    furniture.lamp(canvas, 452, 240, height=50)
    return texts


def _corridor(canvas: Canvas, room: Room) -> list[WrittenText]:
    _wall(canvas, "#e9dfcd", skirting="#cdbfa6")
    canvas.gradient(0, 168, WIDTH, FLOOR - 168 - 11, hexa("#9fb0a6"), hexa("#8c9e94"))
    canvas.rectangle(0, 164, WIDTH, 5, hexa("#f3ecdd"))
    planks_near, planks_far = hexa("#c5b9a6"), hexa("#a89c8a")
    canvas.gradient(0, FLOOR, WIDTH, HEIGHT - FLOOR, planks_far, planks_near)
    canvas.polygon([(0, 272), (WIDTH, 272), (WIDTH, 350), (0, 350)], hexa("#7f8796"))
    for y in (277, 343):
        canvas.rectangle(0, y, WIDTH, 2.5, hexa("#aab1bd"))
    canvas.shadow(0, FLOOR - 2, WIDTH, 8, blur=6, strength=0.35)
    texts = []
    for number, x in zip(room.notes, (62, 478), strict=False):
        box = furniture.door(canvas, x, 68, 92, FLOOR - 68, number, hexa("#8b6a4e"))
        texts.append(WrittenText(text=number, box=box))
    texts.append(WrittenText(text=room.sign, box=furniture.sign(canvas, room.sign, 316, 56)))
    if room.clock:
        texts.append(WrittenText(text=room.clock, box=furniture.clock(canvas, room.clock, 316, 112)))
    furniture.picture(canvas, 194, 92, 54, 42, seed=room.seed)
    furniture.picture(canvas, 392, 92, 54, 42, seed=room.seed + 3)
    return texts


_PAINTERS: dict[RoomKind, Callable[[Canvas, Room], list[WrittenText]]] = {
    "office": _office,
    "kitchen": _kitchen,
    "library": _library,
    "corridor": _corridor,
}

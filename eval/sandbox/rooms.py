"""Pictures of empty rooms and of cards, in pixels of the frame; ``room_plans`` has the positions of furniture."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from eval.sandbox.canvas import Canvas, Colour, Point, Sheet, hexa, rectangle_corners, shade
from eval.sandbox.room_plans import (
    HOOK_STEP,
    HOOK_TOP,
    LEAVES,
    SEATED_FEET,
    SEATS,
    TOPS,
    Piece,
    RoomPlan,
    Style,
    hinge_side,
    leaf_handle,
    plan_of,
)
from eval.sandbox.script import HEIGHT, WIDTH, Card, Room
from world_api.core.ports import Image
from world_api.core.spans import Box

DARK_WOOD = hexa("#5d3f2a")
METAL = hexa("#b9bec4")
INK = hexa("#22262c")
_FELT = hexa("#22408c")
BOOKS = tuple(hexa(code) for code in ("#8c3b32", "#c98f3c", "#3f6a58", "#39507c", "#6d4a73", "#b7a98b", "#4d4a46"))


def planks(canvas: Canvas, top: float, near: Colour, far: Colour, *, seams: Colour) -> None:
    """Paint a floor of boards towards the viewer: ``far`` at ``top``, shading to ``near`` below; joints: ``seams``."""
    canvas.gradient(0, top, canvas.width, canvas.height - top, far, near)
    middle = canvas.width / 2
    for number in range(-14, 15):
        canvas.line([(middle + number * 38, top), (middle + number * 92, canvas.height)], seams, 0.8)
    for number, depth in enumerate((0.12, 0.3, 0.55, 0.85)):
        y = top + (canvas.height - top) * depth
        for place in range(-6, 7):
            x = middle + (place * 2 + number % 2) * (38 + 54 * depth)
            canvas.line([(x, y), (x + 38 + 54 * depth, y)], seams, 0.8)


def plant(canvas: Canvas, piece: Piece, _wood: Colour, _accent: Colour) -> None:
    """Paint a plant in a pot."""
    chance, x, y = random.Random(piece.seed), piece.x, FOOT
    canvas.shadow(x - 22, y - 6, 48, 12, blur=8, strength=0.4)
    for number in range(15):
        angle = math.radians(-90 + (number - 7) * 11 + chance.uniform(-5, 5))
        length = chance.uniform(52, 84) * (1 - abs(number - 7) * 0.035)
        tip = (x + math.cos(angle) * length, y - 34 + math.sin(angle) * length)
        bow = (x + math.cos(angle) * length * 0.45, y - 40 + math.sin(angle) * length * 0.6)
        side = (-math.sin(angle) * 6, math.cos(angle) * 6)
        tone = shade(hexa("#4f8a4c"), chance.uniform(0.75, 1.2))
        leaf = [(x, y - 34), (bow[0] + side[0], bow[1] + side[1]), tip, (bow[0] - side[0], bow[1] - side[1])]
        canvas.polygon(leaf, tone)
    pot = hexa("#c9c3b6")
    canvas.polygon([(x - 22, y - 38), (x + 22, y - 38), (x + 16, y), (x - 16, y)], pot)
    canvas.polygon([(x + 6, y - 38), (x + 22, y - 38), (x + 16, y), (x + 4, y)], shade(pot, 0.85))
    canvas.rectangle(x - 24, y - 42, 48, 8, shade(pot, 1.06), radius=2)


def cupboard(canvas: Canvas, x: float, y: float, width: float, height: float, doors: int, colour: Colour) -> None:
    """Paint a cupboard with upper left corner ``(x, y)`` and this number of doors side by side."""
    canvas.shadow(x, y + 4, width, height + 2, blur=8, strength=0.3)
    canvas.rectangle(x, y, width, height, shade(colour, 0.9))
    wide = width / doors
    for number in range(doors):
        left = x + number * wide
        canvas.gradient(left + 2, y + 2, wide - 4, height - 4, shade(colour, 1.04), shade(colour, 0.96))
        outline = rectangle_corners(left + 8, y + 9, wide - 16, height - 18)
        canvas.line([*outline, outline[0]], shade(colour, 0.86), 1)
        handle = left + wide - 14 if number % 2 == 0 else left + 11
        canvas.rectangle(handle, y + height / 2 - 7, 3, 14, METAL, radius=1.5)


def fridge(canvas: Canvas, piece: Piece, _wood: Colour, _accent: Colour) -> None:
    """Paint a fridge."""
    x, y, width = piece.x - piece.width / 2, LEAF_TOP["fridge"], piece.width
    height = FOOT - y
    canvas.shadow(x + 4, y + 8, width + 4, height, blur=12, strength=0.4)
    canvas.rectangle(x, y, width, height, hexa("#c4cace"), radius=5)
    canvas.gradient(x + 3, y + 3, width - 6, height * 0.32, hexa("#e6eaec"), hexa("#d8dde0"))
    canvas.gradient(x + 3, y + height * 0.34 + 3, width - 6, height * 0.64 - 6, hexa("#e2e6e8"), hexa("#cfd5d8"))
    for top, long in ((y + height * 0.1, 26), (y + height * 0.42, 44)):
        canvas.rectangle(x + 8, top, 4, long, hexa("#8f979d"), radius=2)


FOOT = 300.0  #: pixels from the top to the foot of furniture
SEAT = SEATED_FEET - 38.0  #: and to the seat surface
LEAF_TOP = {"cupboard": 84.0, "fridge": 92.0, "door": 68.0}
LEAF_FOOT = {"cupboard": 294.0, "fridge": 292.0, "door": 236.0}


def surface(canvas: Canvas, piece: Piece, wood: Colour, front: Colour) -> None:
    """Paint a desk, table or workbench, or a counter or sideboard, with doors of the colour ``front``."""
    left, width, edge = piece.x - piece.width / 2, piece.width, TOPS[piece.kind] + 7
    canvas.shadow(left + 4, FOOT - 8, width - 4, 16, blur=10, strength=0.4)
    if piece.kind in {"counter", "sideboard"}:
        cupboard(canvas, left + 4, edge, width - 8, FOOT - edge, max(2, round(width / 70)), front)
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


def chest(canvas: Canvas, piece: Piece, wood: Colour, _accent: Colour) -> None:
    """Paint a chest: a left and a right drawer that can be opened, and two wide ones below."""
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
    """Return left, top, width and height of the front of a chest's left (``side`` -1) or right (1) drawer."""
    half = (piece.width - 18) / 2
    return (piece.x - half if side < 0 else piece.x + 2), 214.0, half - 2, 28.0


def _front(canvas: Canvas, x: float, y: float, width: float, height: float, wood: Colour) -> None:
    canvas.rectangle(x, y, width, height, shade(wood, 1.12), radius=2)
    canvas.rectangle(x + width / 2 - 9, y + height / 2 - 2, 18, 4, METAL, radius=2)


def tall_cupboard(canvas: Canvas, piece: Piece, _wood: Colour, colour: Colour) -> None:
    """Paint a cupboard with one door."""
    left, top = piece.x - piece.width / 2, LEAF_TOP["cupboard"]
    canvas.shadow(left + 3, top + 8, piece.width + 3, FOOT - top, blur=10, strength=0.4)
    canvas.rectangle(left, top - 6, piece.width, FOOT - top + 4, shade(colour, 0.72), radius=2)
    high = LEAF_FOOT["cupboard"] - top
    canvas.gradient(left + 4, top, piece.width - 8, high, shade(colour, 1.1), shade(colour, 0.95))
    for y, high in ((top + 10, 84), (top + 106, 92)):
        canvas.rectangle(left + 14, y, piece.width - 28, high, shade(colour, 0.9), radius=2)
    x, y = leaf_handle(piece)
    canvas.rectangle(x - 2, y - 11, 4, 22, METAL, radius=2)


def panelled_door(canvas: Canvas, piece: Piece, wood: Colour, _accent: Colour) -> None:
    """Paint a closed door in the wall."""
    left, top, wide = piece.x - piece.width / 2 + 4, LEAF_TOP["door"], piece.width - 8
    high = LEAF_FOOT["door"] - top
    canvas.rectangle(left - 8, top - 8, wide + 16, high + 8, hexa("#efe9dd"))
    canvas.gradient(left, top, wide, high, shade(wood, 1.05), shade(wood, 0.9))
    for y, part in ((top + 14, 62.0), (top + 88, 66.0)):
        canvas.rectangle(left + 13, y, wide - 26, part, shade(wood, 0.84))
        canvas.rectangle(left + 15, y + 2, wide - 30, part - 4, shade(wood, 1.04))
    x, y = leaf_handle(piece)
    canvas.ellipse(x, y, 4, 4, hexa("#e3c26a"))


def seat(canvas: Canvas, piece: Piece, wood: Colour, cloth: Colour) -> None:
    """Paint a chair, armchair, stool or bench; the first two are seen from the side."""
    x, side = piece.x, piece.facing
    canvas.shadow(x - piece.width * 0.4, SEATED_FEET - 5, piece.width * 0.8, 10, blur=8, strength=0.4)
    if piece.kind == "armchair":
        _armchair(canvas, x, side, cloth)
        return
    half = piece.width / 2 - 4 if piece.kind == "bench" else 23.0
    for leg in (x - half + 3, x + half - 9):
        canvas.rectangle(leg, SEAT + 4, 6, SEATED_FEET - SEAT - 4, shade(wood, 0.75))
    if piece.kind == "chair":
        back, top = x - side * 24, x - side * 30
        shape = [(back - 3, SEAT + 6), (back + 3, SEAT + 6), (top + 3, SEAT - 62), (top - 3, SEAT - 62)]
        canvas.polygon(shape, shade(wood, 0.85))
    canvas.rectangle(x - half, SEAT - 2, half * 2, 8, cloth if piece.kind != "bench" else shade(wood, 1.1), radius=3)


def _armchair(canvas: Canvas, x: float, side: int, cloth: Colour) -> None:
    back, top = x - side * 34, x - side * 44
    canvas.rectangle(x - 38, SEAT - 4, 76, SEATED_FEET - SEAT - 4, shade(cloth, 0.82), radius=8)
    shape = [(back - 13, SEAT + 24), (back + 13, SEAT + 24), (top + 9, SEAT - 62), (top - 13, SEAT - 62)]
    canvas.polygon(shape, shade(cloth, 0.92))
    canvas.ellipse(top - 2, SEAT - 62, 11, 8, shade(cloth, 0.92))
    canvas.rectangle(x - 32, SEAT - 6, 64, 13, shade(cloth, 1.15), radius=6)
    for leg in (x - 30, x + 24):
        canvas.rectangle(leg, SEATED_FEET - 8, 6, 8, DARK_WOOD)


def hooks(canvas: Canvas, piece: Piece, wood: Colour, _accent: Colour) -> None:
    """Paint a strip of wood with three hooks."""
    canvas.shadow(piece.x - 56, HOOK_TOP - 8, 114, 18, blur=6, strength=0.3)
    canvas.rectangle(piece.x - 56, HOOK_TOP - 12, 112, 14, wood, radius=3)
    for number in (-1, 0, 1):
        x = piece.x + number * HOOK_STEP
        canvas.line([(x, HOOK_TOP - 6), (x, HOOK_TOP + 4), (x + 4, HOOK_TOP + 2)], INK, 2.5)


def bookshelf(canvas: Canvas, piece: Piece, wood: Colour, _accent: Colour) -> None:
    """Paint a bookcase: light and half empty, so that dark clothes are visible in front of it."""
    chance = random.Random(piece.seed)
    left, top, rows = piece.x - piece.width / 2, 40.0, 6
    step = (FOOT - top - 8) / rows
    canvas.shadow(left + 2, top + 4, piece.width + 2, FOOT - top, blur=10, strength=0.4)
    canvas.rectangle(left, top, piece.width, FOOT - top - 2, shade(wood, 0.86))
    for row in range(rows):
        upper = top + 6 + row * step
        canvas.rectangle(left + 5, upper, piece.width - 10, step - 6, shade(wood, 1.16))
        place = left + 7 + chance.uniform(0, 18)
        end = place + chance.uniform(0.35, 0.6) * piece.width
        while place < min(end, left + piece.width - 16):
            wide, high = chance.uniform(6, 10), (step - 8) * chance.uniform(0.62, 0.92)
            tone = shade(chance.choice(BOOKS), chance.uniform(1.1, 1.45))
            canvas.rectangle(place, upper + step - 6 - high, wide - 0.8, high, tone)
            place += wide


#: Functions that paint furniture in the colours of wood and accents.
_FURNITURE: dict[str, Callable[[Canvas, Piece, Colour, Colour], None]] = {
    **dict.fromkeys(TOPS, surface),
    **dict.fromkeys(SEATS, seat),
    "chest": chest,
    "cupboard": tall_cupboard,
    "fridge": fridge,
    "door": panelled_door,
    "shelf": bookshelf,
    "hooks": hooks,
    "plant": plant,
}

_DARK = hexa("#1d1713")
_PULLED = 15.0  #: pixels by which the front of an open drawer is lower than that of a closed one
_FOLDED = 0.72  #: the share of its width that an open door loses


def paint_open(frame: Image, plan: RoomPlan, target: str, amount: float) -> None:
    """Paint the drawer or door named ``target`` into the frame, if the plan has it; ``amount`` is 0 (closed) to 1 (open)."""
    if amount <= 0:
        return
    tones = {"cupboard": plan.style.accent, "fridge": "#dfe4e6", "door": plan.style.wood}
    side = {"the left drawer": -1, "the right drawer": 1}.get(target)
    for piece in plan.pieces:
        if piece.kind == "chest" and side is not None:
            _drawer(frame, piece, side, hexa(plan.style.wood), amount)
        elif piece.kind in LEAVES and target == f"the {piece.name}":
            _leaf(frame, piece, hexa(tones[piece.kind]), amount)


def _drawer(frame: Image, piece: Piece, side: int, wood: Colour, amount: float) -> None:
    x, y, width, height = drawer_front(piece, side)
    pull, grow = _PULLED * amount, 4.0 * amount
    pen = _Pen((x + width / 2, y + height + 30), max(width + 30, 90.0))
    pen.fill(rectangle_corners(x, y, width, height), _DARK)
    inner = [(x + 3, y + 3), (x + width - 3, y + 3), (x + width + grow, y + pull + 3), (x - grow, y + pull + 3)]
    pen.fill(inner, shade(wood, 0.5))
    for edge in (-1, 1):
        far, near = (x + 3, x - grow) if edge < 0 else (x + width - 3, x + width + grow)
        pen.fill([(far, y + 2), (near, y + pull), (near, y + pull + 8), (far, y + 8)], shade(wood, 0.8))
    pen.fill(rectangle_corners(x - grow, y + pull, width + 2 * grow, height + grow * 0.4), shade(wood, 1.3))
    pen.fill(rectangle_corners(x - grow, y + pull, width + 2 * grow, 3), shade(wood, 1.55))
    pen.fill(rectangle_corners(x + width / 2 - 9, y + pull + height / 2 - 1, 18, 4), METAL)
    pen.stamp(frame)


def _leaf(frame: Image, piece: Piece, colour: Colour, amount: float) -> None:
    hinge = hinge_side(piece)
    left, right = piece.x - piece.width / 2 + 4, piece.x + piece.width / 2 - 4
    top, foot = LEAF_TOP[piece.kind], LEAF_FOOT[piece.kind]
    pen = _Pen((piece.x, foot + 24), (foot - top + 44) / 1.1)
    inside = {"door": hexa("#39424c"), "fridge": hexa("#f4f7f8")}.get(piece.kind, _DARK)
    pen.fill(rectangle_corners(left, top, right - left, foot - top), inside)
    if piece.kind == "door":
        pen.fill([(left, foot), (right, foot), (right - 12, foot - 26), (left + 12, foot - 26)], hexa("#6d6256"))
    else:
        for number in range(1, 4):
            y = top + (foot - top) * number / 4
            pen.fill(rectangle_corners(left + 2, y, right - left - 4, 5), shade(colour, 0.6))
            for place, tone in ((0.22, "#c98f3c"), (0.5, "#3f6a58"), (0.72, "#8c3b32")):
                x = left + place * (right - left)
                high = 16 + 4 * (number % 2)
                pen.fill(rectangle_corners(x - 6, y - high, 12, high), hexa(tone))
    near, far = (right, left) if hinge > 0 else (left, right)
    edge = near + (far - near) * (1 - _FOLDED * amount)
    drop = 14 * amount
    pen.fill([(near, top), (edge, top - drop), (edge, foot + drop), (near, foot)], shade(colour, 0.82))
    pen.fill([(near, top + 12), (edge - (edge - near) * 0.3, top + 12), (edge - (edge - near) * 0.3, foot - 14),
              (near + (edge - near) * 0.2, foot - 14)], shade(colour, 0.72))  # fmt: skip
    pen.stamp(frame)


class _Pen(Sheet):
    """A sheet on which polygons are given in pixels of the frame."""

    def fill(self, points: Sequence[Point], colour: Colour) -> None:
        """Fill a polygon with one colour."""
        (x, foot), size = self.feet, self.size
        self.polygon([((a - x) / size, (foot - b) / size) for a, b in points], colour, flat=True)


@dataclass(frozen=True, kw_only=True)
class WrittenText:
    """A line of readable text in a picture, and the bounding box of its pixels."""

    text: str
    box: Box


@dataclass(frozen=True, kw_only=True)
class Backdrop:
    """The picture of an empty room or a card, and all texts in it."""

    image: Image
    texts: tuple[WrittenText, ...]


FLOOR = 236  #: pixels from the top to where the wall meets the floor
_BAND = 168  #: and to the upper edge of the band along the wall's foot
_SIGN, _SIGN_ROOM = 21.0, 190.0  #: height of a sign's letters, and its largest width (pixels)
_BOARD = (134.0, 90.0)
_LINE = 19.0


def _shell(canvas: Canvas, style: Style) -> None:
    wall = hexa(style.wall)
    canvas.gradient(0, 0, WIDTH, FLOOR, shade(wall, 1.03), shade(wall, 0.94))
    if style.lower:
        canvas.gradient(0, _BAND, WIDTH, FLOOR - _BAND, hexa(style.lower), shade(hexa(style.lower), 0.92))
        canvas.rectangle(0, _BAND - 4, WIDTH, 5, shade(wall, 1.12))
    canvas.rectangle(0, FLOOR - 10, WIDTH, 10, shade(wall, 0.78))
    tone = hexa(style.floor_tone)
    if style.floor == "planks":
        planks(canvas, FLOOR, shade(tone, 1.08), shade(tone, 0.9), seams=shade(tone, 0.78))
    else:
        canvas.gradient(0, FLOOR, WIDTH, HEIGHT - FLOOR, shade(tone, 0.9), shade(tone, 1.1))
    if style.floor == "tiles":
        for number in range(-9, 10):
            canvas.line([(320 + number * 58, FLOOR), (320 + number * 130, HEIGHT)], shade(tone, 0.8), 1)
        for y in (250, 272, 306):
            canvas.line([(0, y), (WIDTH, y)], shade(tone, 0.8), 1)
    canvas.shadow(0, FLOOR - 2, WIDTH, 9, blur=6, strength=0.35)


def _sign(canvas: Canvas, room: Room, piece: Piece) -> list[WrittenText]:
    """Paint a plate with dark letters, if the room has a sign; return its text."""
    if not room.sign:
        return []
    size = min(_SIGN, (_SIGN_ROOM - 22) / (0.68 * len(room.sign)))
    width, y = len(room.sign) * size * 0.68 + 22, 58
    x = min(max(piece.x, width / 2 + 6), WIDTH - width / 2 - 6)
    canvas.shadow(x - width / 2, y - size * 0.8 + 3, width, size * 1.7, blur=6, strength=0.3)
    canvas.rectangle(x - width / 2, y - size * 0.9, width, size * 1.8, hexa("#2f4b63"), radius=4)
    canvas.rectangle(x - width / 2 + 2, y - size * 0.9 + 2, width - 4, size * 1.8 - 4, hexa("#f3f1ea"), radius=3)
    return [WrittenText(text=room.sign, box=canvas.text(room.sign, x, y, size, INK))]


def _clock(canvas: Canvas, room: Room, piece: Piece) -> list[WrittenText]:
    """Paint a digital wall clock, or a picture if the room has no clock; return its text."""
    if not room.clock:
        return _picture(canvas, room, piece)
    x, y = min(max(piece.x, 46), WIDTH - 46), 58
    canvas.shadow(x - 40, y - 14, 80, 34, blur=6, strength=0.35)
    canvas.rectangle(x - 40, y - 18, 80, 36, hexa("#15181c"), radius=5)
    canvas.rectangle(x - 36, y - 14, 72, 28, hexa("#202830"), radius=3)
    return [WrittenText(text=room.clock, box=canvas.text(room.clock, x, y, 23, hexa("#8ff0b0")))]


def _board(canvas: Canvas, room: Room, piece: Piece) -> list[WrittenText]:
    """Paint a whiteboard with the notes, or a window if the room has none; return its texts."""
    if not room.notes:
        return _window(canvas, room, piece)
    width, height = _BOARD
    x, y, step = piece.x - width / 2, 20, height / (len(room.notes) + 0.4)
    canvas.shadow(x + 2, y + 4, width, height, blur=8, strength=0.3)
    canvas.rectangle(x - 4, y - 4, width + 8, height + 8, METAL, radius=3)
    canvas.gradient(x, y, width, height, hexa("#fdfdfb"), hexa("#eef0ef"))
    canvas.rectangle(x + 8, y + height + 2, width - 16, 5, hexa("#9aa0a6"), radius=2)
    texts = []
    for number, line in enumerate(room.notes):
        size = min(_LINE, step * 0.62, (width - 10) / (0.6 * max(1, len(line))))
        box = canvas.text(line, x + width / 2, y + step * (number + 0.7), size, _FELT)
        texts.append(WrittenText(text=line, box=box))
    return texts


def _window(canvas: Canvas, room: Room, piece: Piece) -> list[WrittenText]:
    """Paint a window with a view of the sky and roofs; return []."""
    chance, frame = random.Random(piece.seed + room.seed), hexa("#eceae4")
    x, y, width, height = piece.x - 50, 34, 100, 76
    canvas.shadow(x - 2, y, width + 8, height + 10, blur=10, strength=0.25)
    canvas.rectangle(x - 6, y - 6, width + 12, height + 12, frame, radius=2)
    canvas.gradient(x, y, width, height, hexa("#8fc3ea"), hexa("#dcecf5"))
    place = x
    while place < x + width - 2:
        wide = min(chance.uniform(10, 22), x + width - place)
        high = chance.uniform(0.15, 0.5) * height
        tone = shade(hexa("#8d9aa8"), chance.uniform(0.85, 1.15))
        canvas.rectangle(place, y + height - high, wide, high, tone)
        place += wide
    canvas.rectangle(x + width / 2 - 1.5, y, 3, height, frame)
    canvas.rectangle(x, y + height * 0.45, width, 3, frame)
    canvas.rectangle(x - 10, y + height + 5, width + 20, 6, hexa("#dedbd3"), radius=1)
    return []


def _picture(canvas: Canvas, room: Room, piece: Piece) -> list[WrittenText]:
    """Paint a framed landscape; return []."""
    chance = random.Random(piece.seed + room.seed)
    x, y, width, height = piece.x - 29, 46, 58, 44
    canvas.shadow(x + 1, y + 4, width, height, blur=6, strength=0.3)
    canvas.rectangle(x - 4, y - 4, width + 8, height + 8, hexa("#6e5038"))
    canvas.gradient(x, y, width, height, hexa("#e7cfa7"), hexa("#c9d9dc"))
    for layer, tone in enumerate((hexa("#93a9a2"), hexa("#6f8d78"), hexa("#4f6f5a"))):
        base = y + height * (0.5 + 0.16 * layer)
        hills = [
            (x + width * step / 6, min(y + height, base + chance.uniform(-0.12, 0.1) * height)) for step in range(7)
        ]
        canvas.polygon([*hills, (x + width, y + height), (x, y + height)], tone)
    return []


_ON_WALLS: dict[str, Callable[[Canvas, Room, Piece], list[WrittenText]]] = {
    "sign": _sign,
    "clock": _clock,
    "board": _board,
    "picture": _picture,
}


def paint_room(room: Room) -> Backdrop:
    """Paint a room; the same room always gives the same picture."""
    canvas, plan = Canvas(WIDTH, HEIGHT), plan_of(room.kind, room.variant)
    wood, accent = hexa(plan.style.wood), hexa(plan.style.accent)
    _shell(canvas, plan.style)
    texts: list[WrittenText] = []
    for piece in plan.pieces:
        if piece.kind in _ON_WALLS:
            texts += _ON_WALLS[piece.kind](canvas, room, piece)
        else:
            _FURNITURE[piece.kind](canvas, piece, wood, accent)
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

"""Things that stand in rooms. Each function paints one thing; places are pixels of the frame."""

from __future__ import annotations

import math
import random

from eval.sandbox.drawing.canvas import Canvas
from eval.sandbox.drawing.palette import Colour, hexa, shade
from world_api.core.boxes import Box

WOOD = hexa("#9a6b42")
DARK_WOOD = hexa("#5d3f2a")
METAL = hexa("#b9bec4")
INK = hexa("#22262c")
PAPER = hexa("#f6f4ee")
_FELT = hexa("#22408c")
_AROUND = ((0, 0), (1, 0), (1, 1), (0, 1), (0, 0))  #: the corners of a square and back
BOOKS = tuple(hexa(code) for code in ("#8c3b32", "#c98f3c", "#3f6a58", "#39507c", "#6d4a73", "#b7a98b", "#4d4a46"))


def planks(canvas: Canvas, top: float, near: Colour, far: Colour, *, seams: Colour) -> None:
    """A wooden floor from ``top`` to the lower edge, running towards the viewer."""
    canvas.gradient(0, top, canvas.width, canvas.height - top, far, near)
    middle = canvas.width / 2
    for number in range(-14, 15):
        canvas.line([(middle + number * 38, top), (middle + number * 92, canvas.height)], seams, 0.8)
    for number, depth in enumerate((0.12, 0.3, 0.55, 0.85)):
        y = top + (canvas.height - top) * depth
        for place in range(-6, 7):
            x = middle + (place * 2 + number % 2) * (38 + 54 * depth)
            canvas.line([(x, y), (x + 38 + 54 * depth, y)], seams, 0.8)


def window(canvas: Canvas, x: float, y: float, width: float, height: float, *, seed: int) -> None:
    """A window with a sky and the roofs of a town."""
    chance = random.Random(seed)
    canvas.shadow(x - 2, y, width + 8, height + 10, blur=10, strength=0.25)
    canvas.rectangle(x - 6, y - 6, width + 12, height + 12, hexa("#eceae4"), radius=2)
    canvas.gradient(x, y, width, height, hexa("#8fc3ea"), hexa("#dcecf5"))
    place = x
    while place < x + width - 2:
        wide = min(chance.uniform(10, 22), x + width - place)
        high = chance.uniform(0.15, 0.5) * height
        tone = shade(hexa("#8d9aa8"), chance.uniform(0.85, 1.15))
        canvas.rectangle(place, y + height - high, wide, high, tone)
        place += wide
    frame = hexa("#eceae4")
    canvas.rectangle(x + width / 2 - 1.5, y, 3, height, frame)
    canvas.rectangle(x, y + height * 0.45, width, 3, frame)
    canvas.rectangle(x - 10, y + height + 5, width + 20, 6, hexa("#dedbd3"), radius=1)


def sign(canvas: Canvas, words: str, x: float, y: float, *, size: float = 20) -> Box:
    """A plate with dark letters, centred on ``(x, y)``; returns the box of the letters."""
    width = len(words) * size * 0.68 + 22
    canvas.shadow(x - width / 2, y - size * 0.8 + 3, width, size * 1.7, blur=6, strength=0.3)
    canvas.rectangle(x - width / 2, y - size * 0.9, width, size * 1.8, hexa("#2f4b63"), radius=4)
    canvas.rectangle(x - width / 2 + 2, y - size * 0.9 + 2, width - 4, size * 1.8 - 4, hexa("#f3f1ea"), radius=3)
    return canvas.text(words, x, y, size, INK)


def clock(canvas: Canvas, words: str, x: float, y: float) -> Box:
    """A digital wall clock centred on ``(x, y)``; returns the box of its figures."""
    canvas.shadow(x - 40, y - 14, 80, 34, blur=6, strength=0.35)
    canvas.rectangle(x - 40, y - 18, 80, 36, hexa("#15181c"), radius=5)
    canvas.rectangle(x - 36, y - 14, 72, 28, hexa("#202830"), radius=3)
    return canvas.text(words, x, y, 23, hexa("#8ff0b0"))


def board(canvas: Canvas, lines: tuple[str, ...], x: float, y: float, width: float, height: float) -> list[Box]:
    """A whiteboard with written lines; returns the box of each."""
    canvas.shadow(x + 2, y + 4, width, height, blur=8, strength=0.3)
    canvas.rectangle(x - 4, y - 4, width + 8, height + 8, METAL, radius=3)
    canvas.gradient(x, y, width, height, hexa("#fdfdfb"), hexa("#eef0ef"))
    canvas.rectangle(x + 8, y + height + 2, width - 16, 5, hexa("#9aa0a6"), radius=2)
    step = height / (len(lines) + 0.4)
    return [
        canvas.text(line, x + width / 2, y + step * (number + 0.7), min(19, step * 0.62, _fitting(line, width)), _FELT)
        for number, line in enumerate(lines)
    ]


def _fitting(line: str, width: float) -> float:
    """The height of letters at which a line fits a board."""
    return (width - 10) / (0.6 * max(1, len(line)))


def desk(canvas: Canvas, x: float, y: float, width: float, *, depth: float = 16, height: float = 52) -> None:
    """A desk whose top's front edge lies at ``y``."""
    canvas.shadow(x + 4, y + height - 8, width - 4, 18, blur=10, strength=0.4)
    for leg in (x + 8, x + width - 16):
        canvas.rectangle(leg, y, 8, height, DARK_WOOD)
    canvas.rectangle(x + width - 58, y + 4, 46, 38, shade(WOOD, 0.78))
    for drawer in (y + 14, y + 28):
        canvas.rectangle(x + width - 42, drawer, 14, 3, METAL, radius=1)
    top = [(x + 10, y - depth), (x + width - 10, y - depth), (x + width, y), (x, y)]
    canvas.polygon(top, shade(WOOD, 1.22))
    canvas.rectangle(x, y, width, 6, shade(WOOD, 0.95))


def monitor(canvas: Canvas, x: float, y: float) -> None:
    """A screen on a foot that stands at ``(x, y)``."""
    canvas.polygon([(x - 16, y), (x + 16, y), (x + 10, y - 4), (x - 10, y - 4)], hexa("#3a3f46"))
    canvas.rectangle(x - 3, y - 16, 6, 14, hexa("#3a3f46"))
    canvas.rectangle(x - 38, y - 60, 76, 46, hexa("#23272d"), radius=3)
    canvas.gradient(x - 35, y - 57, 70, 40, hexa("#5b8bb8"), hexa("#9cc3dc"))
    for number, length in enumerate((40, 52, 30, 46)):
        canvas.rectangle(x - 28, y - 50 + number * 8, length, 3, hexa("#e9f2f8"), radius=1)


def plant(canvas: Canvas, x: float, y: float, *, seed: int) -> None:
    """A plant in a pot that stands at ``(x, y)``."""
    chance = random.Random(seed)
    canvas.shadow(x - 22, y - 6, 48, 12, blur=8, strength=0.4)
    for number in range(15):
        angle = math.radians(-90 + (number - 7) * 11 + chance.uniform(-5, 5))
        length = chance.uniform(52, 84) * (1 - abs(number - 7) * 0.035)
        tip = (x + math.cos(angle) * length, y - 34 + math.sin(angle) * length)
        bow = (x + math.cos(angle) * length * 0.45, y - 40 + math.sin(angle) * length * 0.6)
        side = (-math.sin(angle) * 6, math.cos(angle) * 6)
        tone = shade(hexa("#4f8a4c"), chance.uniform(0.75, 1.2))
        canvas.polygon(
            [(x, y - 34), (bow[0] + side[0], bow[1] + side[1]), tip, (bow[0] - side[0], bow[1] - side[1])], tone
        )
    pot = hexa("#c9c3b6")
    canvas.polygon([(x - 22, y - 38), (x + 22, y - 38), (x + 16, y), (x - 16, y)], pot)
    canvas.polygon([(x + 6, y - 38), (x + 22, y - 38), (x + 16, y), (x + 4, y)], shade(pot, 0.85))
    canvas.rectangle(x - 24, y - 42, 48, 8, shade(pot, 1.06), radius=2)


def shelf(canvas: Canvas, x: float, y: float, width: float, height: float, *, rows: int, seed: int) -> None:
    """A bookcase full of books."""
    chance = random.Random(seed)
    canvas.shadow(x + 2, y + 4, width + 4, height + 4, blur=10, strength=0.45)
    canvas.rectangle(x, y, width, height, DARK_WOOD)
    step = (height - 6) / rows
    for row in range(rows):
        top = y + 5 + row * step
        canvas.gradient(x + 5, top, width - 10, step - 6, shade(DARK_WOOD, 0.45), shade(DARK_WOOD, 0.62))
        place = x + 7.0
        while place < x + width - 14:
            wide, high = chance.uniform(5, 10), (step - 6) * chance.uniform(0.66, 0.95)
            if chance.random() < 0.08:
                place += wide
                continue
            tone = shade(chance.choice(BOOKS), chance.uniform(0.8, 1.1))
            canvas.rectangle(place, top + step - 6 - high, wide - 0.8, high, tone)
            canvas.rectangle(place, top + step - 6 - high * 0.8, wide - 0.8, 2, shade(tone, 1.35))
            place += wide
        canvas.rectangle(x + 3, top + step - 6, width - 6, 5, shade(WOOD, 0.8))


def cupboard(canvas: Canvas, x: float, y: float, width: float, height: float, doors: int, colour: Colour) -> None:
    """A cupboard with doors side by side."""
    canvas.shadow(x, y + 4, width, height + 2, blur=8, strength=0.3)
    canvas.rectangle(x, y, width, height, shade(colour, 0.9))
    wide = width / doors
    for number in range(doors):
        left = x + number * wide
        canvas.gradient(left + 2, y + 2, wide - 4, height - 4, shade(colour, 1.04), shade(colour, 0.96))
        canvas.line(
            [(left + part * (wide - 16) + 8, y + 9 + down * (height - 18)) for part, down in _AROUND],
            shade(colour, 0.86),
            1,
        )
        handle = left + wide - 14 if number % 2 == 0 else left + 11
        canvas.rectangle(handle, y + height / 2 - 7, 3, 14, METAL, radius=1.5)


def fridge(canvas: Canvas, x: float, y: float, width: float, height: float) -> None:
    """A fridge, its lower edge at ``y + height``."""
    canvas.shadow(x + 4, y + 8, width + 4, height, blur=12, strength=0.4)
    canvas.rectangle(x, y, width, height, hexa("#c4cace"), radius=5)
    canvas.gradient(x + 3, y + 3, width - 6, height * 0.32, hexa("#e6eaec"), hexa("#d8dde0"))
    canvas.gradient(x + 3, y + height * 0.34 + 3, width - 6, height * 0.64 - 6, hexa("#e2e6e8"), hexa("#cfd5d8"))
    for top, long in ((y + height * 0.1, 26), (y + height * 0.42, 44)):
        canvas.rectangle(x + 8, top, 4, long, hexa("#8f979d"), radius=2)


def kettle(canvas: Canvas, x: float, y: float) -> None:
    """A kettle that stands at ``(x, y)``."""
    body = hexa("#aeb5bb")
    canvas.line([(x + 12, y - 8), (x + 22, y - 20)], body, 4)
    canvas.line([(x - 10, y - 22), (x - 18, y - 16), (x - 12, y - 4)], hexa("#33383e"), 3)
    canvas.polygon([(x - 14, y), (x + 14, y), (x + 9, y - 26), (x - 9, y - 26)], body)
    canvas.polygon([(x - 10, y), (x - 4, y), (x - 3, y - 26), (x - 7, y - 26)], shade(body, 1.25))
    canvas.ellipse(x, y - 27, 9, 3, hexa("#33383e"))


def table(canvas: Canvas, x: float, y: float, width: float, *, height: float = 46) -> None:
    """A small table on one foot; ``(x, y)`` is the middle of its top's front edge."""
    canvas.shadow(x - width * 0.32, y + height - 6, width * 0.64, 12, blur=9, strength=0.45)
    canvas.rectangle(x - 5, y, 10, height, shade(DARK_WOOD, 0.9))
    canvas.ellipse(x, y + height, 26, 5, shade(DARK_WOOD, 0.8))
    canvas.ellipse(x, y - 3, width / 2, 11, shade(WOOD, 0.8))
    canvas.ellipse(x, y - 7, width / 2, 11, shade(WOOD, 1.15))


def lamp(canvas: Canvas, x: float, y: float, *, height: float = 46) -> None:
    """A lamp with a shade that stands at ``(x, y)``, lit."""
    canvas.ellipse(x, y, 9, 3, hexa("#4a4036"))
    canvas.rectangle(x - 1.5, y - height + 14, 3, height - 14, hexa("#4a4036"))
    canvas.glow(x, y - height + 10, 110, hexa("#ffdf9e"), strength=0.4)
    canvas.polygon(
        [(x - 17, y - height + 22), (x + 17, y - height + 22), (x + 10, y - height), (x - 10, y - height)],
        hexa("#fbe3ac"),
    )


def picture(canvas: Canvas, x: float, y: float, width: float, height: float, *, seed: int) -> None:
    """A framed landscape."""
    chance = random.Random(seed)
    canvas.shadow(x + 1, y + 4, width, height, blur=6, strength=0.3)
    canvas.rectangle(x - 4, y - 4, width + 8, height + 8, hexa("#6e5038"))
    canvas.gradient(x, y, width, height, hexa("#e7cfa7"), hexa("#c9d9dc"))
    for layer, tone in enumerate((hexa("#93a9a2"), hexa("#6f8d78"), hexa("#4f6f5a"))):
        base = y + height * (0.5 + 0.16 * layer)
        hills = [
            (x + width * step / 6, min(y + height, base + chance.uniform(-0.12, 0.1) * height)) for step in range(7)
        ]
        canvas.polygon([*hills, (x + width, y + height), (x, y + height)], tone)


def door(canvas: Canvas, x: float, y: float, width: float, height: float, number: str, colour: Colour) -> Box:
    """A closed door with its number; returns the number's box."""
    canvas.rectangle(x - 7, y - 7, width + 14, height + 7, shade(hexa("#e6dfd0"), 0.97))
    canvas.gradient(x, y, width, height, colour, shade(colour, 0.86))
    for top, high in ((y + 52, height * 0.24), (y + 60 + height * 0.26, height * 0.3)):
        canvas.rectangle(x + 12, top, width - 24, high, shade(colour, 0.86))
        canvas.rectangle(x + 14, top + 2, width - 28, high - 4, shade(colour, 1.03))
    canvas.ellipse(x + width - 9, y + height * 0.55, 4, 4, hexa("#d8b25a"))
    canvas.rectangle(x + width / 2 - 19, y + 14, 38, 26, PAPER, radius=3)
    return canvas.text(number, x + width / 2, y + 27, 19, INK)


def rug(canvas: Canvas, x: float, y: float, width: float, height: float, colour: Colour) -> None:
    """A rug on the floor, seen from the front; ``(x, y)`` is the middle of its far edge."""
    near, far = width / 2, width / 2 * 0.86
    for inset, tone in ((0.0, shade(colour, 0.8)), (0.06, colour), (0.12, shade(colour, 1.1))):
        top, bottom = y + height * inset, y + height * (1 - inset)
        far_half, near_half = far * (1 - inset), near * (1 - inset)
        canvas.polygon(
            [(x - far_half, top), (x + far_half, top), (x + near_half, bottom), (x - near_half, bottom)], tone
        )

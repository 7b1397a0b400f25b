"""The things that people carry. Lengths are in units of 60 pixels from the thing's lower middle."""

from __future__ import annotations

from collections.abc import Callable

from eval.sandbox.drawing.palette import COLOURS, Colour, hexa, shade
from eval.sandbox.drawing.sheet import Point, Sheet
from eval.sandbox.script import Prop
from world_api.core.boxes import Box
from world_api.core.ports import Image

WHITE = hexa("#f0ece2")  #: of shirts and paper
_UNIT = 60.0  #: pixels
#: From the hand to the lower middle of what it holds: pixels forwards and down.
GRIP = (4.0, 12.0)
_GRIPS: dict[str, Point] = {"bag": (3.0, 44.0), "umbrella": (3.0, 30.0), "scarf": (3.0, 34.0), "key": (3.0, 26.0)}
#: Heights in pixels, of what hangs from a hook by its top.
_HEIGHTS = {"bag": 47.0, "umbrella": 54.0, "scarf": 46.0, "key": 32.0, "hat": 25.0}
_HUNG = 34.0  #: pixels from the hook to the lower middle by which a hanging thing is placed


def grip_of(prop: Prop | None) -> Point:
    """From the hand to the lower middle of what it holds: pixels forwards and down."""
    return _GRIPS.get(prop.category, GRIP) if prop else GRIP


def paint_prop(frame: Image, prop: Prop, place: Point, *, hangs: bool = False) -> Box | None:
    """Paint a thing into the frame, in place; ``place`` is its lower middle. Returns its visible box.

    What ``hangs`` is moved so that its top is at the hook.
    """
    if hangs:
        place = (place[0], place[1] - _HUNG + _HEIGHTS.get(prop.category, _HUNG))
    sheet = Sheet(place, _UNIT)
    _PAINTERS.get(prop.category, _folder)(sheet, COLOURS[prop.colour], COLOURS[prop.label] if prop.label else None)
    return sheet.stamp(frame)


def _folder(sheet: Sheet, colour: Colour, label: Colour | None) -> None:
    sheet.polygon([(-0.4, 0.0), (0.36, 0.0), (0.42, 0.52), (-0.34, 0.52)], shade(colour, 0.62), flat=True)
    sheet.polygon([(-0.36, 0.04), (0.36, 0.04), (0.42, 0.55), (-0.3, 0.55)], WHITE, flat=True)
    sheet.polygon([(-0.4, 0.0), (0.34, 0.0), (0.38, 0.46), (-0.36, 0.46)], colour)
    if label is None:
        sheet.polygon([(-0.18, 0.2), (0.16, 0.2), (0.17, 0.34), (-0.17, 0.34)], WHITE, flat=True)
        return
    sheet.polygon([(-0.2, 0.12), (0.17, 0.12), (0.19, 0.34), (-0.18, 0.34)], WHITE, flat=True)
    sheet.polygon([(-0.16, 0.15), (0.14, 0.15), (0.16, 0.31), (-0.14, 0.31)], label, flat=True)


def _cup(sheet: Sheet, colour: Colour, _label: Colour | None) -> None:
    sheet.hull([((0.1, 0.17), 0.07)], shade(colour, 0.8))
    sheet.polygon([(-0.1, 0.0), (0.1, 0.0), (0.13, 0.3), (-0.13, 0.3)], colour)
    sheet.hull([((-0.1, 0.3), 0.03), ((0.1, 0.3), 0.03)], hexa("#5b3a22"), flat=True)


def _book(sheet: Sheet, colour: Colour, label: Colour | None) -> None:
    sheet.polygon([(-0.2, 0.0), (0.26, 0.02), (0.26, 0.54), (-0.2, 0.56)], WHITE, flat=True)
    sheet.polygon([(-0.27, 0.0), (0.2, 0.0), (0.2, 0.54), (-0.27, 0.54)], colour)
    sheet.polygon([(-0.27, 0.0), (-0.19, 0.0), (-0.19, 0.54), (-0.27, 0.54)], shade(colour, 0.62), flat=True)
    sheet.polygon([(-0.12, 0.34), (0.14, 0.34), (0.14, 0.44), (-0.12, 0.44)], label or WHITE, flat=True)


def _box(sheet: Sheet, colour: Colour, label: Colour | None) -> None:
    sheet.polygon([(-0.36, 0.38), (0.36, 0.38), (0.28, 0.52), (-0.28, 0.52)], shade(colour, 1.12), flat=True)
    sheet.polygon([(-0.36, 0.0), (0.36, 0.0), (0.36, 0.4), (-0.36, 0.4)], colour)
    sheet.polygon([(-0.36, 0.29), (0.36, 0.29), (0.36, 0.33), (-0.36, 0.33)], shade(colour, 0.55), flat=True)
    if label is not None:
        sheet.polygon([(-0.2, 0.05), (0.2, 0.05), (0.2, 0.26), (-0.2, 0.26)], WHITE, flat=True)
        sheet.polygon([(-0.17, 0.08), (0.17, 0.08), (0.17, 0.23), (-0.17, 0.23)], label, flat=True)


def _bag(sheet: Sheet, colour: Colour, label: Colour | None) -> None:
    for first, last in (((-0.14, 0.48), (-0.09, 0.74)), ((-0.09, 0.74), (0.09, 0.74)), ((0.09, 0.74), (0.14, 0.48))):
        sheet.hull([(first, 0.035), (last, 0.035)], shade(colour, 0.6), flat=True)
    sheet.hull([((-0.24, 0.08), 0.08), ((0.24, 0.08), 0.08), ((0.18, 0.44), 0.08), ((-0.18, 0.44), 0.08)], colour)
    sheet.polygon([(-0.27, 0.33), (0.27, 0.33), (0.26, 0.38), (-0.26, 0.38)], shade(colour, 0.62), flat=True)
    if label is not None:
        sheet.polygon([(-0.13, 0.1), (0.13, 0.1), (0.13, 0.27), (-0.13, 0.27)], label, flat=True)


def _key(sheet: Sheet, colour: Colour, label: Colour | None) -> None:
    dark = shade(colour, 0.7)
    sheet.hull([((0.0, 0.4), 0.13)], colour)
    sheet.hull([((0.0, 0.41), 0.055)], label or WHITE, flat=True)
    sheet.hull([((0.0, 0.27), 0.035), ((0.0, 0.03), 0.035)], colour)
    for y in (0.05, 0.13):
        sheet.polygon([(0.0, y - 0.025), (0.13, y - 0.025), (0.13, y + 0.025), (0.0, y + 0.025)], dark, flat=True)


def _umbrella(sheet: Sheet, colour: Colour, _label: Colour | None) -> None:
    sheet.hull([((0.0, 0.02), 0.012), ((0.0, 0.14), 0.02)], hexa("#3a3f46"), flat=True)
    sheet.hull([((0.0, 0.14), 0.03), ((0.0, 0.6), 0.085)], colour)
    sheet.hull([((-0.04, 0.36), 0.015), ((0.06, 0.42), 0.015)], shade(colour, 0.6), flat=True)
    sheet.hull([((0.0, 0.62), 0.022), ((0.0, 0.82), 0.022)], hexa("#6b4528"), flat=True)
    sheet.hull([((0.0, 0.84), 0.028), ((0.08, 0.86), 0.028)], hexa("#6b4528"), flat=True)


def _hat(sheet: Sheet, colour: Colour, _label: Colour | None) -> None:
    sheet.hull([((-0.15, 0.12), 0.05), ((0.15, 0.12), 0.05), ((-0.12, 0.34), 0.06), ((0.12, 0.34), 0.06)], colour)
    sheet.polygon([(-0.2, 0.1), (0.2, 0.1), (0.19, 0.18), (-0.19, 0.18)], shade(colour, 0.5), flat=True)
    sheet.hull([((-0.3, 0.06), 0.045), ((0.3, 0.06), 0.045)], shade(colour, 0.9))


def _scarf(sheet: Sheet, colour: Colour, _label: Colour | None) -> None:
    for x, low, tone in ((0.09, 0.12, 0.75), (-0.07, 0.02, 1.0)):
        sheet.hull([((x, low + 0.06), 0.075), ((x * 0.4, 0.68), 0.07)], shade(colour, tone))
        sheet.polygon(
            [(x - 0.08, low + 0.1), (x + 0.08, low + 0.1), (x + 0.08, low + 0.16), (x - 0.08, low + 0.16)],
            shade(colour, 0.5),
            flat=True,
        )


def _letter(sheet: Sheet, colour: Colour, label: Colour | None) -> None:
    sheet.polygon([(-0.33, 0.0), (0.33, 0.0), (0.33, 0.4), (-0.33, 0.4)], colour)
    for side in (-1, 1):
        sheet.hull([((side * 0.32, 0.38), 0.012), ((0.0, 0.17), 0.012)], shade(colour, 0.6), flat=True)
    sheet.hull([((0.0, 0.18), 0.055)], label or hexa("#b8342c"), flat=True)


_PAINTERS: dict[str, Callable[[Sheet, Colour, Colour | None], None]] = {
    "folder": _folder,
    "cup": _cup,
    "book": _book,
    "box": _box,
    "bag": _bag,
    "key": _key,
    "umbrella": _umbrella,
    "hat": _hat,
    "scarf": _scarf,
    "letter": _letter,
}

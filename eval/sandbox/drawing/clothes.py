"""What people put on over their coats: hats and scarves, in heights of the person."""

from __future__ import annotations

from eval.sandbox.drawing.palette import COLOURS, shade
from eval.sandbox.drawing.sheet import Point, Sheet
from eval.sandbox.script import Prop
from world_api.core.boxes import Box


def paint_hat(sheet: Sheet, hat: Prop, head: Point, facing: int) -> Box:
    """Paint a hat on a head whose middle is at ``head``; returns its box in pixels of the frame."""
    colour, (x, y) = COLOURS[hat.colour], head
    x -= facing * 0.012
    crown = [((x + side * 0.05, y + up), 0.022) for side in (-1, 1) for up in (0.062, 0.125)]
    sheet.hull(crown, colour)
    sheet.polygon(
        [(x - 0.07, y + 0.05), (x + 0.07, y + 0.05), (x + 0.07, y + 0.072), (x - 0.07, y + 0.072)],
        shade(colour, 0.5),
        flat=True,
    )
    sheet.hull([((x - 0.095, y + 0.042), 0.014), ((x + 0.105, y + 0.042), 0.014)], shade(colour, 0.9))
    return _box(sheet, x - 0.11, y + 0.03, x + 0.12, y + 0.147)


def paint_scarf(sheet: Sheet, scarf: Prop, neck: Point, facing: int) -> Box:
    """Paint a scarf around a neck; returns its box in pixels of the frame."""
    colour, (x, y) = COLOURS[scarf.colour], neck
    end = (x + facing * 0.052, y - 0.2)
    sheet.hull([((x + facing * 0.04, y - 0.02), 0.024), (end, 0.028)], colour)
    sheet.polygon(
        [
            (end[0] - 0.03, end[1] + 0.02),
            (end[0] + 0.03, end[1] + 0.02),
            (end[0] + 0.03, end[1] + 0.034),
            (end[0] - 0.03, end[1] + 0.034),
        ],
        shade(colour, 0.5),
        flat=True,
    )
    sheet.hull([((x - 0.052, y), 0.03), ((x + 0.06, y), 0.03)], shade(colour, 0.94))
    return _box(sheet, x - 0.085, y - 0.23, x + 0.09, y + 0.03)


def _box(sheet: Sheet, left: float, low: float, right: float, high: float) -> Box:
    x, y = sheet.feet
    return Box(x1=x + left * sheet.size, y1=y - high * sheet.size, x2=x + right * sheet.size, y2=y - low * sheet.size)

"""A heat map of differences: blue above nothing, orange below it, each field with its figure."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from eval.report.charts.estimates import Tile
from eval.report.charts.svg import Behind, drawing, element, mark, shortened, text

STEPS = 5  #: shades on either side of nothing
_WIDE, _HIGH, _LEFT, _TOP = 134.0, 50.0, 190.0, 62.0


def heat_map(
    tiles: Sequence[Tile], *, name: str, title: str, about: str, across: str, down: str, most: float
) -> Markup:
    """Rows and columns in the order in which they come. The deepest shade is a difference of ``most``."""
    rows = list(dict.fromkeys(tile.row for tile in tiles))
    columns = list(dict.fromkeys(tile.column for tile in tiles))
    parts = [text(shortened(title, 70), 8, 16, kind="head"), text(f"{down} ↓   {across} →", 8, _TOP - 10, kind="tick")]
    parts += [
        text(shortened(column, 19), _LEFT + (place + 0.5) * _WIDE, _TOP - 10, anchor="middle", kind="head")
        for place, column in enumerate(columns)
    ]
    parts += [
        text(shortened(row, 26), _LEFT - 10, _TOP + (place + 0.5) * _HIGH + 4, anchor="end", kind="head")
        for place, row in enumerate(rows)
    ]
    parts += [_tile(tile, rows.index(tile.row), columns.index(tile.column), most) for tile in tiles]
    width, height = _LEFT + len(columns) * _WIDE + 8, _TOP + len(rows) * _HIGH + 8
    return drawing(*parts, width=width, height=height, title=title, about=about, name=name)


def shade(value: float | None, most: float) -> str:
    """The class of a field's colour."""
    if value is None:
        return "tile none"
    step = round(STEPS * value / most) if most else 0
    if step == 0 and value:
        step = 1 if value > 0 else -1
    return f"tile {'up' if step > 0 else 'down'}{abs(step)}" if step else "tile even"


def _tile(tile: Tile, row: int, column: int, most: float) -> Markup:
    x, y = _LEFT + column * _WIDE, _TOP + row * _HIGH
    first, _, second = tile.shown.partition("\n")
    shapes = [
        element(
            "rect",
            x=x + 1.5,
            y=y + 1.5,
            width=_WIDE - 3,
            height=_HIGH - 3,
            rx=4,
            class_=f"{shade(tile.value, most)}{' own' if tile.own else ''}",
        ),
        text(first, x + _WIDE / 2, y + _HIGH / 2 + (0 if second else 5), anchor="middle", kind="figure"),
    ]
    shapes += [text(second, x + _WIDE / 2, y + _HIGH / 2 + 16, anchor="middle", kind="interval")] if second else []
    return mark(Behind(words=tile.words, samples=tile.samples), *shapes)

"""Cells in words, the same wherever a table is shown: shares in percent, differences with their sign, blanks as a dash."""

from __future__ import annotations

from eval.tables.table import Cell, Column

BLANK = "-"
_SCALE = {"share": 100.0, "points": 100.0}
_SIGNED = frozenset({"points", "change"})


def heading(column: Column) -> str:
    """The title of a column, with the unit where it has one."""
    unit = {"share": "%", "points": "points", "seconds": "s", "money": ""}.get(column.kind, "")
    return f"{column.title}, {unit}" if unit and unit not in column.title else column.title


def cell_text(cell: Cell, column: Column, *, interval: bool = True) -> str:
    """A cell in words: its value, its interval in brackets, and a sign where there is a remark (``*``)."""
    if cell.value is None:
        return BLANK if cell.why else ""
    text = value_text(cell.value, column)
    if interval and cell.low is not None and cell.high is not None:
        text += f" [{value_text(cell.low, column)}, {value_text(cell.high, column)}]"
    return text + ("*" if cell.mark else "")


def value_text(value: str | float | int | bool, column: Column) -> str:
    """A figure as its column shows it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    number = float(value) * _SCALE.get(column.kind, 1.0)
    if column.kind == "p":
        return "<0.001" if number < 0.001 else f"{number:.3f}"
    if column.kind == "money":
        return _plain(f"{number:.4f}")
    if column.kind in ("count", "tokens"):
        return _plain(f"{number:,.0f}")
    sign = "+" if column.kind in _SIGNED else ""
    places = 1 if column.kind in ("share", "points", "seconds") else _places(number)
    return _plain(f"{number:{sign},.{places}f}")


def _places(number: float) -> int:
    """So many decimals that small quantities keep two figures, and large ones none."""
    if number != 0 and abs(number) < 0.1:
        return 4
    return 2 if abs(number) < 100 else 0


def _plain(text: str) -> str:
    """Without the sign of a zero that was rounded: ``-0.0`` says nothing that ``0.0`` does not."""
    return text.lstrip("+-") if text.strip("+-0.,") == "" else text


def remarks(cell: Cell) -> str:
    """Why a cell is blank, or how it is to be read."""
    return cell.why or cell.mark

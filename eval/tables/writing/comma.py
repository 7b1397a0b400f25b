"""A table as CSV (RFC 4180): figures as they are, shares from 0 to 1, with the ends of intervals in columns of their own.

Text that a spreadsheet would take for a formula is written behind an apostrophe.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from eval.tables.table import Cell, Column, Table

#: How a field begins that spreadsheets compute, or that hides such a beginning.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\0", "＝", "＋", "－", "＠")
_EXTRA = ("low", "high", "n", "clusters")


def comma_separated(table: Table) -> str:
    """The table with one line a row under a line of headings; lines end in CR LF.

    Beside each figure stand, where any row has them, its ``KEY_low``, ``KEY_high``, ``KEY_n``, ``KEY_clusters`` and
    ``KEY_remark`` (why it is blank, or how it is to be read). The last columns say the table's ``watermark`` and what was
    ``left_out``, the same in each row, so that they go where the figures go.
    """
    kept = [(place, column, _extras(table, place)) for place, column in enumerate(table.columns)]
    beside = {"watermark": table.watermark or "", "left_out": _left_out(table)}
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow([*(head for _, column, extras in kept for head in _heads(column, extras)), *beside])
    for row in table.rows:
        fields = (field for place, _, extras in kept for field in _fields(row.cells[place], extras))
        writer.writerow([*fields, *map(guarded, beside.values())])
    return file.getvalue()


def guarded(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    plain = text.encode("utf-8", errors="replace").decode().replace("\0", "")
    return "'" + plain if plain.lstrip(" ").startswith(_FORMULA) else plain


def _extras(table: Table, place: int) -> list[str]:
    cells = [row.cells[place] for row in table.rows]
    found = [name for name in _EXTRA if any(getattr(cell, name) is not None for cell in cells)]
    return found + (["remark"] if any(cell.why or cell.mark for cell in cells) else [])


def _heads(column: Column, extras: list[str]) -> Iterator[str]:
    yield guarded(column.key)
    yield from (guarded(f"{column.key}_{name}") for name in extras)


def _fields(cell: Cell, extras: list[str]) -> Iterator[str]:
    yield _field(cell.value)
    for name in extras:
        yield guarded(cell.why or cell.mark) if name == "remark" else _field(getattr(cell, name))


def _field(value: str | float | int | bool | None) -> str:
    """A figure to the last digit that means something; text guarded; a blank as nothing."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return guarded(value)
    return str(value) if isinstance(value, int) else f"{value + 0.0:.10g}"


def _left_out(table: Table) -> str:
    return "; ".join(f"{number} {why}" for why, number in table.left_out.items() if number)

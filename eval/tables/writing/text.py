"""A table for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from eval.tables.table import Table
from eval.tables.writing.wording import BLANK, cell_text, heading, remarks
from world_api.core.printable import columns as width_of

_WIDTH = 100


def table_text(table: Table, *, only: Sequence[str] | None = None) -> str:
    """The table in columns, with what must be read beside it; ``only`` names the columns that are shown."""
    places = [place for place, column in enumerate(table.columns) if only is None or column.key in only]
    chosen = [table.columns[place] for place in places]
    shown = [[heading(column) for column in chosen]]
    shown += [[cell_text(row.cells[place], table.columns[place]) for place in places] for row in table.rows]
    kept = [place for place in range(len(chosen)) if any(line[place] for line in shown[1:])] or list(range(len(chosen)))
    widths = [max(width_of(line[place]) for line in shown) for place in kept]
    lines = [table.title, *([f"({table.watermark})"] if table.watermark is not None else [])]
    for number, line in enumerate(shown if table.rows else ()):
        lines.append("  ".join(_padded(line[place], width) for place, width in zip(kept, widths, strict=True)).rstrip())
        if number == 0:
            lines.append("  ".join("-" * width for width in widths))
    lines += ["", *_beside(table, places)]
    return "\n".join(lines)


def fields_text(table: Table, place: int) -> str:
    """One row of a table, a field a line."""
    row = table.rows[place]
    pairs = list(zip(table.columns, row.cells, strict=True))
    width = max(width_of(heading(column)) for column, _ in pairs)
    lines = [table.title, *([f"({table.watermark})"] if table.watermark is not None else [])]
    for column, cell in pairs:
        text = cell_text(cell, column) if cell.value is not None else f"{BLANK} ({cell.why})"
        if cell.value != "":
            lines.append(
                _padded(heading(column), width) + "  " + text.rstrip("*") + (f" ({cell.mark})" if cell.mark else "")
            )
    return "\n".join([*lines, "", *_beside(table, [])])


def _beside(table: Table, places: Sequence[int]) -> Iterator[str]:
    yield from wrap(table.footer, _WIDTH)
    if table.note:
        yield from wrap(table.note, _WIDTH)
    said = {remarks(row.cells[place]) for row in table.rows for place in places} - {""}
    if said:
        yield from wrap("- blank, * remark: " + "; ".join(sorted(said)), _WIDTH)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - width_of(text))

"""Tables as sections of the page: in words, each cell with the samples behind it, each table below its figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eval.report.figures.drawn import figure_of
from eval.report.index import Sets
from eval.report.page import PageCell, PageColumn, Section
from eval.tables.table import Column, Table
from eval.tables.writing import cell_text, heading, remarks, value_text

#: Wall times differ whenever an episode is run again; they stand in the CSV, so that the page follows from the run alone.
LEFT_TO_CSV = "seconds"


def section_of(table: Table, sets: Sets, primary: frozenset[tuple[str, str, str]] = frozenset()) -> Section:
    """The section of a table."""
    kept = [place for place, column in enumerate(table.columns) if _is_shown(table, place, column)]
    return Section(
        anchor=f"table-{table.name}",
        title=table.title,
        note=table.note,
        figure=figure_of(table, sets, primary),
        columns=[_column(table.columns[place]) for place in kept],
        rows=[list(_cells(table, number, kept, sets)) for number in range(len(table.rows))],
        footer=table.footer,
        remarks=_remarks(table, kept),
        watermark=table.watermark,
    )


def _remarks(table: Table, kept: Sequence[int]) -> str:
    said = sorted({remarks(row.cells[place]) for row in table.rows for place in kept} - {""})
    return "- is blank, * bears a remark: " + "; ".join(said) + "." if said else ""


def _is_shown(table: Table, place: int, column: Column) -> bool:
    """Columns that say nothing in any row are left out."""
    cells = [row.cells[place] for row in table.rows]
    return column.kind != LEFT_TO_CSV and any(cell.value not in (None, "") or cell.why for cell in cells)


def _column(column: Column) -> PageColumn:
    return PageColumn(title=heading(column), about=column.about, place=_place(column))


def _place(column: Column) -> str:
    return ("word" if column.kind == "text" else "figure") + (" aside" if column.aside else "")


def _cells(table: Table, row: int, kept: Sequence[int], sets: Sets) -> Iterator[PageCell]:
    named = [cell_text(table.rows[row].cells[place], table.columns[place]) for place in kept]
    whose = " ".join(
        name for name, place in zip(named, kept, strict=True) if table.columns[place].kind == "text" and name
    )
    for place in kept:
        yield page_cell(table, row, place, sets, whose=whose)


def page_cell(table: Table, row: int, place: int, sets: Sets, *, whose: str) -> PageCell:
    """A cell with what is behind it; ``whose`` says what its row is about."""
    column, cell = table.columns[place], table.rows[row].cells[place]
    told = remarks(cell)
    has_figure = column.kind != "text" and cell.value is not None
    figure = cell_text(cell, column, interval=False)
    interval = ""
    if cell.low is not None and cell.high is not None:
        interval = f"[{value_text(cell.low, column)}, {value_text(cell.high, column)}]"
    counts = [f"n = {cell.n:,}"] if cell.n is not None else []
    counts += [f"{cell.clusters:,} videos"] if cell.clusters is not None else []
    words = f"{table.title}: {whose}, {column.title} {figure} {interval}".strip()
    words += "".join(f"; {said}" for said in (*counts, told) if said)
    return PageCell(
        text=figure,
        interval=interval,
        why=told,
        words=words,
        place=_place(column),
        set=sets.number(table.samples(row, column.key)) if has_figure else None,
    )

"""What the page shows of tables: a section each, and the result that the page begins with.

Every cell stands in words, with the samples behind it; every table stands below its chart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eval.report.charts import SETTING, Figure, Primary, TableRow, arms_figure, figure_of
from eval.report.index import Sets
from eval.tables.table import Column, Table
from eval.tables.writing import cell_text, heading, remarks, value_text

#: Wall times differ whenever an episode is run again; they stand in the CSV, so that the page follows from the run alone.
_CSV_ONLY = "seconds"
_MOST_ARMS = 24  #: in the chart that the page begins with; the table has all
_LEAD_NOTE = (
    "The contrast that was named before the run: paired differences in accuracy on the same questions and seeds, with the "
    "95 % interval over videos. Whatever else this page compares is secondary."
)


@dataclass(frozen=True, kw_only=True)
class PageCell:
    """A cell in words; ``set`` numbers the samples behind it, None if there are none; ``why`` says why it is blank."""

    text: str
    interval: str
    why: str
    words: str
    place: str
    set: int | None


@dataclass(frozen=True, kw_only=True)
class Section:
    """A table with its figure. ``classes`` are those of its columns: ``figure`` is right-aligned, ``aside`` is not printed."""

    table: Table
    figure: Figure | None
    columns: Sequence[Column]
    rows: Sequence[Sequence[PageCell]]
    remarks: str  #: why cells are blank, and what their signs mean

    @property
    def anchor(self) -> str:
        """The id of the section on the page."""
        return f"table-{self.table.name}"

    @property
    def heads(self) -> list[tuple[str, str, str]]:
        """Class, explanation and title of each column."""
        return [(_classes(column), column.about, heading(column)) for column in self.columns]


@dataclass(frozen=True, kw_only=True)
class Lead:
    """What the page begins with: each contrast as a sentence around its figure (words before, cell, words after).

    ``anchor`` is the section that says more of it, None if there is none.
    """

    lines: Sequence[tuple[str, PageCell, str]]
    note: str
    figure: Figure | None
    anchor: str | None
    watermark: str | None


def section_of(table: Table, sets: Sets, primary: Primary = frozenset()) -> Section:
    """The section of a table, without columns that say nothing in any row."""
    kept = [place for place, column in enumerate(table.columns) if _is_shown(table, place, column)]
    said = sorted({remarks(row.cells[place]) for row in table.rows for place in kept} - {""})
    return Section(
        table=table,
        figure=figure_of(table, sets, primary),
        columns=[table.columns[place] for place in kept],
        rows=[list(_cells(table, number, kept, sets)) for number in range(len(table.rows))],
        remarks="- is blank, * bears a remark: " + "; ".join(said) + "." if said else "",
    )


def _is_shown(table: Table, place: int, column: Column) -> bool:
    cells = [row.cells[place] for row in table.rows]
    return column.kind != _CSV_ONLY and any(cell.value not in (None, "") or cell.why for cell in cells)


def _classes(column: Column) -> str:
    return ("word" if column.kind == "text" else "figure") + (" aside" if column.aside else "")


def _cells(table: Table, row: int, kept: Sequence[int], sets: Sets) -> Iterator[PageCell]:
    words = [(cell_text(table.rows[row].cells[place], table.columns[place]), table.columns[place]) for place in kept]
    subject = " ".join(word for word, column in words if column.kind == "text" and word)
    for place in kept:
        yield _page_cell(table, row, place, sets, subject=subject)


def _page_cell(table: Table, row: int, place: int, sets: Sets, *, subject: str) -> PageCell:
    """A cell with the samples behind it; ``subject`` says what its row is about."""
    column, cell = table.columns[place], table.rows[row].cells[place]
    has_figure = column.kind != "text" and cell.value is not None
    figure, interval = cell_text(cell, column, interval=False), ""
    if cell.low is not None and cell.high is not None:
        interval = f"[{value_text(cell.low, column)}, {value_text(cell.high, column)}]"
    counts = [f"n = {cell.n:,}"] if cell.n is not None else []
    counts += [f"{cell.clusters:,} videos"] if cell.clusters is not None else []
    words = f"{table.title}: {subject}, {column.title} {figure} {interval}".strip()
    return PageCell(
        text=figure,
        interval=interval,
        why=remarks(cell),
        words=words + "".join(f"; {said}" for said in (*counts, remarks(cell)) if said),
        place=_classes(column),
        set=sets.number(table.samples(row, column.key)) if has_figure else None,
    )


def lead_of(tables: Sequence[Table], sets: Sets, primary: Primary) -> Lead | None:
    """The primary contrast, and the accuracy of every arm beside it; None if nothing has a score yet."""
    by_name = {table.name: table for table in tables}
    contrast, arms = by_name.get("primary"), by_name.get("main")
    if contrast is None or arms is None or not arms.rows:
        return None
    return Lead(
        lines=[_lead_line(contrast, number, sets) for number in range(len(contrast.rows))],
        note=_LEAD_NOTE if contrast.rows else contrast.note,
        figure=_arms(arms, contrast, sets, primary),
        anchor="table-primary" if contrast.rows else None,
        watermark=arms.watermark,
    )


def _lead_line(contrast: Table, number: int, sets: Sets) -> tuple[str, PageCell, str]:
    row = TableRow(table=contrast, number=number, sets=sets)
    names = f"{row.word('arm')} less {row.word('against')}"
    about = [row.word(key) for key in SETTING] + ([row.word("domain")] if row.word("domain") != "all" else [])
    cell = _page_cell(contrast, number, contrast.place("difference"), sets, subject=names)
    after = f" percent points, over {row.shown('pairs')} pairs on {row.shown('videos')} videos"
    after += f", p {row.shown('p_clustered')}" if row.has("p_clustered") else ""
    after += f"; {cell.why}" if cell.why else ""
    return f"{names} ({', '.join(about)})", cell, after + "."


def _arms(arms: Table, contrast: Table, sets: Sets, primary: Primary) -> Figure | None:
    """Accuracy by arm, in the world and budget of the contrast if one was named."""
    rows = [TableRow(table=arms, number=number, sets=sets, primary=primary) for number in range(len(arms.rows))]
    settings = {(world, budget) for _, world, budget in primary}
    shown = [row for row in rows if not settings or (row.word("world"), row.word("budget")) in settings]
    held = [row for row in shown if row.has("accuracy")]
    about = "Accuracy of every arm, with 95 % intervals over videos."
    about += " In the world and the budget of the contrast, whose arms are in the other colour." if settings else ""
    of_one_domain = bool(contrast.rows) and contrast.cell(0, "domain").value != "all"
    about += " Here over the questions of all domains." if of_one_domain else ""
    about += f" The first {_MOST_ARMS} of {len(held)}." if len(held) > _MOST_ARMS else ""
    return arms_figure(held[:_MOST_ARMS], about)

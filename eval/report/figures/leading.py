"""What a report begins with: the contrast that was named before the run, and the accuracy of every arm beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eval.report.charts.estimates import Dot
from eval.report.figures.accuracy import dots_figure
from eval.report.figures.lines import PLACE, Line
from eval.report.index import Sets
from eval.report.page import Figure, Lead, LeadLine
from eval.report.sections import page_cell
from eval.tables.table import Table

_MOST = 24  #: arms in the chart; the table below has all


def lead_of(tables: Sequence[Table], sets: Sets, primary: frozenset[tuple[str, str, str]]) -> Lead | None:
    """The beginning of the page; None where nothing has a score yet."""
    by_name = {table.name: table for table in tables}
    contrast, arms = by_name.get("primary"), by_name.get("main")
    if contrast is None or arms is None or not arms.rows:
        return None
    return Lead(
        lines=list(_lines(contrast, sets)),
        note=_NOTE if contrast.rows else contrast.note,
        figure=_figure(arms, sets, primary, of_one_domain=_domain(contrast) != "all"),
        anchor="table-primary" if contrast.rows else None,
        watermark=arms.watermark,
    )


_NOTE = (
    "The contrast that was named before the run: paired differences in accuracy on the same questions and seeds, with the "
    "95 % interval over videos. Whatever else this page compares is secondary."
)


def _lines(contrast: Table, sets: Sets) -> Iterator[LeadLine]:
    for number in range(len(contrast.rows)):
        line = Line(table=contrast, number=number, sets=sets)
        names = f"{line.word('arm')} less {line.word('against')}"
        about = [line.word(key) for key in ("dataset", "world", "budget")]
        about += [line.word("domain")] if line.word("domain") != "all" else []
        cell = page_cell(contrast, number, contrast.place("difference"), sets, whose=names)
        told = f" percent points, over {line.shown('pairs')} pairs on {line.shown('videos')} videos"
        told += f", p {line.shown('p_clustered')}" if line.has("p_clustered") else ""
        remark = f"; {cell.why}" if cell.why else ""
        yield LeadLine(words=f"{names} ({', '.join(about)})", cell=cell, after=f"{told}{remark}.")


def _domain(contrast: Table) -> str:
    """The task domain of the contrast; ``all`` where it is of every one."""
    return str(contrast.cell(0, "domain").value) if contrast.rows else "all"


def _figure(arms: Table, sets: Sets, primary: frozenset[tuple[str, str, str]], *, of_one_domain: bool) -> Figure | None:
    """Accuracy by arm, in the world and budget of the contrast where one was named."""
    lines = [Line(table=arms, number=number, sets=sets, primary=primary) for number in range(len(arms.rows))]
    settings = {(world, budget) for _, world, budget in primary}
    shown = [line for line in lines if not settings or (line.word("world"), line.word("budget")) in settings]
    dots = [_dot(line) for line in shown if line.has("accuracy")]
    if not dots:
        return None
    about = "Accuracy of every arm, with 95 % intervals over videos."
    about += " In the world and the budget of the contrast, whose arms are in the other colour." if settings else ""
    about += " Here over the questions of all domains." if of_one_domain else ""
    about += f" The first {_MOST} of {len(dots)}." if len(dots) > _MOST else ""
    return dots_figure(dots[:_MOST], name="chart-lead", title="Accuracy by arm", about=about, axis="accuracy, %")


def _dot(line: Line) -> Dot:
    return Dot(
        group=line.place(PLACE),
        label=line.word("arm"),
        at=line.estimate("accuracy"),
        words=f"{', '.join(filter(None, (line.word('arm'), line.place(PLACE))))}: accuracy {line.shown('accuracy')} %",
        samples=line.samples("accuracy"),
        marked=line.is_primary,
    )

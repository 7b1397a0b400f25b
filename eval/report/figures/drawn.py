"""Which tables are drawn, and how."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from eval.report.figures.accuracy import draw_calls, draw_curve, draw_differences, draw_ladder
from eval.report.figures.libraries import draw_funnel, draw_tools, draw_transfer
from eval.report.figures.lines import Line
from eval.report.index import Sets
from eval.report.page import Figure
from eval.tables.table import Table


def figure_of(table: Table, sets: Sets, primary: frozenset[tuple[str, str, str]] = frozenset()) -> Figure | None:
    """The figure of a table; None where there is nothing to draw."""
    draw = _DRAWN.get(table.name)
    lines = [Line(table=table, number=number, sets=sets, primary=primary) for number in range(len(table.rows))]
    return draw(table, lines) if draw is not None and lines else None


_DRAWN: dict[str, Callable[[Table, Sequence[Line]], Figure | None]] = {
    "main": draw_calls,
    "curve": draw_curve,
    "ladder": draw_ladder,
    "primary": draw_differences,
    "comparisons": draw_differences,
    "comparisons_by_domain": draw_differences,
    "transfer_difference": draw_transfer,
    "tools": draw_tools,
    "funnel": draw_funnel,
}

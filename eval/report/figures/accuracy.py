"""Charts of accuracy: against cost, against the baseline, with operations from the truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

from eval.report.charts.costs import cost_chart
from eval.report.charts.dots import dot_chart
from eval.report.charts.estimates import CostPoint, Dot
from eval.report.charts.scales import percent
from eval.report.figures.lines import PLACE, Line
from eval.report.page import Figure
from eval.tables.table import Table


def draw_calls(table: Table, lines: Sequence[Line]) -> Figure | None:
    """Accuracy against calls, where no token was spent."""
    if any(line.number_at("tokens") for line in lines):
        return None  # the curve has them
    drawing = _cost_drawing(table, lines, "calls", "tool calls a sample (no tokens were spent)")
    return None if drawing is None else Figure(drawings=[drawing], caption=_COST_CAPTION)


def draw_curve(table: Table, lines: Sequence[Line]) -> Figure | None:
    """Accuracy against tokens, and against money where prices are known."""
    axes = (("tokens", "tokens a question, logical"), ("money", "USD a question, logical"))
    drawn = [_cost_drawing(table, lines, key, axis) for key, axis in axes if any(line.number_at(key) for line in lines)]
    drawings = [drawing for drawing in drawn if drawing is not None]
    return Figure(drawings=drawings, caption=_COST_CAPTION) if drawings else None


_COST_CAPTION = (
    "Accuracy against cost: up and to the left is better. A line joins the budgets of an arm; a dashed one leads to votes of "
    "several of its seeds. Bars are 95 % intervals over videos; a ring marks what was named before the run. Choose a point to "
    "list its episodes."
)


def _cost_drawing(table: Table, lines: Sequence[Line], key: str, axis: str) -> Markup | None:
    points = [
        CostPoint(
            line=line.word("budget"),
            votes=max(1, round(line.number_at("voters"))),
            primary=line.is_primary and line.number_at("voters") <= 1,
            panel=line.place(("dataset", "world")) or line.word("world"),
            series=line.word("arm"),
            label=_label(line),
            cost=line.estimate(key),
            share=line.estimate("accuracy"),
            words=f"{line.word('arm')}, {line.place(PLACE)} {_label(line)}: accuracy {line.shown('accuracy')} %, "
            f"{line.shown(key)} {key}",
            samples=line.samples("accuracy"),
        )
        for line in lines
        if line.has("accuracy") and line.has(key)
    ]
    if not points:
        return None
    return cost_chart(points, name=f"chart-{table.name}-{key}", title=f"Accuracy against {key}", axis=axis)


def _label(line: Line) -> str:
    """The budget, and how many voted where several did."""
    votes = line.number_at("voters")
    return " ".join(filter(None, (line.place(("budget",)), f"×{votes:.0f}" if votes > 1 else "")))


def draw_ladder(table: Table, lines: Sequence[Line]) -> Figure | None:
    """Accuracy with one operation after the other from the truth."""
    dots = [
        Dot(
            group=line.place(("dataset", "budget", "arm")) or line.word("arm"),
            label=f"from the truth: {line.word('world')}",
            at=line.estimate("accuracy"),
            words=f"{line.word('arm')}, from the truth: {line.word('world')}: accuracy {line.shown('accuracy')} %, gain "
            f"{line.shown('gain')} points",
            samples=line.samples("accuracy"),
            marked=line.word("world") == "everything",
        )
        for line in lines
        if line.has("accuracy")
    ]
    if not dots:
        return None
    about = "Accuracy with one operation at a time answered from the truth, and with all of them; 95 % intervals over videos."
    return dots_figure(dots, name=f"chart-{table.name}", title=table.title, about=about, axis="accuracy, %")


def draw_differences(table: Table, lines: Sequence[Line]) -> Figure | None:
    """Paired differences around nothing."""
    dots = [
        Dot(
            group=line.place(PLACE),
            label=" ".join(filter(None, (f"{line.word('arm')} − {line.word('against')}", line.place(("domain",))))),
            at=line.estimate("difference"),
            words=f"{line.word('arm')} less {line.word('against')}, {line.place((*PLACE, 'domain'))}: "
            f"{line.shown('difference')} points",
            samples=line.samples("difference"),
            marked=table.name == "primary",
        )
        for line in lines
        if line.has("difference")
    ]
    if not dots:
        return None
    about = "Paired differences in accuracy with 95 % intervals; the dashed line is no difference."
    return dots_figure(
        dots, name=f"chart-{table.name}", title=table.title, about=about, axis="difference in accuracy, percent points",
        zero=True, tick=lambda value: f"{100 * value:+.0f}" if round(100 * value) else "0",
    )  # fmt: skip


def dots_figure(
    dots: Sequence[Dot],
    *,
    name: str,
    title: str,
    about: str,
    axis: str,
    zero: bool = False,
    tick: Callable[[float], str] = percent,
) -> Figure:
    """The chart of the dots, once for wide screens and once for narrow ones."""
    broad, narrow = (
        dot_chart(
            dots,
            name=f"{name}{'-narrow' * tight}",
            title=title,
            about=about,
            axis=axis,
            zero=zero,
            tick=tick,
            narrow=tight,
        )
        for tight in (False, True)
    )
    return Figure(drawings=[broad], narrow=[narrow], caption=about)

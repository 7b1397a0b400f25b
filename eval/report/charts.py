"""Charts of tables, drawn by Altair as static SVG.

A chart shows the figures of its table, so that the two cannot differ. The drawings are SVG without Vega's scripts:
these compile expressions at run time, which the page's content security policy forbids, and would add a megabyte to
every page. Colours are variables of the page's style sheet, which differ for light, dark and print; a mark with samples
behind it links to their episodes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from markupsafe import Markup

from controller.display import cut
from eval.report.episodes import Sets, ranges
from eval.tables.table import Column, Table, TableCell, cell_text
from world_api.page.html import asset

if TYPE_CHECKING:
    import altair as alt

#: Arm, world and budget of each side of the primary contrast.
Primary = frozenset[tuple[str, str, str]]
Record = dict[str, Any]

SETTING = ("dataset", "world", "budget")
SHADES = 5  #: on either side of zero, in a heat map
_COLORS = [f"var(--c{number})" for number in range(8)]
_SHAPES = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", "triangle-left"]
_MOST_UNNUMBERED = len(_COLORS)  #: series of a chart that colour and shape tell apart without a number beside them
_MOST_BARS, _MOST_FUNNELS = 60, 12
_MOST_LABELS = 14  #: most points of a cost chart with the names of their budgets
_CLOSE = 0.035  #: share of an axis within which two points are drawn over each other
_LABEL_SHARE = 0.2  #: share of the horizontal axis that the label of a point takes
_LOGARITHMIC_FROM = 30  #: ratio of the largest to the smallest cost from which the axis is logarithmic


@dataclass(frozen=True, kw_only=True)
class ChartFigure:
    """Drawings with their caption; ``narrow`` are the drawings that replace them on narrow screens, if any."""

    drawings: Sequence[Markup]
    caption: str
    narrow: Sequence[Markup] = ()


@dataclass(frozen=True, kw_only=True)
class TableRow:
    """A row of a table, read by the keys of its columns; ``number`` is its index, ``sets`` the sets of samples behind figures."""

    table: Table
    number: int
    sets: Sets
    primary: Primary = frozenset()

    def has(self, key: str) -> bool:
        """Whether the table has the column and the row has a value in it."""
        return any(column.key == key for column in self.table.columns) and self.cell(key).value is not None

    def cell(self, key: str) -> TableCell:
        """Return the cell of a column."""
        return self.table.cell(self.number, key)

    def number_at(self, key: str) -> float:
        """Return the number in a column; 0 if there is none."""
        return (self.cell(key).number if self.has(key) else None) or 0.0

    def word(self, key: str) -> str:
        """Return the value of a column as text; empty if there is none."""
        return str(self.cell(key).value) if self.has(key) else ""

    def shown(self, key: str) -> str:
        """Return the text of a cell, as the table shows it."""
        return cell_text(self.cell(key), self.table.columns[self.table.place(key)])

    def estimate(self, key: str, *, prefix: str = "", scale: float = 1.0) -> Record:
        """Return the number as ``value``, and the ends of its interval as ``low`` and ``high`` (None without one).

        ``prefix`` is added before these names; all numbers are multiplied by ``scale``.
        """
        cell = self.cell(key)
        found = {"value": self.number_at(key), "low": cell.low, "high": cell.high}
        return {f"{prefix}{name}": None if end is None else end * scale for name, end in found.items()}

    def behind(self, key: str, words: str) -> Record:
        """Return ``words``, a mark's description, and ``href``, its link to the samples behind the cell in column ``key`` (or "")."""
        number = self.sets.number(self.table.samples(self.number, key))
        return {"words": printable(words), "href": "" if number is None else f"#episodes?set={number}"}

    def place(self, keys: Sequence[str]) -> str:
        """Return the values of these columns as one text, without columns that are the same in all rows."""
        found = [self.word(key) for key in keys if self.has(key) and len(set(self.table.column(key))) > 1]
        return " · ".join(found)

    @property
    def is_primary(self) -> bool:
        """Whether the row is about one of the two arms of the primary contrast, in its world and budget."""
        return (self.word("arm"), self.word("world"), self.word("budget")) in self.primary


def figure_of(table: Table, sets: Sets, primary: Primary = frozenset()) -> ChartFigure | None:
    """Return the charts of a table, if any; ``sets`` gets the samples behind them, arms of ``primary`` are coloured."""
    draw = _CHARTS.get(table.name)
    rows = [TableRow(table=table, number=number, sets=sets, primary=primary) for number in range(len(table.rows))]
    return draw(table, rows) if draw is not None and rows else None


def printable(text: str) -> str:
    """Return the text with spaces for control characters, which XML does not allow."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _cut(text: str, width: int) -> str:
    return cut(printable(text), width)


# Accuracy against cost


_COST_AXES = {"tokens": "tokens a question, logical", "money": "USD a question, logical"}
_CALLS_AXIS = {"calls": "tool calls a sample (no tokens were spent)"}
_COST_CAPTION = (
    "Accuracy against cost: up and to the left is better. A line joins the budgets of an arm; a dashed one leads to votes of "
    "several of its seeds. Of many arms each has a number. Bars are 95 % intervals over videos; a ring marks what was named "
    "before the run. Choose a point to list its episodes."
)


def _draw_cost(table: Table, rows: Sequence[TableRow]) -> ChartFigure | None:
    """Draw accuracy against tokens, and against money if prices are known; many arms are numbered.

    For the table ``main`` draw accuracy against calls instead; None if tokens were spent, as the curve shows these.
    """
    axes = {key: axis for key, axis in _COST_AXES.items() if any(row.number_at(key) for row in rows)}
    if table.name == "main":  # the curve has tokens and money, if there are any
        axes = {} if "tokens" in axes else _CALLS_AXIS
    drawings = []
    for key, axis in axes.items():
        points = _numbered([_cost_point(row, key) for row in rows if row.has("accuracy") and row.has(key)])
        if points:
            chart = _cost_chart(points, axis, "f" if key == "money" else "~s")
            about = (
                f"Share of right answers against {axis}, one line an arm, one point a budget, bars are 95 % intervals."
            )
            drawings.append(_svg(chart, name=f"{table.name}-{key}", title=f"Accuracy against {key}", about=about))
    return ChartFigure(drawings=drawings, caption=_COST_CAPTION) if drawings else None


def _cost_point(row: TableRow, key: str) -> Record:
    votes = max(1, round(row.number_at("voters")))
    label = " ".join(filter(None, (row.place(("budget",)), f"×{votes}" if votes > 1 else "")))
    words = (
        f"{row.word('arm')}, {row.place(SETTING)} {label}: accuracy {row.shown('accuracy')} %, {row.shown(key)} {key}"
    )
    return {
        "panel": printable(row.place(("dataset", "world")) or row.word("world")),
        "arm": _cut(row.word("arm"), 34),
        "line": row.word("budget"),
        "votes": votes,
        "label": _cut(label, 14) if votes == 1 else "",
        "is_below": False,
        "primary": row.is_primary and votes == 1,
        **row.estimate("accuracy"),
        **row.estimate(key, prefix="cost_"),
        **row.behind("accuracy", words),
    }


def _numbered(points: list[Record]) -> list[Record]:
    """Return points of many arms with a number for each arm, in its name and as label; points of few arms as they are.

    Points that are drawn over each other have one label with the numbers of all.
    """
    arms = list(dict.fromkeys(point["arm"] for point in points))
    if len(arms) <= _MOST_UNNUMBERED:
        return points
    numbers = {arm: number for number, arm in enumerate(arms, 1)}
    most = max(float(point["cost_value"]) for point in points) or 1.0
    together: list[tuple[Record, list[int]]] = []
    for point in (point for point in points if point["votes"] == 1):
        near = (held for other, held in together if _is_close(point, other, most))
        if (held := next(near, None)) is not None:
            held.append(numbers[point["arm"]])
        else:
            together.append((point, [numbers[point["arm"]]]))
    labels: dict[int, Record] = {}
    for place, (point, held) in enumerate(together):
        beside = (labels[id(other)] for other, _ in together[:place] if _is_close(point, other, most, wide=True))
        is_below = any(not label["is_below"] for label in beside)
        labels[id(point)] = {"label": ranges(held, between=", "), "is_below": is_below}
    named = {arm: f"{number}  {arm}" for arm, number in numbers.items()}
    return [point | {"arm": named[point["arm"]], "label": "", **labels.get(id(point), {})} for point in points]


def _is_close(point: Record, other: Record, most: float, *, wide: bool = False) -> bool:
    """Whether two points of a panel, or if ``wide`` their labels, are drawn over each other; ``most``: the largest cost."""
    is_same_panel = point["panel"] == other["panel"]
    up = abs(float(point["value"]) - float(other["value"]))
    across = abs(float(point["cost_value"]) - float(other["cost_value"])) / most
    return bool(is_same_panel and up < _CLOSE and across < (_LABEL_SHARE if wide else _CLOSE))


def series_marks(count: int) -> list[tuple[str, str]]:
    """Return colour and shape of each of ``count`` series; no two of the first 64 have both in common."""
    turns = [(number, number // len(_COLORS)) for number in range(count)]
    return [(_COLORS[number % len(_COLORS)], _SHAPES[(number + 3 * turn) % len(_SHAPES)]) for number, turn in turns]


def _cost_chart(points: list[Record], axis: str, number_format: str) -> alt.FacetChart:
    import altair as alt

    costs = [float(point["cost_value"]) for point in points]
    logarithmic = min(costs) > 0 and max(costs) / min(costs) > _LOGARITHMIC_FROM
    arms = list(dict.fromkeys(point["arm"] for point in points))
    top = max(float(point["high"] or point["value"]) for point in points)
    x = alt.X(
        "cost_value:Q",
        title=axis + (", logarithmic" if logarithmic else ""),
        axis=alt.Axis(format=number_format, tickCount=5),
        scale=alt.Scale(type="log" if logarithmic else "linear", zero=not logarithmic, nice=not logarithmic),
    )
    y = alt.Y(
        "value:Q",
        title=None,
        axis=alt.Axis(format=".0%", tickCount=5),
        scale=alt.Scale(domain=[0, 1 if top > 0.6 else max(0.1, 1.15 * top)]),
    )
    legend = alt.Legend(title=None, orient="top", columns=3, labelLimit=220, columnPadding=36)
    colors, shapes = zip(*series_marks(len(arms)), strict=True)
    color = alt.Color("arm:N", sort=arms, legend=legend, scale=alt.Scale(domain=arms, range=list(colors)))
    shape = alt.Shape("arm:N", sort=arms, legend=legend, scale=alt.Scale(domain=arms, range=list(shapes)))
    data = alt.Chart()
    single = "datum.votes == 1"
    curve = data.encode(x=x, y=y, color=color, order="cost_value:Q")
    layers = [
        curve.transform_filter(single).mark_line(strokeWidth=1.6, opacity=0.75, aria=False),
        curve.mark_line(strokeWidth=1.1, opacity=0.75, strokeDash=[4, 3], aria=False).encode(detail="line:N"),
        # Intervals of votes are in the table; here they would hide other marks.
        data.transform_filter(f"{single} && isValid(datum.low)")
        .mark_rule(strokeWidth=1.6, aria=False)
        .encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=color),
        data.transform_filter(f"{single} && isValid(datum.cost_low)")
        .mark_rule(strokeWidth=1.6, aria=False)
        .encode(x=alt.X("cost_low:Q"), x2="cost_high:Q", y=y, color=color),
        data.transform_filter("datum.primary")
        .mark_point(size=260, stroke="var(--ink)", filled=False, aria=False)
        .encode(x=x, y=y),
        data.mark_point(filled=True, opacity=1).encode(
            x=x, y=y, color=color, shape=shape, href="href:N", description="words:N",
            size=alt.condition(single, alt.value(80), alt.value(40)),
        ),
    ]  # fmt: skip
    if len(arms) > _MOST_UNNUMBERED or sum(point["votes"] == 1 for point in points) <= _MOST_LABELS:
        for dy, where in ((-8, "!datum.is_below"), (11, "datum.is_below")):
            label = data.transform_filter(where).mark_text(align="left", dx=9, dy=dy, aria=False)
            layers.append(label.encode(x=x, y=y, text="label:N"))
    panels = alt.Facet("panel:N", sort=list(dict.fromkeys(point["panel"] for point in points)), title=None)
    chart = alt.layer(*layers, data=alt.Data(values=points)).properties(width=430, height=250)
    return chart.facet(panels, columns=2)


# Estimates with intervals, one per line


def _draw_differences(table: Table, rows: Sequence[TableRow]) -> ChartFigure | None:
    dots = []
    for row in (row for row in rows if row.has("difference")):
        place = row.place((*SETTING, "domain"))
        words = f"{row.word('arm')} less {row.word('against')}, {place}: {row.shown('difference')} points"
        label = " ".join(filter(None, (f"{row.word('arm')} − {row.word('against')}", row.place(("domain",)))))
        dots.append(_dot(row, "difference", label=label, marked=table.name == "primary", words=words))
    about = "Paired differences in accuracy with 95 % intervals; the dashed line is no difference."
    return _dots_figure(dots, table.name, table.title, about, axis="difference in accuracy, percent points", zero=True)


def _draw_ladder(table: Table, rows: Sequence[TableRow]) -> ChartFigure | None:
    dots = []
    for row in (row for row in rows if row.has("accuracy")):
        arm, label = row.word("arm"), f"from the truth: {row.word('world')}"
        words = f"{arm}, {label}: accuracy {row.shown('accuracy')} %, gain {row.shown('gain')} points"
        group = row.place(("dataset", "budget", "arm")) or arm
        marked = row.word("world") == "everything"
        dots.append(_dot(row, "accuracy", group=group, label=label, marked=marked, words=words))
    about = "Accuracy with one operation at a time answered from the truth, and with all of them; 95 % intervals over videos."
    return _dots_figure(dots, table.name, table.title, about, axis="accuracy, %")


def arms_figure(rows: Sequence[TableRow], about: str) -> ChartFigure | None:
    """Return the chart of the accuracy of arms with the caption ``about``; primary arms have another colour."""
    dots = []
    for row in (row for row in rows if row.has("accuracy")):
        arm = row.word("arm")
        words = f"{', '.join(filter(None, (arm, row.place(SETTING))))}: accuracy {row.shown('accuracy')} %"
        dots.append(_dot(row, "accuracy", label=arm, marked=row.is_primary, words=words))
    return _dots_figure(dots, "lead", "Accuracy by arm", about, axis="accuracy, %")


def _dot(row: TableRow, key: str, *, label: str, marked: bool, words: str, group: str | None = None) -> Record:
    place = row.place(SETTING) if group is None else group
    shown = {"group": _cut(place, 90), "label": _cut(label, 38), "marked": marked, "zero": 0}
    return {**shown, **row.estimate(key, scale=100), **row.behind(key, words)}


def _dots_figure(
    dots: list[Record], name: str, title: str, about: str, *, axis: str, zero: bool = False
) -> ChartFigure | None:
    """Return the chart of the dots for wide and narrow screens, None without dots; ``about`` is the caption.

    ``name`` makes ids unique, ``axis`` is the title of the horizontal axis; ``zero``: a line is drawn at 0.
    """
    if not dots:
        return None
    dots = [dot | {"row": number} for number, dot in enumerate(dots)]
    drawings = [
        _svg(_dot_chart(dots, axis, zero=zero, narrow=narrow), name=name + "-narrow" * narrow, title=title, about=about)
        for narrow in (False, True)
    ]
    return ChartFigure(drawings=drawings[:1], narrow=drawings[1:], caption=about)


def _dot_chart(dots: list[Record], axis: str, *, zero: bool, narrow: bool) -> alt.FacetChart:
    """Return a chart of dots with intervals (``zero``: with a line at 0); labels are on the left, if ``narrow`` above."""
    import altair as alt

    labels = alt.Axis(labelExpr=_labels([dot["label"] for dot in dots]), labelLimit=300, ticks=False, domain=False)
    y = alt.Y("row:O", title=None, axis=None if narrow else labels)
    x = alt.X(
        "value:Q",
        title=axis,
        axis=alt.Axis(format="+f" if zero else "f", tickCount=4 if narrow else 8),
        scale=alt.Scale(zero=zero, padding=10),
    )
    color = alt.Color("marked:N", legend=None, scale=alt.Scale(domain=[False, True], range=_COLORS))
    data = alt.Chart()
    layers: list[Any] = [
        data.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=3.5, opacity=0.55, aria=False)
        .encode(x=alt.X("low:Q"), x2="high:Q", y=y, color=color),
        data.mark_point(filled=True, opacity=1, size=80).encode(
            x=x, y=y, color=color, shape=alt.Shape("marked:N", legend=None, scale=alt.Scale(range=_SHAPES)),
            href="href:N", description="words:N",
        ),
    ]  # fmt: skip
    if zero:
        layers.insert(0, data.mark_rule(stroke="var(--soft)", strokeDash=[4, 3], aria=False).encode(x="zero:Q"))
    if narrow:
        layers.append(
            data.mark_text(align="left", dy=-15, aria=False, limit=260).encode(x=alt.value(0), y=y, text="label:N")
        )
    chart = alt.layer(*layers, data=alt.Data(values=dots))
    chart = chart.properties(width=260 if narrow else 430, height=alt.Step(40 if narrow else 24))
    return _in_groups(chart, [dot["group"] for dot in dots])


def _labels(labels: Sequence[str]) -> str:
    """Return a Vega expression for the label of a row by its number, since several rows may have the same label."""
    quoted = ", ".join("'" + label.replace("\\", "\\\\").replace("'", "\\'") + "'" for label in labels)
    return f"[{quoted}][datum.value]"


def _in_groups(chart: alt.LayerChart, groups: Sequence[str]) -> alt.FacetChart:
    """Return the chart with one panel for each group, under the group's name."""
    import altair as alt

    header = alt.Header(labelOrient="top", labelAnchor="start", labelLimit=500)
    facet = alt.Facet("group:N", sort=list(dict.fromkeys(groups)), title=None, header=header)
    return chart.facet(facet, columns=1).resolve_scale(y="independent")


# Libraries against domains


def _draw_transfer(table: Table, rows: Sequence[TableRow]) -> ChartFigure | None:
    """Draw the gain with each library on each domain as heat maps, one for each dataset, world and budget."""
    domains = [column for column in table.columns if column.key.startswith("domain:")]
    if not domains:
        return None
    most = max(abs(row.number_at(column.key)) for row in rows for column in domains)
    about = (
        "Blue: better than the baseline; orange: worse; the deepest shade is the largest difference of this table. A frame marks a "
        "library's own domain. Figures are percent points with their intervals."
    )
    by_place: dict[str, list[Record]] = {}
    for row in rows:
        by_place.setdefault(row.place(SETTING), []).extend(_tile(row, column, most) for column in domains)
    drawings = [
        _svg(_heat_map(tiles, _cut(place, 70)), name=f"{table.name}-{number}", title=place or table.title, about=about)
        for number, (place, tiles) in enumerate(by_place.items())
    ]
    return ChartFigure(drawings=drawings, caption=about)


def _tile(row: TableRow, column: Column, most: float) -> Record:
    cell = row.cell(column.key)
    library, kind = row.word("library"), row.word("library_arm")
    of_library = [other == library for other in row.table.column("library")]
    arms = {arm for arm, same in zip(row.table.column("arm"), of_library, strict=True) if same}
    tile: Record = {
        "library": _cut(library if len(arms) < 2 else row.word("arm"), 26),
        "domain": _cut(column.title, 19),
        "own": row.word("library_domain") == column.title,
    }
    if cell.value is None:
        words = printable(f"{library}, {column.title}: {cell.why}")
        blank = {"shown": "–", "ends": "", "fill": "transparent", "ink": "var(--ink)"}
        return {**tile, **blank, "words": words, "href": ""}
    step = shade(row.number_at(column.key), most)
    words = f"{library} ({kind}) on {column.title}: {row.shown(column.key)} points"
    return {
        **tile,
        "shown": cell_text(cell, column, interval=False),
        "ends": "" if cell.low is None or cell.high is None else f"[{100 * cell.low:+.0f}, {100 * cell.high:+.0f}]",
        "fill": f"var(--{'up' if step > 0 else 'down'}{abs(step)})" if step else "var(--even)",
        "ink": "var(--deep-ink)" if abs(step) >= SHADES - 1 else "var(--ink)",
        **row.behind(column.key, words),
    }


def shade(value: float, most: float) -> int:
    """Return the shade of a difference, from -5 to 5, where ``most`` gives 5; 0 only if there is no difference."""
    step = round(SHADES * value / most) if most else 0
    return step or (value > 0) - (value < 0)


def _heat_map(tiles: list[Record], title: str) -> alt.LayerChart:
    import altair as alt

    libraries, domains = (list(dict.fromkeys(tile[key] for tile in tiles)) for key in ("library", "domain"))
    plain = {"ticks": False, "domain": False, "grid": False}
    data = alt.Chart(alt.Data(values=tiles)).encode(
        x=alt.X(
            "domain:N", sort=domains, title="domain of the question", axis=alt.Axis(orient="top", labelAngle=0, **plain)
        ),
        y=alt.Y("library:N", sort=libraries, title="library", axis=alt.Axis(labelLimit=220, **plain)),
    )
    ink = alt.Color("ink:N", scale=None)
    return alt.layer(
        data.mark_rect(cornerRadius=4, strokeWidth=2).encode(
            color=alt.Color("fill:N", scale=None), href="href:N", description="words:N",
            stroke=alt.condition("datum.own", alt.value("var(--ink)"), alt.value("var(--line)")),
        ),
        data.mark_text(dy=-7, fontSize=14, fontWeight="bold", aria=False).encode(text="shown:N", color=ink),
        data.mark_text(dy=10, fontSize=10.5, aria=False).encode(text="ends:N", color=ink),
    ).properties(width=alt.Step(134), height=alt.Step(50), title=title)  # fmt: skip


# Bars: tools and funnels


def _draw_tools(table: Table, rows: Sequence[TableRow]) -> ChartFigure | None:
    """Draw bars of right and wrong episodes for the first ``_MOST_BARS`` tools that were called."""
    held = [row for row in rows if row.number_at("used")]
    pieces = []
    for number, row in enumerate(held[:_MOST_BARS]):
        place = row.place((*SETTING, "arm"))
        bar: Record = {
            "row": number,
            "group": " · ".join(filter(None, (place, row.place(("library",))))),
            "label": row.word("tool"),
            "end": row.number_at("used"),
            "shown": f"{row.shown('used')} episodes, {row.shown('calls')} calls",
        }
        for key in ("right", "wrong"):
            words = f"{row.word('tool')}, {place}: {row.shown(key)} episodes {key}"
            pieces.append(bar | {"series": key, "value": row.number_at(key)} | row.behind(key, words))
    if not pieces:
        return None
    about = (
        "Episodes that called a tool of a library, by how they ended. Tools that were never called are in the table."
    )
    more = f" {len(held) - _MOST_BARS} further tools are in the table." if len(held) > _MOST_BARS else ""
    chart = _bar_chart(pieces, {"right": "var(--c2)", "wrong": "var(--c1)"}, width=430)
    return ChartFigure(drawings=[_svg(chart, name=table.name, title=table.title, about=about)], caption=about + more)


_TOOL_STEPS = {
    "written": "written", "compiled": "compile", "exposed": "exposed", "called": "called", "found": "found something",
    "right": "and were right",
}  # fmt: skip
_EPISODE_STEPS = {
    "episodes": "all", "episodes_exposed": "were offered tools", "episodes_called": "called one",
    "episodes_found": "found something with one", "episodes_right": "and were right",
}  # fmt: skip


def _draw_funnel(table: Table, rows: Sequence[TableRow]) -> ChartFigure | None:
    """Draw how many of each library's tools, and how many of its episodes, pass each step."""
    about = "How many tools of a library, and how many of its episodes, come how far; each step counts what passed all before it."
    drawings = []
    for row in rows[:_MOST_FUNNELS]:
        bars = [*_funnel_bars(row, "tools", _TOOL_STEPS), *_funnel_bars(row, "episodes", _EPISODE_STEPS)]
        bars = [bar | {"row": number} for number, bar in enumerate(bars)]
        chart = _bar_chart(bars, {"tools": "var(--c0)", "episodes": "var(--c2)"}, width=260, legend=False)
        drawings.append(_svg(chart, name=f"{table.name}-{row.number}", title=table.title, about=about))
    more = f" {len(rows) - _MOST_FUNNELS} more are in the table." if len(rows) > _MOST_FUNNELS else ""
    return ChartFigure(drawings=drawings, caption=about + more)


def _funnel_bars(row: TableRow, what: str, steps: dict[str, str]) -> list[Record]:
    """Return a bar for each column in ``steps`` (its words by key), a count of ``what``, such as "tools"; the longest is 1."""
    held = [key for key in steps if row.has(key)]
    most = max((row.number_at(key) for key in held), default=0.0) or 1.0
    arm, library = row.place(("arm",)), row.word("library")
    place = " · ".join(filter(None, (row.place(SETTING), arm, "" if arm.endswith(f"@{library}") else library)))
    bars = []
    for key in held:
        shown, share = row.shown(key), row.number_at(key) / most
        words = f"{row.word('library')}, {row.word('arm')}: {shown} {what} {steps[key]}"
        bar = {"group": f"{what}: {place}", "label": steps[key], "series": what, "shown": shown}
        bars.append({**bar, "value": share, "end": share, **row.behind(key, words)})
    return bars


def _bar_chart(pieces: list[Record], series: dict[str, str], *, width: int, legend: bool = True) -> alt.FacetChart:
    import altair as alt

    pieces = [piece | {"label": _cut(piece["label"], 30), "group": _cut(piece["group"], 100)} for piece in pieces]
    labels = {piece["row"]: piece["label"] for piece in pieces}
    axis = alt.Axis(labelExpr=_labels(list(labels.values())), labelLimit=220, ticks=False, domain=False)
    y = alt.Y("row:O", title=None, axis=axis)
    color = alt.Color(
        "series:N",
        scale=alt.Scale(domain=list(series), range=list(series.values())),
        legend=alt.Legend(title=None, orient="top") if legend else None,
    )
    data = alt.Chart()
    chart = alt.layer(
        data.mark_bar(size=16).encode(
            x=alt.X("value:Q", axis=None), y=y, color=color, href="href:N", description="words:N"
        ),
        data.mark_text(align="left", dx=6, aria=False).encode(x=alt.X("max(end):Q"), y=y, text="shown:N"),
        data=alt.Data(values=pieces),
    ).properties(width=width, height=alt.Step(24))
    return _in_groups(chart, [piece["group"] for piece in pieces])


_CHARTS: dict[str, Callable[[Table, Sequence[TableRow]], ChartFigure | None]] = {
    "main": _draw_cost,
    "curve": _draw_cost,
    "ladder": _draw_ladder,
    "primary": _draw_differences,
    "comparisons": _draw_differences,
    "comparisons_by_domain": _draw_differences,
    "transfer_difference": _draw_transfer,
    "tools": _draw_tools,
    "funnel": _draw_funnel,
}

# From a chart to SVG in the page


#: Colours, fonts and distances of all charts. The padding is wide, since readers' fonts may be wider than those measured here.
_CONFIG: Record = json.loads(asset(__package__, "charts.json"))


def _svg(chart: Any, *, name: str, title: str, about: str) -> Markup:
    """Return the drawing as SVG with title and description (``about``), ids with ``name``; marks have tooltips and maybe links."""
    import vl_convert

    text = vl_convert.vegalite_to_svg({**chart.to_dict(validate=False), "config": _CONFIG})
    # Vega makes links absolute. In HTML neither links nor elements need a namespace.
    text = re.sub(r'<a xlink:href="[^"#]*#', '<a href="#', text)
    text = re.sub(r' xmlns(:\w+)?="[^"]*"', "", text, count=2)
    root = ElementTree.fromstring(text)  # noqa: S314 - drawn a moment ago
    root.attrib |= {"role": "group", "aria-labelledby": f"chart-{name}-title chart-{name}-about"}
    for place, (tag, words) in enumerate((("title", title), ("desc", about))):
        element = ElementTree.Element(tag, {"id": f"chart-{name}-{tag.replace('desc', 'about')}"})
        element.text = printable(words)
        root.insert(place, element)
    for group in root.iter("g"):
        if "role-mark" in group.get("class", ""):
            for element in group:
                _describe(element)
    return Markup(ElementTree.tostring(root, encoding="unicode"))  # noqa: S704 - written by an XML serialiser


def _describe(mark: ElementTree.Element) -> None:
    """Add a mark's description as its tooltip; the label of a link states that it lists the episodes."""
    shape = mark[0] if mark.tag == "a" else mark
    words = shape.get("aria-label")
    if words is None:
        return
    title = ElementTree.Element("title")
    title.text = words
    mark.insert(0, title)
    if mark.tag == "a":
        shape.attrib.pop("aria-label")
        number = mark.get("href", "").rpartition("=")[2]
        mark.attrib |= {"aria-label": f"{words}: list the episodes", "data-set": number}

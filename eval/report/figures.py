"""Which tables are drawn, and how: a chart takes its figures from its table, so that the two can never disagree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from eval.report.charts.bars import bar_chart
from eval.report.charts.costs import cost_chart
from eval.report.charts.dots import dot_chart
from eval.report.charts.estimates import Bar, CostPoint, Dot, Estimate, Piece, Tile
from eval.report.charts.tiles import heat_map
from eval.report.page.building import Figure
from eval.report.page.index import Sets
from eval.tables.table import Cell, Column, Table
from eval.tables.writing.wording import cell_text

_PLACE = ("dataset", "world", "budget")


@dataclass(frozen=True, kw_only=True)
class Line:
    """A row of a table, by its columns' keys."""

    table: Table
    number: int
    sets: Sets

    def has(self, key: str) -> bool:
        """Whether there is a figure or a word under a key."""
        return any(column.key == key for column in self.table.columns) and self.cell(key).value is not None

    def cell(self, key: str) -> Cell:
        """The cell under a key."""
        return self.table.cell(self.number, key)

    def number_at(self, key: str) -> float:
        """The figure under a key; 0 where there is none."""
        value = self.cell(key).value if self.has(key) else None
        return float(value) if isinstance(value, int | float) else 0.0

    def word(self, key: str) -> str:
        """What stands under a key, as a word; empty where nothing does."""
        return str(self.cell(key).value) if self.has(key) else ""

    def shown(self, key: str) -> str:
        """The cell as the table shows it."""
        return cell_text(self.cell(key), self.table.columns[self.table.place(key)])

    def estimate(self, key: str) -> Estimate:
        """The figure with its interval."""
        cell = self.cell(key)
        return Estimate(value=self.number_at(key), low=cell.low, high=cell.high)

    def samples(self, key: str) -> int | None:
        """The number of the set of samples behind a cell."""
        return self.sets.number(self.table.samples(self.number, key))

    def place(self, keys: Sequence[str]) -> str:
        """The words under some keys, those left out that are the same in the whole table."""
        told = [self.word(key) for key in keys if self.has(key) and len(set(self.table.column(key))) > 1]
        return " · ".join(told)


def figures_of(table: Table, sets: Sets) -> list[Figure]:
    """The figures of a table; none where there is nothing to draw."""
    draw = _DRAWN.get(table.name)
    lines = [Line(table=table, number=number, sets=sets) for number in range(len(table.rows))]
    return draw(table, lines) if draw is not None and lines else []


def _costs(table: Table, lines: Sequence[Line]) -> list[Figure]:
    """Accuracy against tokens; against calls where no token was spent."""
    held = [line for line in lines if line.has("accuracy")]
    key, axis = "tokens", "tokens a sample, logical"
    if not any(line.number_at("tokens") for line in held):
        key, axis = "calls", "tool calls a sample (no tokens were spent)"
    points = [
        CostPoint(
            panel=line.place(("dataset", "world")) or line.word("world"),
            series=line.word("arm"),
            label=line.place(("budget",)),
            cost=line.estimate(key),
            share=line.estimate("accuracy"),
            words=f"{line.word('arm')}, {line.place(_PLACE)}: accuracy {line.shown('accuracy')} %, {line.shown(key)} {key}",
            samples=line.samples("accuracy"),
        )
        for line in held
        if line.has(key)
    ]
    if not points:
        return []
    drawing = cost_chart(points, name=f"chart-{table.name}", title="Accuracy against cost", axis=axis)
    caption = (
        "Accuracy against cost: up and to the left is better. A line joins the budgets of an arm; bars are 95 % intervals over "
        "videos. Choose a point to list its episodes."
    )
    return [Figure(drawing=drawing, caption=caption)]


def _differences(table: Table, lines: Sequence[Line]) -> list[Figure]:
    """Paired differences around nothing."""
    dots = [
        Dot(
            group=line.place(_PLACE),
            label=" ".join(filter(None, (f"{line.word('arm')} − {line.word('against')}", line.place(("domain",))))),
            at=line.estimate("difference"),
            words=f"{line.word('arm')} less {line.word('against')}, {line.place((*_PLACE, 'domain'))}: {line.shown('difference')} points",
            samples=line.samples("difference"),
            marked=table.name == "primary",
        )
        for line in lines
        if line.has("difference")
    ]
    if not dots:
        return []
    about = "Paired differences in accuracy with 95 % intervals; the dashed line is no difference."
    drawing = dot_chart(
        dots, name=f"chart-{table.name}", title=table.title, about=about, axis="difference in accuracy, percent points",
        zero=True, tick=lambda value: f"{100 * value:+.0f}" if round(100 * value) else "0",
    )  # fmt: skip
    return [Figure(drawing=drawing, caption=about)]


def _transfer(table: Table, lines: Sequence[Line]) -> list[Figure]:
    """Libraries against domains, one map for each setting that has several."""
    domains = [column for column in table.columns if column.key.startswith("domain:")]
    by_place: dict[str, list[Line]] = {}
    for line in lines:
        by_place.setdefault(line.place(_PLACE), []).append(line)
    held = [abs(line.number_at(column.key)) for line in lines for column in domains]
    about = (
        "Blue: better than the baseline; orange: worse; the deepest shade is the largest difference of this table. A frame marks a "
        "library's own domain. Figures are percent points with their intervals."
    )
    figures = []
    for number, (place, own) in enumerate(by_place.items()):
        tiles = [_tile(line, column) for line in own for column in domains]
        if tiles:
            drawing = heat_map(
                tiles, name=f"chart-{table.name}-{number}", title=place or table.title, about=about,
                across="domain of the question", down="library", most=max(held),
            )  # fmt: skip
            figures.append(Figure(drawing=drawing, caption=about if number == len(by_place) - 1 else ""))
    return figures


def _tile(line: Line, column: Column) -> Tile:
    cell = line.cell(column.key)
    name = line.word("library")
    induced, kind = line.word("library_domain"), line.word("library_arm")
    own = induced == column.title
    if cell.value is None:
        return Tile(
            row=_library(line), column=column.title, value=None, shown="–", words=f"{name}, {column.title}: {cell.why}"
        )
    figure = cell_text(cell, column, interval=False)
    ends = ""
    if cell.low is not None and cell.high is not None:
        ends = f"\n[{100 * cell.low:+.0f}, {100 * cell.high:+.0f}]"
    return Tile(
        row=_library(line),
        column=column.title,
        value=line.number_at(column.key),
        shown=figure + ends,
        words=f"{name} ({kind}) on {column.title}: {line.shown(column.key)} points",
        samples=line.samples(column.key),
        own=own,
    )


def _library(line: Line) -> str:
    """A library's row, told apart by the arm where several arms have it."""
    arms = {
        str(arm) for arm, name in zip(line.table.column("arm"), line.table.column("library"), strict=True)
        if name == line.word("library")
    }  # fmt: skip
    return line.word("library") if len(arms) < 2 else line.word("arm")


def _tools(table: Table, lines: Sequence[Line]) -> list[Figure]:
    """Episodes that called a tool, right and wrong; at most so many tools as can be read."""
    held = [line for line in lines if line.number_at("used")]
    bars = [
        Bar(
            group=" · ".join(filter(None, (line.place((*_PLACE, "arm")), line.place(("library",))))),
            label=line.word("tool"),
            pieces=[_piece(line, "right", 2), _piece(line, "wrong", 1)],
            shown=f"{line.shown('used')} episodes, {line.shown('calls')} calls",
        )
        for line in held[:_MOST_BARS]
    ]
    if not bars:
        return []
    about = (
        "Episodes that called a tool of a library, by how they ended. Tools that were never called stand in the table."
    )
    drawing = bar_chart(bars, name=f"chart-{table.name}", title=table.title, about=about, series=("", "wrong", "right"))
    more = f" {len(held) - _MOST_BARS} further tools stand in the table." if len(held) > _MOST_BARS else ""
    return [Figure(drawing=drawing, caption=about + more)]


def _piece(line: Line, key: str, series: int) -> Piece:
    words = f"{line.word('tool')}, {line.place((*_PLACE, 'arm'))}: {line.shown(key)} episodes {key}"
    return Piece(series=series, value=line.number_at(key), words=words, samples=line.samples(key))


_STEPS = (
    ("written", "written"),
    ("compiled", "compile"),
    ("exposed", "exposed"),
    ("called", "called"),
    ("found", "found something"),
    ("right", "and were right"),
)
_EPISODE_STEPS = (
    ("episodes", "all"),
    ("episodes_exposed", "were offered tools"),
    ("episodes_called", "called one"),
    ("episodes_found", "found something with one"),
    ("episodes_right", "and were right"),
)


def _funnel(table: Table, lines: Sequence[Line]) -> list[Figure]:
    """How far each library's tools come, and its episodes."""
    about = "How many tools of a library, and how many of its episodes, come how far; each step counts what passed all before it."
    shown = lines[:_MOST_FUNNELS]
    return [
        Figure(
            drawing=bar_chart(
                [*_steps(line, "tools", _STEPS), *_steps(line, "episodes", _EPISODE_STEPS)],
                name=f"chart-{table.name}-{line.number}", title=table.title, about=about, series=("",), width=480.0,
            ),
            caption=about if line is shown[-1] else "",
        )
        for line in shown
    ]  # fmt: skip


def _steps(line: Line, what: str, steps: Sequence[tuple[str, str]]) -> list[Bar]:
    """The steps of a funnel as bars; tools and episodes are each drawn as a share of their first step."""
    held = [(key, title) for key, title in steps if line.has(key)]
    most = max((line.number_at(key) for key, _ in held), default=0.0) or 1.0
    place = " · ".join(filter(None, (line.place((*_PLACE, "arm")), line.word("library"))))
    return [
        Bar(
            group=f"{place}: {what}",
            label=title,
            pieces=[
                Piece(
                    series=0 if what == "tools" else 2,
                    value=line.number_at(key) / most,
                    words=f"{line.word('library')}, {line.word('arm')}: {line.shown(key)} {what} {title}",
                    samples=line.samples(key),
                )
            ],
            shown=line.shown(key),
        )
        for key, title in held
    ]


_MOST_BARS = 60
_MOST_FUNNELS = 12

_DRAWN: dict[str, Callable[[Table, Sequence[Line]], list[Figure]]] = {
    "main": _costs,
    "primary": _differences,
    "comparisons": _differences,
    "comparisons_by_domain": _differences,
    "transfer_difference": _transfer,
    "tools": _tools,
    "funnel": _funnel,
}

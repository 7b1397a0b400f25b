"""Charts of tool libraries: where they help, which tools are called, how far they come."""

from __future__ import annotations

from collections.abc import Sequence

from eval.report.charts.bars import bar_chart
from eval.report.charts.estimates import Bar, Piece, Tile
from eval.report.charts.tiles import heat_map
from eval.report.figures.lines import PLACE, Line
from eval.report.page import Figure
from eval.tables.table import Column, Table
from eval.tables.writing import cell_text

_MOST_BARS = 60
_MOST_FUNNELS = 12


def draw_transfer(table: Table, lines: Sequence[Line]) -> Figure | None:
    """Libraries against domains, one map for each setting that has several."""
    domains = [column for column in table.columns if column.key.startswith("domain:")]
    by_place: dict[str, list[Line]] = {}
    for line in lines:
        by_place.setdefault(line.place(PLACE), []).append(line)
    held = [abs(line.number_at(column.key)) for line in lines for column in domains]
    about = (
        "Blue: better than the baseline; orange: worse; the deepest shade is the largest difference of this table. A frame marks a "
        "library's own domain. Figures are percent points with their intervals."
    )
    drawings = [
        heat_map(
            [_tile(line, column) for line in own for column in domains],
            name=f"chart-{table.name}-{number}", title=place or table.title, about=about, across="domain of the question",
            down="library", most=max(held),
        )
        for number, (place, own) in enumerate(by_place.items())
        if domains
    ]  # fmt: skip
    return Figure(drawings=drawings, caption=about) if drawings else None


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


def draw_tools(table: Table, lines: Sequence[Line]) -> Figure | None:
    """Episodes that called a tool, right and wrong; at most so many tools as can be read."""
    held = [line for line in lines if line.number_at("used")]
    bars = [
        Bar(
            group=" · ".join(filter(None, (line.place((*PLACE, "arm")), line.place(("library",))))),
            label=line.word("tool"),
            pieces=[_piece(line, "right", 2), _piece(line, "wrong", 1)],
            shown=f"{line.shown('used')} episodes, {line.shown('calls')} calls",
        )
        for line in held[:_MOST_BARS]
    ]
    if not bars:
        return None
    about = (
        "Episodes that called a tool of a library, by how they ended. Tools that were never called stand in the table."
    )
    drawing = bar_chart(bars, name=f"chart-{table.name}", title=table.title, about=about, series=("", "wrong", "right"))
    more = f" {len(held) - _MOST_BARS} further tools stand in the table." if len(held) > _MOST_BARS else ""
    return Figure(drawings=[drawing], caption=about + more)


def _piece(line: Line, key: str, series: int) -> Piece:
    words = f"{line.word('tool')}, {line.place((*PLACE, 'arm'))}: {line.shown(key)} episodes {key}"
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


def draw_funnel(table: Table, lines: Sequence[Line]) -> Figure | None:
    """How far each library's tools come, and its episodes."""
    about = "How many tools of a library, and how many of its episodes, come how far; each step counts what passed all before it."
    drawings = [
        bar_chart(
            [*_steps(line, "tools", _STEPS), *_steps(line, "episodes", _EPISODE_STEPS)],
            name=f"chart-{table.name}-{line.number}", title=table.title, about=about, series=("",), width=480.0,
        )
        for line in lines[:_MOST_FUNNELS]
    ]  # fmt: skip
    more = f" {len(lines) - _MOST_FUNNELS} more stand in the table." if len(lines) > _MOST_FUNNELS else ""
    return Figure(drawings=drawings, caption=about + more)


def _steps(line: Line, what: str, steps: Sequence[tuple[str, str]]) -> list[Bar]:
    """The steps of a funnel as bars; tools and episodes are each drawn as a share of their first step."""
    held = [(key, title) for key, title in steps if line.has(key)]
    most = max((line.number_at(key) for key, _ in held), default=0.0) or 1.0
    place = " · ".join(filter(None, (line.place((*PLACE, "arm")), line.word("library"))))
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

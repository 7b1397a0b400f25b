"""The funnel of a library: what compiles, what is exposed, called, finds something, and leads to right answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eval.tables.episodes.libraries import LibraryFacts
from eval.tables.kinds.main import PLACE, cells_of, place_cells
from eval.tables.measuring import count, word
from eval.tables.rows import SampleRow
from eval.tables.study import Study, keys
from eval.tables.table import Cell, Column, Row, Table, blank
from eval.tables.tooling.tools import library_uses

STEPS = ("compiled", "exposed", "called", "found", "right")
_COLUMNS = (
    *PLACE,
    Column(key="library", title="library", aside=True),
    Column(key="written", title="written", kind="count", about="tools in the model's first emission"),
    Column(
        key="compiled", title="compile", kind="count", about="tools of the library: only such as compile are frozen"
    ),
    Column(key="exposed", title="exposed", kind="count", about="tools that some episode was offered"),
    Column(key="called", title="called", kind="count", about="tools that some episode called"),
    Column(
        key="found", title="found something", kind="count", about="tools of which a call neither failed nor was empty"
    ),
    Column(
        key="right", title="and right", kind="count", about="tools that found something in an episode that was right"
    ),
    Column(key="episodes", title="episodes", kind="count"),
    Column(key="episodes_exposed", title="offered", kind="count", about="episodes that were offered tools"),
    Column(key="episodes_called", title="called", kind="count", about="episodes that called a tool"),
    Column(key="episodes_found", title="found", kind="count", about="episodes in which a tool found something"),
    Column(key="episodes_right", title="right", kind="count", about="of these, answered right"),
)


def funnel_table(study: Study) -> Table:
    """The funnel of every library that was exposed, in tools and in episodes."""
    rows, about = [], []
    for setting, arm, own in cells_of(study.rows):
        if own[0].library is not None and own[0].system == "hier":
            facts = study.libraries.get(own[0].library)
            cells = (*place_cells(setting, arm), word(own[0].library), *_tools(own, facts), *_episodes(own))
            rows.append(Row(cells=cells, samples=keys(own)))
            about += own
    return study.table(
        "funnel",
        "From a library's tools to right answers",
        _COLUMNS,
        rows,
        of=about,
        note="Left: tools. Right: episodes. Each step counts what passed all steps before it. An answer that is right after a tool "
        "found something is not thereby right because of it.",
    )


def _tools(own: Sequence[SampleRow], facts: LibraryFacts | None) -> Iterator[Cell]:
    yields = facts.induction.get("yields") if facts is not None else None
    written = yields.get("written") if isinstance(yields, dict) else None
    exposed = {name for row in own for name in row.offered}
    uses = [(row, use) for row in own for use in library_uses(row)]
    found = [(row, use) for row, use in uses if use.found]
    right = [(row, use) for row, use in found if row.correct]
    yield count(written) if isinstance(written, int) else blank("the library was not induced")
    gone = facts.why if facts is not None and facts.why else "nothing is known of the library"
    yield count(len(facts.tools)) if facts is not None and facts.tools else blank(gone)
    yield count(len(exposed))
    for step in (uses, found, right):
        yield count(len({use.name for _, use in step}), (row for row, _ in step))


def _episodes(own: Sequence[SampleRow]) -> Iterator[Cell]:
    offered = [row for row in own if row.offered]
    called = [row for row in offered if library_uses(row)]
    found = [row for row in called if any(use.found for use in library_uses(row))]
    yield count(len(own))
    for step in (offered, called, found, [row for row in found if row.correct]):
        yield count(len(step), step)

"""What a finer score is made of: IoU and recall of intervals, errors of counts, tau of orders, F1 of words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eval.scoring.measures import ShownMeasure, measures_of
from eval.tables.kinds.main import PLACE, cells_of, place_cells
from eval.tables.measuring import count, mean, share
from eval.tables.rows import SampleRow
from eval.tables.study import Study, grouped, keys
from eval.tables.table import Cell, Column, Row, Table, blank


def measures_table(study: Study) -> Table:
    """The measures of each kind of answer, of each arm."""
    known = _measures(study.rows)
    columns = (
        *PLACE,
        Column(key="kind", title="kind"),
        Column(key="n", title="n", kind="count"),
        Column(key="accuracy", title="accuracy", kind="share"),
        *(Column(key=one.name, title=one.title, kind=one.unit, about=one.about) for one in known),
    )
    rows = [
        Row(
            cells=(*place_cells(setting, arm), Cell(value=kind), *_figures(part, known, study.seed)), samples=keys(part)
        )
        for setting, arm, own in cells_of(study.rows)
        for kind, part in sorted(grouped(own, lambda row: row.kind).items())
        if measures_of(kind, [row.details for row in part])
    ]
    return study.table(
        "measures",
        "Measures of each kind of answer",
        columns,
        rows,
        note="Definitions stand in docs/scoring.md. An answer that is missing counts as 0 in exact, IoU, recall and F1; errors and "
        "tau are means over answers that were given. Intervals (95 %) are bootstrapped over videos.",
    )


def _measures(rows: Sequence[SampleRow]) -> list[ShownMeasure]:
    """All measures that some row has, each name once."""
    found: dict[str, ShownMeasure] = {}
    for kind, part in sorted(grouped(rows, lambda row: row.kind).items()):
        for measure in measures_of(kind, [row.details for row in part]):
            found.setdefault(measure.name, measure)
    return list(found.values())


def _figures(part: Sequence[SampleRow], known: Sequence[ShownMeasure], seed: int) -> Iterator[Cell]:
    yield count(len(part))
    yield share(part, seed=seed)
    own = {measure.name: measure for measure in measures_of(part[0].kind, [row.details for row in part])}
    for measure in known:
        if measure.name not in own:
            yield blank("not of this kind of answer")
            continue
        yield _mean(part, own[measure.name], seed)


def _mean(part: Sequence[SampleRow], measure: ShownMeasure, seed: int) -> Cell:
    return mean(part, lambda row: measure.of(row.details), seed=seed, why="no answer was given", within=measure.within)

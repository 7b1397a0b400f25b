"""How episodes ended: with an answer, forced to one, or failed, and why."""

from __future__ import annotations

from collections import Counter

from eval.tables.kinds.main import PLACE, cells_of, place_cells
from eval.tables.measuring import count, mean, word
from eval.tables.study import Study, keys
from eval.tables.table import Cell, Column, Row, Table

_COLUMNS = (
    *PLACE,
    Column(key="outcome", title="outcome", about="submitted, prose, forced, failed"),
    Column(key="reason", title="reason", about="a limit that was reached, or the code of a fault"),
    Column(key="samples", title="samples", kind="count"),
    Column(key="share", title="of the arm", kind="share"),
    Column(key="accuracy", title="accuracy", kind="share"),
)


def endings_table(study: Study) -> Table:
    """The endings of every arm's episodes by outcome and reason; all failures, and all forced ends."""
    rows = []
    for setting, arm, own in cells_of(study.rows):
        ends = Counter((row.outcome, row.reason) for row in own)
        for (outcome, reason), number in sorted(ends.items(), key=lambda item: (-item[1], str(item[0]))):
            part = [row for row in own if (row.outcome, row.reason) == (outcome, reason)]
            cells = (
                *place_cells(setting, arm),
                Cell(value=outcome),
                word(reason, "it answered by itself"),
                count(number),
                Cell(value=number / len(own), n=len(own)),
                mean(part, lambda row: float(row.correct)),
            )
            rows.append(Row(cells=cells, samples=keys(part)))
    return study.table(
        "endings",
        "How episodes ended",
        _COLUMNS,
        rows,
        note="Failed episodes have no answer and count as wrong. A reason that many episodes share and that is no limit is a fault of "
        "the set-up: mend it and run these samples again before anything is compared.",
    )

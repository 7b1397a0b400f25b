"""Who scored the answers of each arm, and how far that agrees with people where answers of the run were labelled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eval.statistics.association import cohen_kappa
from eval.tables.kinds.main import PLACE, cells_of, place_cells
from eval.tables.labels import Labels
from eval.tables.measuring import correct, count, mean, word
from eval.tables.rows import SampleRow
from eval.tables.study import Study, grouped, keys
from eval.tables.table import Cell, Column, Row, Table, blank

_COLUMNS = (
    *PLACE,
    Column(key="scorer", title="scorer", about="with its version"),
    Column(key="instead_of", title="instead of", about="the scorer that the protocol names"),
    Column(key="judge", title="judge", about="its model, and the hash of its prompts", aside=True),
    Column(key="n", title="n", kind="count"),
    Column(key="accuracy", title="accuracy", kind="share"),
    Column(key="labelled", title="labelled", kind="count", about="answers that a person called right or wrong"),
    Column(key="agreement", title="agreement", kind="share", about="of scorer and label"),
    Column(key="kappa", title="kappa", kind="number", about="Cohen's, with its interval over answers"),
    Column(
        key="false_right", title="false right", kind="count", about="called right by the scorer, wrong by the person"
    ),
    Column(key="false_wrong", title="false wrong", kind="count"),
)


def scorers_table(study: Study) -> Table:
    """Every scorer of every arm, with its agreement with labels where there are any."""
    rows = []
    for setting, arm, own in cells_of(study.rows):
        for (scorer, instead, judge), part in grouped(own, _scorer).items():
            cells = (
                *place_cells(setting, arm),
                word(scorer),
                Cell(value=instead),
                Cell(value=judge),
                *_figures(part, study.labels, study.seed),
            )
            rows.append(Row(cells=cells, samples=keys(part)))
    return study.table(
        "scorers",
        "Who scored, and agreement with people",
        _COLUMNS,
        rows,
        note="Scorers never see the arm. Agreement is with the labels of people in the run's `labels.json`, each arm by itself: "
        "a scorer that agrees less on one arm biases every comparison with it. Where a scorer stands in for another one, the "
        "figures are not those of the dataset's protocol.",
    )


def _scorer(row: SampleRow) -> tuple[str, str, str]:
    return row.scorer, _detail(row, "instead_of"), _detail(row, "judge")


def _detail(row: SampleRow, name: str) -> str:
    told = row.details.get(name)
    return told if isinstance(told, str) else ""


def _figures(part: Sequence[SampleRow], labels: Labels, seed: int) -> Iterator[Cell]:
    known = [(row, labels.right[row.sample]) for row in part if row.sample in labels.right]
    yield count(len(part))
    yield mean(part, correct)
    yield count(len(known), [row for row, _ in known])
    if not known:
        for _ in range(4):
            yield blank(labels.why)
        return
    rows = keys(row for row, _ in known)
    agreed = sum(row.correct == label for row, label in known)
    kappa = cohen_kappa([row.correct for row, _ in known], [label for _, label in known], seed=seed)
    yield Cell(value=agreed / len(known), n=len(known), samples=rows)
    if kappa.kappa is None:
        yield blank("scorer and labels say one thing only")
    else:
        yield Cell(value=kappa.kappa, low=kappa.low, high=kappa.high, n=len(known), samples=rows)
    yield _wrongly([row for row, label in known if row.correct and not label])
    yield _wrongly([row for row, label in known if label and not row.correct])


def _wrongly(rows: Sequence[SampleRow]) -> Cell:
    return count(len(rows), rows)

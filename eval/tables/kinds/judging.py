"""Who scored the answers of each arm, and how far that agrees with people where answers of the run were labelled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from eval.statistics.association import cohen_kappa
from eval.tables.kinds.main import PLACE, cells_of, place_cells
from eval.tables.measuring import correct, count, mean, word
from eval.tables.rows import SampleRow
from eval.tables.study import Study, grouped, keys
from eval.tables.table import Cell, Column, Row, Table, blank

_UNLABELLED = "no answer of it was labelled"
_COLUMNS = (
    *PLACE,
    Column(key="scorer", title="scorer", about="with its version"),
    Column(key="instead_of", title="instead of", about="the scorer that the protocol names"),
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
        for (scorer, instead), part in grouped(own, _scorer).items():
            cells = (
                *place_cells(setting, arm),
                word(scorer),
                Cell(value=instead),
                *_figures(part, study.labels, study.seed),
            )
            rows.append(Row(cells=cells, samples=keys(part)))
    return study.table(
        "scorers",
        "Who scored, and agreement with people",
        _COLUMNS,
        rows,
        note="Scorers never see the arm. Agreement is with the labels of people in the run's `labels.jsonl`, each arm by itself: "
        "a scorer that agrees less on one arm biases every comparison with it. Where a scorer stands in for another one, the "
        "figures are not those of the dataset's protocol.",
    )


def _scorer(row: SampleRow) -> tuple[str, str]:
    instead = row.details.get("instead_of")
    return row.scorer, instead if isinstance(instead, str) else ""


def _figures(part: Sequence[SampleRow], labels: Mapping[str, bool], seed: int) -> Iterator[Cell]:
    known = [(row, labels[row.sample]) for row in part if row.sample in labels]
    yield count(len(part))
    yield mean(part, correct)
    yield count(len(known), [row for row, _ in known])
    if not known:
        for _ in range(4):
            yield blank(_UNLABELLED)
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

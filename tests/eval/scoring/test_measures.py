"""The published measures of each kind of answer, as tables show them."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.runs import read_run
from eval.scoring import measures_of
from eval.tables import study_of
from tests.support.runs import made_run
from tests.support.sample_rows import table_of


def test_a_missing_answer_counts_where_there_is_a_least_value() -> None:
    details = [{"iou": 0.6, "recall_1_at_0.5": True}, {"reason": "no_answer", "iou": 0.0, "recall_1_at_0.5": False}]
    assert [[one.of(score) for score in details] for one in measures_of("interval", details)] == [
        [0.6, 0.0],
        [1.0, 0.0],
    ]
    counts = [{"exact": True, "absolute_error": 0}, {"reason": "no_answer"}]
    assert {one.name: [one.of(score) for score in counts] for one in measures_of("count", counts)} == {
        "exact": [1.0, 0.0],
        "absolute_error": [0.0, None],
    }


def test_thresholds_are_those_that_were_scored_and_choices_have_no_measure_of_their_own() -> None:
    scored = [{"iou": 0.2, "recall_1_at_0.1": True, "recall_1_at_0.9": False}]
    assert [one.title for one in measures_of("interval", scored)] == ["mean IoU", "R@1, IoU 0.1", "R@1, IoU 0.9"]
    assert measures_of("choice", [{"given": "A"}]) == ()
    assert measures_of("open", [{"judge": "m", "characters": 4}]) == ()


def test_a_run_has_a_row_for_each_arm_and_kind_with_its_own_measures(tmp_path: Path) -> None:
    table = table_of(study_of(read_run(made_run(tmp_path / "run"))), "measures")
    place = {column.key: number for number, column in enumerate(table.columns)}
    rows = {(row.cells[place["arm"]].value, row.cells[place["kind"]].value): row for row in table.rows}
    found = rows["flat", "interval"].cells
    assert found[place["iou"]].value == pytest.approx(1.0)
    assert found[place["recall_1_at_0.7"]].value == 1.0
    assert found[place["f1"]].value is None and found[place["f1"]].why
    blind = rows["blind", "interval"].cells
    assert (blind[place["iou"]].value, blind[place["recall_1_at_0.3"]].value) == (0.0, 0.0)
    assert ("flat", "choice") not in rows
    assert rows["flat", "order"].cells[place["tau"]].value == 1.0

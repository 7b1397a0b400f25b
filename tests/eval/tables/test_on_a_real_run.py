"""What the tables say of a real run: sanity, traces, watermark, the same bytes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import pytest

from controller.display import WATERMARK
from eval.runs import read_run
from eval.scoring import answer_key
from eval.tables import SampleRow, Study, Table, compare, grouped, study_of, tables_of, write_tables
from tests.support.runs import made_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield made_run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def study(run: Path) -> Study:
    return study_of(read_run(run))


@pytest.fixture(scope="module")
def tables(study: Study) -> dict[str, Table]:
    return {table.name: table for table in tables_of(study)}


def test_flat_against_itself_is_exactly_zero(study: Study) -> None:
    for other in ("flat", "flat_again"):
        table = compare(study, "flat", other).tables[0]
        cell = table.cell(0, "difference")
        assert (cell.value, cell.low, cell.high) == (0.0, 0.0, 0.0)
        assert (table.cell(0, "only_arm").value, table.cell(0, "only_against").value) == (0, 0)
        assert table.cell(0, "p_mcnemar").value == 1.0


def test_the_placebo_library_against_flat_covers_zero(study: Study) -> None:
    cell = compare(study, "hier@placebo_hand_A", "flat").tables[0].cell(0, "difference")
    assert cell.low is not None
    assert cell.high is not None
    assert cell.low <= 0 <= cell.high


def test_a_difference_is_seen_where_there_is_one(study: Study) -> None:
    table = compare(study, "flat", "blind").tables[0]
    assert table.cell(0, "difference").value == pytest.approx(0.2)
    assert table.cell(0, "only_arm").value == 4


def test_every_figure_has_samples_of_the_run_behind_it(study: Study, tables: dict[str, Table]) -> None:
    known = {row.sample for row in study.rows}
    seen = set()
    for table in tables.values():
        for number in range(len(table.rows)):
            for column in table.columns:
                behind = table.samples(number, column.key)
                assert known.issuperset(behind)
                cell = table.cell(number, column.key)
                if cell.n is not None and cell.value is not None:
                    assert len(set(behind)) == len(behind) >= cell.n, (table.name, column.key)
                    seen.add(table.name)
    assert {"primary", "main", "by_domain", "comparisons", "transfer", "curve", "tool_use", "costs"} <= seen


def _share(rows: Sequence[SampleRow]) -> float:
    return sum(row.correct for row in rows) / len(rows)


def test_accuracies_come_out_again_of_the_samples_behind_them(study: Study, tables: dict[str, Table]) -> None:
    known = {row.sample: row for row in study.rows}
    checked: Counter[str] = Counter()
    for name in ("main", "by_domain", "by_kind", "by_content", "comparisons", "curve", "transfer", "baselines"):
        table = tables[name]
        keys = [column.key for column in table.columns if column.key == "accuracy" or column.key.startswith("domain:")]
        for number, key in product(range(len(table.rows)), keys):
            cell, behind = table.cell(number, key), [known[sample] for sample in table.samples(number, key)]
            if cell.value is None:
                continue
            if name == "curve" and table.cell(number, "voters").value != 1:
                voters = grouped(behind, lambda row: row.item)
                assert [len(rows) for rows in voters.values()] == [table.cell(number, "voters").value] * int(
                    cell.n or 0
                )
                least, most = (
                    sum(pick(row.correct for row in rows) for rows in voters.values()) for pick in (all, any)
                )
                assert least <= float(str(cell.value)) * len(voters) <= most
            else:
                assert len(behind) == cell.n
                assert cell.value == pytest.approx(_share(behind)), (name, key)
            checked[name] += 1
    assert all(checked[name] for name in ("main", "by_domain", "comparisons", "curve", "transfer", "baselines"))


def test_differences_come_out_again_of_the_samples_behind_them(study: Study, tables: dict[str, Table]) -> None:
    known = {row.sample: row for row in study.rows}
    for name in ("primary", "comparisons", "comparisons_by_domain", "transfer_difference"):
        table, checked = tables[name], 0
        keys = [column.key for column in table.columns if column.kind == "points" and column.key != "score_difference"]
        for number, key in product(range(len(table.rows)), keys):
            arm, found = table.cell(number, "arm").value, table.cell(number, key).value
            behind = [known[sample] for sample in table.samples(number, key)]
            if found is not None:
                one, other = ([row for row in behind if (row.arm == arm) is own] for own in (True, False))
                assert found == pytest.approx(_share(one) - _share(other)), (name, key)
                checked += 1
        assert checked, name


def test_whatever_the_rule_based_model_answered_carries_the_watermark(tables: dict[str, Table], tmp_path: Path) -> None:
    assert all(table.watermark == WATERMARK for table in tables.values())
    for path in write_tables(tables.values(), tmp_path):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".tex":
            assert "plumbing" in text
        elif text.count("\r\n") > 1:
            assert all(WATERMARK in line for line in text.splitlines()[1:])


def test_the_primary_contrast_stands_apart(tables: dict[str, Table]) -> None:
    primary, others = tables["primary"], tables["comparisons"]
    assert [row.cells[primary.place("arm")].value for row in primary.rows] == ["hier@hand_A"]
    assert "hier@hand_A" not in others.column("arm")
    assert primary.cell(0, "p_holm").value == primary.cell(0, "p_clustered").value


def test_a_blank_cell_says_why(tables: dict[str, Table]) -> None:
    for table in tables.values():
        for row in table.rows:
            assert all(cell.value is not None or cell.why for cell in row.cells), table.name
    assert tables["main"].cell(0, "money").why == "no price is known"
    assert tables["abstraction"].cell(0, "claim").value is None
    assert "hints" in tables["abstraction"].cell(0, "claim").why


@pytest.mark.nightly
def test_the_same_run_gives_the_same_bytes(run: Path, tmp_path: Path) -> None:
    first = write_tables(tables_of(read_run(run)), tmp_path / "one")
    second = write_tables(tables_of(read_run(run)), tmp_path / "two")
    assert [path.name for path in first] == [path.name for path in second]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_the_funnel_only_narrows(tables: dict[str, Table]) -> None:
    funnel = tables["funnel"]
    for steps in (("compiled", "exposed", "called", "found", "right"),
                  ("episodes", "episodes_exposed", "episodes_called", "episodes_found", "episodes_right")):  # fmt: skip
        for number in range(len(funnel.rows)):
            values = [int(str(funnel.cell(number, step).value)) for step in steps]
            assert values == sorted(values, reverse=True)
    placebo = funnel.column("arm").index("hier@placebo_hand_A")
    assert (funnel.cell(placebo, "called").value, funnel.cell(placebo, "found").value) == (3, 0)


def test_labels_of_people_are_compared_with_the_scores_of_each_arm(tmp_path: Path) -> None:
    run = made_run(tmp_path)
    study = study_of(read_run(run))
    row = next(row for row in study.rows if row.kind == "open" and row.arm == "flat" and row.value is not None)
    item = read_run(run).items[row.dataset, row.item]
    key = answer_key(item, row.value)
    pair = {
        "id": key,
        "question": item.question.text,
        "accepted": ["somebody walks"],
        "answer": row.value,
        "right": True,
    }
    record = {"schema_version": 1, "pairs": [pair]}
    (run / "labels.json").write_text(json.dumps(record))
    labelled = study_of(read_run(run)).labels
    assert labelled.right[row.sample] is True
    assert {one.video for one in study.rows if one.sample in labelled.right} == {row.video}
    table = next(table for table in tables_of(read_run(run)) if table.name == "scorers")
    assert sum(int(str(value)) for value in table.column("labelled")) == len(labelled.right)
    (run / "labels.json").write_text(json.dumps({**record, "pairs": [{**pair, "right": None}]}))
    assert "not labelled" in study_of(read_run(run)).labels.why

"""Reading runs back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eval.runs import read_run
from tests.support.runs import made_run
from world_api.core import EvalFault, json_line, parse_json


def test_a_finished_run_is_read_with_its_samples_episodes_and_scores(tmp_path: Path) -> None:
    run = read_run(made_run(tmp_path))
    assert run.planned == len(run.samples) == len(run.scores) == 5 * 2 * len(run.cells)
    assert {cell.arm.library for cell in run.cells.values()} == {None, "hand_A", "placebo_hand_A"}
    assert run.manifest.rule_based
    for _, samples in run.by_cell():
        for sample in samples:
            episode = run.episode(sample)
            assert episode is not None
            assert episode.task.question == run.item(sample).question


@pytest.mark.parametrize(
    ("file", "change", "where"),
    [
        ("scores.jsonl", {"score": 7}, "score"),
        ("scores.jsonl", {"score": -0.1}, "score"),
        ("scores.jsonl", {"score": "1"}, "score"),
        ("scores.jsonl", {"score": None}, "score"),
        ("scores.jsonl", {"correct": 1}, "correct"),
        ("scores.jsonl", {"correct": "yes"}, "correct"),
        ("scores.jsonl", {"details": []}, "details"),
        ("samples.jsonl", {"cost": {"tokens": "9"}}, "cost.tokens"),
        ("samples.jsonl", {"episode": 3}, "episode"),
        ("items.jsonl", {"item": []}, "item"),
    ],
)
def test_a_line_that_holds_what_no_run_wrote_is_named(
    tmp_path: Path, file: str, change: dict[str, Any], where: str
) -> None:
    run = made_run(tmp_path)
    first, *rest = (run / file).read_text().splitlines(keepends=True)
    (run / file).write_text("".join([json_line(parse_json(first) | change) + "\n", *rest]))
    with pytest.raises(EvalFault) as caught:
        read_run(run)
    assert caught.value.code == "run_damaged"
    assert f"line 1 of {file} is not whole: {where}" in caught.value.message


def test_a_line_without_an_end_is_not_read_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = made_run(tmp_path)
    monkeypatch.setattr("eval.runs.records.MAX_LINE_BYTES", 10_000)
    read_run(run)
    with (run / "scores.jsonl").open("ab") as end:
        end.write(b" " * 20_000)
    with pytest.raises(EvalFault, match=r"scores\.jsonl has more than 10,000 bytes"):
        read_run(run)

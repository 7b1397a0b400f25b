"""Reading runs back."""

from __future__ import annotations

from pathlib import Path

from eval.runs.reading import read_run
from tests.support.runs import made_run


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

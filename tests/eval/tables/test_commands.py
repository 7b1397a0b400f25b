"""``videoworld eval compare``, ``diff``, ``transfer`` and ``select``, on a run that was really run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eval.runs import RunFolder
from tests.support import runs
from tests.support.command_line import Outcome
from tests.support.journals import edit_lines
from tool_induction import load_library
from tool_induction.curation import Edits, fork_library
from videoworld import main

CONFIGURATION = """\
schema_version: 1
datasets: [films]
libraries: [hand_A, without_event]
arms: [flat, hier, {name: blind, system: blind}]
seeds: [1]
parallel: 1
"""
LEFT_OUT = "locate_event"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Development questions, the library, and the library without one tool."""
    folder = tmp_path_factory.mktemp("selecting")
    fork_library(
        load_library("hand_A"),
        Edits(drop=[LEFT_OUT]),
        folder / "without_event",
        name="without_event",
        date="2026-01-01",
    )
    config = runs.prepare(folder, configuration=CONFIGURATION)
    asked = "How far into the video does the person in the black coat come into view?"
    questions = [
        {**item, "split": "development", **({"question": asked} if item["id"] == "q1" else {})}
        for item in runs.QUESTIONS
    ]
    runs.write_dataset(folder / "films", videos=("made", "other"), questions=questions)
    outcome = runs.run_here(config)
    assert outcome.complete
    runs.score_run(outcome.folder)
    yield outcome.folder.root


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*arguments: object) -> Outcome:
        status = 0
        try:
            main([str(part) for part in arguments])
        except SystemExit as leaving:
            status = int(leaving.code or 0)
        said = capsys.readouterr()
        return Outcome(status, said.out, said.err)

    return call


def _score(run: Path, item: str, arm: str, *, correct: bool) -> None:
    """Say otherwise of a question's score, as another scorer might."""
    samples = [json.loads(line) for line in (run / "samples.jsonl").read_text().splitlines()]
    wanted = {line["sample"] for line in samples if line["item"].endswith(item) and arm in _arm(run, line["cell"])}
    assert wanted

    def change(line: dict[str, Any]) -> None:
        if line["sample"] in wanted:
            line |= {"correct": correct, "score": float(correct)}

    edit_lines(run / "scores.jsonl", change)


def _arm(run: Path, cell: str) -> str:
    cells = json.loads((run / "manifest.json").read_text())["cells"]
    found = next(item["arm"] for item in cells if item["id"] == cell)
    return f"{found['name']}@{found['library']}"


def test_two_arms_are_compared_with_what_they_differ_in(run: Path, cli: Any) -> None:
    found = cli("eval", "compare", run, "flat", "blind", "--json").json
    assert found["differs_in"] == ["systems"]
    cells = dict(
        zip(
            (column["key"] for column in found["tables"][0]["columns"]),
            found["tables"][0]["rows"][0]["cells"],
            strict=True,
        )
    )
    assert cells["difference"]["value"] == pytest.approx(0.2)
    text = cli("eval", "compare", run, "flat", "blind", "--kind", "interval")
    assert "+100.0" in text.out
    assert "plumbing" in text.out


def test_a_filter_that_is_nought_counts(run: Path, cli: Any) -> None:
    for seed, status in ((1, 0), (0, 1)):
        assert cli("eval", "compare", run, "flat", "blind", "--seed", seed).status == status


def test_arms_that_are_not_there_get_a_suggestion(run: Path, cli: Any) -> None:
    ended = cli("eval", "compare", run, "flatt", "blind")
    assert ended.status == 1
    assert "did you mean 'flat'?" in ended.err
    assert cli("eval", "compare", run, "hier", "flat", "--json").json["error"]["code"] == "several_arms"
    assert (
        cli("eval", "compare", run, "hier@library=hand_C", "flat", "--json").json["error"]["code"] == "nothing_chosen"
    )


def test_flipped_questions_are_told_with_both_trajectories(run: Path, cli: Any) -> None:
    found = cli("eval", "diff", run, "flat", "blind", "--json").json
    assert (found["only_a"], found["only_b"], found["listed"]) == (2, 0, 2)
    flip = found["flips"][0]
    assert (flip["right"], flip["a"]["correct"], flip["b"]["correct"]) == ("a", True, False)
    assert flip["truth"] == {"start_time": 22.0, "end_time": 28.0}
    assert flip["a"]["episode"]["tool_calls"]
    assert not flip["b"]["episode"]["tool_calls"]
    wide = cli("eval", "diff", run, "flat", "blind", "--width", "164", "--limit", "1").out.splitlines()
    assert all(len(line) <= 164 for line in wide)
    assert any("RIGHT" in line and "WRONG" in line for line in wide)
    narrow = cli("eval", "diff", run, "flat", "blind", "--width", "80", "--limit", "1").out.splitlines()
    assert all(len(line) <= 80 for line in narrow if not line.startswith("20 pairs") and "pairs:" not in line)
    assert not any("RIGHT" in line and "WRONG" in line for line in narrow)


def test_flips_can_be_counted_without_being_shown(run: Path, cli: Any) -> None:
    found = cli("eval", "diff", run, "flat", "blind", "--limit", "0", "--only", "b", "--json").json
    assert (found["only_a"], found["listed"], found["of"], found["flips"]) == (2, 0, 0, [])


def test_the_transfer_matrix_is_printed(run: Path, cli: Any) -> None:
    found = cli("eval", "transfer", run, "--json").json
    assert [table["name"] for table in found["tables"]][:3] == ["transfer", "transfer_difference", "own_other"]
    assert len(found["tables"][0]["rows"]) == 2
    assert "B_order_cause" in cli("eval", "transfer", run).out


def test_tools_that_help_become_a_fork_with_the_evidence(run: Path, tmp_path: Path, cli: Any) -> None:
    for item in ("q1", "q2"):
        _score(run, item, "hier@hand_A", correct=True)
    try:
        out = tmp_path / "chosen"
        found = cli("eval", "select", run, "--library", "hand_A", "--out", out, "--json").json
        evidence = {item["tool"]: item for item in found["tools"]}
        assert (evidence[LEFT_OUT]["by"], evidence[LEFT_OUT]["enters"]) == ("left_out", True)
        assert evidence[LEFT_OUT]["accuracy"]["estimate"] == pytest.approx(0.2)
        assert (evidence["locate_words"]["by"], evidence["locate_words"]["enters"]) == ("nothing", False)
        made = load_library(out)
        assert list(made.tools) == found["kept"]
        assert made.manifest["lineage"][-1]["content_hash"] == load_library("hand_A").hash
        assert made.manifest["arm"] == "selected"
        assert made.manifest["selection"]["watermark"].startswith("plumbing")
        assert {item["tool"] for item in made.manifest["selection"]["tools"]} == set(load_library("hand_A").tools)
    finally:
        for item in ("q1", "q2"):
            _score(run, item, "hier@hand_A", correct=False)


def test_a_library_of_which_no_tool_helps_is_not_written(run: Path, tmp_path: Path, cli: Any) -> None:
    ended = cli("eval", "select", run, "--library", "hand_A", "--out", tmp_path / "none")
    assert ended.status == 1
    assert "[nothing_selected]" in ended.err
    assert f"drop  {LEFT_OUT}" in ended.err
    assert not (tmp_path / "none").exists()


def test_tools_are_not_selected_on_questions_of_another_split(tmp_path: Path, cli: Any) -> None:
    tested = runs.made_run(tmp_path)
    ended = cli("eval", "select", tested, "--library", "hand_A", "--out", tmp_path / "out", "--json")
    assert ended.json["error"]["code"] == "not_development"


def test_a_bundle_is_compared_as_its_run_is(run: Path, tmp_path: Path, cli: Any) -> None:
    bundle = tmp_path / "run.vwbundle"
    assert cli("eval", "bundle", run, "--out", bundle).status == 0
    assert cli("eval", "compare", bundle, "flat", "blind").out == cli("eval", "compare", run, "flat", "blind").out
    assert cli("eval", "transfer", bundle).out == cli("eval", "transfer", run).out


def _copied(run: Path, place: Path) -> Path:
    return Path(shutil.copytree(run, place / "run"))


def test_deleted_episodes_are_told_before_every_figure(run: Path, tmp_path: Path, cli: Any) -> None:
    assert cli("eval", "compare", run, "flat", "blind", "--json").json["warning"] is None
    there = _copied(run, tmp_path)
    shutil.rmtree(next((there / "episodes").glob("blind.*")))
    said = "WARNING: 10 of 40 samples count as wrong because their episode is deleted or damaged (blind 10)."
    for command in (["compare", there, "flat", "blind"], ["diff", there, "flat", "blind"], ["transfer", there]):
        assert cli("eval", *command).out.startswith(said), command
        assert cli("eval", *command, "--json").json["warning"] == said
    packed = cli("eval", "bundle", there, "--out", tmp_path / "run.vwbundle")
    assert "WARNING: the episodes of 10 samples are deleted or damaged (blind 10)" in packed.out
    assert cli("eval", "compare", tmp_path / "run.vwbundle", "flat", "blind").out.startswith(said)


def test_a_bundle_tells_of_recordings_that_are_gone(run: Path, tmp_path: Path, cli: Any) -> None:
    there = _copied(run, tmp_path)
    shutil.rmtree(next((there / "episodes").glob("flat.*")) / "recordings")
    packed = cli("eval", "bundle", there, "--out", tmp_path / "run.vwbundle", "--json").json
    assert (packed["episodes_gone"], packed["recordings_gone"]) == ({}, 10)


@pytest.mark.nightly
def test_a_run_that_nobody_has_scored_yet_is_compared_as_it_stands(run: Path, tmp_path: Path, cli: Any) -> None:
    there = _copied(run, tmp_path)
    runs.score_run(RunFolder(there))  # tests before this one may have said otherwise
    known = cli("eval", "compare", there, "flat", "blind", "--json").json
    (there / "scores.jsonl").unlink()
    assert cli("eval", "compare", there, "flat", "blind", "--json").json == known
    assert not (there / "scores.jsonl").exists()
    assert cli("eval", "report", there, "--out", tmp_path / "page").status == 0


def test_a_bundle_is_not_scored_and_what_to_do_is_said(run: Path, tmp_path: Path, cli: Any) -> None:
    bundle = tmp_path / "run.vwbundle"
    cli("eval", "bundle", run, "--out", bundle)
    ended = cli("eval", "score", bundle)
    assert ended.status == 1
    assert "bundle_is_whole" in ended.err
    cli("eval", "bundle", "--open", bundle, "--out", tmp_path / "opened")
    assert cli("eval", "score", tmp_path / "opened").status == 0

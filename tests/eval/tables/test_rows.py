"""Rows are what the episodes of a real run say."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from eval.report import page
from eval.runs import RunFolder, pack, read_run, score_run
from eval.tables import SampleRow, read_rows, tables_of
from tests.support.journals import edit_lines
from tests.support.runs import CONFIGURATION, QUESTIONS, made_run, prepare, run_here
from world_api.core import EvalFault, json_line, parse_json


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return made_run(tmp_path)


def _row(rows: list[SampleRow], arm: str, item: str) -> SampleRow:
    return next(row for row in rows if (row.arm, row.item, row.seed) == (arm, item, 1))


def test_each_scored_sample_has_one_row_with_the_figures_of_its_episode(run: Path) -> None:
    read = read_run(run)
    rows = read_rows(read).rows
    assert [row.sample for row in rows] == [line.sample for line in read.samples]
    for row in rows[::7]:
        episode = read.episode(read.by_key[row.sample])
        assert episode is not None
        made = [call for call in episode.tool_calls if call.round > 0]
        assert (row.rounds, row.calls) == (len(episode.rounds), len(made))
        assert row.inner_calls == sum(len(call.inner_calls) for call in made)
        assert row.correct == read.scores[row.sample].correct
        spent = row.spent()
        assert spent is not None
        assert (spent.prompt, spent.completion) == (episode.usage.prompt, episode.usage.completion)
        assert row.seconds == (episode.timings.seconds if episode.timings else None)


def test_a_library_s_tools_are_known_by_the_hash_of_their_documents(run: Path) -> None:
    read = read_rows(read_run(run))
    facts = read.libraries["hand_A"]
    used = [use for row in read.rows if row.arm == "hier@hand_A" for use in row.tools if use.name in facts.tools]
    assert used
    assert all(use.hash == facts.tools[use.name] for use in used)
    assert read.libraries["placebo_hand_A"].arm == "placebo"
    assert read.libraries["placebo_hand_A"].tools.keys() == facts.tools.keys()


def test_placebo_tools_find_nothing_and_are_counted_as_empty(run: Path) -> None:
    rows = read_rows(read_run(run)).rows
    placebo = [use for row in rows if row.arm == "hier@placebo_hand_A" for use in row.tools if use.hash is not None]
    assert placebo
    assert all(use.empty == use.calls and use.found == 0 for use in placebo)


def test_cited_evidence_is_compared_with_the_true_stretches(run: Path) -> None:
    rows = read_rows(read_run(run)).rows
    assert _row(rows, "flat", "made-q1").evidence_iou == pytest.approx(1.0)
    assert _row(rows, "flat", "made-q2").evidence_iou is None


def test_a_damaged_episode_is_wrong_by_name_and_harms_no_other(run: Path) -> None:
    before = {row.sample: row for row in read_rows(read_run(run)).rows}
    victim = next(row for row in before.values() if row.correct)
    journal = run / "episodes" / victim.cell / "episodes.jsonl"

    def spoil(line: dict[str, Any]) -> None:
        if line["name"] == victim.episode:
            line["episode"]["answer"] = "changed"

    edit_lines(journal, spoil)
    after = {row.sample: row for row in read_rows(read_run(run)).rows}
    assert (after[victim.sample].correct, after[victim.sample].reason) == (False, "recording_damaged")
    assert after[victim.sample].spend == {}
    others = [key for key in before if key != victim.sample]
    assert all(after[key].correct == before[key].correct for key in others)


def test_a_score_cannot_make_an_episode_right_that_has_no_answer(run: Path) -> None:
    read = read_run(run)
    row = read_rows(read).rows[0]
    (run / "episodes" / row.cell / "episodes.jsonl").unlink()
    gone = [found for found in read_rows(read_run(run)).rows if found.cell == row.cell]
    assert gone
    assert not any(found.correct or found.score for found in gone)


def test_samples_that_are_not_scored_or_not_run_are_counted(run: Path) -> None:
    for name in ("scores.jsonl", "samples.jsonl"):
        lines = (run / name).read_text().splitlines()
        kept = lines[:-3] if name == "scores.jsonl" else lines[2:]
        (run / name).write_text("".join(line + "\n" for line in kept))
    read = read_rows(read_run(run))
    assert read.left_out["not run yet"] == 2
    assert read.left_out["not scored"] == 3
    assert len(read.rows) + sum(read.left_out.values()) == 100


def test_a_question_without_a_known_answer_is_in_no_accuracy(run: Path, tmp_path: Path) -> None:
    before = {row.arm: row for row in read_rows(read_run(run)).rows}
    lines = [parse_json(line) for line in (run / "items.jsonl").read_text().splitlines()]
    for line in lines:
        if line["item"]["id"].endswith(("q1", "q3")):
            line["item"]["answer"] = None
    (run / "items.jsonl").write_text("".join(json_line(line) + "\n" for line in lines))
    of_old_scores = read_rows(read_run(run))
    assert score_run(RunFolder(run)).samples == 60
    read = read_rows(read_run(run))
    assert {row.item[-2:] for row in read.rows} == {"q2", "q4", "q5"}
    assert read.rows == of_old_scores.rows
    assert {why: number for why, number in read.left_out.items() if number} == {"no reference answer": 40}
    assert {row.arm for row in read.rows} == set(before)
    assert "no reference answer" in tables_of(read_run(run))[0].footer
    pack(RunFolder(run), tmp_path / "run.zip")
    assert read_rows(read_run(tmp_path / "run.zip")).rows == read.rows


def test_a_run_without_scores_says_what_to_do(run: Path) -> None:
    (run / "scores.jsonl").unlink()
    with pytest.raises(EvalFault, match="no sample of the run is scored") as caught:
        read_rows(read_run(run))
    assert caught.value.code == "not_scored"


def test_a_sample_that_never_became_an_episode_is_wrong_for_its_fault(run: Path) -> None:
    lines = [parse_json(line) for line in (run / "samples.jsonl").read_text().splitlines()]
    lines[0] |= {"episode": None, "fault": {"code": "session_failed", "message": "m", "hint": ""}}
    (run / "samples.jsonl").write_text("".join(json_line(line) + "\n" for line in lines))
    row = next(found for found in read_rows(read_run(run)).rows if found.sample == lines[0]["sample"])
    assert (row.correct, row.outcome, row.reason, row.rounds) == (False, "failed", "session_failed", 0)


def test_questions_that_were_never_asked_are_in_what_tables_leave_out(tmp_path: Path) -> None:
    """Half of the videos are not there, and the file of the dataset held entries that nobody can ask."""
    config = prepare(tmp_path, configuration=CONFIGURATION.replace("seeds: [1, 2]", "seeds: [1]"))
    shutil.rmtree(tmp_path / "worlds" / "classical" / "other")
    outcome = run_here(config)
    score_run(outcome.folder)
    manifest = outcome.folder.manifest
    record = parse_json(manifest.read_text())
    assert record["datasets"]["films"]["missing_questions"] == len(QUESTIONS)
    record["datasets"]["films"]["left_out"] = {"its answer is not published": 3, "two options": 1}
    manifest.write_text(json_line(record))
    run = read_run(outcome.folder.root)
    for table in tables_of(run):
        assert (
            "left out: 5 questions of missing videos; left out: 4 entries of datasets that cannot be asked"
            in table.footer
        )
    told = [value for fact in page._questions(run) for value in fact.values]
    assert any("1 video with 5 questions missing" in value for value in told)
    assert "left out: 3 of its file: its answer is not published" in told

"""A run as the JSON of an Inspect log, made without Inspect."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from controller.display import WATERMARK
from eval.inspect_logs import answer_text, conditions_of, log_record, messages_of, text_of, usage_of
from eval.runs import Run, read_run
from eval.tables import read_rows
from world_api.chat import Price, Usage


@pytest.fixture
def run(small_run: Path) -> Run:
    """A small run that the rule-based model really made."""
    return read_run(small_run)


def test_conditions_are_cells_that_differ_in_their_seeds_alone(run: Run) -> None:
    conditions = conditions_of(run)
    assert [condition.name for condition in conditions] == [
        "hier.hand_A.films.classical.usual",
        "hier.placebo_hand_A.films.classical.usual",
        "blind.films.classical.usual",
    ]
    assert all([cell.seed for cell in condition.cells] == [1, 2] for condition in conditions)
    assert sum(len(condition.cells) for condition in conditions) == len(run.cells)


def test_every_sample_is_there_once(run: Run) -> None:
    for chosen in (conditions_of(run), conditions_of(run)[:1]):
        record = log_record(run, chosen)
        cells = {cell.id for condition in chosen for cell in condition.cells}
        assert {sample["uuid"] for sample in record["samples"]} == {x.sample for x in run.samples if x.cell in cells}
        assert len({(sample["id"], sample["epoch"]) for sample in record["samples"]}) == len(record["samples"])


def test_a_log_is_plain_json(run: Run) -> None:
    record = log_record(run, conditions_of(run))
    assert json.loads(json.dumps(record, allow_nan=False)) == record


def test_accuracy_is_that_of_the_scores(run: Run) -> None:
    record = log_record(run, conditions_of(run))
    right = sum(score.correct for score in run.scores.values())
    metrics = {score["name"]: score["metrics"] for score in record["results"]["scores"]}
    assert metrics["correct"]["accuracy"]["value"] == pytest.approx(right / len(run.samples), abs=1e-6)
    assert record["results"]["completed_samples"] == record["results"]["total_samples"] == len(run.samples)
    assert record["status"] == "success"


def test_a_sample_holds_the_conversation_with_its_calls_and_results(run: Run) -> None:
    hier = next(condition for condition in conditions_of(run) if "hand_A" in condition.name)
    sample = log_record(run, [hier])["samples"][0]
    episode = run.episode(run.by_key[sample["uuid"]])
    assert episode is not None
    assert [message["role"] for message in sample["messages"]] == [message["role"] for message in episode.messages]
    calls = [call for message in sample["messages"] for call in message.get("tool_calls", ())]
    answered = [message["tool_call_id"] for message in sample["messages"] if message["role"] == "tool"]
    assert [call["id"] for call in calls] == answered == [call.id for call in episode.calls]
    assert [call["function"] for call in calls] == [call.tool for call in episode.calls]
    assert all(isinstance(call["arguments"], dict) for call in calls)
    assert sample["output"]["completion"] == episode.answer
    assert sample["metadata"]["accounts"]["logical"]["controller"]["requests"] == len(episode.rounds)


def test_what_the_rule_based_model_made_is_watermarked(run: Run) -> None:
    record = log_record(run, conditions_of(run)[:1])
    assert record["eval"]["metadata"]["watermark"] == WATERMARK
    assert WATERMARK in record["eval"]["tags"]
    assert all(sample["metadata"]["watermark"] == WATERMARK for sample in record["samples"])


def test_a_damaged_episode_stands_with_its_fault(run: Run) -> None:
    damaged = conditions_of(run)[0]
    journal = run.folder.journal(damaged.first.id) / "episodes.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([lines[0].replace(b"schema_version", b"schema_vershon", 1), *lines[1:]]))
    record = log_record(read_run(run.folder.root), [damaged])
    faults = [sample for sample in record["samples"] if "error" in sample]
    assert len(faults) == 1
    assert "recording" in faults[0]["error"]["message"]
    assert "messages" not in faults[0]
    assert faults[0]["scores"]["correct"]["value"] == "I"  # as in the tables, whatever was scored before


def test_accuracy_is_that_of_the_tables_of_a_run_that_is_half_scored_and_damaged(run: Run) -> None:
    lines = run.folder.scores.read_text().splitlines(keepends=True)
    claimed = [
        line.replace('"correct":false', '"correct":true').replace('"score":0.0', '"score":1.0') for line in lines
    ]
    run.folder.scores.write_text("".join(claimed[: len(claimed) // 2]))
    first = conditions_of(run)[0]
    journal = run.folder.journal(first.first.id) / "episodes.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b"schema_version", b"schema_vershon", 1))
    half = read_run(run.folder.root)
    rows = read_rows(half).rows
    assert 0 < sum(row.correct for row in rows) < len(rows) < len(half.samples)
    for conditions in (conditions_of(half), [first]):
        cells = {cell.id for condition in conditions for cell in condition.cells}
        own = [row for row in rows if row.cell in cells]
        results = log_record(half, conditions)["results"]
        correct, score = results["scores"]
        assert correct["metrics"]["accuracy"]["value"] == pytest.approx(
            sum(row.correct for row in own) / len(own), abs=1e-6
        )
        assert score["metrics"]["mean"]["value"] == pytest.approx(sum(row.score for row in own) / len(own), abs=1e-6)
        assert correct["scored_samples"] == len(own)
        assert correct["unscored_samples"] == results["completed_samples"] - len(own)


def test_a_run_without_scores_has_no_accuracy(run: Run) -> None:
    run.folder.scores.unlink()
    record = log_record(read_run(run.folder.root), conditions_of(run))
    assert record["results"]["scores"] == []
    assert not any("scores" in sample for sample in record["samples"])


def test_a_run_that_is_not_finished_says_so(run: Run) -> None:
    lines = run.folder.samples.read_text().splitlines(keepends=True)
    run.folder.samples.write_text("".join(lines[: len(lines) // 2]))
    half = read_run(run.folder.root)
    record = log_record(half, conditions_of(half))
    assert record["status"] == "started"
    assert record["results"]["completed_samples"] < record["results"]["total_samples"]


def test_calls_that_are_no_json_and_thoughts_are_told(run: Run) -> None:
    hier = conditions_of(run)[0]
    line = next(item for item in run.samples if item.cell == hier.first.id)
    episode = run.episode(line)
    assert episode is not None
    call = {"id": "call_1", "type": "function", "function": {"name": "list_scenes", "arguments": "{not json"}}
    other = {"id": "call_2", "type": "function", "function": {"name": "list_scenes", "arguments": "[1]"}}
    messages = [
        {"role": "user", "content": "When?"},
        {"role": "assistant", "content": "(no answer yet)"},
        {"role": "assistant", "content": None, "tool_calls": [call, other]},
        {"role": "tool", "tool_call_id": "call_1", "content": "it is no JSON"},
        {"role": "assistant", "content": "At noon."},
    ]
    rounds = [
        replace(episode.rounds[0], number=1, thought="Look first."),
        replace(episode.rounds[0], number=2, thought="Noon."),
    ]
    calls = [replace(episode.calls[0], id="call_1", round=1, result={"error": {"code": "x"}})]
    told_messages = messages_of(replace(episode, messages=messages, rounds=rounds, calls=calls), "s" * 24)
    filler, asked, result, last = told_messages[1:]
    assert filler["content"] == "(no answer yet)"
    assert asked["content"] == [{"type": "reasoning", "reasoning": "Look first."}]
    assert [(item["arguments"], "parse_error" in item) for item in asked["tool_calls"]] == [
        ({"written": "{not json"}, True),
        ({"written": "[1]"}, True),
    ]
    assert result["error"] == {"type": "unknown", "message": "it is no JSON"}
    assert last["content"] == [{"type": "reasoning", "reasoning": "Noon."}, {"type": "text", "text": "At noon."}]


def test_tokens_are_told_as_they_were_asked_for(run: Run) -> None:
    episode = run.episode(run.samples[0])
    assert episode is not None
    first = replace(episode.rounds[0], usage=Usage(prompt=100, cached=40, completion=10))
    kept = replace(first, physical=False)  # from a cache of requests: nothing was asked for
    price = Price(prompt=10.0, cached=1.0, completion=20.0)
    told_usage = usage_of(replace(episode, rounds=[first, kept], calls=[], prices={episode.model: price}))
    assert told_usage == {
        episode.model: {
            "input_tokens": 60,
            "input_tokens_cache_read": 40,
            "output_tokens": 10,
            "total_tokens": 110,
            "total_cost": pytest.approx((60 * 10 + 40 * 1 + 10 * 20) / 1e6),
        }
    }


def test_answers_and_contents_are_told_as_text() -> None:
    assert answer_text("B") == "B"
    assert answer_text({"start_time": 1, "end_time": 2}) == '{"start_time":1,"end_time":2}'
    assert answer_text(None) == ""
    parts = [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": "sha256:" + "a" * 200}}]
    assert text_of(parts) == "Look:\n[picture sha256:" + "a" * 73 + "]"
    assert text_of(None) == ""

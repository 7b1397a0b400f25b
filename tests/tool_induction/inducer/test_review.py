"""The optional review: once, with the truth; what it was before stays as an arm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tool_induction import load_library

NAME = "find_sighting_of"


def sighting(pick: str) -> dict[str, Any]:
    """A tool that says when a person was seen, by the given aggregate over verified hits."""
    call = {"type": "call_world_api", "save_as": "hits"}
    return {
        "tool_name": NAME,
        "description": "When a person was seen, with a time. Use for when. Not for deeds.",
        "inputs": {"video_id": "string", "looks": "string"},
        "outputs": {"start_time": {"type": "Time", "from": "{{ one.start_time }}"}},
        "steps": [
            call
            | {
                "api": "search_segments_by_text",
                "params": {"video_id": "{{video_id}}", "query": "{{looks}}", "top_k": 60},
            },
            call
            | {
                "api": "detect_objects",
                "loop_over": "hits",
                "max_items": 60,
                "on_error": "skip",
                "params": {
                    "video_id": "{{video_id}}",
                    "timestamp": "{{item.center_time}}",
                    "category": "person",
                    "text_query": "{{looks}}",
                },
                "save_as": "seen",
            },
            {"type": "aggregate", "operation": pick, "inputs": "seen", "save_as": "one"},
            {"type": "require", "condition": "{{ one is not none }}", "status": "empty", "reason": "not seen"},
        ],
    }


FIRST, LAST = sighting("pick_earliest"), sighting("pick_latest")


def test_the_model_is_shown_a_run_and_the_truth_once_and_what_it_corrects_is_taken(run: Any) -> None:
    done = run([FIRST], [LAST], count=1, review=True)
    assert [item.kind for item in done.result.rounds] == ["generation", "review"]
    shown = done.asked(1)
    assert done.result.review.text.strip() in shown
    assert "s in all" in shown
    assert NAME in shown
    assert done.result.draft.tools[NAME].tool.steps[2].operation == "pick_latest"
    assert done.result.review.tools[NAME].tool.steps[2].operation == "pick_earliest"


def test_a_review_that_changes_nothing_or_breaks_a_tool_leaves_all_as_it_was(run: Any, tools: Any) -> None:
    for reply in ([], [tools.blind(NAME)], [tools.searching("another_tool")]):
        done = run([FIRST], reply, count=1, review=True)
        assert done.statuses == {NAME: "admitted"}
        assert done.result.draft.tools[NAME].tool.steps[2].operation == "pick_earliest"


def test_without_the_switch_nothing_is_reviewed(run: Any) -> None:
    done = run([FIRST], count=1)
    assert done.result.review is None
    assert len(done.model.requests) == 1


def test_both_libraries_of_one_emission_are_kept_and_the_review_is_paid_for(induce: Any, tools: Any, out: Path) -> None:
    replies = [tools.said([FIRST]), tools.said([LAST])]
    ended = induce("--review", "--count", "1", replies=replies)
    assert ended.status == 0, ended.err
    reviewed, before = load_library(out), load_library(out / "unreviewed")
    assert [item.tools[NAME].tool.steps[2].operation for item in (reviewed, before)] == ["pick_latest", "pick_earliest"]
    induction = reviewed.manifest["induction"]
    assert before.hash == induction["unreviewed_hash"]
    assert before.manifest["induction"]["arm"] == "unreviewed"
    assert induction["cost"]["calls"] == 2
    recorded = [json.loads(line) for line in (out / "recording.jsonl").read_text(encoding="utf-8").splitlines()]
    assert induction["review"].strip() in str(recorded[-1]["request"]["messages"][-1]["content"])

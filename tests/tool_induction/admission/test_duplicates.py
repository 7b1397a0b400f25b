"""Which tools of a library do the same, and which of them stays."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tool_induction.admission import ExampleWorld, admit, schema_worlds

SEARCH = {
    "type": "call_world_api",
    "api": "search_segments_by_text",
    "params": {"video_id": "{{video_id}}", "query": "{{query}}", "top_k": 10},
    "save_as": "hits",
}
EARLIEST = {"type": "aggregate", "operation": "pick_earliest", "inputs": "hits", "save_as": "hit"}
COUNT = {"type": "aggregate", "operation": "count", "inputs": "hits", "save_as": "number"}
FOUND = {"start_time": {"type": "Time", "from": "{{ hit.start_time }}"}}
NUMBER = {"number": {"type": "int", "from": "{{ number }}"}}


def test_of_two_tools_with_one_plan_the_first_is_kept_and_the_other_named(tool: Any, compiled: Any) -> None:
    told = admit(
        compiled(tool(SEARCH, EARLIEST, outputs=FOUND, name="one"), tool(SEARCH, EARLIEST, outputs=FOUND, name="two"))
    )

    assert told.admitted == ("one",)
    assert told.unpruned == ("one", "two")
    two = told.verdicts[1]
    assert (two.reason, two.kept) == ("duplicate", "one")
    assert "'one'" in two.explanation


def test_of_two_tools_that_answer_the_same_the_cheaper_one_is_kept(tool: Any, compiled: Any) -> None:
    other_names = json.loads(json.dumps(tool(SEARCH, EARLIEST, outputs=FOUND, name="cheap")).replace("hits", "seen"))
    entities = {
        "type": "call_world_api",
        "api": "list_entities",
        "params": {"video_id": "{{video_id}}"},
        "save_as": "known",
    }
    dear = tool(SEARCH, EARLIEST, entities, outputs=FOUND, name="dear")

    told = admit(compiled(dear, other_names))

    assert told.admitted == ("cheap",)
    assert told.verdicts[0].kept == "cheap"
    assert "the same answers" in told.verdicts[0].explanation


def test_a_tool_that_others_call_is_not_dropped_as_a_duplicate(tool: Any, compiled: Any) -> None:
    call = {
        "type": "call_tool",
        "tool": "two",
        "params": {"video_id": "{{video_id}}", "query": "{{query}}"},
        "save_as": "made",
    }
    twice = {"value": {"type": "float", "from": "{{ made.start_time * 2 }}"}}
    documents = [tool(SEARCH, EARLIEST, outputs=FOUND, name=name) for name in ("one", "two")]

    told = admit(compiled(*documents, tool(call, outputs=twice, name="three")))

    assert told.admitted == ("two", "three")


def test_tools_that_ask_differently_are_no_duplicates(tool: Any, compiled: Any) -> None:
    latest = EARLIEST | {"operation": "pick_latest"}
    semantic = SEARCH | {"api": "search_segments_by_semantics"}
    documents = [
        tool(SEARCH, EARLIEST, outputs=FOUND, name="earliest"),
        tool(SEARCH, latest, outputs=FOUND, name="latest"),
        tool(semantic, EARLIEST, outputs=FOUND, name="by_meaning"),
    ]

    assert admit(compiled(*documents)).admitted == ("earliest", "latest", "by_meaning")


def _twins(tool: Any, compiled: Any, between: list[Any], outputs: Any, other_outputs: Any) -> tuple[str, ...]:
    """Which are admitted of a tool and one that does a step more."""
    plain = tool(SEARCH, *between[:1], outputs=outputs, name="plain")
    return admit(compiled(plain, tool(SEARCH, *between[1:], outputs=other_outputs, name="other"))).admitted


@pytest.mark.parametrize(
    "step",
    [
        {"operation": "merge_intervals", "params": {"gap": 0.5}},
        {"operation": "dedupe_overlaps", "params": {"iou": 0.3}},
        {"operation": "dedupe_by", "params": {"key": "segment_id"}},
        {"operation": "dedupe_by", "params": {"key": "snippet"}},
    ],
    ids=lambda step: "_".join(map(str, (step["operation"], *step["params"].values()))),
)
def test_tools_that_count_once_what_overlaps_or_repeats_are_no_duplicates(tool: Any, compiled: Any, step: Any) -> None:
    once = {"type": "aggregate", "inputs": "hits", "save_as": "kept"} | step
    others = [COUNT, once, COUNT | {"inputs": "kept"}]

    assert _twins(tool, compiled, others, NUMBER, NUMBER) == ("plain", "other")


def test_the_time_that_stretches_cover_is_not_the_sum_of_their_lengths(tool: Any, compiled: Any) -> None:
    lengths = {
        "type": "project",
        "inputs": "hits",
        "fields": {"d": "{{item.end_time - item.start_time}}"},
        "save_as": "lengths",
    }
    summed = {
        "type": "aggregate",
        "operation": "sum",
        "inputs": "lengths",
        "params": {"key": "d"},
        "save_as": "seconds",
    }
    covered = {"type": "aggregate", "operation": "total_duration", "inputs": "hits", "save_as": "seconds"}
    seconds = {"seconds": {"type": "float", "from": "{{ seconds }}"}}

    assert _twins(tool, compiled, [covered, lengths, summed], seconds, seconds) == ("plain", "other")


def test_tools_that_give_the_same_under_swapped_names_are_no_duplicates(tool: Any, compiled: Any) -> None:
    latest = EARLIEST | {"operation": "pick_latest", "save_as": "last"}

    def outputs(**bound: str) -> Any:
        return {name: {"type": "Time?", "from": "{{" + value + ".start_time}}"} for name, value in bound.items()}

    documents = [
        tool(SEARCH, EARLIEST, latest, outputs=outputs(a="hit", b="last"), name="right"),
        tool(SEARCH, EARLIEST, latest, outputs=outputs(a="last", b="hit"), name="swapped"),
        tool(SEARCH, EARLIEST, latest, outputs=outputs(first="hit", then="last"), name="renamed"),
        tool(SEARCH, EARLIEST, latest, outputs=outputs(then="hit", first="last"), name="renamed_and_swapped"),
    ]

    told = {item.tool: (item.admitted, item.kept) for item in admit(compiled(*documents)).verdicts}

    assert told["right"] == (True, "")
    assert told["swapped"] == (True, "")
    assert told["renamed"] == (False, "right")
    assert told["renamed_and_swapped"][1] != "swapped"


def test_tools_that_differ_on_a_real_world_are_no_duplicates(tool: Any, compiled: Any) -> None:
    usual = {"type": "filter", "inputs": "hits", "where": "item.start_time < 4000", "save_as": "kept"}
    tools = compiled(
        tool(SEARCH, COUNT, outputs=NUMBER, name="plain"),
        tool(SEARCH, usual, COUNT | {"inputs": "kept"}, outputs=NUMBER, name="other"),
    )

    later = {"start_time": 5000.0, "end_time": 5002.0, "center_time": 5001.0}

    def call(name: str, arguments: Any) -> Any:
        result = schema_worlds()["one"](name, arguments)
        return result | {"candidates": [item | later for item in result.get("candidates", ())]}

    real = ExampleWorld(name="a real one", video_id="clip", texts=("a kettle",), open=lambda: (call, None))

    assert admit(tools).admitted == ("plain",)
    assert admit(tools, examples=[real]).admitted == ("plain", "other")

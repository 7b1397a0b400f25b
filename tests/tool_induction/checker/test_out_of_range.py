"""Values that types allow and nobody can mean: shares above 1, labels of nothing, stretches that run backwards."""

import json
from typing import Any

import pytest

from tests.support.positions import locate
from tool_induction import compile_document

EARLIEST = {"type": "aggregate", "operation": "pick_earliest", "inputs": "hits", "save_as": "first"}
THERE = {"type": "require", "condition": "{{ first is not none }}", "status": "empty", "reason": "nothing"}


def aggregate(operation: str, inputs: Any = "hits", **params: Any) -> Any:
    step = {"type": "aggregate", "operation": operation, "params": params, "save_as": "made"}
    return step if inputs is None else step | {"inputs": inputs}


def setting(value: Any, name: str = "value") -> Any:
    return {"type": "set", "value": value, "save_as": name}


def describe(start: Any, end: Any, **loop: Any) -> Any:
    params = {"video_id": "{{video_id}}", "start_time": start, "end_time": end}
    return {"type": "call_world_api", "api": "describe_segment", "params": params, "save_as": "texts", **loop}


def output(type_: str, source: str) -> Any:
    return {"type": type_, "from": f"{{{{ {source} }}}}"}


def found(document: Any, *codes: str) -> list[tuple[str, str]]:
    """The errors, and the warnings of the given codes, each with its place, which is there."""
    compilation = compile_document(document)
    said = [item for item in compilation.diagnostics if item.severity == "error" or item.code in codes]
    assert all(locate(json.dumps(document), item.path) is not None for item in said)
    return [(item.code, item.json_path) for item in said]


PAIR = {"a": "hits", "b": "hits"}
TWO = ["{{ hits.candidates[0] }}", "{{ hits.candidates[1] }}"]


@pytest.mark.parametrize(
    ("steps", "place"),
    [
        ([aggregate("dedupe_overlaps", iou=50)], "steps[1].params.iou"),
        ([aggregate("dedupe_overlaps", iou=-0.5)], "steps[1].params.iou"),
        ([aggregate("filter_by_score", min_score=50)], "steps[1].params.min_score"),
        ([aggregate("filter_by_score", min_score=-1, key="confidence")], "steps[1].params.min_score"),
        ([aggregate("top_k", k=0)], "steps[1].params.k"),
        ([aggregate("merge_intervals", gap=-3)], "steps[1].params.gap"),
        ([aggregate("join_nearest_in_time", PAIR, max_gap=-1)], "steps[1].params.max_gap"),
        ([aggregate("next_after", time=-3)], "steps[1].params.time"),
        ([aggregate("nth", n=7)], "steps[1].params.n"),
        ([aggregate("concat_text", key="snippet", max_chars=0)], "steps[1].params.max_chars"),
        ([aggregate("order_check", TWO, labels=["a", "b", "c"])], "steps[1].params.labels"),
        ([aggregate("order_check", TWO, labels=["a"])], "steps[1].params.labels"),
        ([aggregate("order_check", {"a": TWO[0], "b": TWO[1]}, labels=["a"])], "steps[1].params.labels"),
        ([aggregate("sort_by", key="matching_lines")], "steps[1].params.key"),
        ([aggregate("max", ["{{ hits | length }}", "{{ query }}"])], "steps[1].inputs"),
        ([aggregate("sum", "{{ ['a', 'b'] }}")], "steps[1].inputs"),
        ([setting("{{ [hits | length, query] | max }}")], "steps[1].value"),
        ([setting("{{ ([query, 3] | min) + 1 }}")], "steps[1].value"),
    ],
)
def test_a_parameter_of_an_aggregate_that_makes_no_sense_is_refused_at_its_place(
    document: Any, steps: Any, place: str
) -> None:
    assert found(document(*steps)) == [("E_TYPE", f"$.{place}")]


@pytest.mark.parametrize(
    "step",
    [
        aggregate("dedupe_overlaps", iou=1),
        aggregate("dedupe_overlaps", iou=0),
        aggregate("filter_by_score", min_score=20, key="duration") | {"inputs": "merged"},
        aggregate("order_check", labels=["a", "b"]),
        aggregate("order_check", TWO, labels=["a", "b"]),
        aggregate("order_check", TWO),
        aggregate("max", ["{{ hits | length }}", 2.5, None]),
        aggregate("count_distinct", key="matching_lines"),
        setting("{{ [hits | length, 2.5, none] | max }}"),
        aggregate("nth", n=-5),
        aggregate("top_k", k="{{ (hits | length) - 1 }}"),
    ],
)
def test_a_parameter_that_may_be_meant_is_taken(document: Any, step: Any) -> None:
    merged = {"type": "aggregate", "operation": "merge_intervals", "inputs": "hits", "save_as": "merged"}

    assert found(document(merged, step)) == []


@pytest.mark.parametrize(
    "value", ["{{ item.snippet }}", "at {{ item.start_time }}", "{{ item.matching_lines }}", "soon"]
)
def test_a_projection_puts_no_other_value_in_place_of_a_time(document: Any, value: str) -> None:
    step = {"type": "project", "inputs": "hits", "fields": {"start_time": value}, "save_as": "rows"}

    assert found(document(step)) == [("E_TYPE", "$.steps[1].fields.start_time")]
    assert found(document(step | {"fields": {"when": value}})) == []
    assert found(document(step | {"fields": {"start_time": "{{ item.start_time + 2 }}", "end_time": None}})) == []


def test_a_list_that_is_joined_as_text_is_told(document: Any) -> None:
    said = aggregate("concat_text", key="matching_lines")

    assert found(document(said), "W_COERCED") == [("W_COERCED", "$.steps[1].params.key")]


def window(start: Any, end: Any) -> Any:
    return aggregate("filter_in_interval", interval={"start_time": start, "end_time": end})


START, BEFORE = "{{ first.start_time }}", "{{ first.start_time - 10 }}"
BACKWARDS: dict[str, tuple[str, list[Any]]] = {
    "computed": ("steps[3].params.end_time", [EARLIEST, THERE, describe(START, BEFORE)]),
    "saved": ("steps[4].params.end_time", [EARLIEST, THERE, setting(BEFORE), describe(START, "{{ value }}")]),
    "both saved": (
        "steps[5].params.end_time",
        [EARLIEST, THERE, setting(START, "at"), setting("{{ at - 10 }}"), describe("{{ at }}", "{{ value }}")],
    ),
    "of two ends": ("steps[3].params.end_time", [EARLIEST, THERE, describe("{{ first.end_time }}", BEFORE)]),
    "constants": ("steps[1].params.end_time", [describe(20, 10)]),
    "at 0": ("steps[3].params.end_time", [EARLIEST, THERE, describe(START, 0)]),
    "of an item": (
        "steps[1].params.end_time",
        [describe("{{ item.start_time }}", "{{ item.start_time - 10 }}", loop_over="hits")],
    ),
    "an interval": ("steps[1].params.interval.end_time", [window(50, 10)]),
    "a saved record": (
        "steps[3].value.end_time",
        [EARLIEST, THERE, setting({"start_time": START, "end_time": BEFORE})],
    ),
    "a projection": (
        "steps[1].fields.end_time",
        [
            {
                "type": "project",
                "inputs": "hits",
                "fields": {"end_time": "{{ item.start_time - 10 }}"},
                "save_as": "rows",
            }
        ],
    ),
}


@pytest.mark.parametrize("case", BACKWARDS)
def test_a_stretch_that_surely_ends_before_it_begins_is_refused_at_its_end(document: Any, case: str) -> None:
    place, steps = BACKWARDS[case]

    assert found(document(*steps)) == [("E_TYPE", f"$.{place}")]


def test_outputs_that_run_backwards_are_refused(document: Any) -> None:
    outputs = {
        "start_time": output("Time", "first.start_time"),
        "end_time": output("Time", "first.start_time - 10"),
    }

    assert found(document(EARLIEST, THERE, outputs=outputs)) == [("E_TYPE", "$.outputs.end_time")]


@pytest.mark.parametrize(
    "steps",
    [
        [EARLIEST, THERE, describe(BEFORE, START)],
        [EARLIEST, THERE, describe(BEFORE, "{{ first.end_time + 10 }}")],
        [EARLIEST, THERE, describe("{{ first.end_time }}", "{{ first.start_time + 30 }}")],
        [EARLIEST, THERE, describe("{{ [first.start_time - 10, 0] | max }}", "{{ first.start_time - 5 }}")],
        [EARLIEST, THERE, describe(5, "{{ first.start_time }}")],
        [EARLIEST, THERE, setting({"start_time": START, "end_time": START})],
    ],
    ids=range(6),
)
def test_a_stretch_that_may_run_forwards_is_taken(document: Any, steps: Any) -> None:
    assert found(document(*steps)) == []


@pytest.mark.parametrize(("default", "wrong"), [(-5, True), (0, False), (2.5, False)])
def test_a_default_before_the_start_of_the_video_is_refused(document: Any, default: float, wrong: bool) -> None:
    tool = document(EARLIEST, THERE)
    tool["inputs"] = {**tool["inputs"], "after": {"type": "Time", "default": default}}
    assert (("E_TYPE", "$.inputs.after.default") in found(tool)) is wrong


@pytest.mark.parametrize(("default", "found"), [("", {"E_OPTIONAL"}), ("  ", {"E_OPTIONAL"}), ("rain", set())])
def test_a_default_that_an_operation_cannot_answer_is_refused(
    document: Any, codes: Any, default: str, found: set[str]
) -> None:
    inputs = {"video_id": "string", "query": {"type": "string", "default": default}}
    assert {code for code, _ in codes(compile_document(document(inputs=inputs)))} == found

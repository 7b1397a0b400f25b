"""Conditions that never change, and branches in which they say that there is nothing."""

import json
import re
from typing import Any

import pytest

from tests.support.positions import locate
from tool_induction import compile_document

EARLIEST = {"type": "aggregate", "operation": "pick_earliest", "inputs": "hits", "save_as": "first"}
COUNT = {"type": "aggregate", "operation": "count", "inputs": "hits", "save_as": "n"}


def require(condition: Any, status: str = "empty") -> Any:
    return {"type": "require", "condition": condition, "status": status, "reason": "nothing"}


THERE = require("{{ first is not none }}")


def only(where: Any) -> Any:
    return {"type": "filter", "inputs": "hits", "where": where, "save_as": "few"}


def aggregate(operation: str, inputs: Any = "hits", **params: Any) -> Any:
    step = {"type": "aggregate", "operation": operation, "params": params, "save_as": "made"}
    return step if inputs is None else step | {"inputs": inputs}


def setting(value: Any, name: str = "value") -> Any:
    return {"type": "set", "value": value, "save_as": name}


def branch(condition: Any, then: Any, otherwise: Any) -> Any:
    return {"type": "if", "condition": condition, "then": [setting(then)], "else": [setting(otherwise)]}


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


CONSTANT: dict[str, tuple[str, list[Any]]] = {
    "a count that is never below 0": ("steps[2].condition", [COUNT, require("{{ n >= 0 }}")]),
    "a confidence that stands in for a null one": (
        "steps[1].where",
        [only("{{ item.confidence | default(0) <= -1 }}")],
    ),
    "a length that is never below 0": ("steps[1].condition", [require("{{ hits | length < 0 }}")]),
    "a length beyond what was asked for": ("steps[1].condition", [require("{{ hits | length > 5 }}")]),
    "a number of different values": (
        "steps[2].condition",
        [aggregate("count_distinct", key="source"), require("{{ made >= 0 }}")],
    ),
    "a total of seconds": ("steps[2].condition", [aggregate("total_duration"), require("{{ made < 0 }}")]),
    "false": ("steps[1].condition", [require(False)]),
    "true": ("steps[1].condition", [branch("{{ true }}", 1, 2)]),
    "two constants": ("steps[1].condition", [branch("{{ 1 > 2 }}", 1, 2)]),
    "two texts": ("steps[1].condition", [branch("{{ 'a' != 'b' }}", 1, 2)]),
    "a confidence as a percentage": ("steps[1].where", [only("{{ item.confidence > 50 }}")]),
    "a time that is never below 0": ("steps[1].where", [only("{{ item.start_time >= 0 }}")]),
    "a contradiction": ("steps[1].where", [only("{{ item.start_time > 50 and item.start_time < 10 }}")]),
    "a contradiction among others": (
        "steps[1].where",
        [only("{{ item.start_time > 50 and item.source == 'speech' and 10 > item.start_time }}")],
    ),
    "two texts at once": ("steps[1].where", [only("{{ item.snippet == 'a' and item.snippet == 'b' }}")]),
    "a text and not that text": ("steps[1].condition", [require("{{ query != '' and query == '' }}")]),
    "a condition and its opposite": ("steps[2].condition", [COUNT, require("{{ n > 2 and not n > 2 }}")]),
    "there and not there": (
        "steps[2].condition",
        [EARLIEST, require("{{ first is none and (query == 'a' and first is not none) }}")],
    ),
    "in a list and not in it": (
        "steps[1].where",
        [only("{{ item.snippet in ['a', query] and item.snippet not in ['a', query] }}")],
    ),
    "between two whole numbers": ("steps[2].condition", [COUNT, require("{{ n > 2 and n < 3 }}")]),
    "everything": ("steps[1].where", [only("{{ item.start_time < 50 or item.start_time >= 50 }}")]),
    "one or the other of all": ("steps[1].where", [only("{{ item.source == 'speech' or item.source != 'speech' }}")]),
    "a number and the next": ("steps[2].condition", [COUNT, require("{{ n <= n + 1 }}")]),
    "itself": ("steps[1].where", [only("{{ item.start_time <= item.start_time }}")]),
    "what is always there": ("steps[1].condition", [require("{{ hits is not none }}")]),
    "asked before": ("steps[3].condition", [EARLIEST, THERE, require("{{ first is not none }}")]),
    "of some item": ("steps[1].params.where", [aggregate("any", where="{{ item.start_time < 0 }}")]),
    "of a loop": (
        "steps[1].until",
        [describe("{{item.start_time}}", "{{item.end_time}}", loop_over="hits", until="{{ texts | length >= 0 }}")],
    ),
    "of a choice": ("steps[2].value", [COUNT, setting("{{ 'some' if n >= 0 else 'none' }}")]),
    "that is saved": ("steps[2].value", [COUNT, setting("{{ n >= 0 }}")]),
}


@pytest.mark.parametrize("case", CONSTANT)
def test_a_condition_that_is_always_true_or_never_is_told_at_its_place(document: Any, case: str) -> None:
    place, steps = CONSTANT[case]

    assert found(document(*steps), "W_CONSTANT_CONDITION") == [("W_CONSTANT_CONDITION", f"$.{place}")]


def test_an_output_that_is_always_true_is_told_too(document: Any) -> None:
    outputs = {"there": output("bool", "n >= 0")}

    assert found(document(COUNT, outputs=outputs), "W_CONSTANT_CONDITION") == [
        ("W_CONSTANT_CONDITION", "$.outputs.there.from")
    ]


@pytest.mark.parametrize(
    "steps",
    [
        [COUNT, require("{{ n > 0 and n < 5 }}")],
        [only("{{ item.start_time >= least and item.start_time < 99 }}")],
        [only("{{ item.confidence >= 0.5 }}")],
        [only("{{ item.start_time < 5 or item.start_time > 9 }}")],
        [only("{{ item.start_time > 5 and item.end_time < 9 }}")],
        [only("{{ item.source == 'speech' or item.source == 'caption' }}")],
        [only("{{ item.source != 'speech' and item.source != 'caption' }}")],
        [only("{{ item.snippet != 'a' and item.snippet != 'b' and not item.snippet == '' }}")],
        [only("{{ item.start_time > 2 and item.start_time < 3 }}")],
        [COUNT, require("{{ n >= 2 and n <= 2 }}")],
        [COUNT, require("{{ n > 2 and n < 4 or n == 9 }}")],
        [only("{{ item.confidence >= 0.5 and item.confidence != 0.7 }}")],
        [EARLIEST, require("{{ first is none or first.start_time < 9 }}")],
        [EARLIEST, THERE, only("{{ item.start_time > first.start_time }}")],
        [EARLIEST, branch("{{ first is none }}", False, True)],
        [setting(True)],
    ],
    ids=range(16),
)
def test_a_condition_that_depends_on_the_video_is_not_told(document: Any, steps: Any) -> None:
    inputs = {"least": {"type": "float", "default": 0}}

    assert found(document(*steps, inputs=inputs), "W_CONSTANT_CONDITION") == []


MADE = {
    "type": "project",
    "inputs": "hits",
    "fields": {
        "duration": "{{ item.start_time - 100 }}",
        "confidence": "{{ item.end_time }}",
        "early": "{{ item.start_time - 5 }}",
    },
    "save_as": "rows",
}


@pytest.mark.parametrize(
    "step",
    [
        only("{{ item.duration < 0 }}"),
        only("{{ item.confidence > 50 }}"),
        only("{{ item.early < 0 }}"),
        aggregate("filter_by_score", "rows", min_score=50),
    ],
    ids=["duration", "confidence", "time", "filter_by_score"],
)
def test_a_field_that_a_tool_made_itself_has_no_bounds_by_its_name(document: Any, step: Any) -> None:
    assert found(document(MADE, step | {"inputs": "rows"}), "W_CONSTANT_CONDITION") == []


def test_a_time_less_some_seconds_may_lie_below_0_in_the_list_of_a_loop_and_in_a_record(document: Any) -> None:
    body = [setting("{{ item.start_time - 5 }}", "early")]
    loop = {"type": "loop", "loop_over": "hits", "do": body, "save_as": "times"}
    some = require("{{ made.early < 0 }}")
    kept = only("{{ item < 0 }}") | {"inputs": "times"}
    record = [EARLIEST, THERE, setting({"early": "{{ first.start_time - 5 }}"}, "made"), some]

    assert found(document(loop, kept), "W_CONSTANT_CONDITION") == []
    assert found(document(*record), "W_CONSTANT_CONDITION") == []


@pytest.mark.parametrize("field", ["confidence", "duration"])
def test_a_field_of_a_result_without_a_name_has_its_bounds(document: Any, field: str) -> None:
    params = {"video_id": "{{video_id}}", "start_time": 5, "end_time": 9}
    api = {"confidence": "inspect_segment", "duration": "get_segment"}[field]
    params |= {"question": "is it dark?"} if api == "inspect_segment" else {}
    looked = {"type": "call_world_api", "api": api, "params": params, "save_as": "seen"}
    written = document(looked, require(f"{{{{ seen.{field} | default(0) <= -1 }}}}"))
    said = compile_document(written, groups=["inspect"]).diagnostics

    assert "W_CONSTANT_CONDITION" in {item.code for item in said}


TURNED: dict[str, tuple[str, list[Any]]] = {
    "then": ("steps[2].then[0].value", [EARLIEST, branch("{{ first is none }}", "{{ first.start_time }}", None)]),
    "else": ("steps[2].else[0].value", [EARLIEST, branch("{{ first is not none }}", None, "{{ first.start_time }}")]),
    "not": ("steps[2].then[0].value", [EARLIEST, branch("{{ not first }}", "{{ first.start_time }}", None)]),
    "saved": (
        "steps[3].then[0].value",
        [EARLIEST, setting("{{ first is none }}", "gone"), branch("{{ gone }}", "{{ first.start_time }}", None)],
    ),
    "counted": ("steps[3].then[0].value", [COUNT, EARLIEST, branch("{{ n == 0 }}", "{{ first.start_time }}", None)]),
    "an item": ("steps[1].then[0].value", [branch("{{ hits | length < 1 }}", "{{ hits[0].start_time }}", None)]),
    "a choice": ("steps[2].value", [EARLIEST, setting("{{ first.start_time if first is none else none }}")]),
    "after": ("steps[3].value", [EARLIEST, require("{{ first is none }}"), setting("{{ first.start_time }}")]),
}


@pytest.mark.parametrize("case", TURNED)
def test_a_field_of_what_a_condition_says_is_null_is_refused(document: Any, case: str) -> None:
    place, steps = TURNED[case]
    outputs = {"at": output("Time?", "value")}

    assert found(document(*steps, outputs=outputs)) == [("E_OPTIONAL", f"$.{place}")]


def test_the_condition_asked_the_other_way_round_is_what_was_meant(document: Any) -> None:
    outputs = {"at": output("Time?", "value")}
    turned = document(*TURNED["then"][1], outputs=outputs)
    (error,) = [item for item in compile_document(turned).diagnostics if item.severity == "error"]
    condition = re.search(r'"(\{\{.*?\}\})"', error.suggestion)
    assert condition is not None

    assert found(document(EARLIEST, branch(condition[1], "{{ first.start_time }}", None), outputs=outputs)) == []

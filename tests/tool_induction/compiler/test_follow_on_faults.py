"""One fault is told where it is, and nothing else is called a fault because of it."""

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.support.single_faults import planted, single_faults
from tool_induction import compile_document

Json = Any
FAULTS = {
    f"{what} ({'.'.join(map(str, place))})": (*rest, place, wrong) for what, *rest, place, wrong in single_faults()
}


def told(document: Json) -> list[tuple[str, str]]:
    """Code and place of each error that is not said to follow from another."""
    found = compile_document(document).diagnostics
    return [(item.code, item.json_path) for item in found if item.severity == "error" and not item.follows]


@settings(max_examples=150)
@given(name=st.sampled_from(sorted(FAULTS)))
def test_one_fault_in_a_step_is_told_in_that_step_alone(name: str) -> None:
    document, place, wrong = FAULTS[name]
    found = compile_document(planted(document, place, wrong)).diagnostics
    errors = [item for item in found if item.severity == "error" and not item.follows]

    assert errors, name
    assert [item.record() for item in errors if item.path[: len(place)] != place] == [], name


HITS: Json = {
    "type": "call_world_api",
    "api": "search_segments_by_text",
    "params": {"video_id": "{{video_id}}", "query": "{{query}}", "top_k": 9},
    "save_as": "hits",
}
FIRST: Json = {"type": "aggregate", "operation": "pick_earliest", "inputs": "hits", "save_as": "first"}


def require(condition: str) -> Json:
    return {"type": "require", "condition": condition, "status": "empty", "reason": "nothing was found"}


def aggregate(operation: str, inputs: Json, save_as: str, **params: Json) -> Json:
    return {"type": "aggregate", "operation": operation, "inputs": inputs, "params": params, "save_as": save_as}


def project(inputs: str, **fields: Json) -> Json:
    return {"type": "project", "inputs": inputs, "fields": fields, "save_as": "rows"}


@pytest.mark.parametrize(
    ("inputs", "step", "output"),
    [
        ({"given": "list<any>"}, aggregate("sort_by", "rows", "made", key="start_time"), "list<Interval>"),
        ({"given": "list<any>"}, aggregate("pick_earliest", "rows", "made"), "Interval?"),
        ({"given": "list<any>"}, aggregate("collect_evidence", "rows", "made"), "list<Evidence>"),
        ({"given": "list<any>"}, aggregate("sum", "given", "made", key="size"), "int"),
        ({"given": "any"}, {"type": "set", "value": "{{ given.size * 2 }}", "save_as": "made"}, "int"),
    ],
    ids=["sorted", "earliest", "evidence", "sum", "product"],
)
def test_what_is_not_known_is_not_held_against_a_tool(document: Any, inputs: Json, step: Json, output: str) -> None:
    rows = [project("given", what="{{ item.what }}")] if inputs["given"] == "list<any>" else []
    tool = document(*rows, step, inputs=inputs, outputs={"made": output})

    assert told(tool) == []


@pytest.mark.parametrize(
    ("steps", "output", "error"),
    [
        pytest.param(
            [aggregate("min", "hits", "made", key="snippet")],
            "float?",
            ("E_TYPE", "$.steps[1].params.key"),
            id="an aggregate of other values",
        ),
        pytest.param(
            [aggregate("count", "hits", "made"), HITS | {"save_as": "made"}],
            "int",
            ("E_REDEFINED", "$.steps[2].save_as"),
            id="a name that is bound twice",
        ),
        pytest.param(
            [FIRST | {"save_as": "query"}, {"type": "set", "value": "{{ query | lower }}", "save_as": "made"}],
            "string",
            ("E_REDEFINED", "$.steps[1].save_as"),
            id="the name of an input",
        ),
        pytest.param(
            [
                FIRST,
                require("{{ firts is not none }}"),
                project("hits", off="{{ item.start_time - first.start_time }}"),
                aggregate("count", "rows", "made"),
            ],
            "int",
            ("E_UNDEFINED", "$.steps[2].condition"),
            id="a condition that would rule out null",
        ),
        pytest.param(
            [
                aggregate("count", "hitz", "n"),
                require("{{ n > 0 }}"),
                {"type": "set", "value": "{{ hits[0].start_time + 1 }}", "save_as": "made"},
            ],
            "Time",
            ("E_UNDEFINED", "$.steps[1].inputs"),
            id="a condition on what a faulty step saves",
        ),
        pytest.param(
            [
                {
                    "type": "loop",
                    "loop_over": "hits",
                    "do": [
                        {
                            "type": "if",
                            "condition": "{{ item.start_time > 9 }}",
                            "then": [{"type": "set", "value": "{{ item.start_time }}", "save_as": "late"}],
                        }
                    ],
                    "save_as": "made",
                },
            ],
            "list<Time>",
            ("E_BRANCH_MISMATCH", "$.steps[1].do[0]"),
            id="a branch that is not there, in a loop",
        ),
    ],
)
def test_what_a_faulty_step_saves_is_unknown(document: Any, steps: Json, output: str, error: tuple[str, str]) -> None:
    assert told(document(*steps, outputs={"made": {"type": output, "from": "{{ made }}"}})) == [error]


def test_a_caller_does_not_hear_of_an_output_whose_value_is_at_fault(document: Any) -> None:
    inner = document(FIRST, outputs={"best": {"type": "bool", "from": "{{ first.start_time }}"}})
    call = {"type": "call_tool", "tool": inner["tool_name"], "params": {"video_id": "{{video_id}}", "query": "x"}}
    later = {"type": "set", "value": "{{ got.best + 1 }}", "save_as": "made"}
    outer = document(call | {"save_as": "got"}, later, outputs={"made": "Time"}, name="outer")

    assert told([inner, outer]) == [("E_TYPE", "$[0].outputs.best.from")]


def test_a_field_that_is_not_there_is_told_once_where_an_output_reads_it(document: Any) -> None:
    times = {key: {"type": "Time?", "from": f"{{{{ first.{key} }}}}"} for key in ("start_time", "end_time")}
    times["end_time"]["from"] = "{{ first.end_tiem }}"

    assert told(document(FIRST, outputs=times)) == [("E_TYPE", "$.outputs.end_time.from")]


def test_a_tool_without_a_name_may_be_the_one_that_is_called(document: Any) -> None:
    inner, outer = document(name="look_it_up"), document(name="look_it_down")
    outer["steps"][0] = {"type": "call_tool", "tool": "look_it_up", "params": HITS["params"], "save_as": "hits"}
    outer["steps"][0]["params"] = {"video_id": "{{video_id}}", "query": "{{query}}"}
    inner["tool_nme"] = inner.pop("tool_name")

    errors = [item for item in compile_document([inner, outer]).diagnostics if item.severity == "error"]
    assert errors[0].json_path == "$[0].tool_nme"
    assert (errors[-1].code, errors[-1].suggestion, errors[-1].follows) == ("E_UNKNOWN_TOOL", "", True)

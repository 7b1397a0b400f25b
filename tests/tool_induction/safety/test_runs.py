"""Tools that are sound on paper and large when they run: everything is bounded, and nothing done is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tool_induction import RunLimits, compile_document, run_tool
from tool_induction.admission import schema_worlds

ARGUMENTS = {"video_id": "film", "query": "a dog"}


def test_a_loop_over_a_list_that_nothing_bounds_is_refused(document: Any) -> None:
    loop = {
        "type": "loop",
        "loop_over": "rows",
        "do": [{"type": "set", "value": "{{ item }}", "save_as": "y"}],
        "save_as": "x",
    }

    compilation = compile_document(document(loop, inputs={"rows": "list<string>"}))

    assert ("E_UNBOUNDED", "$.steps[1].loop_over") in {(item.code, item.json_path) for item in compilation.diagnostics}


@pytest.mark.parametrize("most", [0, -1, 201, 10**9, 2.5, "20"])
def test_a_bound_must_be_a_bound(document: Any, most: Any) -> None:
    loop = {
        "type": "loop",
        "loop_over": "hits",
        "max_items": most,
        "do": [{"type": "set", "value": 1, "save_as": "y"}],
        "save_as": "x",
    }

    told = [item for item in compile_document(document(loop)).diagnostics if item.json_path == "$.steps[1].max_items"]

    assert told


def test_ten_thousand_steps_are_refused_before_they_are_looked_at(document: Any) -> None:
    steps = [{"type": "set", "value": place, "save_as": f"n{place}"} for place in range(10_000)]

    (found,) = compile_document(document(*steps)).diagnostics

    assert found.code == "E_SIZE"
    assert found.json_path.startswith("$.steps")


def test_a_run_of_more_steps_than_it_may_do_stops_and_keeps_what_it_has(document: Any, compiled: Any) -> None:
    sets = [{"type": "set", "value": place, "save_as": f"n{place}"} for place in range(50)]
    tools = compiled(document(*sets, outputs={"found": {"type": "int?", "from": "{{ hits | length }}"}}))

    result = run_tool(tools, "small_tool", ARGUMENTS, call=schema_worlds()["many"], limits=RunLimits(steps=20))

    assert result["status"] == "budget_exhausted"
    assert result["outputs"]["found"] == 5


def test_an_operation_that_answers_with_a_hundred_megabytes_ends_the_run_with_a_named_bound(
    document: Any, compiled: Any
) -> None:
    def call(name: str, arguments: Any) -> Any:
        result = schema_worlds()["many"](name, arguments)
        result["candidates"][0]["snippet"] = "x" * 100_000_000
        return result

    result = run_tool(compiled(document()), "small_tool", ARGUMENTS, call=call)

    assert result["status"] in ("budget_exhausted", "error")
    assert len(json.dumps(result)) < 100_000


def test_an_output_that_doubles_with_every_step_is_stopped_and_never_written_out(document: Any) -> None:
    steps = [{"type": "set", "value": {"a": "{{ hits }}"}, "save_as": "v0"}]
    for place in range(40):
        whole = "{{ v" + str(place) + " }}"
        steps.append({"type": "set", "value": {"a": whole, "b": whole}, "save_as": f"v{place + 1}"})
    compilation = compile_document(document(*steps, outputs={"all": {"type": "any", "from": "{{ v40 }}"}}))
    if not compilation.ok:
        assert {item.code for item in compilation.diagnostics if item.severity == "error"} <= {"E_SIZE", "E_TYPE"}
        return

    result = run_tool(compilation.tools, "small_tool", ARGUMENTS, call=schema_worlds()["many"])

    assert result["status"] == "budget_exhausted"
    assert len(json.dumps(result)) < 200_000


def test_a_text_that_is_put_together_from_a_long_one_is_cut(document: Any, compiled: Any) -> None:
    steps = [{"type": "set", "value": "{{ query }}" * 30, "save_as": "long"}]
    steps += [{"type": "set", "value": "{{ long }}" * 30, "save_as": "longer"}]
    tools = compiled(document(*steps, outputs={"text": {"type": "string", "from": "{{ longer }}"}}))

    arguments = {"video_id": "film", "query": "x" * 5_000}
    result = run_tool(tools, "small_tool", arguments, call=schema_worlds()["many"])

    assert len(json.dumps(result)) < 60_000


@pytest.mark.parametrize(
    "given",
    [
        {"video_id": "film"},
        {"video_id": "film", "query": 3},
        {"video_id": "film", "query": None},
        {"video_id": "film", "query": "\ud800"},
        {"video_id": "film", "query": float("nan")},
        {"video_id": "film", "query": "a", "more": 1},
        {"video_id": "film", "query": {"a": object()}},
    ],
    ids=lambda given: repr(given)[:40],
)
def test_arguments_that_do_not_fit_are_refused_and_nothing_is_called(document: Any, compiled: Any, given: Any) -> None:
    asked: list[str] = []

    def call(name: str, arguments: Any) -> Any:
        asked.append(name)
        return schema_worlds()["one"](name, arguments)

    with pytest.raises(Exception) as raised:
        run_tool(compiled(document()), "small_tool", given, call=call)

    assert getattr(raised.value, "code", "") == "bad_arguments"
    assert asked == []

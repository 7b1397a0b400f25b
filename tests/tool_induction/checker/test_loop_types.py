"""What a loop collects has the type the compiler says, null included."""

from typing import Any

import pytest

from tool_induction import compile_document, run_tool

ARGUMENTS = {"video_id": "film", "query": "somebody"}
DETECT = {
    "type": "call_world_api",
    "api": "detect_objects",
    "params": {"video_id": "{{video_id}}", "timestamp": "{{seg.center_time}}", "category": "person"},
    "save_as": "found",
}
BEST = {"type": "aggregate", "operation": "pick_best", "inputs": "found", "save_as": "best"}
LATE = {"type": "filter", "inputs": "rows", "where": "{{ item.start_time > 3 }}", "save_as": "late"}


def block(*steps: Any, **extra: Any) -> Any:
    return {"type": "loop", "loop_over": "hits", "as": "seg", "save_as": "rows", "do": list(steps), **extra}


def test_a_block_whose_last_value_may_be_null_gives_a_list_with_nulls(document: Any, codes: Any, run_it: Any) -> None:
    assert ("E_OPTIONAL", "$.steps[2].where") in codes(compile_document(document(block(DETECT, BEST), LATE)))

    present = {**LATE, "where": "{{ item is not none and item.start_time > 3 }}"}
    result = run_it(document(block(DETECT, BEST), present, outputs={"late": "list"}))

    assert [row["start_time"] for row in result["outputs"]["late"]] == [64.0, 34.0]


def test_a_block_that_gives_null_for_a_fault_gives_a_list_with_nulls(document: Any, codes: Any) -> None:
    count = {"type": "set", "value": {"n": "{{ found | length }}"}, "save_as": "best"}
    many = {**LATE, "where": "{{ item.n > 0 }}"}

    assert compile_document(document(block(DETECT, count), many)).ok
    assert ("E_OPTIONAL", "$.steps[2].where") in codes(
        compile_document(document(block(DETECT, count, on_error="null"), many))
    )


def test_times_are_inherited_together_or_not_at_all(document: Any, codes: Any) -> None:
    first = {"type": "aggregate", "operation": "pick_earliest", "inputs": "hits", "save_as": "h"}
    inner = document(first, outputs={"start_time": {"type": "Time", "from": "{{h.start_time}}"}}, name="inner")
    each = {"type": "call_tool", "tool": "inner", "loop_over": "hits", "save_as": "ys"}
    each["params"] = {"video_id": "{{video_id}}", "query": "q"}
    fields = {"type": "project", "inputs": "ys", "fields": {"e": "{{ item.end_time + 1 }}"}, "save_as": "z"}

    assert ("E_TYPE", "$[1].steps[2].fields.e") in codes(
        compile_document([inner, document(each, fields, name="outer")])
    )


def test_the_centre_of_a_stretch_that_may_be_missing_may_be_missing(document: Any, codes: Any) -> None:
    first = {"type": "aggregate", "operation": "pick_earliest", "inputs": "hits", "save_as": "h"}
    ends = {key: {"type": "Time?", "from": f"{{{{h.{key}}}}}"} for key in ("start_time", "end_time")}
    inner = document(first, outputs=ends, name="inner")
    call = {"type": "call_tool", "tool": "inner", "params": {"video_id": "{{video_id}}", "query": "q"}, "save_as": "y"}
    later = {"type": "set", "value": "{{ y.center_time + 1 }}", "save_as": "z"}

    assert ("E_OPTIONAL", "$[1].steps[2].value") in codes(
        compile_document([inner, document(call, later, name="outer")])
    )


@pytest.mark.parametrize(
    ("step", "path"),
    [
        ({**DETECT, "loop_over": "hits", "as": "seg", "save_as": "seg"}, "$.steps[1].as"),
        (block({**DETECT, "save_as": "rows"}), "$.steps[1].do[0].save_as"),
        (block({**DETECT, "save_as": "seg"}), "$.steps[1].do[0].save_as"),
        (
            block(block({**DETECT, "save_as": "rows"}, **{"as": "one", "save_as": "y"})),
            "$.steps[1].do[0].do[0].save_as",
        ),
    ],
)
def test_the_names_of_a_loop_cannot_be_bound_again_inside_it(document: Any, codes: Any, step: Any, path: str) -> None:
    assert ("E_REDEFINED", path) in codes(compile_document(document(step)))


def test_until_is_not_asked_about_an_item_that_failed(document: Any, world: Any, run_it: Any) -> None:
    world.fails = [15]
    step = block(DETECT, on_error="skip", until="{{ found.detections | length > 5 }}")

    result = run_it(document(step, outputs={"rows": "list"}))

    assert result["status"] == "partial"
    assert len(result["outputs"]["rows"]) == 2


@pytest.mark.parametrize(
    ("fact", "where"),
    [
        ("{{ item.confidence is not none }}", "{{ known and item.confidence + 1 > 0 }}"),
        ("{{ (item | default([])) is not none }}", "{{ known and item.confidence + 1 > 0 }}"),
    ],
)
def test_what_is_known_of_a_loops_item_says_nothing_of_another_item(
    document: Any, codes: Any, fact: str, where: str
) -> None:
    known = {"type": "set", "value": fact, "save_as": "known"}
    inside = {"type": "filter", "inputs": "hits", "where": where, "save_as": "f"}
    loop = {"type": "loop", "loop_over": "hits", "save_as": "o", "do": [known, inside]}

    assert ("E_OPTIONAL", "$.steps[1].do[1].where") in codes(compile_document(document(loop)))


@pytest.fixture
def run_it(compiled: Any, world: Any) -> Any:
    return lambda made: run_tool(compiled(made), made["tool_name"], ARGUMENTS, call=world)

"""A tool that ends as 'ok' has answered: all that is always there is there by then, and a caller goes on with it."""

import json
from typing import Any

import pytest

from tests.support.positions import locate
from tool_induction import compile_document, run_tool

EARLIEST = {"type": "aggregate", "operation": "pick_earliest", "inputs": "hits", "save_as": "first"}
COUNT = {"type": "aggregate", "operation": "count", "inputs": "hits", "save_as": "n"}
ARGUMENTS = {"video_id": "film", "query": "tea"}


def require(condition: Any, status: str = "empty") -> Any:
    return {"type": "require", "condition": condition, "status": status, "reason": "nothing"}


def setting(value: Any, name: str = "value") -> Any:
    return {"type": "set", "value": value, "save_as": name}


def output(type_: str, source: str) -> Any:
    return {"type": type_, "from": f"{{{{ {source} }}}}"}


def found(document: Any, *codes: str) -> list[tuple[str, str]]:
    """The errors, and the warnings of the given codes, each with its place, which is there."""
    compilation = compile_document(document)
    said = [item for item in compilation.diagnostics if item.severity == "error" or item.code in codes]
    assert all(locate(json.dumps(document), item.path) is not None for item in said)
    return [(item.code, item.json_path) for item in said]


def answering(document: Any, type_: str = "int", status: str = "ok", **parts: Any) -> Any:
    """A tool that may end as 'ok' before its output is bound."""
    distinct = {
        "type": "aggregate",
        "operation": "count_distinct",
        "inputs": "hits",
        "params": {"key": "source"},
        "save_as": "sources",
    }
    outputs = {"sources": output(type_, "sources")}
    return document(COUNT, require("{{ n > 2 }}", status), distinct, outputs=outputs, **parts)


def test_a_tool_may_not_end_as_ok_before_an_output_that_is_always_there_is_bound(document: Any) -> None:
    assert found(answering(document)) == [("E_OPTIONAL", "$.steps[2].status")]


def test_a_tool_may_not_end_as_ok_where_an_output_that_is_always_there_is_null(document: Any) -> None:
    late = document(
        EARLIEST, require("{{ first is not none }}", "ok"), outputs={"at": output("Time", "first.start_time")}
    )

    assert found(late) == [("E_OPTIONAL", "$.steps[2].status")]


def test_a_tool_may_not_end_as_ok_too_early_in_a_branch_or_a_loop(document: Any) -> None:
    end = require("{{ n > 2 }}", "ok")
    outputs = {"at": output("Time?", "first.start_time"), "text": output("int", "value")}
    inside = {"type": "if", "condition": "{{ n > 1 }}", "then": [end]}
    walked = {"type": "loop", "loop_over": "hits", "do": [end, setting("{{ item }}", "one")], "save_as": "ones"}

    assert ("E_OPTIONAL", "$.steps[2].then[0].status") in found(
        document(COUNT, inside, EARLIEST, setting(3), outputs=outputs)
    )
    assert ("E_OPTIONAL", "$.steps[2].do[0].status") in found(
        document(COUNT, walked, EARLIEST, setting(3), outputs=outputs)
    )


@pytest.mark.parametrize("mended", [{"type_": "int?"}, {"status": "empty"}])
def test_the_suggestions_for_an_early_answer_mend_it(document: Any, mended: Any) -> None:
    (error,) = [item for item in compile_document(answering(document)).diagnostics if item.severity == "error"]

    assert '"int?"' in error.suggestion
    assert '"status": "empty"' in error.suggestion
    assert found(answering(document, **mended)) == []


def test_a_caller_goes_on_with_the_answer_of_a_tool_that_ended_as_ok(document: Any, compiled: Any, world: Any) -> None:
    outputs = {"n": output("int", "n"), "at": output("Time?", "first.start_time")}
    inner = document(COUNT, require("{{ n > 0 }}", "ok"), EARLIEST, outputs=outputs, name="inner")
    call = {"type": "call_tool", "tool": "inner", "params": {"video_id": "{{video_id}}", "query": "{{query}}"}}
    outer = {
        "tool_name": "outer",
        "description": "Counts how often words are said, by way of another tool.",
        "inputs": {"video_id": "string", "query": "string"},
        "outputs": {"doubled": output("int", "got.n * 2")},
        "steps": [call | {"save_as": "got"}],
    }
    tools = compiled(inner, outer)

    world.segments = []
    nothing = run_tool(tools, "outer", ARGUMENTS, call=world)
    world.segments = [(1, 2), (4, 5)]
    something = run_tool(tools, "outer", ARGUMENTS, call=world)

    assert (nothing["status"], nothing["outputs"]["doubled"]) == ("ok", 0)
    assert (something["status"], something["outputs"]["doubled"]) == ("ok", 4)

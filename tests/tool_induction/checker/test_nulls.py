"""A null in a list, a null text, a text of nothing: what a condition tells, and what it does not."""

from typing import Any

import pytest

from tool_induction import Compilation, compile_document, run_tool
from tool_induction.language import FLOAT, INT, NUMBER, STRING, OptionalType, RecordType, fit

SEARCH = {
    "type": "call_world_api",
    "api": "search_segments_by_text",
    "params": {"video_id": "{{video_id}}", "query": "{{query}}", "top_k": 5},
    "save_as": "hits",
}
TEXT = {
    "tool_name": "maybe_text",
    "description": "The words of the first hit, if there is one; nothing otherwise.",
    "inputs": {"video_id": "string", "query": "string"},
    "outputs": {"text": {"type": "string?", "from": "{{ best.snippet }}"}},
    "steps": [SEARCH, {"type": "aggregate", "operation": "first", "inputs": "hits", "save_as": "best"}],
}
NEVER = {
    "tool_name": "never_there",
    "description": "A moment that is never found, whatever is asked for: it stops at once.",
    "inputs": {"video_id": "string", "at": "Time"},
    "outputs": {
        "start_time": {"type": "Time", "from": "{{ at }}"},
        "end_time": {"type": "Time", "from": "{{ at + 1 }}"},
        "words": {"type": "string", "from": "{{ seen.caption }}"},
    },
    "steps": [
        {"type": "require", "condition": "{{ at < 0 }}", "status": "empty", "reason": "never"},
        {
            "type": "call_world_api",
            "api": "describe_segment",
            "params": {"video_id": "{{video_id}}", "start_time": "{{ at }}", "end_time": "{{ at + 1 }}"},
            "save_as": "seen",
        },
    ],
}
NEVERS = {
    "type": "call_tool",
    "tool": "never_there",
    "loop_over": "{{ hits.candidates }}",
    "params": {"video_id": "{{video_id}}", "at": "{{ item.start_time }}"},
    "on_error": "null",
    "save_as": "moments",
}


def outer(*steps: Any, **outputs: Any) -> Any:
    return {
        "tool_name": "outer_tool",
        "description": "Uses another tool on what was found, for a test.",
        "inputs": {"video_id": "string", "query": "string"},
        "outputs": {"n": {"type": "int", "from": "{{ hits.candidates | length }}"}, **outputs},
        "steps": [SEARCH, *steps],
    }


def aggregate(operation: str, name: str, inputs: Any = "{{ moments }}", **params: Any) -> Any:
    return {"type": "aggregate", "operation": operation, "inputs": inputs, "params": params, "save_as": name}


def describe(start: str, end: str, **more: Any) -> Any:
    params = {"video_id": "{{video_id}}", "start_time": f"{{{{ {start} }}}}", "end_time": f"{{{{ {end} }}}}"}
    return {"type": "call_world_api", "api": "describe_segment", "params": params, "save_as": "text", **more}


def run(compilation: Compilation, world: Any) -> Any:
    assert compilation.ok, [item.record() for item in compilation.diagnostics if item.severity == "error"]
    return run_tool(compilation.tools, "outer_tool", {"video_id": "film", "query": "q"}, call=world)


MAYBE = {
    "type": "call_tool",
    "tool": "maybe_text",
    "params": {"video_id": "{{video_id}}", "query": "x"},
    "save_as": "m",
}


def chosen(condition: str) -> Any:
    def branch(value: str) -> Any:
        return [{"type": "set", "value": value, "save_as": "z"}]

    step = {"type": "if", "condition": condition, "then": branch("{{ m.text }}"), "else": branch("{{ query }}")}
    return [TEXT, outer(MAYBE, step, z={"type": "string", "from": "{{ z | upper }}"})]


@pytest.mark.parametrize(
    "condition", ["{{ m.text != '' }}", "{{ '' != m.text }}", "{{ m.text != '' and m.text | length > 1 }}"]
)
def test_a_null_text_is_no_text_and_that_is_written_out(condition: str, world: Any) -> None:
    world.segments = []
    compilation = compile_document(chosen(condition))

    assert run(compilation, world)["outputs"]["z"] == "Q"
    written = compilation.tools["outer_tool"].frozen
    assert "m.text is not none" in written["steps"][2]["condition"]
    assert [item.code for item in compilation.diagnostics if item.json_path == "$[1].steps[2].condition"] == [
        "W_COERCED"
    ]
    again = compile_document([compilation.tools["maybe_text"].frozen, written])
    assert again.tools["outer_tool"].frozen == written


def test_that_a_text_does_not_equal_nothing_does_not_say_that_it_is_there(codes: Any) -> None:
    assert codes(compile_document(chosen("{{ not (m.text == '') }}"))) == {("E_OPTIONAL", "$[1].outputs.z.from")}


@pytest.mark.parametrize("operation", ["pick_earliest", "pick_latest", "pick_longest", "pick_best", "first"])
def test_nothing_can_be_picked_from_a_list_of_nulls(operation: str, world: Any) -> None:
    steps = [
        NEVERS,
        aggregate(operation, "best"),
        {"type": "require", "condition": "{{ moments | length > 0 }}", "status": "ambiguous", "reason": "none"},
        describe("best.start_time", "best.end_time"),
    ]

    assert run(compile_document([NEVER, outer(*steps)]), world)["status"] == "empty"


def test_a_count_of_what_is_there_rules_null_out_of_what_is_picked_from_it(world: Any) -> None:
    steps = [
        NEVERS,
        aggregate("count", "known"),
        aggregate("pick_earliest", "best"),
        {"type": "require", "condition": "{{ known > 0 }}", "status": "ambiguous", "reason": "none"},
        describe("best.start_time", "best.end_time"),
    ]
    compilation = compile_document([NEVER, outer(*steps)])

    assert run(compilation, world)["status"] == "ambiguous"
    assert "W_IMPLICIT_REQUIRE" not in {item.code for item in compilation.diagnostics}


def test_a_count_of_what_is_there_may_be_nothing(codes: Any) -> None:
    require = {"type": "require", "condition": "{{ moments | length > 0 }}", "status": "empty", "reason": "none"}
    steps = [NEVERS, require, aggregate("count", "known"), {"type": "set", "value": "{{ 1 / known }}", "save_as": "x"}]

    assert codes(compile_document([NEVER, outer(*steps)])) == {("E_TYPE", "$[1].steps[4].value")}


@pytest.mark.parametrize(
    "step",
    [
        aggregate("sort_by", "rows", key="start_time"),
        aggregate("dedupe_by", "rows", key="start_time"),
        aggregate("dedupe_overlaps", "rows", iou=0.5),
        aggregate("merge_intervals", "rows", gap=1),
    ],
    ids=lambda step: step["operation"],
)
def test_a_loop_over_what_was_made_of_nulls_may_make_no_call(step: Any, world: Any) -> None:
    branch = {
        "type": "if",
        "condition": "{{ moments | length > 0 }}",
        "then": [describe("item.start_time", "item.end_time", loop_over="{{ rows }}")],
        "else": [describe("item", "item + 1", loop_over=[1, 2])],
    }
    compilation = compile_document([NEVER, outer(NEVERS, step, branch, text="list")])

    assert run(compilation, world)["calls"]["logical"] >= compilation.tools["outer_tool"].price.least.calls


def test_of_no_lists_nothing_is_joined(document: Any, codes: Any) -> None:
    steps = [
        aggregate("concat_lists", "numbers", "{{ boxes }}"),
        {"type": "set", "value": "{{ 1 / (numbers | length) }}", "save_as": "x"},
    ]
    outputs = {"x": "float"}

    found = codes(compile_document(document(*steps, inputs={"boxes": "list<Box>"}, outputs=outputs)))

    assert found == {("E_TYPE", "$.steps[2].value")}


def test_what_is_joined_of_empty_texts_is_empty(world: Any) -> None:
    steps = [
        {"type": "require", "condition": "{{ hits.candidates | length > 0 }}", "status": "ambiguous", "reason": "none"},
        aggregate("concat_text", "words", "{{ hits.candidates }}", key="snippet"),
        {
            "type": "call_world_api",
            "api": "search_segments_by_semantics",
            "params": {"video_id": "{{video_id}}", "query": "{{ words }}", "top_k": 3},
            "save_as": "more",
        },
    ]
    search = world._search_segments_by_text

    def wordless(arguments: Any) -> Any:
        found = search(arguments)
        return found | {"candidates": [row | {"snippet": ""} for row in found["candidates"]]}

    world._search_segments_by_text = wordless
    assert run(compile_document(outer(*steps)), world)["status"] == "empty"


@pytest.mark.parametrize(
    ("query", "refused"),
    [
        ("{{ words | default('x') }}", True),
        ("{{ words | lower }}", True),
        ("{{ words }}{{ words }} ", True),
        ("{{ 'x' if words == '' else words }}", False),
        ("{{ words if words != '' else words }}", True),
        ("about {{ words }}", False),
    ],
)
def test_a_joined_text_stays_one_through_what_is_done_with_it(
    document: Any, codes: Any, query: str, refused: bool
) -> None:
    steps = [
        aggregate("concat_text", "words", "{{ hits.candidates }}", key="snippet"),
        {"type": "set", "value": query, "save_as": "asked"},
    ]

    def compiled(text: str) -> Any:
        params = {"video_id": "{{video_id}}", "query": text, "top_k": 3}
        return compile_document(document(*steps, SEARCH | {"params": params, "save_as": "more"}))

    assert codes(compiled(query)) == ({("E_OPTIONAL", "$.steps[3].params.query")} if refused else set())
    implied = {item.json_path for item in compiled("{{ asked }}").diagnostics if item.code == "W_IMPLICIT_REQUIRE"}
    assert implied == ({"$.steps[3].params.query"} if refused else set())


def test_that_a_record_may_hold_null_is_not_hidden_by_what_else_is_read_differently() -> None:
    found = RecordType(fields=(("a", NUMBER), ("b", OptionalType(FLOAT)), ("c", STRING)))
    wanted = RecordType(fields=(("a", INT), ("b", FLOAT), ("c", STRING)))

    assert fit(found, wanted).how == "optional"
    assert fit(RecordType(fields=tuple(reversed(found.fields))), wanted).how == "optional"

"""What is told of small slips: an input without values, a step without a type, names that look alike."""

from typing import Any

import pytest

from tool_induction import compile_document, run_tool
from tool_induction.aggregates import AGGREGATES

COUNTED = {"n": {"type": "int", "from": "{{ hits | length }}"}}


def told(compilation: Any, code: str) -> list[tuple[str, str, str]]:
    return [(item.json_path, item.message, item.suggestion) for item in compilation.diagnostics if item.code == code]


def test_an_enum_that_names_no_values_is_told_at_its_declaration(document: Any) -> None:
    compilation = compile_document(document(outputs=COUNTED, inputs={"mood": {"type": "enum"}}))

    assert told(compilation, "E_SHAPE") == [
        ("$.inputs.mood", "a declaration needs the key 'enum'", 'add "enum": ["...", "..."]')
    ]


def test_values_under_another_key_are_told_once(document: Any) -> None:
    compilation = compile_document(document(outputs=COUNTED, inputs={"mood": {"type": "enum", "values": ["calm"]}}))

    assert [found[::2] for found in told(compilation, "E_SHAPE")] == [("$.inputs.mood.values", "did you mean 'enum'?")]


def test_a_step_without_a_type_is_called_a_step(document: Any) -> None:
    compilation = compile_document(document({"condition": "{{ query == 'x' }}"}, outputs=COUNTED))

    assert told(compilation, "E_SHAPE") == [("$.steps[1]", "a step needs the key 'type'", "")]


@pytest.mark.parametrize("name", [name for name, spec in AGGREGATES.items() if spec.takes == "list"])
def test_an_aggregate_of_an_empty_record_is_refused(document: Any, name: str) -> None:
    step = {"type": "aggregate", "operation": name, "inputs": {}, "save_as": "x"}

    assert "$.steps[1].inputs" in {found[0] for found in told(compile_document(document(step)), "E_TYPE")}


@pytest.mark.parametrize("name", ["union", "pick_first_detection", "pick_last_detection"])
def test_a_word_that_may_mean_two_things_is_suggested_and_not_read(document: Any, name: str) -> None:
    step = {"type": "aggregate", "operation": name, "inputs": ["hits", "hits"], "save_as": "x"}

    found = told(compile_document(document(step, outputs=COUNTED)), "E_UNKNOWN_AGGREGATE")

    assert [(path, bool(suggestion)) for path, _, suggestion in found] == [("$.steps[1].operation", True)]


@pytest.mark.parametrize(
    ("step", "place"),
    [
        ({"type": "set", "value": "query", "save_as": "x"}, "value"),
        ({"type": "set", "value": {"of": "hits.candidates[0]"}, "save_as": "x"}, "value.of"),
        ({"type": "project", "inputs": "hits", "fields": {"at": "item.start_time"}, "save_as": "x"}, "fields.at"),
        (
            {
                "type": "call_world_api",
                "api": "search_segments_by_text",
                "params": {"video_id": "{{video_id}}", "query": "query", "top_k": 3},
                "save_as": "x",
            },
            "params.query",
        ),
    ],
    ids=["a value", "a record", "a field", "a parameter"],
)
def test_a_text_that_is_exactly_a_name_stays_text_and_is_told(document: Any, step: Any, place: str) -> None:
    compilation = compile_document(document(step, outputs=COUNTED))

    assert compilation.ok
    assert [found[0] for found in told(compilation, "W_LITERAL")] == [f"$.steps[1].{place}"]


def test_other_texts_and_words_of_a_closed_list_are_not_taken_for_names(document: Any) -> None:
    read = {
        "type": "call_world_api",
        "api": "read_memory",
        "params": {"video_id": "{{video_id}}", "query": "the query", "level": "event", "top_k": 3},
        "save_as": "event",
    }
    steps = [read, {"type": "set", "value": ["a.b", "nobody", "Query", "query?"], "save_as": "x"}]
    again = read | {"save_as": "events"}

    assert told(compile_document(document(*steps, again, outputs=COUNTED)), "W_LITERAL") == []


def test_a_sum_of_whole_numbers_is_whole(document: Any, world: Any) -> None:
    steps = [
        {"type": "project", "inputs": "hits", "fields": {"one": "{{ 1 }}"}, "save_as": "ones"},
        {"type": "aggregate", "operation": "sum", "inputs": "ones", "params": {"key": "one"}, "save_as": "total"},
    ]
    tools = compile_document(document(*steps, outputs={"total": "int"})).require()

    result = run_tool(tools, "small_tool", {"video_id": "film", "query": "q"}, call=world)

    assert repr(result["outputs"]["total"]) == "3"
    assert result["summary"] == "total: 3"

"""What is said of a slip names what was meant, once, and in few words."""

import json
from typing import Any

import pytest

from tool_induction import compile_document
from world_api.core import closest


def errors(document: Any) -> list[Any]:
    return [item for item in compile_document(document).diagnostics if item.severity == "error"]


def kept(where: str) -> dict[str, Any]:
    return {"type": "filter", "inputs": "hits", "where": where, "save_as": "some"}


def test_a_step_that_calls_is_told_from_its_keys(document: Any) -> None:
    operation = {"type": "call", "api": "list_entities", "params": {"video_id": "{{video_id}}"}, "save_as": "x"}
    tool = {"type": "call", "tool": "find_it", "params": {}, "save_as": "x"}

    assert errors(document(operation))[0].suggestion == "did you mean 'call_world_api'?"
    assert errors(document(tool))[0].suggestion == "did you mean 'call_tool'?"


@pytest.mark.parametrize(
    ("where", "hint"),
    [
        ("{{ hits | count > 0 }}", "did you mean 'length'?"),
        ("{{ hits | len > 0 }}", "did you mean 'length'?"),
        ("{{ (hits | first) is none }}", "x[0]"),
        ("{{ item.source = 'caption' }}", "instead of '=' use '=='"),
        ("{{ item.source == 'a=b' && true }}", "instead of '&&' use 'and'"),
    ],
)
def test_what_other_languages_write_is_told_in_ours(document: Any, where: str, hint: str) -> None:
    assert hint in errors(document(kept(where)))[0].suggestion


def test_a_word_is_like_another_where_it_begins_alike_or_differs_little() -> None:
    assert closest("alone", ["longest"]) is None
    assert closest("lonest", ["longest"]) == "longest"
    assert closest("etect_objects", ["detect_objects"]) == "detect_objects"


def test_a_tool_name_of_several_words_is_taken_apart(document: Any) -> None:
    assert "'count_returns'" in errors(document(name="CountReturns"))[0].suggestion


def test_the_words_that_may_stand_at_a_place_are_listed(document: Any) -> None:
    (fault,) = errors(document({"type": "require", "condition": "{{ hits }}", "status": "none"}))

    assert "empty" in fault.message
    assert "ambiguous" in fault.message


def test_the_fields_are_listed_where_none_is_like_the_one_asked_for(document: Any) -> None:
    (fault,) = errors(document(kept("{{ item.zzz == 'x' }}")))

    assert "its fields are" in fault.suggestion
    assert "start_time" in fault.suggestion


def test_a_number_in_quotes_is_one_fault_told_in_plain_words(document: Any) -> None:
    made = document()
    made["steps"][0]["params"]["top_k"] = "10"
    (fault,) = errors(made)

    assert fault.message == "expected int, found the text '10'"
    assert fault.suggestion == "write 10"


def test_a_text_that_is_too_long_is_called_a_text(document: Any) -> None:
    (fault,) = errors(document() | {"description": "x" * 990_000})

    assert "990000 characters" in fault.message


def test_a_long_key_does_not_fill_what_is_said_of_it(document: Any) -> None:
    (fault,) = errors(document() | {"k" * 100_000: 1})

    assert len(json.dumps(fault.record())) < 2_000


def test_every_tool_of_a_circle_is_told_so(document: Any) -> None:
    def calling(name: str, other: str) -> Any:
        call = {"type": "call_tool", "tool": other, "params": {"video_id": "v", "query": "q"}, "save_as": "x"}
        return document(call, name=name)

    found = errors([calling("one", "two"), calling("two", "three"), calling("three", "one")])

    assert [(item.tool, item.code) for item in found] == [
        ("one", "E_CYCLE"),
        ("two", "E_CYCLE"),
        ("three", "E_CYCLE"),
    ]
    assert "two -> three -> one -> two" in found[1].message


def test_one_fault_is_counted_as_one(document: Any) -> None:
    from tool_induction import ToolFault

    with pytest.raises(ToolFault, match="1 fault: "):
        compile_document(document() | {"tool_name": "Not One"}).require()


def test_an_output_that_is_a_time_lets_the_answer_be_looked_at(document: Any) -> None:
    def noted(outputs: Any) -> bool:
        return "L_NO_EVIDENCE" in {item.code for item in compile_document(document(outputs=outputs)).diagnostics}

    assert not noted({"after": {"type": "Time", "from": "{{ hits[0].start_time | default(0) }}"}})
    assert noted({"how_many": {"type": "int", "from": "{{ hits | length }}"}})

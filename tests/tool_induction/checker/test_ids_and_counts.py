"""Ids come from inputs of their own and from fields that hold ids; a number of items is no moment."""

from typing import Any

import pytest

from tool_induction import compile_document

SEEN = {
    "type": "call_world_api",
    "api": "detect_objects",
    "params": {"video_id": "{{ video_id }}", "timestamp": 3, "category": "person"},
    "save_as": "seen",
}
WHO = {"type": "aggregate", "operation": "pick_best", "inputs": "{{ seen.detections }}", "save_as": "who"}
COUNT = {"type": "aggregate", "operation": "count", "inputs": "hits", "save_as": "n"}


def way(entity: str, video: str = "{{ video_id }}") -> Any:
    params = {"video_id": video, "entity_id": entity}
    return {"type": "call_world_api", "api": "get_entity_trajectory", "params": params, "save_as": "way"}


def state(time: str) -> Any:
    return SEEN | {"params": SEEN["params"] | {"timestamp": time}}


def errors(document: Any) -> list[tuple[str, str, str]]:
    said = compile_document(document).diagnostics
    return [(item.code, item.json_path, item.suggestion) for item in said if item.severity == "error"]


@pytest.mark.parametrize(
    "entity", ["{{ who.entity_hint }}", "{{ who.category }}", "{{ who.entity_hint | default('') }}"]
)
def test_a_text_of_a_result_is_no_id(document: Any, entity: str) -> None:
    place = "$.steps[3].params.entity_id"

    assert errors(document(SEEN, WHO, way(entity))) == [("E_TYPE", place, "write {{ who.entity_id }}")]
    assert errors(document(SEEN, WHO, way("{{ who.entity_id }}"))) == []


def test_an_id_that_a_tool_keeps_under_another_name_is_taken(document: Any) -> None:
    rows = {
        "type": "project",
        "inputs": "{{ seen.detections }}",
        "fields": {"who": "{{ item.entity_id }}"},
        "save_as": "rows",
    }
    first = {"type": "aggregate", "operation": "nth", "inputs": "rows", "params": {"n": 0}, "save_as": "one"}

    assert errors(document(SEEN, rows, first, way("{{ one.who }}"))) == []


def test_an_input_that_is_searched_for_is_no_id(document: Any) -> None:
    assert errors(document(SEEN, WHO, way("{{ who.entity_id }}", "{{ query }}"))) == [
        ("E_TYPE", "$.steps[3].params.video_id", "take the id as an input of its own")
    ]


@pytest.mark.parametrize("moment", ["{{ n }}", "{{ hits | length }}"])
def test_a_number_of_items_is_no_moment(document: Any, moment: str) -> None:
    assert errors(document(COUNT, state(moment))) == [("E_TYPE", "$.steps[2].params.timestamp", "")]
    assert errors(document(COUNT, state("{{ n * 30 }}"))) == []  # every half minute


def test_an_id_may_be_looked_for_in_memories(document: Any) -> None:
    params = {"video_id": "{{ video_id }}", "level": "event", "query": "{{ who }}", "top_k": 3}
    notes = {"type": "call_world_api", "api": "read_memory", "params": params, "save_as": "notes"}

    assert errors(document(notes, way("{{ who }}"), inputs={"who": "string"})) == []

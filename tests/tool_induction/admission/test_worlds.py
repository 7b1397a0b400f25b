"""Worlds made from the operations' schemas: of the right shape, and hanging together."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator

from tool_induction.admission import schema_worlds
from world_api.core import OperationFault
from world_api.operations import EVERY_OPERATION

WORLDS = schema_worlds()
QUIET = ("empty", "one", "many", "nulls")
ARGUMENTS: dict[str, Any] = {
    "video_id": "film",
    "query": "somebody writes",
    "top_k": 7,
    "timestamp": 12.0,
    "category": "person",
    "start_time": 30.0,
    "end_time": 90.0,
    "entity_id": "entity-3",
    "time": 55.0,
    "entity_hint": "in a hat",
    "level": "event",
    "time_range": {"start_time": 100.0, "end_time": 200.0},
    "content": "a note",
    "question": "what is on the table?",
    "min_confidence": 0.3,
    "event_ids": ["memory-1", "memory-2"],
    "example_segment": {"start_time": 300.0, "end_time": 310.0},
}


def arguments_of(name: str, *, whole: bool) -> dict[str, Any]:
    schema = EVERY_OPERATION[name].parameters_schema()
    wanted = schema["properties"] if whole else schema["required"]
    missing = [key for key in wanted if key not in ARGUMENTS and key in schema["required"]]
    assert not missing, f"give the test an example of {missing}"
    return {key: ARGUMENTS[key] for key in wanted if key in ARGUMENTS}


@pytest.mark.parametrize("whole", [False, True], ids=["required", "all"])
@pytest.mark.parametrize("world", QUIET)
@pytest.mark.parametrize("name", EVERY_OPERATION)
def test_an_answer_has_the_shape_of_the_result_schema(name: str, world: str, whole: bool) -> None:
    result = WORLDS[world](name, arguments_of(name, whole=whole))

    errors = [
        error.message for error in Draft202012Validator(EVERY_OPERATION[name].result_schema()).iter_errors(result)
    ]
    assert errors == []
    EVERY_OPERATION[name].result.model_validate_json(json.dumps(result))


@pytest.mark.parametrize("name", EVERY_OPERATION)
def test_the_empty_world_has_no_entries_and_says_nothing(name: str) -> None:
    result = WORLDS["empty"](name, arguments_of(name, whole=False))

    assert all(value == [] for value in result.values() if isinstance(value, list))
    nullable = [key for key, part in EVERY_OPERATION[name].result_schema()["properties"].items() if "anyOf" in part]
    assert all(result[key] is None for key in nullable)


@pytest.mark.parametrize("name", EVERY_OPERATION)
def test_null_stands_wherever_it_may_stand(name: str) -> None:
    schema = EVERY_OPERATION[name].result_schema()

    def look(value: Any, part: dict[str, Any]) -> None:
        part = schema["$defs"][part["$ref"].rsplit("/", 1)[-1]] if "$ref" in part else part
        if any(option == {"type": "null"} for option in part.get("anyOf", ())):
            assert value is None
        elif isinstance(value, dict):
            for key, inner in value.items():
                look(inner, part["properties"][key])
        elif isinstance(value, list):
            for inner in value:
                look(inner, part.get("items", {}))

    look(WORLDS["nulls"](name, arguments_of(name, whole=True)), schema)


@pytest.mark.parametrize("name", EVERY_OPERATION)
def test_a_failing_world_names_its_fault(name: str) -> None:
    with pytest.raises(OperationFault) as raised:
        WORLDS["failing"](name, arguments_of(name, whole=False))

    assert raised.value.code == "planted_fault"


def test_in_the_other_failing_world_some_items_of_a_loop_fail() -> None:
    failed = 0
    for step in range(40):
        try:
            WORLDS["failing_some"]("detect_objects", {"video_id": "film", "timestamp": 5.0 * step, "category": "cup"})
        except OperationFault as fault:
            assert fault.code == "planted_fault"
            failed += 1

    assert 5 < failed < 35
    assert WORLDS["failing_some"]("list_scenes", {"video_id": "film"})["scenes"]


def test_one_and_many_hold_one_and_as_many_as_were_asked_for() -> None:
    search = {"video_id": "film", "query": "a dog", "top_k": 30}

    assert len(WORLDS["one"]("search_segments_by_text", search)["candidates"]) == 1
    hits = WORLDS["many"]("search_segments_by_text", search)["candidates"]
    assert len(hits) == len({hit["start_time"] for hit in hits}) == 30
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)
    assert len({hit["snippet"] for hit in hits}) > 15


def test_what_was_asked_is_found_in_some_texts_and_not_in_others() -> None:
    search = {"video_id": "film", "query": "a heron", "top_k": 30}

    hits = WORLDS["many"]("search_segments_by_text", search)["candidates"]

    about_it = ["a heron" in hit["snippet"] for hit in hits]
    assert any(about_it)
    assert not all(about_it)


@pytest.mark.parametrize("name", [name for name in EVERY_OPERATION if "time_range" in arguments_of(name, whole=True)])
def test_a_search_keeps_to_the_stretch_it_is_confined_to(name: str) -> None:
    result = WORLDS["many"](name, arguments_of(name, whole=True))
    rows = [row for key, value in result.items() if isinstance(value, list) and key != "evidence" for row in value]

    if "timestamp" not in EVERY_OPERATION[name].parameters_schema()["required"]:  # such a one is about a moment
        assert all(row["start_time"] < 200.0 and row["end_time"] > 100.0 for row in rows if "start_time" in row)


def test_actions_lie_in_the_stretch_that_was_asked_about() -> None:
    actions = WORLDS["many"]("recognize_actions", {"video_id": "film", "start_time": 30.0, "end_time": 90.0})["actions"]

    assert len(actions) > 1
    assert all(30.0 <= action["start_time"] < action["end_time"] <= 90.0 for action in actions)


def test_an_entity_that_is_listed_is_known_to_its_trajectory_and_to_questions_about_it() -> None:
    world = WORLDS["many"]
    listed = [row["entity_id"] for row in world("list_entities", {"video_id": "film"})["entities"]]

    assert len(set(listed)) == len(listed) > 5
    for identifier in listed:
        assert world("get_entity_trajectory", {"video_id": "film", "entity_id": identifier})["trajectory"]
    seen = world("detect_objects", {"video_id": "film", "timestamp": 77.0, "category": "cup"})["detections"]
    assert {row["entity_id"] for row in seen} <= set(listed)


def test_an_id_that_nobody_gave_out_is_unknown() -> None:
    with pytest.raises(OperationFault) as raised:
        WORLDS["many"]("get_entity_trajectory", {"video_id": "film", "entity_id": "the man in the hat"})

    assert raised.value.code == "unknown_id"


def test_arguments_are_refused_as_the_operations_refuse_them() -> None:
    for arguments in ({"video_id": "film", "query": "", "top_k": 5}, {"video_id": "film", "query": "a", "top_k": 0}):
        with pytest.raises(OperationFault) as raised:
            WORLDS["many"]("search_segments_by_text", arguments)
        assert raised.value.code == "bad_arguments"
    with pytest.raises(OperationFault) as raised:
        WORLDS["many"]("describe_segment", {"video_id": "film", "start_time": 9.0, "end_time": 3.0})
    assert raised.value.code == "bad_time_range"
    with pytest.raises(OperationFault) as raised:
        WORLDS["many"]("fly", {})
    assert raised.value.code == "unknown_operation"


@given(
    query=st.text(min_size=1, max_size=30).filter(lambda text: text.strip()),
    top_k=st.integers(1, 200),
    seed=st.integers(0, 9),
)
def test_an_answer_depends_on_the_call_and_the_seed_alone(query: str, top_k: int, seed: int) -> None:
    given_ = {"video_id": "film", "query": query, "top_k": top_k}

    def ask() -> Any:
        return schema_worlds()["many"].of_seed(seed)("search_segments_by_semantics", dict(given_))

    first = ask()

    assert first == ask()
    assert len(first["candidates"]) == min(top_k, 60)


def test_other_words_and_another_seed_give_other_answers() -> None:
    def hits(query: str, seed: int = 0) -> Any:
        given_ = {"video_id": "film", "query": query, "top_k": 5}
        return schema_worlds()["many"].of_seed(seed)("search_segments_by_text", given_)["candidates"]

    assert hits("a dog") != hits("a cat")
    assert hits("a dog") != hits("a dog", seed=1)

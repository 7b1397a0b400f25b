"""With a causal cut no operation returns a time, entity, text or memory from after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from world_api.core import OperationFault
from world_api.operations import OPERATIONS, run
from world_api.session import Session

Opened = Callable[..., Session]
CUT = 30.0
#: Words and ids that the rows of the made minute hold only after the cut.
LATER = ("花园", "t0001", "red", "white")

MEMORY = {
    "video_id": "made",
    "level": "event",
    "time_range": {"start_time": 45.0, "end_time": 50.0},
    "content": "later",
}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "list_scenes": {},
    "get_segment": {"start_time": 10.0, "end_time": 59.0},
    "search_segments_by_text": {"query": "person in red 花园 folder walk", "top_k": 200},
    "describe_segment": {"start_time": 0.0, "end_time": 60.0},
    "detect_objects": {"timestamp": 28.0, "category": "any", "time_range": {"start_time": 0.0, "end_time": 60.0}},
    "recognize_actions": {"start_time": 0.0, "end_time": 60.0},
    "register_entity": {"timestamp": 25.0, "entity_hint": "person"},
    "get_entity_trajectory": {"entity_id": "ent_t0000_01"},
    "query_entity_state": {"entity_id": "ent_t0000_01", "time": 25.0, "query": "where"},
    "search_segments_by_semantics": {"query": "person in red 花园 folder walk", "top_k": 200},
    "search_similar_to_example": {"example_segment": {"start_time": 1.0, "end_time": 5.0}, "top_k": 200},
    "write_memory": {"level": "event", "time_range": {"start_time": 1.0, "end_time": 50.0}, "content": "x"},
    "read_memory": {"level": "event", "query": "later later", "top_k": 200},
    "list_entities": {},
    "get_video_metadata": {},
}


def numbers(value: Any, key: str = "") -> Iterator[tuple[str, float]]:
    """Every number that is a time, with its key."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from numbers(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from numbers(inner, key)
    elif isinstance(value, (int, float)) and (key.endswith(("_time", "timestamp")) or key == "duration"):
        yield key, value


def without_query(value: Any) -> Any:
    """The result without the fields that repeat words of the query."""
    if isinstance(value, list):
        return [without_query(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    judgements = {"matched", "unmatched", "not_judged", "lacks"}
    return {name: without_query(inner) for name, inner in value.items() if name not in judgements}


@pytest.mark.parametrize("name", list(ARGUMENTS))
def test_nothing_from_after_the_cut_comes_out(open_made: Opened, name: str) -> None:
    whole = open_made(name="writer")
    run(whole, "write_memory", MEMORY)
    session = open_made(as_of=CUT, name="writer")
    result = run(session, name, {"video_id": "made", **ARGUMENTS[name]})
    assert all(time <= CUT for _, time in numbers(result)), result
    told = without_query(result)
    assert not any(word in repr(told) for word in LATER), told
    assert "later" not in repr(told)


def test_the_cut_of_every_operation_is_tried() -> None:
    assert set(ARGUMENTS) | {"merge_events"} == set(OPERATIONS)


@pytest.mark.parametrize("time", [30.5, 59.0, 61.0, 5000.0])
def test_a_time_beyond_the_cut_is_not_yet_and_tells_nothing_of_the_end(open_made: Opened, time: float) -> None:
    session = open_made(as_of=CUT)
    for name, arguments in (
        ("detect_objects", {"timestamp": time, "category": "person"}),
        ("get_segment", {"start_time": time, "end_time": time + 1}),
        ("query_entity_state", {"entity_id": "ent_t0000_01", "time": time, "query": "where"}),
    ):
        with pytest.raises(OperationFault) as caught:
            run(session, name, {"video_id": "made", **arguments})
        assert caught.value.code == "not_yet"
        assert "60" not in str(caught.value)


def test_an_entity_from_after_the_cut_is_unknown(open_made: Opened) -> None:
    with pytest.raises(OperationFault) as caught:
        run(open_made(as_of=CUT), "get_entity_trajectory", {"video_id": "made", "entity_id": "ent_t0001_01"})
    assert caught.value.code == "unknown_entity"


def test_a_memory_from_after_the_cut_cannot_be_merged(open_made: Opened) -> None:
    whole = open_made(name="writer")
    ids = [run(whole, "write_memory", MEMORY)["memory_id"] for _ in range(2)]
    with pytest.raises(OperationFault) as caught:
        run(open_made(as_of=CUT, name="writer"), "merge_events", {"video_id": "made", "event_ids": ids})
    assert caught.value.code == "unknown_memory"


def test_rankings_do_not_change_with_what_comes_after_the_cut(make_world: Any) -> None:
    from world_api.api import open_session

    line = {"speaker": "", "language": "en", "source": "sidecar", "confidence": 1.0, "producer": "made/1"}
    early = [
        {"start": 2.0, "end": 4.0, "text": "apples and pears", "known_at": 4.0, **line},
        {"start": 12.0, "end": 14.0, "text": "pears and plums and pears", "known_at": 14.0, **line},
    ]
    late = [
        {"start": float(t), "end": t + 1.0, "text": "apples", "known_at": t + 1.0, **line} for t in range(31, 59, 2)
    ]
    found = []
    for video_id, rows in (("short", early), ("long", early + late)):
        make_world({"speech": rows}, video_id=video_id)
        session = open_session(make_world.store, video_id, as_of=CUT, name=None)
        result = run(session, "search_segments_by_text", {"video_id": video_id, "query": "apples pears", "top_k": 10})
        found.append([(item["segment_id"], item["score"]) for item in result["candidates"]])
    assert found[0] == found[1]

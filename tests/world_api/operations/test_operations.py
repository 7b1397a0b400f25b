"""The sixteen operations on a minute of exact rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from world_api.core import OperationFault
from world_api.operations import OPERATIONS, run
from world_api.schemas import plain_schema
from world_api.session import Session

Opened = Callable[..., Session]
V = {"video_id": "made"}

#: One good call of every operation; later calls use ids that earlier ones gave.
CALLS: dict[str, dict[str, Any]] = {
    "list_scenes": {},
    "get_segment": {"start_time": 12.0, "end_time": 18.5},
    "search_segments_by_text": {"query": "blue folder", "top_k": 3},
    "describe_segment": {"start_time": 20.0, "end_time": 30.0},
    "detect_objects": {"timestamp": 25.0, "category": "person"},
    "recognize_actions": {"start_time": 20.0, "end_time": 40.0},
    "register_entity": {"timestamp": 25.0, "entity_hint": "the person in black"},
    "get_entity_trajectory": {"entity_id": "ent_t0000_01"},
    "query_entity_state": {"entity_id": "ent_t0000_01", "time": 25.0, "query": "what is he doing?"},
    "search_segments_by_semantics": {"query": "folder", "top_k": 3},
    "search_similar_to_example": {"example_segment": {"start_time": 21.0, "end_time": 25.0}, "top_k": 3},
    "write_memory": {
        "level": "event",
        "time_range": {"start_time": 22.0, "end_time": 28.0},
        "content": "someone in black",
    },
    "read_memory": {"level": "event", "query": "black", "top_k": 3},
    "merge_events": {"event_ids": ["a", "b"]},
    "list_entities": {},
    "get_video_metadata": {},
}


def call(session: Session, name: str, **arguments: Any) -> dict[str, Any]:
    return run(session, name, {**V, **arguments})


def merged(session: Session) -> dict[str, Any]:
    ids = [
        call(session, "write_memory", level="event", time_range={"start_time": a, "end_time": b}, content=text)[
            "memory_id"
        ]
        for a, b, text in ((30.0, 35.0, "second\nshared line"), (5.0, 10.0, "first\nshared line"))
    ]
    return {"event_ids": ids}


@pytest.mark.parametrize("name", list(CALLS))
def test_every_operation_answers_in_its_own_schema(open_made: Opened, name: str) -> None:
    session = open_made()
    arguments = merged(session) if name == "merge_events" else CALLS[name]
    result = call(session, name, **arguments)
    Draft202012Validator(plain_schema(OPERATIONS[name].result_schema())).validate(result)
    assert result["evidence"] or name == "read_memory"


@pytest.mark.parametrize("name", [name for name, op in OPERATIONS.items() if op.state == "reads"])
def test_the_same_call_gives_the_same_result(open_made: Opened, name: str) -> None:
    assert call(open_made(), name, **CALLS[name]) == call(open_made(), name, **CALLS[name])


@pytest.mark.parametrize("name", list(CALLS))
def test_missing_extra_and_wrongly_typed_arguments_are_named(open_made: Opened, name: str) -> None:
    session = open_made()
    good = {**V, **CALLS[name]}
    broken = [{k: v for k, v in good.items() if k != gone} for gone in good]
    broken += [{**good, "no_such_parameter": 1}, *({**good, key: {"wrong": ["type"]}} for key in good)]
    for arguments in broken:
        with pytest.raises(OperationFault) as caught:
            run(session, name, arguments)
        assert caught.value.code == "bad_arguments", arguments
        assert caught.value.hint.startswith("parameters: video_id")
    assert session.revision == 0


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("search_segments_by_text", {"query": "x" * 96_000}, "query must have at most 2000 characters, not 96000"),
        ("register_entity", {"entity_hint": ""}, "entity_hint must have at least 1 character, not 0"),
        ("merge_events", {"event_ids": ["mem_1"]}, "event_ids must have at least 2 items, not 1"),
        ("merge_events", {"event_ids": ["mem_1"] * 101}, "event_ids must have at most 100 items, not 101"),
    ],
)
def test_a_length_out_of_bounds_is_told_plainly(
    open_made: Opened, name: str, change: dict[str, Any], told: str
) -> None:
    with pytest.raises(OperationFault) as caught:
        call(open_made(), name, **{**CALLS[name], **change})
    assert (caught.value.code, caught.value.message) == ("bad_arguments", f"{name}: {told}")


@pytest.mark.parametrize(
    ("name", "change", "code"),
    [
        ("get_segment", {"start_time": 61.0, "end_time": 62.0}, "time_out_of_range"),
        ("get_segment", {"start_time": 20.0, "end_time": 10.0}, "bad_time_range"),
        ("get_segment", {"start_time": 20.0, "end_time": 20.0}, "bad_time_range"),
        ("get_segment", {"start_time": -1.0}, "bad_arguments"),
        ("get_segment", {"start_time": float("nan")}, "bad_arguments"),
        ("get_segment", {"end_time": float("inf")}, "bad_arguments"),
        ("get_segment", {"start_time": "20"}, "bad_arguments"),
        ("get_segment", {"start_time": True}, "bad_arguments"),
        ("detect_objects", {"timestamp": 60.5}, "time_out_of_range"),
        ("search_segments_by_text", {"query": ""}, "bad_arguments"),
        ("search_segments_by_text", {"query": " \n"}, "bad_arguments"),
        ("search_segments_by_text", {"top_k": 0}, "bad_arguments"),
        ("search_segments_by_text", {"top_k": 10**9}, "bad_arguments"),
        ("search_segments_by_text", {"top_k": 2.5}, "bad_arguments"),
        ("search_segments_by_text", {"video_id": "other"}, "wrong_video"),
        ("get_entity_trajectory", {"entity_id": "ent_nobody"}, "unknown_entity"),
        ("query_entity_state", {"entity_id": "x" * 10_000}, "unknown_entity"),
        ("register_entity", {"entity_hint": "a person in green"}, "nothing_matches"),
        ("read_memory", {"level": "year"}, "bad_arguments"),
        ("merge_events", {"event_ids": ["mem_1", "mem_2"]}, "unknown_memory"),
        ("merge_events", {"event_ids": ["mem_1"]}, "bad_arguments"),
        ("write_memory", {"time_range": {"start_time": 9.0, "end_time": 3.0}}, "bad_time_range"),
    ],
)
def test_a_call_that_cannot_be_answered_says_why(
    open_made: Opened, name: str, change: dict[str, Any], code: str
) -> None:
    session = open_made()
    with pytest.raises(OperationFault) as caught:
        run(session, name, {**V, **CALLS[name], **change})
    assert caught.value.code == code
    assert caught.value.hint
    assert len(str(caught.value)) < 1000
    assert session.revision == 0


def test_an_unknown_operation_is_named_with_those_there_are(open_made: Opened) -> None:
    with pytest.raises(OperationFault) as caught:
        run(open_made(), "fly", V)
    assert caught.value.code == "unknown_operation"
    assert "list_scenes" in caught.value.hint


def test_a_stretch_past_the_end_is_clipped_to_it(open_made: Opened) -> None:
    assert call(open_made(), "get_segment", start_time=55.0, end_time=99.0)["end_time"] == 60.0


def test_search_puts_the_spoken_line_first_and_quotes_it(open_made: Opened) -> None:
    best = call(open_made(), "search_segments_by_text", query="where is the blue folder", top_k=5)["candidates"][0]
    assert (best["start_time"], best["end_time"]) == (22.0, 25.0)
    assert best["source"] == "speech"
    assert "blue folder" in best["snippet"]
    assert best["confidence"] is None


def test_a_hit_tells_the_times_of_the_line_itself(open_made: Opened) -> None:
    session = open_made()
    best = call(session, "search_segments_by_text", query="the blue folder", top_k=5)["candidates"][0]
    spoken = next(line for line in session.view.speech if "blue folder" in line.text)
    (line,) = best["matching_lines"]
    assert (line["start_time"], line["end_time"]) == (spoken.span.start, spoken.span.end)
    assert (line["text"], line["as_given"]) == (spoken.text, True)
    assert [piece["start_time"] for piece in line["evidence"]] == [spoken.span.start]


def test_words_of_a_description_that_were_not_used_are_told(open_made: Opened) -> None:
    session, asked = open_made(), {"timestamp": 25.0, "category": "person"}
    dressed = call(session, "detect_objects", **asked, text_query="a woman in black with a hat")
    undressed = call(session, "detect_objects", **asked, text_query="a person not in red")
    assert ([item["entity_id"] for item in dressed["detections"]], dressed["unused_words"]) == (
        ["ent_t0000_01"], ["woman", "hat"],
    )  # fmt: skip
    assert (len(undressed["detections"]), undressed["unused_words"]) == (1, [])
    assert call(session, "detect_objects", **asked, text_query="a person in black")["unused_words"] == []


@pytest.mark.parametrize(
    ("query", "start"), [("花园安静吗", 45.0), ("long walk", 0.0), ("穿红衣服的人", 30.0), ("a man in red", 30.0)]
)
def test_search_reads_both_languages_and_screen_text_and_looks(open_made: Opened, query: str, start: float) -> None:
    best = call(open_made(), "search_segments_by_text", query=query, top_k=5)["candidates"][0]
    assert best["start_time"] <= start < best["end_time"]


def test_semantic_search_stays_inside_its_range(open_made: Opened) -> None:
    within = {"start_time": 40.0, "end_time": 60.0}
    found = call(open_made(), "search_segments_by_semantics", query="person in black", top_k=9, time_range=within)[
        "candidates"
    ]
    assert found
    assert all(40.0 <= item["center_time"] < 60.0 for item in found)


def test_what_looks_alike_is_found_and_the_example_left_out(open_made: Opened) -> None:
    example = {"start_time": 21.0, "end_time": 25.0}
    found = call(open_made(), "search_similar_to_example", example_segment=example, top_k=9)["similar_segments"]
    assert found
    assert all(20.0 <= item["start_time"] < 40.0 for item in found if item["score"] > 0.5)
    assert all(item["end_time"] <= 21.0 or item["start_time"] >= 25.0 for item in found)


def test_detections_follow_the_description(open_made: Opened) -> None:
    session = open_made()
    black = call(session, "detect_objects", timestamp=25.0, category="person", text_query="a man in black")[
        "detections"
    ]
    assert [item["entity_id"] for item in black] == ["ent_t0000_01"]
    assert black[0]["bbox"][2] > black[0]["bbox"][0]
    assert (black[0]["start_time"], black[0]["end_time"]) == (22.0, 28.0)
    assert call(session, "detect_objects", timestamp=25.0, category="person", text_query="红衣女子")["detections"] == []
    assert call(session, "detect_objects", timestamp=10.0, category="person")["detections"] == []


def test_a_category_nobody_can_see_is_said_to_be_unknown_and_not_absent(open_made: Opened) -> None:
    result = call(open_made(), "detect_objects", timestamp=25.0, category="giraffe")
    assert result["detections"] == []
    assert "cannot tell" in result["hint"]


def test_an_entity_is_registered_once_and_listed_with_its_label(open_made: Opened) -> None:
    session = open_made()
    first = call(session, "register_entity", timestamp=25.0, entity_hint="the person in black")
    again = call(session, "register_entity", timestamp=26.0, entity_hint="the person in black")
    assert first["entity_id"] == again["entity_id"] == "ent_t0000_01"
    assert again["already_known"]
    listed = {item["entity_id"]: item for item in call(session, "list_entities")["entities"]}
    assert listed["ent_t0000_01"]["label"] == "the person in black"
    assert listed["ent_t0000_01"]["origin"] == "session"
    assert listed["ent_t0001_01"]["origin"] == "build"


def test_a_trajectory_tells_the_path_with_at_most_eight_boxes(open_made: Opened) -> None:
    [part] = call(open_made(), "get_entity_trajectory", entity_id="ent_t0000_01")["trajectory"]
    assert (part["start_time"], part["end_time"]) == (22.0, 28.0)
    assert part["path_repr"].count("[") <= 8
    assert "moves to the right" in part["path_repr"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [("where is he?", "left"), ("他在做什么", "moves to the right"), ("what colour are the clothes?", "black")],
)
def test_questions_about_an_entity_are_answered_from_its_track(open_made: Opened, query: str, expected: str) -> None:
    result = call(open_made(), "query_entity_state", entity_id="ent_t0000_01", time=23.0, query=query)
    assert expected in result["answer"]


def test_what_was_not_measured_is_said_and_an_absence_too(open_made: Opened) -> None:
    session = open_made()
    holding = call(session, "query_entity_state", entity_id="ent_t0000_01", time=25.0, query="holding an umbrella?")
    assert "measured nothing about" in holding["answer"]
    assert "umbrella" in holding["answer"]
    assert (
        "not seen at 50 s"
        in call(session, "query_entity_state", entity_id="ent_t0000_01", time=50.0, query="where?")["answer"]
    )


def test_merging_keeps_the_parts_orders_them_and_drops_repeats(open_made: Opened) -> None:
    session = open_made()
    arguments = merged(session)
    event = call(session, "merge_events", **arguments)["merged_event"]
    assert event["content"] == "first\nshared line\nsecond"
    assert event["time_range"] == {"start_time": 5.0, "end_time": 35.0}
    assert sorted(event["parts"]) == sorted(arguments["event_ids"])
    kept = call(session, "read_memory", level="event", query="first second shared", top_k=9)["memories"]
    assert {item["memory_id"] for item in kept} == {event["memory_id"], *arguments["event_ids"]}


def test_memories_of_one_level_are_not_read_at_another(open_made: Opened) -> None:
    session = open_made()
    call(session, "write_memory", **CALLS["write_memory"])
    assert call(session, "read_memory", level="event", query="black", top_k=5)["memories"]
    assert call(session, "read_memory", level="frame", query="black", top_k=5)["memories"] == []


def test_a_long_film_is_listed_as_chapters_and_drilled_into(make_world: Any) -> None:
    from world_api.api import open_session

    made = {"producer": "made/1"}
    cuts = [float(t) for t in range(10, 3000, 10)]
    make_world(
        {
            "cuts": [{"time": t, "score": 1.0, "kind": "cut", "known_at": t, **made} for t in cuts],
            "scene_cuts": [{"time": t, "strength": (t % 70) / 100, "known_at": t, **made} for t in cuts],
        },
        duration=3000.0,
    )
    session = open_session(make_world.store, "made", name=None)
    whole = call(session, "list_scenes")
    assert len(whole["scenes"]) <= 60
    assert {item["kind"] for item in whole["scenes"]} <= {"chapter", "scene"}
    assert sum(item["scenes"] for item in whole["scenes"]) == 300
    first = whole["scenes"][0]
    inside = call(session, "list_scenes", time_range={"start_time": first["start_time"], "end_time": first["end_time"]})
    assert len(inside["scenes"]) == first["scenes"]
    assert all(item["kind"] == "scene" for item in inside["scenes"])


def test_many_long_memories_are_given_whole(open_made: Opened) -> None:
    session = open_made()
    span = {"start_time": 1.0, "end_time": 2.0}
    for number in range(30):
        call(session, "write_memory", level="event", time_range=span, content=f"walk {number} " + "x" * 19_000)
    shown = call(session, "read_memory", level="event", query="walk", top_k=30)
    assert len(shown["memories"]) == 30
    assert all(len(item["content"]) > 19_000 for item in shown["memories"])


def test_a_description_leaves_nothing_out(make_world: Any) -> None:
    from tests.conftest import made_rows
    from world_api.api import open_session

    rows = made_rows()
    lines = [rows["speech"][0] | {"start": 20.0 + n, "end": 20.9 + n, "text": f"Line {n}."} for n in range(11)]
    texts = [rows["screen_texts"][0] | {"time": 20.0 + n, "text": f"{'sign' * n} {n}"} for n in range(1, 10)]
    make_world(rows | {"speech": lines, "screen_texts": texts})
    session = open_session(make_world.store, "made")

    caption = call(session, "describe_segment", start_time=20.0, end_time=31.5)["caption"]
    assert all(f'"Line {number}."' in caption for number in range(11))
    assert "signsignsignsignsignsignsignsignsign 9" in caption

"""The operations where a session has a model that looks."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.vision_server import VisionServer, frame_times_of, words_of
from tests.world_api.session.conftest import numbers_sent
from world_api.core import BackendFault
from world_api.operations import OPERATIONS, run
from world_api.session import Session, VisionConfig

pytestmark = pytest.mark.media
Open = Callable[..., Session]


def ask(session: Session, operation: str, **arguments: Any) -> dict[str, Any]:
    return run(session, operation, {"video_id": session.video_id, **arguments})


def test_a_description_says_what_is_seen_by_whom_and_when(open_film: Open, vision_server: VisionServer) -> None:
    found = ask(open_film(), "describe_segment", start_time=12.0, end_time=15.0)
    assert found["caption"] == "frame 125 is green; frame 135 is green; frame 145 is green."
    assert found["evidence"][0] == {
        "video_id": "film", "start_time": 12.0, "end_time": 15.0, "source": "caption", "confidence": 0.5, "frame_time": 13.5,
    }  # fmt: skip
    assert "endpoint:eye-1/" in found["hint"]
    assert "3 frames from 12.5 to 14.5 s" in found["hint"]


def test_what_the_model_cannot_tell_is_said(open_film: Open, vision_server: VisionServer) -> None:
    vision_server.say = lambda body, pictures: {"caption": "A hall.", "uncertain": "whether anybody is there"}
    found = ask(open_film(), "describe_segment", start_time=12.0, end_time=15.0)
    assert found["caption"] == "A hall."
    assert "not certain: whether anybody is there" in found["hint"]


def test_without_a_model_nothing_is_sent_whatever_the_environment_says(
    film_store: Any, vision_server: VisionServer
) -> None:
    from world_api.api import open_session

    session = open_session(film_store, "film", name=None)
    for operation, arguments in (
        ("describe_segment", {"start_time": 1.0, "end_time": 5.0}),
        ("recognize_actions", {"start_time": 1.0, "end_time": 5.0}),
        ("search_segments_by_semantics", {"query": "green", "top_k": 3}),
        ("search_similar_to_example", {"example_segment": {"start_time": 1.0, "end_time": 5.0}, "top_k": 3}),
        ("list_scenes", {}),
    ):
        ask(session, operation, **arguments)
    assert (vision_server.requests, vision_server.embedded) == ([], [])
    assert session.perception is None


def test_actions_are_those_that_are_seen_and_those_that_were_measured(open_film: Open) -> None:
    found = ask(open_film(), "recognize_actions", start_time=12.0, end_time=14.0)
    first = found["actions"][0]
    assert (first["label"], first["confidence"]) == ("frame 125 is green; frame 135 is green", None)
    assert (first["start_time"], first["end_time"], first["entity_id"]) == (12.0, 14.0, None)
    assert found["evidence"][0]["source"] == "caption"


def test_a_fault_of_the_endpoint_is_the_calls_own(open_film: Open, vision_server: VisionServer) -> None:
    vision_server.refuse = lambda body: (400, "image input is not supported by this model")
    with pytest.raises(BackendFault) as caught:
        ask(open_film(), "describe_segment", start_time=12.0, end_time=14.0)
    assert caught.value.code == "endpoint_takes_no_images"


def test_no_call_looks_more_often_than_it_declares(
    open_film: Open, make_eyes: Callable[..., VisionConfig], vision_server: VisionServer
) -> None:
    eyes = make_eyes(embeds=True)
    ask(open_film(eyes=eyes), "describe_segment", start_time=20.0, end_time=25.0)
    vision_server.requests.clear()
    arguments: dict[str, dict[str, Any]] = {
        "list_scenes": {},
        "get_segment": {"start_time": 1.0, "end_time": 5.0},
        "search_segments_by_text": {"query": "green", "top_k": 3},
        "describe_segment": {"start_time": 1.0, "end_time": 5.0},
        "detect_objects": {"timestamp": 3.0, "category": "person"},
        "recognize_actions": {"start_time": 1.0, "end_time": 5.0},
        "search_segments_by_semantics": {"query": "green", "top_k": 3},
        "search_similar_to_example": {"example_segment": {"start_time": 2.0, "end_time": 7.0}, "top_k": 3},
        "list_entities": {},
        "get_video_metadata": {},
    }
    for name, given in arguments.items():
        ask(open_film(eyes=eyes), name, **given)
        assert len(vision_server.requests) <= OPERATIONS[name].looks, name
        vision_server.requests.clear()


# Entities.


def test_a_thing_that_was_registered_is_looked_at_in_its_box(open_film: Open, vision_server: VisionServer) -> None:
    from world_api.session import SEEN, Registration

    session = open_film()
    box = (100.0, 80.0, 200.0, 140.0)
    session.register(
        Registration(
            entity_id=f"{SEEN}abc",
            label="a box",
            category="object",
            time=35.0,
            box=box,
            confidence=0.5,
            committed=False,
        )
    )
    found = ask(session, "query_entity_state", entity_id=f"{SEEN}abc", time=35.0, query="what colour is it?")
    assert found["answer"].startswith("frame ")
    assert "is yellow" in found["answer"]
    assert found["confidence"] == 0.5
    assert [item["source"] for item in found["evidence"]] == ["caption", "detector"]
    record = json.loads(words_of(vision_server.requests[0])[0])
    assert (record["question"], record["subject"]) == ("what colour is it?", "object")


def test_a_followed_thing_is_looked_at_where_and_when_it_was_seen(open_film: Open, vision_server: VisionServer) -> None:
    session = open_film()
    entity = ask(session, "list_entities")["entities"][0]
    track = session.view.track_of_entity(entity["entity_id"])
    assert track is not None
    at = float(track.times[len(track.times) // 2])
    found = ask(session, "query_entity_state", entity_id=track.entity_id, time=at, query="what is it made of?")
    [body] = vision_server.requests
    sent = frame_times_of(body)
    assert 1 <= len(sent) <= 3
    assert any(abs(time - at) < 0.001 for time in sent)
    assert all(any(abs(time - seen) < 0.001 for seen in track.times) for time in sent)
    assert json.loads(words_of(body)[0])["subject"] == track.hint
    assert found["answer"].startswith("frame ")
    assert f"Measured of {track.entity_id}" in found["answer"]


def test_where_something_is_was_measured_and_nobody_is_asked(open_film: Open, vision_server: VisionServer) -> None:
    session = open_film()
    tracked = ask(session, "list_entities")["entities"]
    assert tracked
    ask(
        session,
        "query_entity_state",
        entity_id=tracked[0]["entity_id"],
        time=tracked[0]["first_time"],
        query="where is it?",
    )
    assert numbers_sent(vision_server) == []

"""What the reader puts together from rows: texts on screen, half-open stretches, passages."""

from __future__ import annotations

from typing import Any

from world_api.api import open_session
from world_api.core import TimeSpan
from world_api.operations import run
from world_api.world import View


def reading(time: float, text: str) -> dict[str, Any]:
    box = {"x1": 0, "y1": 0, "x2": 9, "y2": 9}
    return {"time": time, "text": text, **box, "confidence": 0.9, "known_at": time, "producer": "made/1"}


def stretches(view: View, text: str) -> list[tuple[float, float]]:
    return [(item.span.start, item.span.end) for item in view.screen_texts if item.text == text]


def test_text_read_again_and_again_is_one_stretch_and_a_gap_begins_another(make_world: Any) -> None:
    view = View(make_world({"screen_texts": [reading(t, "A") for t in (2.0, 8.0, 16.0, 40.0, 45.0)]}), None)
    assert stretches(view, "A") == [(2.0, 16.0 + 15.0), (40.0, 45.0 + 15.0)]


def test_text_ends_where_a_frame_was_read_without_it(make_world: Any) -> None:
    rows = [reading(8.0, "A"), reading(12.0, ""), reading(30.0, "Z")]
    view = View(make_world({"screen_texts": rows}), None)
    assert stretches(view, "A") == [(8.0, 12.0)]
    assert stretches(view, "") == []


def test_text_is_not_claimed_long_after_it_was_read(make_world: Any) -> None:
    view = View(make_world({"screen_texts": [reading(8.0, "A"), reading(55.0, "Z")]}), None)
    assert stretches(view, "A") == [(8.0, 8.0 + 15.0)]


def test_a_stretch_does_not_hold_what_begins_at_its_end(make_world: Any) -> None:
    make_world()
    session = open_session(make_world.store, "made", name=None)
    before = {"video_id": "made", "start_time": 20.0, "end_time": 22.0}
    assert "person" not in run(session, "describe_segment", before)["caption"]
    assert run(session, "recognize_actions", before)["actions"] == []
    within = {"start_time": 20.0, "end_time": 22.0}
    found = run(
        session, "detect_objects", {"video_id": "made", "timestamp": 21.0, "category": "any", "time_range": within}
    )
    assert found["detections"] == []
    assert session.view.tracks_in(TimeSpan(start=22.0, end=22.1))


def test_however_many_things_there_are_at_once_all_are_given(make_world: Any) -> None:
    crowd = [
        {"track": f"t0000_{n:03d}", "time": 5.0, "x1": n, "y1": 0, "x2": n + 9, "y2": 90, "category": "person", "confidence": 0.5,
         "colours": [], "known_at": 5.0, "producer": "made/1"}
        for n in range(200)
    ]  # fmt: skip
    make_world({"sightings": crowd})
    session = open_session(make_world.store, "made", name=None)
    found = run(session, "detect_objects", {"video_id": "made", "timestamp": 5.0, "category": "person"})
    assert len(found["detections"]) == 200

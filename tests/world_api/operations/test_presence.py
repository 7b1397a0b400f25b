"""One rule says whether a thing is there at a moment: it is if one of its appearances contains the moment."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import STILL, Rows, WorldMaker, sightings, steps
from world_api.api import open_session
from world_api.core import OperationFault
from world_api.operations import run
from world_api.session import Session

CLOCK = "ent_t0000_01"
#: Of the sightings, whose listed end is rounded down from 9.8667.
LAST = 9.8666667
UNSEEN = "what never moves is not tracked, so it may be there unseen"


def rows() -> Rows:
    """A clock until just before a cut at 10 s, back from 20 s on, over a cut at 25 s, and a dog in one frame at 40 s."""
    made = {"producer": "made/1", "score": 1.0, "kind": "cut"}
    times = [*steps(5.0, 9.5), LAST, *steps(20.0, 24.8, 0.4), 25.2, 25.6]
    return {
        "cuts": [{"time": time, "known_at": time, **made} for time in (10.0, 25.0)],
        "sightings": sightings("t0000_01", times, category="clock", step=5.0)
        + sightings("t0000_02", [40.0], category="dog"),
    }


@pytest.fixture
def session(make_world: WorldMaker) -> Session:
    make_world(rows())
    return open_session(make_world.store, "made", name=None)


def call(session: Session, name: str, **arguments: Any) -> dict[str, Any]:
    return run(session, name, {"video_id": "made", **arguments})


def found_at(session: Session, at: float, entity_id: str, hint: str) -> set[bool]:
    """What each operation says of whether an entity is there at a moment."""
    seen = call(session, "detect_objects", timestamp=at, category="any")
    within = call(
        session,
        "detect_objects",
        timestamp=at,
        category="any",
        time_range={"start_time": round(at, 3), "end_time": round(at, 3) + 0.001},
    )
    state = call(session, "query_entity_state", entity_id=entity_id, time=at, query="where is it?")
    parts = call(session, "get_entity_trajectory", entity_id=entity_id)["trajectory"]
    try:
        registered = call(session, "register_entity", timestamp=at, entity_hint=hint)["entity_id"]
    except OperationFault as fault:
        registered = fault.code
        assert registered == "nothing_matches"
    return {
        entity_id in [item["entity_id"] for item in seen["detections"]],
        entity_id in [item["entity_id"] for item in within["detections"]],
        registered == entity_id,
        "not seen" not in state["answer"],
        any(part["start_time"] <= at <= part["end_time"] for part in parts),
    }


@pytest.mark.parametrize(
    ("at", "there"),
    [
        (4.9, False), (5.0, True), (7.3, True), (9.866, True), (9.867, True), (9.9, False), (10.0, False), (10.4, False),
        (19.7, False), (20.0, True), (24.9, True), (25.0, True), (25.6, True), (25.8, False),
    ],
)  # fmt: skip
def test_every_operation_tells_the_same_things_at_a_moment(session: Session, at: float, there: bool) -> None:
    assert found_at(session, at, CLOCK, "a clock") == {there}


@pytest.mark.parametrize(("at", "there"), [(39.9, False), (40.0, True), (40.03, True), (40.3, False)])
def test_what_is_seen_once_is_there_while_its_frame_is_shown(session: Session, at: float, there: bool) -> None:
    assert found_at(session, at, "ent_t0000_02", "a dog") == {there}


def test_what_was_not_tracked_at_a_moment_is_not_judged(session: Session) -> None:
    seen = call(session, "detect_objects", timestamp=10.0, category="person")
    assert (seen["detections"], seen["hint"]) == ([], f"nothing of the kind was detected at this moment; {UNSEEN}")
    assert (seen["not_found"], seen["not_judged"]) == ([], [STILL])
    stretch = {"start_time": 10.0, "end_time": 12.0}
    seen = call(session, "detect_objects", timestamp=10.0, category="person", time_range=stretch)
    assert (seen["not_found"], seen["not_judged"], seen["hint"]) == (
        [],
        [STILL],
        f"nothing of the kind was detected in this span; {UNSEEN}",
    )


@pytest.mark.parametrize(("at", "shown"), [(24.99, 24.8), (25.0, 25.2)])
def test_the_sighting_told_for_a_moment_is_of_the_moments_shot(session: Session, at: float, shown: float) -> None:
    [seen] = call(session, "detect_objects", timestamp=at, category="any")["detections"]
    assert seen["timestamp"] == shown
    known = call(session, "register_entity", timestamp=at, entity_hint="a clock")
    assert known["evidence"][0]["frame_time"] == shown
    state = call(session, "query_entity_state", entity_id=CLOCK, time=at, query="where is it?")
    assert f"box {seen['bbox']}" in state["answer"]


def test_a_sighting_beside_a_stretch_is_told_for_it(session: Session) -> None:
    between = {"start_time": 7.1, "end_time": 7.2}
    [seen] = call(session, "detect_objects", timestamp=50.0, category="any", time_range=between)["detections"]
    assert seen["timestamp"] == 7.0

"""What a detector and measured colours cannot know: neighbouring colours, directions, classes that may be missed, repeated things."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import pytest

from tests.support.detected_worlds import STAGES, body, looks, seen
from tool_induction import load_library, run_tool
from world_api import open_session, run
from world_api.session import Session

V = {"video_id": "made"}
WHOLE = {"start_time": 0.0, "end_time": 60.0}
#: In a grey top, very dark trousers, and hair that is brown or dark blonde; then one in red and white who shows a face.
DARK, RED, UNJUDGED = "ent_t0000_01", "ent_t0001_01", "ent_t0001_02"


@pytest.fixture
def session(make_world: Any) -> Session:
    rows = {
        "sightings": [
            *seen("t0000_01", 10.0, 20.0),
            *seen("t0001_01", 32.0, 38.0),
            *seen("t0001_02", 50.0, 55.0, colours=["grey"]),
            *seen("t0000_02", 0.0, 6.0, category="bottle", colours=["grey"]),
            *seen("t0000_03", 0.0, 17.0, category="bottle", colours=["green"]),
            *seen("t0000_04", 8.0, 17.0, category="bottle", colours=["grey"]),
        ],
        "person_looks": [
            *looks(
                "t0000_01", 10.0,
                {
                    "upper": ["grey"], "near_upper": [], "lower": ["black"], "near_lower": ["blue", "brown"],
                    "hair": ["brown"], "near_hair": ["yellow"], "facing": ["away"],
                },
            ),
            *looks(
                "t0001_01", 32.0,
                {
                    "upper": ["red"], "near_upper": [], "lower": ["white"], "near_lower": [],
                    "hair": ["black"], "near_hair": [], "facing": ["camera"],
                },
            ),
            body("t0000_01", 12.0), body("t0001_01", 34.0),
        ],
    }  # fmt: skip
    make_world(rows, profile="neural", stages=STAGES)
    return open_session(make_world.store, "made", name=None)


def detect(session: Session, query: str | None, category: str = "person") -> dict[str, Any]:
    asked = {**V, "timestamp": 25.0, "category": category, "time_range": WHOLE}
    return run(session, "detect_objects", asked | ({"text_query": query} if query else {}))


def found(result: dict[str, Any]) -> tuple[set[str], set[str]]:
    """The entities that surely fit, and those that possibly do."""
    items = [(item["entity_id"], bool(item["lacks"])) for item in result["detections"]]
    return {one for one, is_possible in items if not is_possible}, {one for one, is_possible in items if is_possible}


@pytest.mark.parametrize(
    ("query", "sure", "possible"),
    [
        ("in black bottoms", {DARK}, {UNJUDGED}),
        ("in black trousers", set(), {DARK, UNJUDGED}),
        ("in a grey cardigan", set(), {DARK, UNJUDGED}),
        ("穿灰色大衣的人", set(), {DARK, UNJUDGED}),
        ("in a green cardigan", set(), {UNJUDGED}),
        ("in blue jeans", set(), {DARK, UNJUDGED}),
        ("穿蓝色牛仔裤的人", set(), {DARK, UNJUDGED}),
        ("with brown hair", {DARK}, {UNJUDGED}),
        ("with blonde hair", set(), {DARK, UNJUDGED}),
        ("金发的人", set(), {DARK, UNJUDGED}),
        ("in a green top", set(), {UNJUDGED}),
        ("穿绿色上衣的人", set(), {UNJUDGED}),
        ("in blue", set(), {DARK, UNJUDGED}),
        ("in red", {RED}, {UNJUDGED}),
        ("穿粉色衣服的人", set(), {UNJUDGED}),
        ("a person not in red", {DARK}, {UNJUDGED}),
        ("a person not in grey", {RED}, {UNJUDGED}),
        ("a person not in black", {RED}, {DARK, UNJUDGED}),
        ("不穿黑色衣服的人", {RED}, {DARK, UNJUDGED}),
        ("a person not in blue", {RED}, {DARK, UNJUDGED}),
        ("seen from behind", set(), {DARK, UNJUDGED}),
        ("背对镜头的人", set(), {DARK, UNJUDGED}),
        ("facing the camera", {RED}, {DARK, UNJUDGED}),
    ],
)
def test_a_look_is_sure_possible_or_excluded(session: Session, query: str, sure: set[str], possible: set[str]) -> None:
    result = detect(session, query)
    own_sure, own_possible = found(result)
    # Where something fits surely, what fits partly is left out; what may fit is not.
    assert (own_sure, own_possible) == (sure, possible)
    assert result["not_found"] == []


def test_a_search_for_a_neighbouring_colour_does_not_say_that_it_is_absent(session: Session) -> None:
    for query in ("a person in blue jeans", "金发的人"):
        result = run(session, "search_segments_by_text", {**V, "query": query, "top_k": 10})
        assert result["not_found"] == []
        assert all(hit["lacks"] for hit in result["candidates"])


def test_a_hint_says_nothing_that_is_only_possible(session: Session) -> None:
    hints = {one["entity_id"]: one["hint"] for one in run(session, "list_entities", V)["entities"]}
    assert hints[DARK] == "person in grey top and black bottoms, brown hair"
    assert hints[RED] == "person in red top and white bottoms, black hair, facing the camera"


@pytest.mark.parametrize(
    ("entity", "query", "says", "is_answered"),
    [
        (DARK, "what colour is her hair?", "brown hair (100% of the frames)", True),
        (DARK, "头发是什么颜色？", "brown hair (100% of the frames)", True),
        (DARK, "what colour are the trousers", "black bottoms", True),
        (DARK, "裤子是什么颜色的", "black bottoms", True),
        (DARK, "is her hair white?", "brown hair", True),
        (DARK, "is her hair blonde?", "Cannot tell whether it is: blonde hair", False),
        (DARK, "她是金发吗", "Cannot tell whether it is: blonde hair", False),
        (DARK, "is she wearing blue jeans?", "Cannot tell whether it is: blue bottoms", False),
        (DARK, "is she in a grey cardigan?", "measured nothing about: cardigan", False),
        (DARK, "what colour is her cardigan?", "grey top", True),
        (DARK, "is the person facing the camera?", "Cannot tell whether it is: facing the camera", False),
        (RED, "is the person facing the camera?", "facing the camera (100% of the frames)", True),
        (RED, "她面对镜头吗", "facing the camera (100% of the frames)", True),
        (UNJUDGED, "what colour is the hair?", "measured nothing about: hair", False),
    ],
)
def test_a_question_about_looks_is_answered_from_what_was_measured(
    session: Session, entity: str, query: str, says: str, is_answered: bool
) -> None:
    time = {DARK: 15.0, RED: 35.0, UNJUDGED: 52.0}[entity]
    result = run(session, "query_entity_state", {**V, "entity_id": entity, "time": time, "query": query})
    assert says in result["answer"]
    assert bool(result["matched"]) == is_answered
    assert bool(result["not_judged"]) != is_answered
    assert (result["confidence"] > 0.5) == is_answered


def test_a_measured_look_is_less_sure_where_a_neighbour_may_be_right(session: Session) -> None:
    asked = {**V, "entity_id": DARK, "time": 15.0}
    top, hair = (
        run(session, "query_entity_state", {**asked, "query": f"what colour is the {part}?"})["confidence"]
        for part in ("sweater", "hair")
    )
    assert (top, hair) == (1.0, 0.6)


def test_what_the_detector_may_miss_is_not_said_to_be_absent(session: Session) -> None:
    unmeasured = ["chair that was not detected (how often one is missed was not measured)"]
    for category in ("chair", "椅子", "any"):  # of any category, the query names it
        result = detect(session, None if category != "any" else "a chair", category)
        assert (result["detections"], result["not_found"], result["not_judged"]) == ([], [], unmeasured)
        assert "may be there unseen" in result["hint"]
    result = run(session, "search_segments_by_text", {**V, "query": "a chair", "top_k": 3})
    assert (result["not_found"], result["not_judged"]) == ([], unmeasured)
    assert "may be there unseen" in result["hint"]


def test_of_any_kind_there_may_be_more_than_what_was_detected(session: Session) -> None:
    result = detect(session, None, "any")
    assert len(result["detections"]) == 6
    assert (result["not_found"], result["not_judged"]) == ([], ["things that were not detected"])
    assert detect(session, "a bottle", "any")["not_judged"] == []
    tools, call = load_library("hand_A").tools, partial(run, session)
    in_view = run_tool(tools, "list_things_in_view", {"video_id": "made", "time": 12.0}, call=call)
    assert (in_view["status"], in_view["unsure"]["count"]["range"]) == ("partial", "3 or more")
    bottles = run_tool(tools, "list_appearances", {"video_id": "made", "query": "bottle"}, call=call)
    assert (bottles["status"], {"bottle" in one["looks"] for one in bottles["outputs"]["things"]}) == ("ok", {True})


def test_an_absence_says_what_it_rests_on(make_world: Any) -> None:
    make_world({"sightings": seen("t0000_01", 0.0, 6.0, category="bottle")}, profile="neural", stages=STAGES)
    session = open_session(make_world.store, "made", name=None)
    size = session.view.world.manifest.video
    least = math.ceil(100 * 0.125 * size.width / size.height)
    small = f"person below {least} % of the picture's height"
    result = detect(session, None)
    assert (result["not_found"], result["not_judged"]) == ([WHOLE], [small])
    assert f"none of person at least {least} % of the picture's height, of which 3 of 207 were missed" in result["hint"]
    for name in ("search_segments_by_text", "search_segments_by_semantics"):
        result = run(session, name, {**V, "query": "a person", "top_k": 3})
        assert (result["not_found"], result["not_judged"]) == ([WHOLE], [small])
        assert "smaller ones may have been missed" in result["hint"]


def test_where_it_is_not_known_how_small_things_may_be_nothing_is_absent(make_world: Any) -> None:
    """Builds of an earlier version note only how many were missed."""
    [detections, *others] = STAGES
    noted = {"categories": ["person"], "missed": {"person": [3, 207]}}
    make_world({}, profile="neural", stages=[detections.model_copy(update={"parameters": noted}), *others])
    result = detect(open_session(make_world.store, "made", name=None), None)
    unmeasured = "person that was not detected (how often one is missed was not measured)"
    assert (result["not_found"], result["not_judged"]) == ([], [unmeasured])


def test_hair_of_two_colours_is_surely_neither_and_of_no_third_colour(make_world: Any) -> None:
    rows = looks(
        "t0000_01", 10.0, {"upper": ["grey"], "near_upper": [], "hair": ["black", "brown"], "near_hair": ["yellow"]}
    )
    make_world({"sightings": seen("t0000_01", 10.0, 20.0), "person_looks": rows}, profile="neural", stages=STAGES)
    session = open_session(make_world.store, "made", name=None)
    for colour in ("black", "brown", "blonde"):
        assert found(detect(session, f"with {colour} hair")) == (set(), {DARK})
    assert found(detect(session, "with white hair")) == (set(), set())
    asked = {**V, "entity_id": DARK, "time": 15.0}
    answer = run(session, "query_entity_state", {**asked, "query": "what does the person look like?"})["answer"]
    assert answer.endswith("not excluded: black or brown or blonde hair.")


def test_what_may_be_one_thing_that_came_back_is_marked(session: Session) -> None:
    listed = run(session, "list_entities", V)["entities"]
    doubtful = {one["entity_id"] for one in listed if one["lacks"]}
    # Two bottles are seen at once, and of the people one; how unlike they look shows nothing.
    assert doubtful == {"ent_t0000_04", RED, UNJUDGED}
    assert "no count" in detect(session, None, "bottle")["hint"]

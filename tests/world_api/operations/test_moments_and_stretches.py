"""What operations say of a moment holds at that moment, and every stretch they tell is one: not empty, one start, one end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.conftest import Rows, WorldMaker, sightings, steps
from world_api.api import open_session
from world_api.core import OperationFault
from world_api.operations import run
from world_api.session import SEEN, Registration, Session

Opened = Callable[..., Session]
ALICE = "ent_t0000_01"  #: seen from 22 to 28 s in the made minute
THING = f"{SEEN}thing"


def call(session: Session, name: str, **arguments: Any) -> dict[str, Any]:
    return run(session, name, {"video_id": "made", **arguments})


def span(start: float, end: float) -> dict[str, float]:
    return {"start_time": start, "end_time": end}


def state(session: Session, at: float, query: str, within: tuple[float, float] | None, of: str = ALICE) -> Any:
    found = call(
        session,
        "query_entity_state",
        entity_id=of,
        time=at,
        query=query,
        **({} if within is None else {"time_range": span(*within)}),
    )
    [piece] = found["evidence"]
    assert piece["start_time"] < piece["end_time"]
    assert piece["start_time"] <= piece["frame_time"] <= piece["end_time"]
    return found["answer"], (piece["start_time"], piece["end_time"]), piece["frame_time"]


def coming_from_the_left() -> Rows:
    """Somebody whose first and last sightings are slivers at the picture's edge, and a thing that is seen once."""
    person = [
        {**row, "x1": 0.0, "x2": 12.0} if number in (0, 1, 13) else row
        for number, row in enumerate(sightings("t0000_01", steps(22.0, 28.5)))
    ]
    return {"sightings": person + sightings("t0000_02", [26.0], x=300.0, category="dog")}


@pytest.fixture
def slivers(make_world: WorldMaker) -> Session:
    make_world(coming_from_the_left())
    return open_session(make_world.store, "made", name=None)


def stretches(found: Any) -> Iterator[tuple[float, float]]:
    """The times of everything in a result that stands for a stretch."""
    if isinstance(found, dict):
        if "start_time" in found:
            yield found["start_time"], found["end_time"]
        for value in found.values():
            yield from stretches(value)
    elif isinstance(found, list):
        for value in found:
            yield from stretches(value)


# The state of an entity at a moment.


@pytest.mark.parametrize(
    "query", ["where is he?", "what does he do?", "what does he wear?", "what is said?", "is he tall?"]
)
@pytest.mark.parametrize(("at", "within"), [(10.0, (5.0, 15.0)), (50.0, (45.0, 55.0)), (21.0, (20.0, 40.0))])
def test_an_entity_that_is_not_there_at_the_moment_is_not_seen_whatever_the_range(
    open_made: Opened, query: str, at: float, within: tuple[float, float]
) -> None:
    answer, cited, frame = state(open_made(), at, query, within)
    assert f"is not seen at {at:g} s" in answer
    assert "22.0 to 28.0 s" in answer
    assert (cited, frame) == (within, at)


@pytest.mark.parametrize("within", [(40.0, 50.0), (26.0, 40.0), (20.0, 25.0)])
def test_a_moment_outside_the_range_is_not_answered_from_outside_the_range(
    open_made: Opened, within: tuple[float, float]
) -> None:
    answer, cited, frame = state(open_made(), 25.0, "where is he?", within)
    assert f"is not seen at 25 s inside {within[0]:g} to {within[1]:g} s" in answer
    assert "of the picture" not in answer
    assert cited == within
    assert within[0] <= frame <= within[1]


def test_the_state_rests_on_the_visit_that_holds_the_moment_and_lies_inside_the_range(open_made: Opened) -> None:
    session = open_made()
    answer, cited, frame = state(session, 25.0, "what does he do?", (10.0, 60.0))
    assert "moves to the right (22.0-28.0 s)" in answer
    assert (cited, frame) == ((22.0, 28.0), 25.0)
    assert state(session, 25.0, "what does he do?", (24.0, 26.0))[1] == (24.0, 26.0)
    assert state(session, 28.0, "what does he do?", None)[1] == (26.0, 28.0)


def test_what_is_done_and_said_around_the_moment_carries_its_own_times(open_made: Opened) -> None:
    answer, _, _ = state(open_made(), 27.0, "what does he do and what is said?", (20.0, 30.0))
    assert "comes into view (22.0-23.5 s)" in answer
    assert "goes out of view (26.5-28.0 s)" in answer
    assert '"Where did you put the blue folder?" (22.0-25.0 s)' in answer


def test_silence_is_said_and_no_answer_ends_in_nothing(open_made: Opened) -> None:
    answer, _, _ = state(open_made(), 27.5, "what is said?", (26.0, 28.0))
    assert answer.endswith("no words that are said then are known.")


def test_company_is_who_is_seen_at_the_moment_itself(make_world: WorldMaker) -> None:
    rows = sightings("t0000_01", steps(10.0, 20.0)) + sightings("t0000_02", steps(15.0, 18.0), x=300.0)
    make_world({"sightings": rows})
    session = open_session(make_world.store, "made", name=None)
    assert "t0000_02" in state(session, 16.0, "who else is there?", None)[0]
    assert "no one else" in state(session, 14.5, "who else is there?", None)[0]


def test_what_was_registered_in_one_frame_is_not_seen_at_another_time(open_made: Opened) -> None:
    session = open_made()
    session.register(
        Registration(
            entity_id=THING, label="a box", category="object", time=35.0, box=(0.0, 0.0, 9.0, 9.0), confidence=0.5,
            committed=False,
        )
    )  # fmt: skip
    answer, cited, _ = state(session, 35.0, "where is it?", (30.0, 40.0), THING)
    assert "Registered as 'a box' at 35 s" in answer
    assert cited == (35.0, 35.04)
    assert "not seen at 50 s" in state(session, 50.0, "where is it?", None, THING)[0]
    assert "not seen at 35 s inside 40 to 50 s" in state(session, 35.0, "where is it?", (40.0, 50.0), THING)[0]


# One visit, one start, one end.


def test_a_visit_has_one_start_and_one_end_in_every_operation(slivers: Session) -> None:
    listed = {item["entity_id"]: item for item in call(slivers, "list_entities")["entities"]}
    [part] = call(slivers, "get_entity_trajectory", entity_id=ALICE)["trajectory"]
    visit = (part["start_time"], part["end_time"])
    assert visit == (23.0, 28.0)
    assert (listed[ALICE]["first_time"], listed[ALICE]["last_time"]) == visit
    for at in (23.0, 25.2, 28.0):
        for within in (None, span(0.0, 60.0)):
            [person] = call(slivers, "detect_objects", timestamp=at, category="person", time_range=within)["detections"]
            assert (person["start_time"], person["end_time"]) == visit
            assert visit[0] <= person["timestamp"] <= visit[1]
    registered = call(slivers, "register_entity", timestamp=23.1, entity_hint="the person")
    assert registered["evidence"][0]["frame_time"] == visit[0]
    assert part["enters_from"] == "left"


def test_the_whole_range_counts_how_long_somebody_is_there_from_any_moment(slivers: Session) -> None:
    for at in (0.0, 22.0, 59.0):
        found = call(slivers, "detect_objects", timestamp=at, category="person", time_range=span(0.0, 60.0))
        assert sum(item["end_time"] - item["start_time"] for item in found["detections"]) == 5.0


def test_what_is_seen_in_one_frame_lasts_as_long_as_the_frame(slivers: Session) -> None:
    [dog] = call(slivers, "detect_objects", timestamp=26.0, category="any", text_query="dog")["detections"]
    [part] = call(slivers, "get_entity_trajectory", entity_id="ent_t0000_02")["trajectory"]
    assert (dog["start_time"], dog["end_time"]) == (part["start_time"], part["end_time"]) == (26.0, 26.04)


def test_no_operation_tells_an_empty_stretch(slivers: Session) -> None:
    slivers.register(
        Registration(
            entity_id=THING, label="a box", category="object", time=35.0, box=(0.0, 0.0, 9.0, 9.0), confidence=0.5,
            committed=False,
        )
    )  # fmt: skip
    found = [
        call(slivers, "list_entities"),
        call(slivers, "register_entity", timestamp=26.0, entity_hint="dog"),
        call(slivers, "recognize_actions", **span(20.0, 30.0)),
        call(slivers, "describe_segment", **span(20.0, 30.0)),
        *(call(slivers, "get_entity_trajectory", entity_id=name) for name in (ALICE, "ent_t0000_02", THING)),
        *(call(slivers, "detect_objects", timestamp=at, category="any") for at in steps(21.0, 30.0, 0.25)),
    ]
    told = list(stretches(found))
    assert len(told) > 40
    assert all(start < end for start, end in told)


@pytest.mark.parametrize("as_of", [26.01, 26.5, 27.0, 27.7])
def test_a_stretch_behind_a_cut_ends_at_the_cut_at_the_latest(make_world: WorldMaker, as_of: float) -> None:
    make_world(coming_from_the_left())
    session = open_session(make_world.store, "made", name=None, as_of=as_of)
    for entity in call(session, "list_entities")["entities"]:
        [part] = call(session, "get_entity_trajectory", entity_id=entity["entity_id"])["trajectory"]
        assert (part["start_time"], part["end_time"]) == (entity["first_time"], entity["last_time"])
        assert part["start_time"] < part["end_time"] <= as_of


# Stretches over several scenes, cut ends, and the end of the video.


def test_a_segment_names_every_scene_that_it_spans(open_made: Opened) -> None:
    session = open_made()
    whole = call(session, "get_segment", **span(0.0, 60.0))
    assert (whole["scene_id"], whole["scene_ids"]) == ("scene_0000", ["scene_0000", "scene_0001", "scene_0002"])
    assert whole["hint"] == "it spans 3 scenes; scene_id is the first"
    one = call(session, "get_segment", **span(20.0, 40.0))
    assert (one["scene_id"], one["scene_ids"], one["hint"]) == ("scene_0001", ["scene_0001"], "")


def test_a_segment_over_very_many_scenes_names_all(make_world: WorldMaker) -> None:
    cut = {"strength": 0.5, "producer": "made/1"}
    make_world({"scene_cuts": [{"time": t / 2, "known_at": t / 2, **cut} for t in range(1, 100)]})
    found = call(open_session(make_world.store, "made", name=None), "get_segment", **span(0.0, 60.0))
    assert len(found["scene_ids"]) == 100
    assert "spans 100 scenes" in found["hint"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("get_segment", span(50.0, 99.0)),
        ("describe_segment", span(50.0, 99.0)),
        ("recognize_actions", span(50.0, 99.0)),
        ("list_scenes", {"time_range": span(50.0, 99.0)}),
        ("detect_objects", {"timestamp": 52.0, "category": "any", "time_range": span(50.0, 99.0)}),
        ("query_entity_state", {"entity_id": "ent_t0001_02", "time": 52.0, "query": "?", "time_range": span(50.0, 99.0)}),
        ("search_segments_by_semantics", {"query": "garden", "top_k": 3, "time_range": span(50.0, 99.0)}),
        ("search_similar_to_example", {"example_segment": span(50.0, 99.0), "top_k": 3}),
        ("write_memory", {"level": "event", "time_range": span(50.0, 99.0), "content": "a walk"}),
        ("read_transcript", span(40.0, 99.0)),
        ("scan_segments", {"time_range": span(50.0, 99.0)}),
    ],
)  # fmt: skip
def test_an_end_that_was_cut_is_told_with_what_it_was_cut_to(
    open_made: Opened, name: str, arguments: dict[str, Any]
) -> None:
    inspecting = frozenset({"inspect"})
    whole = call(open_made(groups=inspecting), name, **arguments)
    assert "end_time 99 was cut to 60 s: the video ends there" in whole["hint"]
    behind = call(open_made(groups=inspecting, as_of=55.0), name, **arguments)
    assert "end_time 99 was cut to 55 s: this session sees the video up to there" in behind["hint"]
    inside = call(open_made(groups=inspecting), name, **_ending_at(arguments, 60.0))
    assert "was cut" not in inside["hint"]


def _ending_at(arguments: dict[str, Any], end: float) -> dict[str, Any]:
    changed = {key: _ending_at(value, end) if isinstance(value, dict) else value for key, value in arguments.items()}
    return changed | ({"end_time": end} if "end_time" in changed else {})


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("detect_objects", {"timestamp": 60.0, "category": "person"}),
        ("register_entity", {"timestamp": 60.0, "entity_hint": "a person"}),
        ("query_entity_state", {"entity_id": ALICE, "time": 60.0, "query": "where?"}),
        ("get_segment", span(60.0, 61.0)),
    ],
)
def test_the_end_of_the_video_is_no_moment_of_it(open_made: Opened, name: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(OperationFault) as caught:
        call(open_made(), name, **arguments)
    assert caught.value.code == "time_out_of_range"
    assert "ends at 60 s" in str(caught.value)
    assert "before 60 s" in caught.value.hint
    with pytest.raises(OperationFault) as caught:
        call(open_made(as_of=60.0 - 5.0), name, **arguments)
    assert caught.value.code == "not_yet"


@pytest.mark.parametrize(("start", "end"), [(30.0, 30.0001), (59.9999, 60.0), (59.9999, 99.0)])
def test_a_stretch_that_no_millisecond_fits_in_is_refused(open_made: Opened, start: float, end: float) -> None:
    with pytest.raises(OperationFault) as caught:
        call(open_made(), "get_segment", **span(start, end))
    assert caught.value.code == "bad_time_range"

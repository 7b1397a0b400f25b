"""Who comes and goes in real rooms, as the operations tell it, against the visits that were labelled by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from world_api.api import open_session
from world_api.core import TimeSpan
from world_api.operations import run
from world_api.session import Session

pytestmark = [pytest.mark.shared_data, pytest.mark.media]

ONE_BY_ONE = "people_one_by_one"
RETURNING = "composite_337s"
TOLERANCE = 1.0


@pytest.fixture(scope="module")
def store(real_store: Path) -> Path:
    return real_store


def truth_of(shared_data: Path, name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((shared_data / "video" / f"{name}.truth.json").read_text())
    return loaded


def appearances(session: Session) -> dict[str, list[TimeSpan]]:
    """The intervals of presence of every entity that is listed."""
    video = {"video_id": session.video_id}
    listed = run(session, "list_entities", video)["entities"]
    told = {
        item["entity_id"]: run(session, "get_entity_trajectory", {**video, "entity_id": item["entity_id"]})
        for item in listed
    }
    return {
        entity_id: [TimeSpan(start=part["start_time"], end=part["end_time"]) for part in result["trajectory"]]
        for entity_id, result in told.items()
    }


def near(found: TimeSpan, visit: TimeSpan) -> bool:
    return abs(found.start - visit.start) <= TOLERANCE and abs(found.end - visit.end) <= TOLERANCE


def who_visits(visit: TimeSpan, found: dict[str, list[TimeSpan]]) -> set[str]:
    return {entity_id for entity_id, spans in found.items() if any(visit.overlap(span) > 0 for span in spans)}


def test_each_visit_is_one_interval_of_one_entity_of_its_own(store: Path, shared_data: Path) -> None:
    found = appearances(open_session(store, ONE_BY_ONE, name=None))
    visits = [TimeSpan(start=item["start"], end=item["end"]) for item in truth_of(shared_data, ONE_BY_ONE)["visits"]]
    visitors = []
    for visit in visits:
        (entity_id,) = who_visits(visit, found)
        (interval,) = found[entity_id]
        assert near(interval, visit), (visit, interval)
        visitors.append(entity_id)
    assert len(set(visitors)) == len(visits) == 6
    assert set(visitors) == set(found)


def test_two_men_in_black_are_two_entities_and_each_is_said_to_be_in_black(store: Path, shared_data: Path) -> None:
    session = open_session(store, ONE_BY_ONE, name=None)
    found = appearances(session)
    hints = {
        item["entity_id"]: item["hint"] for item in run(session, "list_entities", {"video_id": ONE_BY_ONE})["entities"]
    }
    men = [
        TimeSpan(start=item["start"], end=item["end"])
        for item in truth_of(shared_data, ONE_BY_ONE)["visits"]
        if item["look"].startswith("man") and "black" in item["look"]
    ]
    (first,), (second,) = (who_visits(visit, found) for visit in men)
    assert first != second
    assert "black" in hints[first]
    assert "black" in hints[second]


def test_the_link_of_the_person_who_returns_scores_above_that_of_any_other_pair(store: Path, shared_data: Path) -> None:
    session = open_session(store, RETURNING, name=None)
    found = appearances(session)
    (visits,) = [
        [TimeSpan(start=a, end=b) for a, b in person["visits"]]
        for person in truth_of(shared_data, RETURNING)["people"]
        if len(person["visits"]) > 1
    ]
    first, *again = (who_visits(visit, found) for visit in visits)
    scores = {
        frozenset((item["entity_id"], other["entity_id"])): other["score"]
        for item in run(session, "list_entities", {"video_id": RETURNING})["entities"]
        for other in item["may_be"]
    }
    own = {frozenset((one, other)) for others in again for one in first for other in others if one != other}
    linked = [scores[pair] for pair in own if pair in scores]
    assert linked
    assert max(linked) > max((score for pair, score in scores.items() if pair not in own), default=0.0)


@pytest.mark.parametrize("film", [ONE_BY_ONE, RETURNING])
def test_every_visit_has_one_start_and_one_end_in_all_operations(store: Path, film: str) -> None:
    session = open_session(store, film, name=None)
    video = {"video_id": film}
    listed = run(session, "list_entities", video)["entities"]
    found = appearances(session)
    whole = {"start_time": 0.0, "end_time": session.view.duration}
    for item in listed:
        visits = found[item["entity_id"]]
        assert (item["first_time"], item["last_time"]) == (visits[0].start, visits[-1].end)
        assert all(visit.duration > 0 for visit in visits)
        for at in (item["first_time"], (item["first_time"] + item["last_time"]) / 2, item["last_time"]):
            for time_range in (None, whole):
                asked = {"timestamp": at, "category": "any", "time_range": time_range}
                detections = run(session, "detect_objects", {**video, **asked})["detections"]
                for detection in detections:
                    stretch = TimeSpan(start=detection["start_time"], end=detection["end_time"])
                    assert detection["entity_id"] is None or stretch in found[detection["entity_id"]]
                    assert stretch.duration > 0
                assert item["entity_id"] in {detection["entity_id"] for detection in detections}

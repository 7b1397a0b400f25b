"""The exact times of what matches: who does what to which thing where, once each, and nothing that lacks a judged word."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import sightings, steps
from world_api.api import open_session
from world_api.operations import run
from world_api.session import Session

MADE = {"confidence": 1.0, "producer": "oracle/1"}
WHO = {"t0000_01": "the person in the brown coat", "t0000_02": "the person in the pink coat"}
#: (track, start, end, deed): what two people do in a room that the first caption names.
DEEDS = [
    ("t0000_01", 10.0, 11.0, "opens a right drawer"),
    ("t0000_02", 20.0, 21.0, "opens a left drawer"),
    ("t0000_01", 30.0, 31.0, "opens a right drawer"),
    ("t0000_01", 33.0, 34.0, "waves at the person in the pink coat"),
    ("t0000_02", 36.0, 37.0, "waves at the person in the brown coat"),
    ("t0000_01", 45.0, 47.0, "leaves the kitchen"),
    ("t0000_02", 45.5, 47.5, "leaves the kitchen"),
]


@pytest.fixture
def film(make_world: Any, minute_rows: Any) -> Session:
    """A minute with a complete truth: each deed is an action, and a caption that names who does it."""
    seen = sightings("t0000_01", steps(2.0, 58.0), step=1.0, colours=["brown", "pink"])
    seen += sightings("t0000_02", steps(4.0, 50.0), step=1.0, colours=["pink", "blue"])
    told = [(0.0, 60.0, "In the kitchen, the person in the brown coat opens a right drawer; two people wave.")]
    # A caption may end before its action does, such as at a cut.
    told += [(start, min(end, start + 0.8), f"{WHO[track].capitalize()} {deed}.") for track, start, end, deed in DEEDS]
    told += [(40.0, 42.0, 'The person in the pink coat says "There is cake." to the person in the brown coat.')]
    world = make_world(
        {
            **minute_rows,
            "cuts": [], "scene_cuts": [], "screen_texts": [], "sightings": seen,
            "speech": [minute_rows["speech"][0] | {"start": 40.0, "end": 42.0, "text": "There is cake.", "known_at": 42.0}],
            "captions": [
                {"start": start, "end": end, "text": text, "known_at": end, "language": "en", **MADE}
                for start, end, text in told
            ],
            "actions": [
                {"start": start, "end": end, "label": deed, "subject": track, "known_at": end, **MADE}
                for track, start, end, deed in DEEDS
            ],
        }
    )  # fmt: skip
    manifest = world.folder / "world.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"profile": "oracle"}))
    return open_session(make_world.store, "made", name=None)


def moments(session: Session, query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run(
        session, "search_segments_by_text", {"video_id": "made", "query": query, "top_k": 1_000}
    )["moments"]
    return found


def starts(session: Session, query: str) -> list[float]:
    """Where the moments begin that surely have all words."""
    return [moment["start_time"] for moment in moments(session, query) if not moment["lacks"]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("opens a drawer", [10.0, 20.0, 30.0]),
        ("opens a right drawer", [10.0, 30.0]),
        ("opens the left drawer", [20.0]),
        ("the person in the brown coat opens a drawer", [10.0, 30.0]),
        ("person in pink opens a drawer", [10.0, 20.0, 30.0]),
        ("the person in the pink coat opens a right drawer", []),
        ("the person in the blue coat opens a drawer", []),
        ("waves at the person in the pink coat", [33.0]),
        ('the person in the brown coat says "There is cake."', []),
        ("the person in the pink coat waves at the person in the brown coat", [36.0]),
        ("opens a drawer in the kitchen", [10.0, 20.0, 30.0]),
        ("opens a drawer in the library", []),
        ('the person in the pink coat says "There is cake."', [40.0]),
        ('"There is cake."', [40.0]),
        ("plays a violin", []),
        ("the person in the brown coat leaves", [45.0]),
        ("the person in the pink coat leaves the kitchen", [45.5]),
        ("the person in the pink coat", [4.0]),
        ("the person in the blue coat", []),
    ],
)
def test_a_moment_has_all_that_is_named_and_is_given_once(film: Session, query: str, expected: list[float]) -> None:
    assert starts(film, query) == expected
    assert all(not moment["lacks"] for moment in moments(film, query) if expected)


def test_words_of_different_actions_make_no_deed(film: Session) -> None:
    asked = {
        "video_id": "made",
        "timestamp": 30.0,
        "category": "person",
        "time_range": {"start_time": 0, "end_time": 60},
    }

    def lacks(deed: str) -> dict[str, list[str]]:
        found = run(film, "detect_objects", {**asked, "text_query": f"a person {deed}"})["detections"]
        return {item["entity_id"]: item["lacks"] for item in found}

    assert lacks("who leaves the kitchen") == {"ent_t0000_01": [], "ent_t0000_02": []}
    assert all(lacks("who opens the kitchen").values())


def test_a_moment_has_its_own_times_and_who_does_it(film: Session) -> None:
    [moment] = moments(film, "the person in the pink coat opens a drawer")
    assert (moment["start_time"], moment["end_time"], moment["entity_id"]) == (20.0, 20.8, "ent_t0000_02")
    assert moment["text"] == "The person in the pink coat opens a left drawer."
    assert [(piece["start_time"], piece["end_time"]) for piece in moment["evidence"]] == [(20.0, 20.8)]


def test_what_cannot_be_judged_leaves_moments_that_only_may_be_it(open_made: Any) -> None:
    found = moments(open_made(), "the person in black opens a refrigerator")
    assert found
    assert all({"opens", "refrigerator"} <= set(moment["lacks"]) for moment in found)


def test_what_two_people_do_at_once_has_the_caption_of_each(film: Session) -> None:
    done = run(film, "recognize_actions", {"video_id": "made", "start_time": 44.0, "end_time": 49.0})["actions"]
    told = [(action["entity_id"], action["caption"]) for action in done if action["label"] == "leaves the kitchen"]
    assert told == [(f"ent_{track}", f"{who.capitalize()} leaves the kitchen.") for track, who in WHO.items()]

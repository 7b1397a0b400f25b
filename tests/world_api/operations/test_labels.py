"""The words an entity is registered with stand beside what was measured of it and never in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from controller.digest import digest_of
from world_api.api import open_session
from world_api.operations import run
from world_api.session import SEEN, Registration, Session, commit_session

Opened = Callable[..., Session]
GUESS = "the murderous person"
KNOWN = "ent_t0000_01"


def register(session: Session, words: str = GUESS) -> dict[str, Any]:
    return run(session, "register_entity", {"video_id": "made", "timestamp": 25.0, "entity_hint": words})


def listed(session: Session) -> dict[str, tuple[str, str | None]]:
    """What is measured of each entity, and its label."""
    found = run(session, "list_entities", {"video_id": "made"})["entities"]
    return {item["entity_id"]: (item["hint"], item["label"]) for item in found}


@pytest.fixture
def named(open_made: Opened) -> Session:
    """A session that has registered somebody known with a guess."""
    session = open_made(name="named")
    register(session)
    return session


def test_registering_tells_what_was_measured_beside_the_words_given(open_made: Opened) -> None:
    made = register(open_made())
    assert (made["entity_id"], made["already_known"]) == (KNOWN, True)
    assert (made["hint"], made["label"]) == ("person in black", GUESS)


def test_a_listing_keeps_the_measured_description_of_who_is_registered(named: Session) -> None:
    people = listed(named)
    assert people[KNOWN] == ("person in black", GUESS)
    assert people["ent_t0001_01"] == ("person in red and white", None)


def test_later_words_replace_the_label_and_nothing_else(named: Session) -> None:
    register(named, "a person in black, the butler")
    assert listed(named)[KNOWN] == ("person in black", "a person in black, the butler")


def test_another_session_is_not_told_the_label(named: Session, open_made: Opened) -> None:
    assert listed(open_made(name="other"))[KNOWN] == ("person in black", None)


def test_after_a_commit_the_words_are_still_a_label(named: Session, make_world: Any) -> None:
    commit_session(make_world.store, "made", "named")
    later = open_session(make_world.store, "made", name=None)
    assert listed(later)[KNOWN] == ("person in black", GUESS)


def test_a_digest_tells_the_label_beside_the_measured_description(named: Session) -> None:
    digest = digest_of(named, 800)
    assert digest is not None
    told = {item["entity_id"]: item for item in digest["persons"]}
    assert (told[KNOWN]["hint"], told[KNOWN]["label"]) == ("person in black", GUESS)
    assert "label" not in told["ent_t0001_01"]


def test_answers_about_an_entity_tell_what_was_measured_and_not_the_label(named: Session) -> None:
    asked = {"video_id": "made", "entity_id": KNOWN, "time": 25.0, "query": "where is he and what does he wear?"}
    assert GUESS not in run(named, "query_entity_state", asked)["answer"]
    seen = run(named, "detect_objects", {"video_id": "made", "timestamp": 25.0, "category": "person"})
    assert GUESS not in seen["detections"][0]["entity_hint"]
    assert (
        GUESS
        not in run(named, "describe_segment", {"video_id": "made", "start_time": 22.0, "end_time": 28.0})["caption"]
    )


def test_a_thing_that_was_not_followed_has_its_measured_kind_as_description(open_made: Opened) -> None:
    session = open_made()
    box = (10.0, 10.0, 60.0, 90.0)
    session.register(
        Registration(
            entity_id=f"{SEEN}1",
            label=GUESS,
            category="moving_object",
            time=35.0,
            box=box,
            confidence=0.5,
            committed=False,
        )
    )
    assert listed(session)[f"{SEEN}1"] == ("moving object", GUESS)
    digest = digest_of(session, 800)
    assert digest is not None
    assert {"hint": "moving object", "label": GUESS}.items() <= digest["things"][-1].items()

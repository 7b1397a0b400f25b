"""The digest: what a world holds, in so many tokens, whatever its length, and nothing from after the cut."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from benchmarks.made_worlds import Plan, write_world
from controller.digest import digest_of
from world_api.api import open_session
from world_api.chat import estimate_tokens
from world_api.core import TimeSpan, json_line
from world_api.session import Session

HOURS_10 = 36_000.0


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a film of ten hours."""
    store = tmp_path_factory.mktemp("store")
    write_world(store, "film", Plan(seed=3, duration=HOURS_10, file_seconds=3600.0))
    return store


@pytest.fixture
def opened(film: Path) -> Session:
    return open_session(film, "film", name=None)


@pytest.mark.parametrize("tokens", [100, 300, 800, 3_000])
def test_a_film_of_ten_hours_fits(opened: Session, tokens: int) -> None:
    digest = digest_of(opened, tokens)
    assert digest is not None
    assert estimate_tokens(digest) <= 1.2 * tokens
    scenes = digest["scenes"]
    assert (scenes[0]["start_time"], scenes[-1]["end_time"]) == (0.0, HOURS_10)
    assert all(one["end_time"] == other["start_time"] for one, other in itertools.pairwise(scenes))
    assert digest["entities"]


def test_entities_are_those_of_the_whole_film(opened: Session) -> None:
    digest = digest_of(opened, 3_000)
    assert digest is not None
    assert digest["of_entities"] > 60
    assert max(entity["first_time"] for entity in digest["entities"]) > HOURS_10 / 2


def test_more_tokens_tell_more(opened: Session) -> None:
    few, many = digest_of(opened, 300), digest_of(opened, 3_000)
    assert few is not None
    assert many is not None
    assert len(many["scenes"]) > 2 * len(few["scenes"])
    assert len(many["entities"]) > 2 * len(few["entities"])


@pytest.mark.parametrize("tokens", [0, 10, 39])
def test_too_few_tokens_tell_nothing(opened: Session, tokens: int) -> None:
    assert digest_of(opened, tokens) is None


def test_a_clip_is_told_whole(open_made: Any) -> None:
    digest = digest_of(open_made(), 800)
    assert digest is not None
    assert "of_scenes" not in digest
    assert "of_entities" not in digest
    assert {"duration", "scenes", "entities"} <= digest.keys() and "person" in digest["vocabulary"]["categories"]


def test_nothing_after_the_cut_is_told(open_made: Any) -> None:
    def times(value: Any) -> list[float]:
        if isinstance(value, dict):
            own = [item for key, item in value.items() if key.endswith("_time") or key == "duration"]
            return own + [time for item in value.values() for time in times(item)]
        return [time for item in value for time in times(item)] if isinstance(value, list) else []

    whole, cut = digest_of(open_made(), 800), digest_of(open_made(as_of=20.0), 800)
    assert max(times(whole)) > 20.0
    assert 0 < max(times(cut)) <= 20.0


def test_memories_of_the_session_are_told_the_latest_first_to_stay(open_made: Any) -> None:
    session = open_made()
    for number in range(40):
        span = TimeSpan(start=float(number), end=number + 1.0)
        session.write_memory(level="event", span=span, content=f"finding number {number}")
    digest = digest_of(session, 600)
    assert digest is not None
    told = [memory["content"] for memory in digest["memories"]]
    assert told == [f"finding number {number}" for number in range(40 - len(told), 40)]
    assert 0 < len(told) < digest["of_memories"] == 40


def test_the_same_session_has_the_same_digest(opened: Session) -> None:
    assert json_line(digest_of(opened, 800)) == json_line(digest_of(opened, 800))

"""Counting with the hand-written tools where identities are not known: bounds, not the number of tracks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.detected_worlds import STAGES, looks, seen
from tool_induction.library import load_library
from tool_induction.runtime import run_tool
from world_api import open_session, run

HAND_A = Path("toollibs/hand_A")


@pytest.fixture
def counted(make_world: Any) -> Any:
    """Runs ``count_distinct_things`` on a world in which two bottles are seen at once, of five tracks; and one person."""
    bottles = [("01", 0.0, 6.0), ("02", 0.0, 17.0), ("03", 8.0, 17.0), ("04", 18.0, 22.0), ("05", 23.0, 25.0)]
    rows = {
        "sightings": [
            *(
                row
                for number, *times in bottles
                for row in seen(f"t0000_{number}", *times, category="bottle", colours=["blue"])
            ),
            *seen("t0001_01", 32.0, 38.0),
        ],
        "person_looks": looks(
            "t0001_01", 32.0, {"upper": ["red"], "near_upper": [], "lower": ["black"], "near_lower": ["blue"]}
        ),
    }
    make_world(rows, profile="neural", stages=STAGES)
    tools = load_library(HAND_A).tools

    def count(category: str) -> Mapping[str, Any]:
        session = open_session(make_world.store, "made", name=None)
        asked = {"video_id": "made", "category": category}
        return run_tool(tools, "count_distinct_things", asked, call=partial(run, session))

    return count


@pytest.mark.parametrize("category", ["bottle", "瓶子"])
def test_a_count_of_what_has_no_identity_is_between_the_most_at_once_and_the_tracks(
    counted: Any, category: str
) -> None:
    result = counted(category)
    assert result["status"] == "partial"
    assert result["outputs"]["count"] == 2
    assert result["unsure"]["count"]["possible"] == 3


@pytest.mark.parametrize("category", ["blue bottle", "蓝色的瓶子"])
def test_the_colour_of_a_box_makes_nothing_sure(counted: Any, category: str) -> None:
    result = counted(category)
    assert (result["status"], result["outputs"]["count"]) == ("partial", 0)
    assert result["unsure"]["count"]["possible"] == 5


def test_one_person_is_one_person(counted: Any) -> None:
    result = counted("person")
    assert (result["status"], result["outputs"]["count"]) == ("ok", 1)


@pytest.mark.parametrize(
    ("category", "status", "possible"),
    [
        ("person in red", "ok", None),
        ("person in blue", "partial", 1),
        ("穿蓝色衣服的人", "partial", 1),
        ("person in green", "partial", None),
        ("purple bottle", "partial", 5),
        ("yellow bottle", "partial", None),
        ("red bottle", "partial", None),
        ("purple thing", "partial", 5),
        ("yellow thing", "partial", None),
        ("chair", "partial", None),
    ],
)
def test_looks_in_the_words_of_a_category_are_judged(
    counted: Any, category: str, status: str, possible: int | None
) -> None:
    result = counted(category)
    assert result["status"] == status
    assert result["outputs"]["count"] == (1 if category == "person in red" else 0)
    assert result.get("unsure", {}).get("count", {}).get("possible") == possible


@pytest.mark.parametrize("category", ["person in green", "yellow bottle"])
def test_that_there_is_none_is_said_of_large_ones_only(counted: Any, category: str) -> None:
    """A person far away, too small to be found, may be in green."""
    result = counted(category)
    assert "% of the picture's height" in result["summary"]
    [said] = result["warnings"]
    assert said.startswith("detect_objects: ") and "smaller ones may have been missed" in said

"""Which tracks look alike: scores, who is left out, and that reading on gives what reading anew gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.building import made_clip
from world_api.build import LookLinks
from world_api.world import TRACK_LOOK_DIMENSION

pytestmark = pytest.mark.media

Rows = list[dict[str, Any]]


def looks(track: str, kind: float, start: float, *, number: int = 8) -> Rows:
    """Looks one second apart; kinds that differ by one lie at a Bhattacharyya coefficient of about 0.98."""
    angle = 0.2 * kind
    found = []
    for step in range(number):
        vector = np.zeros(TRACK_LOOK_DIMENSION)
        vector[:2] = np.cos(angle), np.sin(angle)
        vector[2 + step % 3] = 0.03
        vector /= np.linalg.norm(vector)
        time = start + step
        found.append(
            {"track": track, "time": time, "vector": vector.tolist(), "known_at": time + 0.5, "producer": "made/1"}
        )
    return found


def stitch(earlier: str, later: str, time: float) -> dict[str, Any]:
    return {
        "earlier": earlier, "later": later, "time": time, "kind": "stitch", "score": 1.0, "known_at": time,
        "producer": "made/1",
    }  # fmt: skip


def links(stage: LookLinks, number: int, stored: dict[str, Rows]) -> Rows:
    return list(stage.make_rows(made_clip(number, stored))["look_links"])


def pairs(rows: Rows) -> list[tuple[str, str]]:
    return [(row["earlier"], row["later"]) for row in rows]


def test_the_same_look_scores_high_and_another_is_no_link() -> None:
    stored = {"track_looks": [*looks("t0000_01", 0, 2), *looks("t0000_02", 4, 12), *looks("t0001_01", 0, 40)]}
    (row,) = links(LookLinks(), 1, stored)
    assert (row["earlier"], row["later"]) == ("t0000_01", "t0001_01")
    assert row["score"] > 0.95
    assert row["time"] == 40.0
    assert row["known_at"] == 45.5


def test_the_nearer_of_two_looks_scores_higher() -> None:
    stored = {"track_looks": [*looks("t0000_01", 0, 2), *looks("t0000_02", 1, 12), *looks("t0001_01", 0.2, 40)]}
    first, second = links(LookLinks(), 1, stored)
    assert (first["earlier"], second["earlier"]) == ("t0000_01", "t0000_02")
    assert first["score"] > second["score"] >= 0.5


def test_two_things_seen_at_the_same_time_are_two() -> None:
    stored = {"track_looks": [*looks("t0000_01", 0, 2), *looks("t0000_02", 0, 6)]}
    assert links(LookLinks(), 0, stored) == []


def test_one_look_is_too_little() -> None:
    stored = {"track_looks": [*looks("t0000_01", 0, 2), *looks("t0001_01", 0, 40, number=1)]}
    assert links(LookLinks(), 1, stored) == []


def test_what_goes_on_over_a_join_is_one_thing_under_its_first_name_and_no_likeness_of_itself() -> None:
    stored = {
        "track_looks": [*looks("t0000_01", 0, 20), *looks("t0001_01", 0, 30), *looks("t0001_02", 0, 45)],
        "track_links": [stitch("t0000_01", "t0001_01", 30.0)],
    }
    assert pairs(links(LookLinks(), 1, stored)) == [("t0000_01", "t0001_02")]


def test_no_thing_has_more_than_three_links() -> None:
    earlier = [row for n in range(6) for row in looks(f"t0000_{n:02d}", 0.1 * n, 4.0 * n, number=3)]
    found = links(LookLinks(), 1, {"track_looks": [*earlier, *looks("t0001_01", 0, 40)]})
    assert pairs(found) == [(f"t0000_{n:02d}", "t0001_01") for n in range(3)]


def test_going_on_from_an_earlier_clip_gives_what_a_fresh_stage_gives() -> None:
    stored = {
        "track_looks": [
            *looks("t0000_01", 0, 22), *looks("t0001_01", 0, 30), *looks("t0001_02", 1, 45), *looks("t0003_01", 0.3, 95),
        ],
        "track_links": [stitch("t0000_01", "t0001_01", 30.0)],
    }  # fmt: skip
    stage = LookLinks()
    went_on = [links(stage, number, stored) for number in (0, 1, 2, 3)]
    assert went_on == [links(LookLinks(), number, stored) for number in (0, 1, 2, 3)]
    assert went_on[3]
    assert links(stage, 1, stored) == went_on[1]

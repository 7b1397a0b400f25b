"""Who is the same person: sure matches, doubtful ones, and who never is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.building import made_clip
from world_api.build import Identities, IdentityLimits

pytestmark = pytest.mark.media

Rows = list[dict[str, Any]]
LIMITS = {"body": IdentityLimits(sure=0.95, doubtful=0.85), "face": IdentityLimits(sure=0.5, doubtful=0.3)}


def person(
    track: str, start: float, *, body: float | None = None, face: float | None = None, seconds: float = 8.0
) -> dict[str, Rows]:
    """Sightings, and vectors at given angles (radians) from the first axis; the cosine of a difference is the similarity."""
    times = np.arange(start, start + seconds, 0.5).round(3).tolist()
    stamp = {"track": track, "producer": "made/1"}
    seen = [
        {**stamp, "time": time, "known_at": time, "category": "person", "confidence": 0.9, "colours": [],
         "x1": 10.0, "y1": 10.0, "x2": 60.0, "y2": 150.0}
        for time in times
    ]  # fmt: skip
    looks = [
        {**stamp, "time": time, "known_at": time, "part": part, "words": [], "score": 1.0,
         "vector": [float(np.cos(angle)), float(np.sin(angle)), 0.0]}
        for part, angle in (("body", body), ("face", face)) if angle is not None
        for time in times[:4]
    ]  # fmt: skip
    return {"sightings": seen, "person_looks": looks}


def stored(*people: dict[str, Rows], **more: Rows) -> dict[str, Rows]:
    tables = {name: [row for one in people for row in one[name]] for name in ("sightings", "person_looks")}
    return {"track_links": [], "look_links": [], **tables, **more}


def link(earlier: str, later: str, time: float, kind: str = "stitch") -> dict[str, Any]:
    return {"earlier": earlier, "later": later, "time": time, "kind": kind, "score": 1.0, "known_at": time,
            "producer": "made/1"}  # fmt: skip


def linked(number: int, tables: dict[str, Rows]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The pairs that are surely the same, and those that may be."""
    found = Identities(LIMITS, needs=()).make_rows(made_clip(number, tables))
    sure, unsure = ([(row["earlier"], row["later"]) for row in found[name]] for name in ("track_links", "look_links"))
    return sure, unsure


def test_who_returns_and_looks_the_same_is_one_person_from_when_that_was_seen() -> None:
    rows = stored(person("t0000_01", 2, body=0.0), person("t0001_01", 40, body=0.1))
    found = Identities(LIMITS, needs=()).make_rows(made_clip(1, rows))
    [row] = found["track_links"]
    assert (row["earlier"], row["later"], row["kind"], row["time"]) == ("t0000_01", "t0001_01", "same_person", 40.0)
    assert row["known_at"] == 43.0  # the earlier one might still have been seen until then
    assert not found["look_links"]


def test_who_looks_similar_may_be_the_same_and_who_looks_different_is_not() -> None:
    rows = stored(person("t0000_01", 2, body=0.0), person("t0000_02", 14, body=1.2), person("t0001_01", 40, body=0.4))
    assert linked(1, rows) == ([], [("t0000_01", "t0001_01")])


def test_of_two_people_who_look_the_same_neither_is_surely_the_one_who_returns() -> None:
    rows = stored(person("t0000_01", 2, body=0.0), person("t0000_02", 14, body=0.4), person("t0001_01", 40, body=0.2))
    assert linked(1, rows) == ([], [("t0000_01", "t0001_01"), ("t0000_02", "t0001_01")])


def test_people_who_are_seen_together_are_never_the_same() -> None:
    beside = person("t0000_02", 5, body=0.0)
    assert linked(0, stored(person("t0000_01", 2, body=0.0), beside)) == ([], [])
    # Nor is one who is seen together with another track of the same person.
    rows = stored(
        person("t0000_01", 2, body=0.0), person("t0000_02", 14, body=0.0), person("t0001_01", 40, body=0.0),
        person("t0001_02", 42, body=0.0),
    )  # fmt: skip
    assert linked(1, rows | {"track_links": [link("t0000_01", "t0000_02", 14)]})[0] == [("t0000_01", "t0001_01")]


def test_a_face_decides_against_the_clothes_and_for_a_person_in_other_clothes() -> None:
    same_clothes = stored(person("t0000_01", 2, body=0.0, face=0.0), person("t0001_01", 40, body=0.0, face=1.5))
    assert linked(1, same_clothes) == ([], [])
    same_face = stored(person("t0000_01", 2, body=0.0, face=0.0), person("t0001_01", 40, body=1.5, face=0.2))
    assert linked(1, same_face) == ([("t0000_01", "t0001_01")], [])


def test_a_doubtful_face_leaves_it_open_whatever_the_clothes() -> None:
    for body in (0.0, 1.5):
        rows = stored(person("t0000_01", 2, body=0.0, face=0.0), person("t0001_01", 40, body=body, face=1.1))
        assert linked(1, rows) == ([], [("t0000_01", "t0001_01")])


def test_a_track_that_continues_another_is_not_judged_again_and_counts_as_that_person() -> None:
    rows = stored(
        person("t0000_01", 20, body=0.0, seconds=10), person("t0001_01", 30, body=0.0), person("t0001_02", 50, body=0.0)
    )
    rows["track_links"] = [link("t0000_01", "t0001_01", 30.0)]
    assert linked(1, rows) == ([("t0000_01", "t0001_02")], [])


def test_reading_on_gives_what_reading_from_the_start_gives() -> None:
    people = [person(f"t{n:04d}_01", 30 * n + 4, body=0.05 * n) for n in range(4)]
    stage, rows = Identities(LIMITS, needs=()), stored(*people)
    for number in range(4):
        found = stage.make_rows(made_clip(number, rows))
        assert found == Identities(LIMITS, needs=()).make_rows(made_clip(number, rows))
        rows["track_links"] += [row | {"producer": "identities/1"} for row in found["track_links"]]
        rows["look_links"] += [row | {"producer": "identities/1"} for row in found["look_links"]]
    assert [(row["earlier"], row["later"]) for row in rows["track_links"]] == [
        ("t0000_01", f"t{n:04d}_01") for n in (1, 2, 3)
    ]


def test_what_is_known_later_changes_no_earlier_judgement() -> None:
    people = [person("t0000_01", 2, body=0.0), person("t0001_01", 33, body=0.4), person("t0001_02", 45, body=0.02)]
    early = linked(1, stored(*people[:2]))
    sure, unsure = linked(1, stored(*people))
    assert early == ([], [("t0000_01", "t0001_01")])
    assert unsure == [("t0000_01", "t0001_01")]
    assert sure == [("t0000_01", "t0001_02")]

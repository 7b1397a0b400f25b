"""Who may be whom, what size and from which side, and what the camera does, behind a causal cut."""

from __future__ import annotations

from typing import Any

import pytest

from world_api.api import open_session
from world_api.core import TimeSpan
from world_api.operations import run
from world_api.world import View

MADE = {"producer": "made/1"}


def walk(track: str, start: float, *, x: float = 0.0, step: float = 20.0, **facts: Any) -> list[dict[str, Any]]:
    """Eight seconds of somebody 60 x 200 pixels in size who walks, in a picture of 640 x 360."""
    base = {"category": "person", "confidence": 0.8, "colours": ["black"], **MADE, **facts}
    return [
        {"track": track, "time": start + n / 2, "x1": x + step * n, "y1": 60.0, "x2": x + step * n + 60, "y2": 260.0,
         "known_at": start + n / 2, **base}
        for n in range(16)
    ]  # fmt: skip


def likeness(earlier: str, later: str, score: float, known_at: float) -> dict[str, Any]:
    return {"earlier": earlier, "later": later, "time": known_at - 5, "score": score, "known_at": known_at, **MADE}


def rows() -> dict[str, Any]:
    return {
        "sightings": [
            *walk("t0000_01", 2.0),
            *walk("t0000_02", 15.0, x=500, step=-20.0),
            *walk("t0001_01", 31.0),
            *walk("t0001_02", 45.0, category="moving_object"),
        ],
        "look_links": [
            likeness("t0000_01", "t0001_01", 0.6, 36.0),
            likeness("t0000_02", "t0001_01", 0.8, 36.0),
            likeness("t0000_01", "t0001_02", 0.9, 50.0),
        ],
    }


def alike(view: View, entity_id: str) -> list[tuple[str, float]]:
    return [(item.entity_id, item.score) for item in view.may_be(entity_id)]


def test_likenesses_go_both_ways_the_most_alike_first_and_merge_nothing(make_world: Any) -> None:
    view = View(make_world(rows()), None)
    assert alike(view, "ent_t0001_01") == [("ent_t0000_02", 0.8), ("ent_t0000_01", 0.6)]
    assert alike(view, "ent_t0000_01") == [("ent_t0001_01", 0.6)]
    assert len(view.tracks) == 4


def test_things_of_another_kind_are_not_alike(make_world: Any) -> None:
    assert alike(View(make_world(rows()), None), "ent_t0001_02") == []


def test_a_likeness_is_not_told_before_it_is_known(make_world: Any) -> None:
    world = make_world(rows())
    assert alike(View(world, 35.9), "ent_t0000_01") == []
    assert alike(View(world, 36.0), "ent_t0000_01") == [("ent_t0001_01", 0.6)]


def test_what_was_judged_later_holds(make_world: Any) -> None:
    made = rows()
    made["sightings"] += [*walk("t0002_01", 60.0)]
    made["track_links"] = [
        {
            "earlier": "t0001_01",
            "later": "t0002_01",
            "time": 60.0,
            "kind": "stitch",
            "score": 1.0,
            "known_at": 60.0,
            **MADE,
        }
    ]
    made["look_links"] += [likeness("t0000_01", "t0002_01", 0.95, 66.0)]
    view = View(make_world(made, duration=90.0), None)
    assert alike(view, "ent_t0001_01") == [("ent_t0000_01", 0.95), ("ent_t0000_02", 0.8)]


def test_the_operations_say_who_it_may_be(make_world: Any) -> None:
    make_world(rows())
    session = open_session(make_world.store, "made", name=None)
    alike = [{"entity_id": "ent_t0000_02", "score": 0.8}, {"entity_id": "ent_t0000_01", "score": 0.6}]
    trajectory = run(session, "get_entity_trajectory", {"video_id": "made", "entity_id": "ent_t0001_01"})
    assert trajectory["may_be"] == alike
    listed = run(session, "list_entities", {"video_id": "made"})["entities"]
    assert {item["entity_id"]: item["may_be"] for item in listed}["ent_t0001_01"] == alike
    named = run(session, "register_entity", {"video_id": "made", "timestamp": 33.0, "entity_hint": "person"})
    assert named["may_be"] == alike
    told = run(session, "describe_segment", {"video_id": "made", "start_time": 31.0, "end_time": 39.0})["caption"]
    assert "may be the same as ent_t0000_02 (0.80) or ent_t0000_01 (0.60)" in told


def test_sides_and_size_are_told_and_leaving_only_once_it_is_over(make_world: Any) -> None:
    world = make_world(rows())
    track = View(world, None).track_of_entity("ent_t0000_01")
    assert track is not None
    assert (track.size, track.enters_from(track.appearances[0]), track.leaves_to(track.appearances[0])) == (
        "medium", "left", None,
    )  # fmt: skip
    make_world({"sightings": walk("t0000_01", 2.0, x=280.0)})
    leaving = run(open_session(make_world.store, "made", name=None), "list_entities", {"video_id": "made"})["entities"]
    assert (leaving[0]["enters_from"], leaving[0]["leaves_to"]) == (None, "right")
    early = open_session(make_world.store, "made", as_of=9.6, name=None)
    assert run(early, "list_entities", {"video_id": "made"})["entities"][0]["leaves_to"] is None


@pytest.mark.parametrize(("y", "side"), [(0.0, "top"), (160.0, "bottom")])
def test_who_comes_in_over_the_upper_or_lower_edge_comes_from_there(make_world: Any, y: float, side: str) -> None:
    step = 6.0 if side == "top" else -6.0
    rows = [
        {**row, "x1": 200.0, "x2": 260.0, "y1": y + step * n, "y2": y + step * n + 200}
        for n, row in enumerate(walk("t0000_01", 2.0))
    ]
    (track,) = View(make_world({"sightings": rows}), None).tracks
    assert track.enters_from(track.appearances[0]) == side


def test_a_side_that_is_touched_all_the_time_is_none_that_was_crossed(make_world: Any) -> None:
    rows = [{**row, "x1": 0.0, "x2": 60.0 + 5 * n} for n, row in enumerate(walk("t0000_01", 2.0))]
    (track,) = View(make_world({"sightings": rows}), None).tracks
    assert track.enters_from(track.appearances[0]) is None


def camera(kind: str, times: list[float], strength: float = 0.03) -> list[dict[str, Any]]:
    return [{"time": t, "kind": kind, "strength": strength, "known_at": t, **MADE} for t in times]


def test_the_camera_is_told_in_stretches_and_stillness_and_a_single_weak_row_are_none(make_world: Any) -> None:
    made = {
        "camera": [
            *camera("still", [1.0, 2.0], 0.0), *camera("pan_left", [3.0, 4.0, 5.0]), *camera("zoom_in", [6.0, 7.0]),
            *camera("tilt_up", [9.0]), *camera("tilt_down", [11.0], 0.2),
        ]
    }  # fmt: skip
    world = make_world(made)
    found = [(move.kind, move.span.start, move.span.end) for move in View(world, None).camera_movements]
    assert found == [("pan_left", 2.0, 5.0), ("zoom_in", 5.0, 7.0), ("tilt_down", 10.0, 11.0)]
    assert [move.span.end for move in View(world, 4.5).camera_movements] == [4.0]
    session = open_session(make_world.store, "made", name=None)
    span = {"video_id": "made", "start_time": 1.0, "end_time": 8.0}
    assert "The camera pans left, then zooms in." in run(session, "describe_segment", span)["caption"]
    labels = [item["label"] for item in run(session, "recognize_actions", span)["actions"]]
    assert labels == ["the camera pans left", "the camera zooms in"]


def test_a_movement_ends_with_its_shot(make_world: Any) -> None:
    cut = {"time": 2.5, "score": 1.0, "kind": "cut", "known_at": 2.6, **MADE}
    view = View(make_world({"cuts": [cut], "camera": camera("pan_right", [3.0, 4.0])}), None)
    assert [move.span for move in view.camera_movements] == [TimeSpan(start=2.5, end=4.0)]


def test_every_link_of_many_is_found_from_both_of_its_ends(make_world: Any) -> None:
    names = [f"t0000_{n:02d}" for n in range(12)]
    pairs = [(n, m) for n in range(12) for m in range(n + 1, 12) if (n * 7 + m) % 5 == 0]
    made = {
        "sightings": [row for n, name in enumerate(names) for row in walk(name, 2.0 + n)],
        "look_links": [likeness(names[n], names[m], 0.5 + (n + m) / 100, 25.0) for n, m in pairs],
    }
    view = View(make_world(made), None)
    for n, name in enumerate(names):
        others = {m if n == k else k: (k + m) / 100 for k, m in pairs if n in (k, m)}
        best = sorted(others, key=lambda other: (-others[other], names[other]))[:3]
        assert alike(view, f"ent_{name}") == [
            (f"ent_{names[other]}", pytest.approx(0.5 + others[other], abs=1e-6)) for other in best
        ]

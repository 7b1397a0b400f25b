"""The causal cut: what a reader sees of a world that is known up to some time."""

from __future__ import annotations

from typing import Any

import pytest

from world_api.world import TABLES, View


def test_no_table_shows_a_row_from_after_the_cut(make_world: Any) -> None:
    world = make_world()
    view = View(world, 30.0)
    for name in TABLES:
        known = view.rows(name).column("known_at").to_pylist()
        assert all(time <= 30.0 for time in known), name


def test_what_is_open_at_the_cut_ends_there(make_world: Any) -> None:
    view = View(make_world(), 24.0)
    assert view.duration == 24.0
    assert view.shots[-1].end == 24.0
    assert view.scenes[-1].span.end == 24.0
    assert view.segments[-1].end == 24.0
    assert view.tracks[0].span.end <= 24.0


def test_a_line_is_known_when_it_has_been_spoken(make_world: Any) -> None:
    world = make_world()
    assert len(View(world, 24.9).speech) == 0
    assert [line.text for line in View(world, 25.0).speech] == ["Where did you put the blue folder?"]


def test_colours_and_lengths_of_a_track_come_from_what_was_seen_of_it(make_world: Any) -> None:
    rows = {
        "sightings": [
            {"track": "t0000_01", "time": float(t), "x1": 0, "y1": 0, "x2": 10, "y2": 10, "category": "person", "confidence": 0.5,
             "colours": ["black"] if t < 5 else ["red"], "known_at": float(t), "producer": "made/1"}
            for t in range(20)
        ]
    }  # fmt: skip
    world = make_world(rows)
    assert View(world, 4.0).tracks[0].colours == ("black",)
    assert View(world, None).tracks[0].colours[0] == "red"


def test_a_stitch_that_is_not_known_yet_does_not_join_tracks(make_world: Any) -> None:
    seen = {"y1": 0, "x2": 10, "y2": 10, "category": "person", "confidence": 0.5, "colours": [], "producer": "made/1"}
    rows = {
        "sightings": [
            {"track": track, "time": time, "x1": 0, "known_at": time, **seen}
            for track, time in (("t0000_01", 29.0), ("t0001_01", 31.0), ("t0001_01", 33.0))
        ],
        "track_links": [
            {
                "earlier": "t0000_01",
                "later": "t0001_01",
                "time": 31.0,
                "kind": "stitch",
                "score": 1.0,
                "known_at": 32.0,
                "producer": "made/1",
            }
        ],
    }
    world = make_world(rows)
    assert [track.track_id for track in View(world, 31.0).tracks] == ["t0000_01", "t0001_01"]
    assert [track.track_id for track in View(world, None).tracks] == ["t0000_01"]


@pytest.mark.parametrize("as_of", [0.0, 0.001, 59.999, 60.0, 1e6])
def test_every_cut_can_be_opened(make_world: Any, as_of: float) -> None:
    view = View(make_world(), as_of)
    assert view.duration == min(as_of, 60.0)
    assert view.shots[0].start == 0.0
    assert view.scene_at(0.0).scene_id == "scene_0000"


def test_scenes_before_a_cut_keep_their_ids_when_more_is_seen(make_world: Any) -> None:
    world = make_world()
    whole = View(world, None).scenes
    for as_of in range(1, 60):
        past = View(world, float(as_of)).scenes
        assert [scene.span.start for scene in past] == [scene.span.start for scene in whole[: len(past)]]
        assert [scene.scene_id for scene in past] == [scene.scene_id for scene in whole[: len(past)]]

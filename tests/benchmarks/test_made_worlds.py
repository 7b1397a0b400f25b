"""Worlds without a video."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.made_worlds import Plan, write_world
from world_api.api import open_session
from world_api.core import words
from world_api.world import check_world

PLAN = Plan(seed=3, duration=400.0)


def test_the_same_plan_gives_the_same_rows_and_another_seed_others(tmp_path: Path) -> None:
    one, two = (write_world(tmp_path, name, PLAN).manifest for name in ("one", "two"))
    other = write_world(tmp_path, "three", Plan(seed=4, duration=400.0)).manifest
    assert one.world_hash == two.world_hash != other.world_hash


def test_larger_files_hold_the_same_rows(tmp_path: Path) -> None:
    clips = write_world(tmp_path, "clips", PLAN)
    hours = write_world(tmp_path, "hours", Plan(seed=3, duration=400.0, file_seconds=3600.0))
    assert len(hours.manifest.files) < len(clips.manifest.files)
    assert hours.manifest.world_hash == clips.manifest.world_hash


def test_a_made_world_is_whole_and_speaks_both_languages(tmp_path: Path) -> None:
    world = write_world(tmp_path, "made", Plan(seed=5, duration=3600.0, file_seconds=3600.0))
    assert check_world(world) == []
    said = "".join(world.rows("speech").column("text").to_pylist())
    assert any("a" <= sign <= "z" for sign in said)
    assert any("一" <= sign <= "鿿" for sign in said)
    assert words(said)
    view = open_session(tmp_path, "made", name=None).view
    assert 0.5 < len(view.segments) / (3600.0 / 6.3) < 2.0


@pytest.mark.parametrize("plan", [Plan(seed=1, duration=5.0), Plan(seed=1, duration=60.0, file_seconds=7.0)])
def test_a_plan_that_cannot_be_is_refused(tmp_path: Path, plan: Plan) -> None:
    with pytest.raises(ValueError, match="3600"):
        write_world(tmp_path, "made", plan)

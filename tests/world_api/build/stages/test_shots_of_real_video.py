"""Cuts and scenes of real video against what was seen by eye."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.building import Silent, StandingClock
from world_api import open_world
from world_api.build import Cuts, Job, KeyFrames, Looks, Recipe, SceneCuts, build_world
from world_api.core import TimeSpan

pytestmark = [pytest.mark.shared_data, pytest.mark.media]

WITHIN = 0.03


def found_in(video: Path, store: Path) -> dict[str, list[float]]:
    recipe = Recipe(profile="shots", stages=lambda video, worker: [Cuts(), Looks(), SceneCuts(), KeyFrames()])
    build_world(
        Job(video=video, store=store, name="film", recipe=recipe, force=False, progress=Silent(), clock=StandingClock())
    )
    world = open_world(store, "film")
    return {table: world.rows(table).column("time").to_pylist() for table in ("cuts", "scene_cuts")}


def f1(found: Sequence[float], true: Sequence[float]) -> float:
    hits = sum(any(abs(time - cut) <= WITHIN for cut in true) for time in found)
    recalled = sum(any(abs(time - cut) <= WITHIN for time in found) for cut in true)
    precision, recall = hits / max(1, len(found)), recalled / len(true)
    return 2 * precision * recall / max(1e-9, precision + recall)


@pytest.fixture(scope="module")
def truth(shared_data: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((shared_data / "video" / "composite_337s.truth.json").read_text())
    return loaded


@pytest.fixture(scope="module")
def composite(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[float]]:
    return found_in(shared_data / "video" / "composite_337s.mp4", tmp_path_factory.mktemp("composite"))


def test_the_certain_cuts_are_found_to_the_frame_and_no_others(
    composite: dict[str, list[float]], truth: dict[str, Any]
) -> None:
    unlabelled = [TimeSpan(start=start + WITHIN, end=end - WITHIN) for start, end in truth["cuts_unlabelled_between"]]
    found = [time for time in composite["cuts"] if not any(span.contains(time) for span in unlabelled)]
    assert f1(found, truth["cuts_certain"]) >= 0.95


@pytest.mark.nightly
def test_scenes_begin_where_another_place_begins(composite: dict[str, list[float]], truth: dict[str, Any]) -> None:
    starts = composite["scene_cuts"]
    for part in truth["parts"][1:]:
        assert min(abs(time - part["start"]) for time in starts) <= WITHIN, part
    # The low-resolution film among the parts is one sequence; the first is an opening of four unlike shots.
    assert [time for time in starts if time > 30.0] == pytest.approx([102.0, 147.0, 185.0, 251.0, 311.0], abs=WITHIN)


@pytest.mark.nightly
def test_a_film_of_ten_minutes_has_some_shots_to_a_scene(shared_data: Path, tmp_path: Path) -> None:
    found = found_in(shared_data / "video" / "big_buck_bunny_596s.mp4", tmp_path)
    assert len(found["cuts"]) > 100
    assert 8 <= len(found["scene_cuts"]) <= len(found["cuts"]) / 5
    # The last shot after the credits, the credits, and the squirrel's flight stand apart for every eye.
    for time in (581.0, 488.75, 381.25):
        assert min(abs(start - time) for start in found["scene_cuts"]) < 0.5, time

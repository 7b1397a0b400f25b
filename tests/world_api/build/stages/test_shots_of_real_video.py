"""Cuts and scenes of real video against what was seen by eye."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from world_api.build.media.frames import DecodePass
from world_api.build.media.probe import probe
from world_api.build.recipe import keys_of
from world_api.build.schedule import run_on_rows, run_pass
from world_api.build.shelf import Shelf
from world_api.build.stage import Stage
from world_api.build.stages.cuts import Cuts
from world_api.build.stages.looks import Looks
from world_api.build.stages.scene_cuts import SceneCuts
from world_api.core.spans import TimeSpan

pytestmark = [pytest.mark.shared_data, pytest.mark.media]

WITHIN = 0.03


class Silent:
    def update(self, stage: str, done: float, total: float) -> None:
        """Nobody watches."""


def found_in(video: Path, folder: Path) -> dict[str, list[float]]:
    stages: list[Stage] = [Cuts(), Looks(), SceneCuts()]
    source = probe(video)
    shelf = Shelf(folder, source, keys_of(stages, "made"), reuse=False)
    decode = DecodePass(source=source)
    run_pass(stages, decode, shelf, Silent())
    run_on_rows(stages, decode.duration, shelf, Silent())
    whole = TimeSpan(start=0.0, end=decode.duration + 1.0)
    return {table: shelf.rows(table, whole).column("time").to_pylist() for table in ("cuts", "scene_cuts")}


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

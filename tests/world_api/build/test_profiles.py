"""Building and opening as everybody does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.building import Silent, StandingClock
from world_api import BuildOptions, Listening, build_world, ensure_world, open_world
from world_api.core import MediaFault

pytestmark = pytest.mark.media


def test_a_file_that_has_a_world_is_asked_as_it_was_built(two_shots: Path, tmp_path: Path) -> None:
    built = build_world(
        two_shots, tmp_path, progress=Silent(), clock=StandingClock(),
        options=BuildOptions(without=("screen_texts", "moving_things", "stitches", "look_links"), listening=Listening(speech="off")),
    )  # fmt: skip
    assert ensure_world(str(two_shots), tmp_path, progress=Silent(), clock=StandingClock()) == built.video_id
    assert open_world(tmp_path, built.video_id).manifest.world_hash == built.world_hash
    assert ensure_world(built.video_id, tmp_path, progress=Silent(), clock=StandingClock()) == built.video_id


def test_a_file_without_a_world_gets_one(two_shots: Path, tmp_path: Path) -> None:
    video_id = ensure_world(str(two_shots), tmp_path, progress=Silent(), clock=StandingClock())
    assert open_world(tmp_path, video_id).manifest.complete


def test_what_is_neither_is_named(tmp_path: Path) -> None:
    with pytest.raises(MediaFault):
        ensure_world(str(tmp_path / "gone.mp4"), tmp_path, progress=Silent(), clock=StandingClock())

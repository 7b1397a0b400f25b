"""A build of a world that is there already says of which stages the new world no longer has the rows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.world_api.conftest import encode
from videoworld import main
from world_api.world import open_world

pytestmark = pytest.mark.media


def build(video: Path, store: Path, *more: str) -> None:
    without = ["--without", "screen_texts", "--speech", "off"]
    with pytest.raises(SystemExit, match="0"):
        main(["build", str(video), "--store", str(store), *without, *more])


def test_stages_whose_rows_a_new_build_drops_are_told(
    two_shots: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    build(two_shots, store)
    build(two_shots, store)
    assert "dropped" not in capsys.readouterr().out
    frames = open_world(store, "two_shots").rows("key_frames").num_rows
    build(two_shots, store, "--without", "key_frames")
    told = f"dropped: the world no longer has the rows of key_frames ({frames}); a build with these stages makes them again"
    assert told in capsys.readouterr().out
    assert open_world(store, "two_shots").rows("key_frames").num_rows == 0
    build(two_shots, store, "--without", "key_frames", "--json")
    assert json.loads(capsys.readouterr().out)["worlds"][0]["dropped"] == {}
    build(two_shots, store)
    assert "dropped" not in capsys.readouterr().out
    build(two_shots, store, "--without", "key_frames", "--json")
    assert json.loads(capsys.readouterr().out)["worlds"][0]["dropped"] == {"key_frames": frames}


def test_stages_that_found_nothing_in_another_video_are_not_told(
    two_shots: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build(two_shots, tmp_path / "store", "--id", "film")
    assert open_world(tmp_path / "store", "film").rows("cuts").num_rows
    still = encode(tmp_path / "still.mp4", [np.full((48, 64, 3), 90, np.uint8)] * 30, rate=10)
    build(still, tmp_path / "store", "--id", "film", "--force")
    assert not open_world(tmp_path / "store", "film").rows("cuts").num_rows
    assert "dropped" not in capsys.readouterr().out

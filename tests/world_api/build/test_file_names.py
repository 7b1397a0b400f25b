"""A file's name is bytes; whatever they are, its world is built, found again and shown."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from world_api.api import source_path
from world_api.core import Image
from world_api.world import list_worlds, open_world

pytestmark = pytest.mark.media

ROOT = Path(__file__).resolve().parents[3]


def videoworld(*arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run([sys.executable, "-m", "videoworld", *arguments], cwd=ROOT, capture_output=True, check=False)
    assert b"Traceback" not in done.stderr
    return done


@pytest.fixture
def odd(make_video: Callable[..., Path], tmp_path: Path) -> Path:
    """A second of grey in a file whose name is no UTF-8, with subtitles beside it, and another file."""
    shade: list[Image] = [np.full((48, 64, 3), 90, np.uint8)] * 10
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / os.fsdecode(b"bad\xff.mp4")
    try:
        path.write_bytes(make_video("in/good.mp4", shade).read_bytes())
    except OSError:
        pytest.skip("this file system takes no such names")
    path.with_suffix(".srt").write_text("1\n00:00:00,100 --> 00:00:00,900\nhello\n\n2\n00:00:05,0 --> zz\nx\n")
    (tmp_path / "elsewhere.vtt").write_text("WEBVTT\n")
    path.with_suffix(".vtt").symlink_to(tmp_path / "elsewhere.vtt")
    return path


def test_a_name_that_is_no_utf8_is_built_found_again_and_shown(odd: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    good = odd.with_name("good.mp4")
    done = videoworld("build", odd, good, "--store", store, "--without", "screen_texts", "--json")
    assert done.returncode == 0
    reports: list[dict[str, Any]] = json.loads(done.stdout.decode())["worlds"]
    odd_id = reports[0]["video_id"]
    assert [report["video_id"] for report in reports] == [odd_id, "good"]
    assert any("bad\N{REPLACEMENT CHARACTER}.srt" in loss["message"] for loss in reports[0]["losses"])
    assert list_worlds(store) == sorted([odd_id, "good"])
    world = open_world(store, odd_id)
    assert world.manifest.title == "bad\N{REPLACEMENT CHARACTER}"
    assert world.manifest.source.file_name == "bad\N{REPLACEMENT CHARACTER}.mp4"
    assert source_path(world) == odd.resolve()
    for arguments in (["inspect", odd_id], ["inspect", odd_id, "--json"], ["worlds"], ["worlds", "--json"]):
        shown = videoworld(*arguments, "--store", store)
        assert shown.returncode == 0
        assert "bad\N{REPLACEMENT CHARACTER}" in shown.stdout.decode()


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_fault_about_such_a_name_can_be_printed(tmp_path: Path, options: tuple[str, ...]) -> None:
    done = videoworld("build", os.fsdecode(b"gone\xff.mp4"), "--store", tmp_path, *options)
    assert done.returncode == 1
    assert "gone\N{REPLACEMENT CHARACTER}.mp4" in (done.stdout + done.stderr).decode()


def test_a_batch_with_such_a_name_goes_on(odd: Path, tmp_path: Path) -> None:
    gone = odd.with_name(os.fsdecode(b"gone\xff.mp4"))
    done = videoworld("build", gone, odd.with_name("good.mp4"), "--store", tmp_path / "store", "--speech", "off")
    assert done.returncode == 1
    assert list_worlds(tmp_path / "store") == ["good"]

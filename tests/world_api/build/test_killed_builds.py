"""A build that is killed at any moment goes on where it stopped, and the world is the one it would have been."""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from world_api.world.disk.stored import check_world, open_world

pytestmark = pytest.mark.media

ROOT = Path(__file__).resolve().parents[3]
COMPOSITE = ROOT.parent / "shared" / "data" / "video" / "composite_337s.mp4"
FAST = ("--without", "screen_texts", "--speech", "off")


def command(video: Path, store: Path, *options: str) -> list[str]:
    return [
        sys.executable,
        str(ROOT / "videoworld.py"),
        "build",
        str(video),
        "--store",
        str(store),
        "--id",
        "x",
        *options,
    ]


def build(video: Path, store: Path, *options: str) -> str:
    """Build to the end; the hash of the world."""
    done = subprocess.run(command(video, store, *options), cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    world = open_world(store, "x")
    assert check_world(world) == []
    return world.manifest.world_hash


def files(store: Path) -> int:
    return sum(1 for _ in (store / "x").rglob("*.arrow"))


def build_and_kill(video: Path, store: Path, *options: str, after: int) -> None:
    """Kill a build once it has written so many files."""
    process = subprocess.Popen(
        command(video, store, *options), cwd=ROOT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    while files(store) < after:  # the moment is told by what is on disk, not by a clock
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.01)
            break
    process.kill()
    process.wait()


def moments(most: int, *, count: int, seed: int) -> Iterator[int]:
    dice = random.Random(seed)
    return (dice.randrange(most) for _ in range(count))


def check_kills(video: Path, folder: Path, *options: str, count: int, seed: int) -> None:
    whole = build(video, folder / "whole", *options)
    for number, after in enumerate(moments(files(folder / "whole") - 1, count=count, seed=seed)):
        store = folder / str(number)
        build_and_kill(video, store, *options, after=after)
        assert build(video, store, *options) == whole, (number, after)


def test_a_build_killed_at_three_moments_ends_as_it_would_have(two_shots: Path, tmp_path: Path) -> None:
    check_kills(two_shots, tmp_path, *FAST, count=3, seed=3)


@pytest.mark.shared_data
def test_a_build_of_a_real_video_killed_at_three_moments_ends_as_it_would_have(tmp_path: Path) -> None:
    check_kills(COMPOSITE, tmp_path, *FAST, count=3, seed=4)


def test_a_build_killed_again_and_again_ends_as_it_would_have(two_shots: Path, tmp_path: Path) -> None:
    whole = build(two_shots, tmp_path / "whole", *FAST)
    most = files(tmp_path / "whole")
    for after in range(4, most, 8):
        build_and_kill(two_shots, tmp_path / "killed", *FAST, after=after)
    assert build(two_shots, tmp_path / "killed", *FAST) == whole


@pytest.mark.nightly
@pytest.mark.shared_data
def test_a_whole_build_of_a_real_video_killed_at_twenty_moments_ends_as_it_would_have(tmp_path: Path) -> None:
    check_kills(COMPOSITE, tmp_path, count=20, seed=20)

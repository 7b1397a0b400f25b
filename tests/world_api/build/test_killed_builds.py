"""A build that is killed at any moment goes on where it stopped, and the world is the one it would have been."""

from __future__ import annotations

import contextlib
import json
import random
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.building import talking_film, voices_job
from videoworld import main
from world_api.build import build_world
from world_api.world import check_world, open_world

pytestmark = pytest.mark.media

ROOT = Path(__file__).resolve().parents[3]
COMPOSITE = ROOT.parent / "shared" / "data" / "video" / "composite_337s.mp4"
FAST = ("--without", "screen_texts", "--speech", "off")
FASTEST = (*FAST, *(word for name in ("moving_things", "stitches", "look_links") for word in ("--without", name)))


def command(video: Path, store: Path, *options: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "videoworld",
        "build",
        str(video),
        "--store",
        str(store),
        "--id",
        "x",
        *options,
    ]


class Built(NamedTuple):
    """What a build that came to its end made: the hash of the world, and how many clips it found there already."""

    world_hash: str
    reused: int


def build(video: Path, store: Path, *options: str) -> Built:
    """Build to the end."""
    done = subprocess.run(
        [*command(video, store, *options), "--json"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    world = open_world(store, "x")
    assert check_world(world) == []
    [report] = json.loads(done.stdout)["worlds"]
    return Built(world.manifest.world_hash, report["clips_reused"])


def files(store: Path) -> int:
    return sum(1 for _ in (store / "x").rglob("*.arrow"))


def build_and_kill(video: Path, store: Path, *options: str, after: int) -> bool:
    """Kill a build once it has written so many files; whether that came before its end."""
    process = subprocess.Popen(
        command(video, store, *options), cwd=ROOT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    while files(store) < after:  # the moment is told by what is on disk, not by a clock
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.01)
            break
    process.kill()
    return process.wait() == -signal.SIGKILL


def moments(most: int, *, count: int, seed: int) -> Iterator[int]:
    dice = random.Random(seed)
    return (dice.randrange(most) for _ in range(count))


def check_kills(video: Path, folder: Path, *options: str, count: int, seed: int) -> None:
    whole = build(video, folder / "whole", *options)
    assert whole.reused == 0
    went_on = 0
    for number, after in enumerate(moments(files(folder / "whole") - 1, count=count, seed=seed)):
        store = folder / str(number)
        was_killed = build_and_kill(video, store, *options, after=after)
        again = build(video, store, *options)
        assert again.world_hash == whole.world_hash, (number, after)
        # A world that was complete before the kill shows nothing of going on.
        went_on += was_killed and again.reused > 0
    assert went_on


def test_a_build_killed_at_two_moments_ends_as_it_would_have(two_shots: Path, tmp_path: Path) -> None:
    check_kills(two_shots, tmp_path, *FASTEST, count=2, seed=3)


#: A build of voices that kills itself at a call of the encoder.
KILLED = """
import itertools, os, signal
from pathlib import Path
from tests.support import building
from world_api.build import build_world
calls, embed = itertools.count(), building.Pitches.embed
def embed_or_die(self, pieces):
    if next(calls) == {last}:
        os.kill(os.getpid(), signal.SIGKILL)
    return embed(self, pieces)
building.Pitches.embed = embed_or_die
build_world(building.voices_job(Path({film!r}), Path({store!r})))
"""


@pytest.mark.parametrize(("last", "stored"), [(3, 0), (18, 1)])
def test_a_build_killed_between_voices_ends_as_it_would_have(tmp_path: Path, last: int, stored: int) -> None:
    film, store = talking_film(tmp_path / "talk.mkv"), tmp_path / "killed"
    whole = build_world(voices_job(film, tmp_path / "whole"))
    script = KILLED.format(last=last, film=str(film), store=str(store))
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert len(list((store / "x" / "rows" / "voice_names").glob("*.arrow"))) == stored
    again = build_world(voices_job(film, store))
    assert again.world_hash == whole.world_hash
    assert check_world(open_world(store, "x")) == []


@pytest.mark.nightly
@pytest.mark.shared_data
def test_a_build_of_a_real_video_killed_at_three_moments_ends_as_it_would_have(tmp_path: Path) -> None:
    check_kills(COMPOSITE, tmp_path, *FAST, count=3, seed=4)


@pytest.mark.nightly
def test_a_build_killed_again_and_again_ends_as_it_would_have(two_shots: Path, tmp_path: Path) -> None:
    whole = build(two_shots, tmp_path / "whole", *FAST)
    most = files(tmp_path / "whole")
    kills = [build_and_kill(two_shots, tmp_path / "killed", *FAST, after=after) for after in range(4, most, 8)]
    assert any(kills)
    again = build(two_shots, tmp_path / "killed", *FAST)
    assert again.world_hash == whole.world_hash
    assert again.reused > 0 or not all(kills)


def test_a_build_that_goes_on_says_so(two_shots: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def said() -> str:
        with pytest.raises(SystemExit) as ended:
            main(command(two_shots, tmp_path, *FASTEST)[3:])
        assert not ended.value.code
        return capsys.readouterr().out

    assert "resumed" not in said()
    (tmp_path / "x" / "world.json").unlink()
    found = re.search(r"resumed: (\d+) of (\d+) clips", said())
    assert found is not None
    assert found[1] == found[2]
    assert "resumed" not in said()


@pytest.mark.nightly
@pytest.mark.shared_data
def test_a_whole_build_of_a_real_video_killed_at_twenty_moments_ends_as_it_would_have(tmp_path: Path) -> None:
    check_kills(COMPOSITE, tmp_path, count=20, seed=20)

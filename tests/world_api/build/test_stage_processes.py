"""Stages in a process of their own: the same rows, named faults, and no process left behind."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from tests.support.building import Silent, StandingClock, made_clip
from tests.support.stages_apart import Brightness
from world_api.build import stage_process
from world_api.build.builder import BuildReport, Job, build_world
from world_api.build.stage import Recipe
from world_api.build.stage_process import BuildProcesses, RemoteStage, StageProcess
from world_api.core import VideoWorldError
from world_api.media.container import DEFAULT_LIMITS
from world_api.media.frames import Frame
from world_api.media.shared_memory import PictureMemory, anonymous_file
from world_api.recipes import recipe_for

MakeFrames = Callable[..., list[Frame]]
MAKERS = "tests.support.stages_apart"


@pytest.fixture(autouse=True)
def several_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_process, "_processors", lambda: 2)


def build(video: Path, store: Path, apart: Mapping[str, str], *, recipe: Recipe | None = None) -> BuildReport:
    made = recipe or Recipe(profile="test", stages=lambda *_: [Brightness()], apart=apart)
    job = Job(video=video, store=store, name="film", recipe=made, force=False, progress=Silent(), clock=StandingClock())
    return build_world(job)


def test_a_stage_gives_the_same_rows_wherever_it_works(two_shots: Path, tmp_path: Path) -> None:
    here = build(two_shots, tmp_path / "here", {})
    there = build(two_shots, tmp_path / "there", {"brightness": f"{MAKERS}:Brightness"})
    assert there.world_hash == here.world_hash
    names = [sorted(path.name for path in (tmp_path / store).rglob("*.arrow")) for store in ("here", "there")]
    assert names[0] == names[1]


def test_following_moving_things_gives_the_same_rows_wherever_it_works(two_shots: Path, tmp_path: Path) -> None:
    usual = recipe_for("classical", without=("screen_texts",))
    assert "moving_things" in usual.apart
    here = Recipe(profile=usual.profile, stages=usual.stages)
    assert (
        build(two_shots, tmp_path / "there", {}, recipe=usual).world_hash
        == build(two_shots, tmp_path / "here", {}, recipe=here).world_hash
    )


@pytest.mark.parametrize(
    ("maker", "code"),
    [("named", "out_of_order"), ("unnamed", "internal_fault"), ("dying", "stage_died"), ("nobody", "stage_died")],
)
def test_a_stage_that_fails_in_its_process_ends_the_build_by_name_and_another_goes_on(
    maker: str, code: str, two_shots: Path, tmp_path: Path
) -> None:
    with pytest.raises(VideoWorldError) as caught:
        build(two_shots, tmp_path, {"brightness": f"{MAKERS}:{maker}"})
    assert caught.value.code == code
    assert caught.value.hint
    assert build(two_shots, tmp_path, {}).changed


def test_a_frame_is_shown_once_to_all_clips_that_want_it(make_frames: MakeFrames) -> None:
    process = StageProcess(f"{MAKERS}:Brightness")
    stage = RemoteStage(Brightness(), process)
    workers = [stage.open(made_clip(number)) for number in range(2)]
    frames = make_frames(lambda t: np.full((90, 160, 3), int(t), dtype=np.uint8), start=0, end=60)
    for frame in frames:
        stage.see(workers, frame)
    told = [row["time"] for worker in workers for row in worker.finish()["cuts"]]
    assert told == [frame.time for frame in frames]
    process.close()


def test_pictures_that_grow_are_seen_as_they_are() -> None:
    handle = anonymous_file()
    here, there = PictureMemory(handle), PictureMemory(handle)
    small, large = np.full((2, 3, 3), 7, np.uint8), np.arange(3 << 20, dtype=np.uint8).reshape(1 << 10, -1)
    for pictures in ([small], [small, large], [large, small, large]):
        here.clear()
        places = [here.write(picture) for picture in pictures]
        for picture, place in zip(pictures, places, strict=True):
            assert np.array_equal(there.read(place), picture)
    os.close(handle)


def test_on_one_processor_every_stage_works_where_the_build_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_process, "_processors", lambda: 1)
    processes = BuildProcesses(DEFAULT_LIMITS, {"brightness": f"{MAKERS}:Brightness"})
    processes.start()
    stage = Brightness()
    assert processes.place([stage]) == [stage]
    processes.close()


def test_no_process_outlives_its_build() -> None:
    others = children()
    processes = BuildProcesses(DEFAULT_LIMITS, {"brightness": f"{MAKERS}:Brightness"})
    processes.start()
    processes.start()
    started = children() - others
    assert len(started) == 2
    processes.close()
    processes.close()
    assert not children() & started


def children() -> set[str]:
    """The numbers of this process's children, while they are told of."""
    found: set[str] = set()
    for task in Path("/proc/self/task").glob("*/children"):
        found |= set(task.read_text(encoding="ascii").split())
    if not Path("/proc/self/task").is_dir():
        pytest.skip("this system does not tell of children")
    return found

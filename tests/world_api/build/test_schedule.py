"""Which clips are opened, when they are closed, and which are not made again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from world_api.build.media.frames import Frame
from world_api.build.media.probe import probe
from world_api.build.shelf import Shelf
from world_api.build.stage import Clip, Records, Sampling, Stage, StageSpec, no_sound
from world_api.core.ports import Image


class Counting:
    """A stage that counts its workers."""

    def __init__(self) -> None:
        self.spec = StageSpec(name="counting", version=1, tables=("cuts",), sampling=Sampling(fps=None, max_side=16))
        self.open_now: set[int] = set()
        self.most_open = 0
        self.finished: list[int] = []

    def open(self, clip: Clip) -> CountingWorker:
        self.open_now.add(clip.number)
        self.most_open = max(self.most_open, len(self.open_now))
        return CountingWorker(self, clip.number)


class CountingWorker:
    def __init__(self, stage: Counting, number: int) -> None:
        self.stage, self.number = stage, number

    def see(self, frame: Frame) -> None:
        """Nothing to see."""

    def finish(self) -> Records:
        self.stage.open_now.discard(self.number)
        self.stage.finished.append(self.number)
        return {}


class Failing(Counting):
    """A stage that fails early on."""

    def open(self, clip: Clip) -> FailingWorker:
        return FailingWorker(self, clip.number)


class FailingWorker(CountingWorker):
    def see(self, frame: Frame) -> None:
        if frame.time >= 0.1:
            raise ZeroDivisionError("early on")


RunStages = Callable[[Path, Sequence[Stage], Shelf], float]


def shelf_in(folder: Path, video: Path) -> Shelf:
    return Shelf(folder, probe(video), {"counting": "key"}, reuse=True, hear=no_sound)


def test_a_long_gap_never_holds_many_clips_open(
    make_video: Callable[..., Path], empty_room: Image, tmp_path: Path, run_stages: RunStages
) -> None:
    video = make_video("gap.mkv", [empty_room] * 4, times=[0.0, 1.0, 1500.0, 1501.0])
    stage = Counting()
    run_stages(video, [stage], shelf_in(tmp_path / "world", video))
    assert stage.finished == list(range(51))
    assert stage.most_open <= 2


def test_a_clip_that_no_frame_reaches_is_not_made_again(
    make_video: Callable[..., Path], empty_room: Image, tmp_path: Path, run_stages: RunStages
) -> None:
    video = make_video("long_last.mkv", [empty_room] * 4, times=[0.0, 10.0, 20.0, 29.98])
    first, second = Counting(), Counting()
    shelf, again = shelf_in(tmp_path / "world", video), shelf_in(tmp_path / "world", video)
    run_stages(video, [first], shelf)
    run_stages(video, [second], again)
    assert shelf.written == 2
    assert (again.written, again.reused(2), second.finished) == (0, 2, [])


def test_a_stage_that_fails_ends_the_pass_though_more_frames_wait_for_it_than_there_is_room_for(
    make_video: Callable[..., Path], empty_room: Image, tmp_path: Path, run_stages: RunStages
) -> None:
    video = make_video("dense.mkv", [empty_room] * 120, times=[number / 100 for number in range(120)])
    with pytest.raises(ZeroDivisionError, match="early on"):
        run_stages(video, [Failing()], shelf_in(tmp_path / "world", video))

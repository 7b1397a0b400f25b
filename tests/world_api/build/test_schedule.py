"""Which clips are opened, when they are closed, and which are not made again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from world_api.build.media.decoding import DecodePass
from world_api.build.media.frames import Frame
from world_api.build.media.limits import DEFAULT_LIMITS
from world_api.build.media.passes import VideoPass
from world_api.build.media.probe import probe
from world_api.build.schedule import Schedule
from world_api.build.shelf import Shelf
from world_api.build.stage import Clip, Records, Sampling, Stage, StageSpec, no_sound
from world_api.core.ports import Image


class Silent:
    def update(self, stage: str, done: float, total: float) -> None:
        """Nobody watches."""

    def say(self, text: str) -> None:
        """Nobody listens."""


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


def passed(video: Path, folder: Path, stage: Counting) -> Shelf:
    stages: list[Stage] = [stage]
    source = probe(video)
    shelf = Shelf(folder, source, {"counting": "key"}, reuse=True, hear=no_sound)
    schedule = Schedule(stages=stages, shelf=shelf, progress=Silent(), expected=0.0)
    decode = VideoPass(source=source, limits=DEFAULT_LIMITS, wants=[lane.want(None) for lane in schedule.lanes])
    schedule.run_pass(decode)
    assert decode.final is not None
    schedule.finish(DecodePass(source=source, go_on_from=decode.final).duration)
    schedule.stop()
    return shelf


def test_a_long_gap_never_holds_many_clips_open(
    make_video: Callable[..., Path], empty_room: Image, tmp_path: Path
) -> None:
    video = make_video("gap.mkv", [empty_room] * 4, times=[0.0, 1.0, 1500.0, 1501.0])
    stage = Counting()
    passed(video, tmp_path / "world", stage)
    assert stage.finished == list(range(51))
    assert stage.most_open <= 2


def test_a_clip_that_no_frame_reaches_is_not_made_again(
    make_video: Callable[..., Path], empty_room: Image, tmp_path: Path
) -> None:
    video = make_video("long_last.mkv", [empty_room] * 4, times=[0.0, 10.0, 20.0, 29.98])
    first, second = Counting(), Counting()
    assert passed(video, tmp_path / "world", first).written == 2
    again = passed(video, tmp_path / "world", second)
    assert (again.written, again.reused(2), second.finished) == (0, 2, [])

"""Which clips are opened, when they are closed, which are not made again, and what is left where a stage fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from world_api.build.checkpoint import RowStore
from world_api.build.stage import Clip, Records, Sampling, Stage, StageSpec, no_sound
from world_api.core import Image
from world_api.media.container import probe
from world_api.media.frames import Frame


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


RunStages = Callable[[Path, Sequence[Stage], RowStore], float]


def rows_in(folder: Path, video: Path) -> RowStore:
    return RowStore(folder, probe(video), {"counting": "key"}, reuse=True, audio=no_sound)


def test_a_long_gap_never_holds_many_clips_open(
    make_video: Callable[..., Path], empty_room: Image, tmp_path: Path, run_stages: RunStages
) -> None:
    video = make_video("gap.mkv", [empty_room] * 4, times=[0.0, 1.0, 1500.0, 1501.0])
    stage = Counting()
    run_stages(video, [stage], rows_in(tmp_path / "world", video))
    assert stage.finished == list(range(51))
    assert stage.most_open <= 2


def test_a_clip_that_no_frame_reaches_is_not_made_again(
    make_video: Callable[..., Path], empty_room: Image, tmp_path: Path, run_stages: RunStages
) -> None:
    video = make_video("long_last.mkv", [empty_room] * 4, times=[0.0, 10.0, 20.0, 29.98])
    first, second = Counting(), Counting()
    rows, again = rows_in(tmp_path / "world", video), rows_in(tmp_path / "world", video)
    run_stages(video, [first], rows)
    run_stages(video, [second], again)
    assert rows.written == 2
    assert (again.written, again.reused(2), second.finished) == (0, 2, [])


def test_a_stage_that_fails_ends_the_pass_though_more_frames_wait_for_it_than_there_is_room_for(
    make_video: Callable[..., Path], empty_room: Image, tmp_path: Path, run_stages: RunStages
) -> None:
    video = make_video("dense.mkv", [empty_room] * 120, times=[number / 100 for number in range(120)])
    with pytest.raises(ZeroDivisionError, match="early on"):
        run_stages(video, [Failing()], rows_in(tmp_path / "world", video))


class Watching(Counting):
    """A stage that remembers which frames it saw, and fails at one of them."""

    def __init__(self, name: str, table: str, *, fails_at: float = float("inf")) -> None:
        super().__init__()
        self.spec = StageSpec(name=name, version=1, tables=(table,), sampling=Sampling(fps=None, max_side=16))
        self.fails_at = fails_at
        self.seen: list[float] = []

    def open(self, clip: Clip) -> WatchingWorker:
        return WatchingWorker(self, clip.number)


class WatchingWorker(CountingWorker):
    stage: Watching

    def see(self, frame: Frame) -> None:
        if frame.time >= self.stage.fails_at:
            raise ZeroDivisionError("at work")
        self.stage.seen.append(round(frame.time, 3))


def test_a_failure_names_its_stage_and_what_was_stored_before_it_is_not_made_again(
    make_video: Callable[..., Path], empty_room: Image, tmp_path: Path, run_stages: RunStages
) -> None:
    video = make_video("long.mkv", [empty_room] * 40, times=[float(second) for second in range(40)])
    keys = {"steady": "one", "failing": "other"}

    def rows() -> RowStore:
        return RowStore(tmp_path / "world", probe(video), keys, reuse=True, audio=no_sound)

    steady = Watching("steady", "cuts")
    failing = Watching("failing", "looks", fails_at=33.0)
    with pytest.raises(ZeroDivisionError) as caught:
        run_stages(video, [steady, failing], rows())
    assert caught.value.__notes__ == ["raised by the stage 'failing'"]
    assert max(failing.seen) == 32.0
    assert rows().clips_of(failing) == {0}

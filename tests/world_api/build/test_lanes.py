"""Stages that share a thread: what one raises, and what the others keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.support.building import made_source
from world_api.build.media.frames import Frame
from world_api.build.running import lanes
from world_api.build.running.lanes import Keeper, Lane, Shown, WorkThread
from world_api.build.shelf import Shelf
from world_api.build.stage import Clip, Records, Sampling, StageSpec, Worker, no_sound

MakeFrames = Callable[..., list[Frame]]
SAMPLING = Sampling(fps=None, max_side=16)
KEYS = {"steady": "one", "failing": "other"}


class Watching:
    """A stage that remembers which frames it saw, and fails at one of them."""

    def __init__(self, name: str, table: str, *, fails_at: float = float("inf")) -> None:
        self.spec = StageSpec(name=name, version=1, tables=(table,), sampling=SAMPLING, quick=True)
        self.fails_at = fails_at
        self.seen: list[float] = []
        self.raised = 0

    def open(self, clip: Clip) -> Watching:
        return self

    def see(self, frame: Frame) -> None:
        if frame.time >= self.fails_at:
            self.raised += 1
            raise ZeroDivisionError("at work")
        self.seen.append(frame.time)

    def finish(self) -> Records:
        return {}


class Shared:
    """Two lanes on one thread, one of which fails half a minute in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.closed: list[tuple[str, int]] = []
        self.steady, self.failing = Watching("steady", "cuts"), Watching("failing", "looks", fails_at=33.0)
        shelf = self.shelf()
        self.keeper = Keeper(shelf, closed=lambda name, number: self.closed.append((name, number)))
        thread = WorkThread("quick stages")
        self.lanes = [
            Lane(stage, SAMPLING, shelf, thread=thread, keeper=self.keeper) for stage in (self.steady, self.failing)
        ]

    def shelf(self) -> Shelf:
        return Shelf(self.folder, made_source(), KEYS, reuse=True, hear=no_sound)

    def offer(self, frames: list[Frame]) -> None:
        for frame in frames:
            shown = Shown(frame, lanes=len(self.lanes))
            for lane in self.lanes:
                lane.offer(shown)


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Shared]:
    two = Shared(tmp_path)
    yield two
    for worker in (*two.lanes, two.keeper):
        worker.stop()


def failure_of(lane: Lane) -> BaseException:
    with pytest.raises(ZeroDivisionError) as caught:
        while not lane.check(patience=1.0):
            pass
    return caught.value


def test_a_failure_is_that_of_the_stage_which_failed_whoever_of_the_thread_is_asked(
    shared: Shared, make_frames: MakeFrames
) -> None:
    shared.offer(make_frames(lambda t: np.zeros((16, 16, 3), np.uint8), start=0, end=40, rate=1))
    told = [failure_of(lane) for lane in shared.lanes]
    assert told[0] is told[1]
    assert told[0].__notes__ == ["raised at work for the stage 'failing'"]
    assert shared.failing.raised == 1
    # The frame at which it failed was the other's before; nothing is shown to anybody after it.
    assert (max(shared.steady.seen), max(shared.failing.seen)) == (33.0, 32.0)


def test_what_was_stored_before_a_stage_failed_stays_and_is_not_made_again(
    shared: Shared, make_frames: MakeFrames
) -> None:
    shared.offer(make_frames(lambda t: np.zeros((16, 16, 3), np.uint8), start=0, end=40, rate=1))
    failure_of(shared.lanes[0])
    while not shared.keeper.check(patience=1.0):
        pass
    assert sorted(shared.closed) == [("failing", 0), ("steady", 0)]
    again = shared.shelf()
    assert again.clips_of(shared.steady) == again.clips_of(shared.failing) == {0}
    (want, _) = (lane.want(2) for lane in Shared(shared.folder).lanes)
    assert want.spans == ((30.0, 60.0),)


class LookingOn(Watching):
    """A stage that goes on looking at a frame until the next one is shown."""

    def show(self, workers: Sequence[Worker], frame: Frame) -> None:
        self.see(frame)

    def settle(self) -> None:
        return None


def test_a_frame_stays_while_a_stage_still_looks_at_it(
    tmp_path: Path, make_frames: MakeFrames, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_go: list[float] = []
    monkeypatch.setattr(lanes, "let_go", lambda frame: let_go.append(frame.time))
    shelf = Shelf(tmp_path, made_source(), KEYS, reuse=True, hear=no_sound)
    keeper, stage = Keeper(shelf, closed=lambda name, number: None), LookingOn("steady", "cuts")
    lane = Lane(stage, SAMPLING, shelf, thread=WorkThread("looking on"), keeper=keeper)
    frames = make_frames(lambda t: np.zeros((9, 16, 3), np.uint8), start=0, end=2)
    for number, frame in enumerate(frames, 1):
        lane.offer(Shown(frame, lanes=1))
        while not lane.check(patience=1.0):
            pass
        assert stage.seen == [frame.time for frame in frames[:number]]
        assert let_go == stage.seen[:-1]
    lane.end(2.0)
    while not lane.check(patience=1.0):
        pass
    assert let_go == stage.seen
    lane.stop()
    keeper.stop()

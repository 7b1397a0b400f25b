"""Running stages: one decode pass feeds all that look at frames; the others work on stored rows as these come in."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Protocol

from world_api.build.media.apart.passes import VideoPass, has_pixels, let_go
from world_api.build.media.frames import Frame
from world_api.build.running.lanes import Keeper, Lane, Shown, WorkThread
from world_api.build.shelf import Shelf
from world_api.build.stage import CLIP_SECONDS, Stage, clip_count

#: How long (seconds) to wait for a lane before looking after the others.
_TURN = 0.05


class Progress(Protocol):
    """Told how far each stage has got, for whoever shows it."""

    def update(self, stage: str, done: float, total: float) -> None:
        """A stage has worked through ``done`` of ``total`` seconds of video."""
        ...

    def say(self, text: str) -> None:
        """Something to tell in between: what is waited for, what was found."""
        ...


class Board:
    """Which clips of which stage have their rows stored; lanes write on it, and the schedule reads."""

    def __init__(self, stages: Sequence[Stage], shelf: Shelf) -> None:
        self._there = {stage.spec.name: shelf.clips_of(stage) for stage in stages}
        self._up_to = dict.fromkeys(self._there, 0)
        self._lock = Lock()

    def close(self, stage: str, number: int) -> None:
        """The rows of a clip are stored."""
        with self._lock:
            self._there[stage].add(number)

    def has(self, stage: str, number: int) -> bool:
        """Whether the rows of a clip are stored."""
        return number in self._there[stage]

    def up_to(self, stage: str) -> int:
        """How many clips from the first on are stored without a gap."""
        with self._lock:
            while self._up_to[stage] in self._there[stage]:
                self._up_to[stage] += 1
            return self._up_to[stage]


class Schedule:
    """The stages of one build at work: a lane for each that looks at frames, and a keeper that stores rows and works on them.

    ``expected`` is how many seconds the video is said to have; 0 where nobody says. ``clip_done`` is told how many clips
    from the first on all stages have stored. No thread starts before there is something to do; :meth:`stop` ends all.
    """

    def __init__(
        self,
        *,
        stages: Sequence[Stage],
        shelf: Shelf,
        progress: Progress,
        expected: float,
        clip_done: Callable[[int], None] = lambda count: None,
    ) -> None:
        self._stages = stages
        self._progress = progress
        self._expected = expected
        self._clip_done = clip_done
        self._board = Board(stages, shelf)
        self._keeper = Keeper(shelf, closed=self._board.close)
        quick = WorkThread("quick stages")
        self.lanes = [
            Lane(
                stage,
                stage.spec.sampling,
                shelf,
                thread=quick if stage.spec.quick else WorkThread(stage.spec.name),
                keeper=self._keeper,
            )
            for stage in stages
            if stage.spec.sampling is not None
        ]
        self._row_stages = [stage for stage in stages if stage.spec.sampling is None]
        self._workers: list[Lane | Keeper] = [*self.lanes, self._keeper]
        self._given = dict.fromkeys((stage.spec.name for stage in self._row_stages), 0)
        self._complete = 0

    def run_pass(self, decode: VideoPass) -> None:
        """Feed the frames of a pass to the lanes that want them.

        Raises:
            MediaFault: the file cannot be read any more.
        """
        wants = list(zip(self.lanes, decode.wants, strict=True))
        previous = decode.go_on_from.last_time if decode.go_on_from is not None else None
        for frame in decode:
            takers = [lane for lane, want in wants if want.takes(frame.time, previous)] if has_pixels(frame) else []
            self._show(frame, takers)
            self._see_to_failures()
            if previous is None or int(frame.time) > int(previous):
                self._look_after(None)
            previous = frame.time

    def finish(self, duration: float) -> None:
        """The video is over after so many seconds: wait until every clip of every stage is stored."""
        for lane in self.lanes:
            lane.end(duration)
        while not self._is_finished(duration):
            for worker in self._workers:
                if not worker.check(patience=_TURN):
                    break
            self._look_after(duration)
        self._look_after(duration)

    def stop(self) -> None:
        """Do nothing more; what is stored stays."""
        for worker in self._workers:
            worker.stop()

    def _show(self, frame: Frame, lanes: list[Lane]) -> None:
        if not lanes:
            let_go(frame)
            return
        shown = Shown(frame, lanes=len(lanes))
        for lane in lanes:
            lane.offer(shown)

    def _look_after(self, duration: float | None) -> None:
        """Give the row stages what they can work on, and tell how far all are."""
        self._see_to_failures()
        for stage in self._row_stages:
            self._give(stage, None if duration is None else clip_count(duration))
        self._tell(duration)
        complete = min((self._board.up_to(stage.spec.name) for stage in self._stages), default=0)
        if complete > self._complete:
            self._complete = complete
            self._clip_done(complete)

    def _see_to_failures(self) -> None:
        """Raise what a stage raised."""
        for worker in self._workers:
            worker.check()

    def _give(self, stage: Stage, clips: int | None) -> None:
        """Give the clips of a row stage that have become ready."""
        name = stage.spec.name
        ahead = math.ceil(stage.spec.rows_ahead / CLIP_SECONDS)
        ready = min((self._board.up_to(other) for other in self._before(stage)), default=clips or 0)
        while (number := self._given[name]) != clips:
            reach = number + ahead if clips is None else min(number + ahead, clips - 1)
            if reach >= ready:
                return
            self._given[name] += 1
            if not self._board.has(name, number):
                self._keeper.work(stage, number)

    def _before(self, stage: Stage) -> list[str]:
        """The stages whose rows must be there first: all that look at frames, and those it names."""
        return [lane.stage.spec.name for lane in self.lanes] + list(stage.spec.needs)

    def _is_finished(self, duration: float) -> bool:
        count = clip_count(duration)
        return all(self._board.up_to(stage.spec.name) >= count for stage in self._stages)

    def _tell(self, duration: float | None) -> None:
        for lane in self.lanes:
            done = lane.time if duration is None else min(lane.time, duration)
            self._progress.update(lane.stage.spec.name, done, self._total(done, duration))
        for stage in self._row_stages:
            done = self._board.up_to(stage.spec.name) * CLIP_SECONDS
            done = done if duration is None else min(done, duration)
            self._progress.update(stage.spec.name, done, self._total(done, duration))

    def _total(self, done: float, duration: float | None) -> float:
        """How much there is to do, as far as anybody knows; of a video that grows there is always more."""
        if duration is not None:
            return duration
        return max(done, self._expected) if self._expected else done + CLIP_SECONDS

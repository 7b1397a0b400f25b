"""Running the stages of a build: one decode pass feeds the frame stages; row stages work on rows as these are stored.

The decoder is a separate process, so the thread that receives frames runs the quick frame stages itself. Every other frame
stage has a thread, and the row stages share one. Memory is bounded by the decoder's slots in shared memory:
each frame that waits for a stage occupies one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import cv2

from world_api.build.checkpoint import RowStore
from world_api.build.stage import CLIP_SECONDS, FrameStage, Record, Records, RowStage, Stage, Worker, clip_count
from world_api.media.decoder import VideoPass
from world_api.media.frames import Frame, Want

#: Seconds between two progress reports while waiting for stages.
_TURN = 0.05


class Progress(Protocol):
    """Receives the progress of a build."""

    def update(self, stage: str, done: float, total: float) -> None:
        """Report that a stage has finished ``done`` of ``total`` seconds of video."""

    def say(self, text: str) -> None:
        """Report a message, such as what the build waits for."""


class StageRunner:
    """Runs a frame stage: a worker for each clip gets the frames of its window (the clip and seconds around it).

    Clips that are stored already are left out; the rows of the others are stored at the end of the window.
    """

    def __init__(self, stage: FrameStage, rows: RowStore) -> None:
        if stage.spec.sampling is None:
            raise TypeError(f"the stage {stage.spec.name!r} has neither a sampling nor a method make_rows")
        self.stage = stage
        self.name = stage.spec.name
        self.time = 0.0  #: time of the last frame that was processed, seconds
        self.executor = None if stage.spec.quick else ThreadPoolExecutor(1, thread_name_prefix=self.name)
        self._sampling = stage.spec.sampling
        self._rows = rows
        self._stored = rows.clips_of(stage)
        self._open: dict[int, Worker] = {}
        self._ended = defaultdict[int, list[Records]](list)  #: of open clips, the rows of the workers that a hole ended
        self._next = 0
        self._has_failed = False

    def want(self, clips: int | None) -> Want:
        """Return which frames are needed for clips not stored yet. ``clips``: the video's number of clips, None if unknown."""
        known = max(self._stored, default=-1) + 1 if clips is None else clips
        spans = [self._window(number) for number in range(known) if number not in self._stored]
        if clips is None:
            spans.append((self._window(known)[0], math.inf))
        return Want(fps=self._sampling.fps, spans=_merged(spans), picture=self._sampling.picture)

    def see(self, frame: Frame) -> None:
        """Process a frame and release it. Raises the stage's own exception; after one, frames are only released."""
        try:
            if not self._has_failed:
                self._feed(frame)
        except BaseException:
            self._has_failed = True
            raise
        finally:
            frame.release()

    def finish(self, duration: float) -> None:
        """Store the clips that are open at the end of the video (seconds); clips that begin after it are dropped."""
        if self._has_failed:
            return
        count = clip_count(duration)
        for number in list(self._open):
            if number < count:
                self._close(number)
        for number in range(self._next, count):
            if number not in self._stored:
                self._rows.add(self.stage, number, self.stage.open(self._rows.clip(number)).finish())
        self.time = duration

    def _feed(self, frame: Frame) -> None:
        """Give a frame to every worker whose window contains it."""
        if any(self.time < hole.start < frame.time for hole in self._rows.holes):
            # Its two sides must not be compared: the open workers end before the hole, and others begin after it.
            for number, worker in self._open.items():
                self._ended[number].append(worker.finish())
                self._open[number] = self.stage.open(replace(self._rows.clip(number), part=len(self._ended[number])))
        while self._window(self._next)[0] <= frame.time:
            if self._next not in self._stored:
                self._open[self._next] = self.stage.open(self._rows.clip(self._next))
            self._next += 1
            self._close_before(frame.time)  # one by one, so that a long gap never holds many open
        self._close_before(frame.time)
        for worker in self._open.values():
            worker.see(frame)
        self.time = frame.time

    def _close_before(self, time: float) -> None:
        for number in [number for number in self._open if time >= self._window(number)[1]]:
            self._close(number)

    def _close(self, number: int) -> None:
        rows = defaultdict[str, list[Record]](list)
        for part in [*self._ended.pop(number, ()), self._open.pop(number).finish()]:
            for table, records in part.items():
                rows[table] += records
        self._rows.add(self.stage, number, rows)

    def _window(self, number: int) -> tuple[float, float]:
        start = number * CLIP_SECONDS
        return start - self._sampling.warm_up, start + CLIP_SECONDS + self._sampling.look_ahead


@dataclass(kw_only=True, eq=False)
class Scheduler:
    """Runs the stages of one build.

    Args:
        rows: Where rows are stored and read.
        expected: The duration of the video in the header (seconds); 0 if unknown.
        clip_done: Called with the number of clips, from the first on, that all stages have stored.
    """

    stages: Sequence[Stage]
    rows: RowStore
    progress: Progress
    expected: float
    clip_done: Callable[[int], None] = lambda count: None

    def __post_init__(self) -> None:
        self._stored = {stage.spec.name: self.rows.clips_of(stage) for stage in self.stages}
        self._without_gap = dict.fromkeys(self._stored, 0)  #: number of clips stored from the first on
        self._frame_stages = [StageRunner(stage, self.rows) for stage in self.stages if not isinstance(stage, RowStage)]
        self._row_stages = [stage for stage in self.stages if isinstance(stage, RowStage)]
        self._row_executor = ThreadPoolExecutor(1, thread_name_prefix="rows")
        self._next = {stage.spec.name: 0 for stage in self._row_stages}  #: the next clip that each works on
        self._pending: list[Future[None]] = []  #: work that was submitted
        self._complete = 0

    def wants(self, clips: int | None) -> list[Want]:
        """Return which frames each frame stage needs; ``clips`` is the number of clips, None if unknown."""
        return [stage.want(clips) for stage in self._frame_stages]

    def run_pass(self, decode: VideoPass) -> None:
        """Give the frames of a pass to the stages that need them. ``decode.wants`` must be the result of :meth:`wants`.

        Raises:
            MediaFault: the file cannot be read any more.
        """
        previous = decode.resume_from.last_time if decode.resume_from is not None else None
        for frame in decode:
            stages = [self._frame_stages[place] for place in frame.wanted]
            self._show(
                frame, sorted(stages, key=lambda stage: stage.executor is None)
            )  # threads first: they work meanwhile
            if previous is None or int(frame.time) > int(previous):
                self._advance(None)
            previous = frame.time

    def finish(self, duration: float) -> None:
        """Wait until every clip of every stage is stored, up to the end of the video (seconds)."""
        for stage in self._frame_stages:
            self._submit(stage.executor, stage.name, partial(stage.finish, duration))
        while True:
            self._advance(duration)
            if all(self._up_to(stage.spec.name) >= clip_count(duration) for stage in self.stages):
                return
            wait(self._pending, timeout=_TURN, return_when=FIRST_COMPLETED)

    def stop(self) -> None:
        """Stop all threads and cancel waiting work; stored rows are kept."""
        for executor in [self._row_executor, *(stage.executor for stage in self._frame_stages)]:
            if executor is not None:
                executor.shutdown(cancel_futures=True)

    def _show(self, frame: Frame, stages: list[StageRunner]) -> None:
        if not stages:
            frame.release()
            return
        frame.hold(len(stages) - 1)
        for stage in stages:
            self._submit(stage.executor, stage.name, partial(stage.see, frame))

    def _submit(self, executor: Executor | None, name: str, work: Callable[[], None]) -> None:
        """Run work of the stage ``name`` on its thread, after the work submitted before; now if ``executor`` is None."""

        def named() -> None:
            try:
                work()
            except Exception as failure:
                failure.add_note(f"raised by the stage {name!r}")
                raise

        if executor is None:
            named()
        else:
            self._pending.append(executor.submit(named))

    def _check(self) -> None:
        """Raise the exception of a stage that has failed on its thread, if there is one."""
        done = [future for future in self._pending if future.done()]
        self._pending = [future for future in self._pending if future not in done]
        for future in done:
            future.result()

    def _up_to(self, name: str) -> int:
        """Return the number of clips that a stage has stored without a gap, from the first on."""
        while self._without_gap[name] in self._stored[name]:
            self._without_gap[name] += 1
        return self._without_gap[name]

    def _advance(self, duration: float | None) -> None:
        """Submit the clips that row stages can work on, and report progress. ``duration`` is None if unknown."""
        self._check()
        for stage in self._row_stages:
            self._submit_ready(stage, None if duration is None else clip_count(duration))
        self._report(duration)
        complete = min((self._up_to(stage.spec.name) for stage in self.stages), default=0)
        if complete > self._complete:
            self._complete = complete
            self.clip_done(complete)

    def _submit_ready(self, stage: RowStage, clips: int | None) -> None:
        """Submit the next clips of a row stage as soon as what it reads is stored; ``clips``: how many there are, None if unknown."""
        name, ahead = stage.spec.name, math.ceil(stage.spec.rows_ahead / CLIP_SECONDS)
        before = [*(frame_stage.name for frame_stage in self._frame_stages), *stage.spec.needs]
        ready = min((self._up_to(other) for other in before), default=clips or 0)
        while (number := self._next[name]) != clips:
            if (number + ahead if clips is None else min(number + ahead, clips - 1)) >= ready:
                return
            self._next[name] += 1
            if number not in self._stored[name]:
                self._submit(self._row_executor, name, partial(self._make_rows, stage, number))

    def _make_rows(self, stage: RowStage, number: int) -> None:
        self.rows.add(stage, number, stage.make_rows(self.rows.clip(number)))

    def _report(self, duration: float | None) -> None:
        done = {stage.name: stage.time for stage in self._frame_stages}
        done |= {stage.spec.name: self._up_to(stage.spec.name) * CLIP_SECONDS for stage in self._row_stages}
        for name, seconds in done.items():
            if duration is not None:
                self.progress.update(name, min(seconds, duration), duration)
            else:  # a growing video has no known end
                expected = max(seconds, self.expected) if self.expected else seconds + CLIP_SECONDS
                self.progress.update(name, seconds, expected)


def _merged(spans: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Merge spans that touch or overlap; they are in order of their start."""
    merged: list[tuple[float, float]] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


@contextmanager
def opencv_on_one_thread() -> Iterator[None]:
    """Let OpenCV use one thread inside the block: the stages have threads already, and their pictures are small.

    The setting is global to the process; the former value is restored afterwards.
    """
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(threads)

"""Lanes: each stage works clip after clip, those that take long on a thread of their own.

Quick stages share one thread, since handing a frame on takes longer than they look at it; and all rows are stored from one,
so that nobody waits for the disk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Event, Lock, Thread

from world_api.build.media.apart.passes import let_go
from world_api.build.media.frames import Frame
from world_api.build.media.wants import Want
from world_api.build.shelf import Shelf
from world_api.build.stage import LooksOn, Records, Sampling, ShowsTogether, Stage, Worker, clip_count, clip_span

Closed = Callable[[str, int], None]  #: told the name of a stage and a clip of which its rows are stored


class Shown:
    """A frame that several lanes look at; it is let go when the last one is done."""

    def __init__(self, frame: Frame, *, lanes: int) -> None:
        self.frame = frame
        self._left = lanes
        self._lock = Lock()

    def done(self) -> None:
        """One lane has seen it."""
        with self._lock:
            self._left -= 1
            is_last = self._left == 0
        if is_last:
            let_go(self.frame)


class WorkThread:
    """Does one thing after another, and nothing more once one has failed or it is told to stop.

    An executor would do, if it did not take longer over handing on a frame than some stages over looking at it.
    """

    def __init__(self, name: str) -> None:
        self._work: SimpleQueue[tuple[Callable[[], None], Callable[[], None], str] | None] = SimpleQueue()
        self._thread = Thread(target=self._do_all, name=name, daemon=True)
        self._lock = Lock()
        # Counted apart, each on one side: to agree on a number takes longer than to hand on a frame.
        self._given = self._done = 0
        self._reached = Event()  #: the mark that was given last, by whoever waits
        self._reached.set()
        self._failure: BaseException | None = None
        self._is_stopped = False

    def give(self, work: Callable[[], None], *, stage: str, instead: Callable[[], None] = lambda: None) -> None:
        """Something to do after what was given before; ``instead`` is done where nothing more is to be done.

        What it raises carries a note of the stage that it was for: others that share the thread raise it, too.
        """
        with self._lock:
            self._given += 1
            if self._thread.ident is None:
                self._thread.start()
        self._work.put((work, instead, stage))

    def check(self, *, patience: float = 0.0) -> bool:
        """Whether all is done by now; raises what the work raised."""
        if self._done < self._given and patience:
            if self._reached.is_set():  # or what was waited for before is still to come
                self._reached.clear()
                self.give(self._reached.set, stage="", instead=self._reached.set)
            self._reached.wait(patience)
        is_done = self._done >= self._given  # before the failure is asked for, which comes first
        if self._failure is not None:
            raise self._failure
        return is_done

    def stop(self) -> None:
        """Do nothing more, and wait for what is being done."""
        self._is_stopped = True
        self._work.put(None)
        if self._thread.ident is not None:
            self._thread.join()

    def _do_all(self) -> None:
        while (item := self._work.get()) is not None:
            work, instead, stage = item
            if self._is_stopped or self._failure is not None:
                instead()
            else:
                self._do(work, stage)
            self._done += 1

    def _do(self, work: Callable[[], None], stage: str) -> None:
        try:
            work()
        # Whatever it is, the thread that checks raises it.
        except BaseException as failure:  # noqa: BLE001 - see above
            failure.add_note(f"raised at work for the stage {stage!r}")
            self._failure = failure


class Keeper:
    """Stores the rows of clips, and works on those of the stages that need no frames, one after another."""

    def __init__(self, shelf: Shelf, *, closed: Closed) -> None:
        self._shelf = shelf
        self._closed = closed
        self._thread = WorkThread("rows")

    def keep(self, stage: Stage, number: int, rows: Records) -> None:
        """Store the rows of a clip, after what was given before."""
        self._thread.give(lambda: self._store(stage, number, rows), stage=stage.spec.name)

    def work(self, stage: Stage, number: int) -> None:
        """Work on a clip of a stage that needs no frames, after what was given before."""
        self._thread.give(
            lambda: self._store(stage, number, stage.open(self._shelf.clip(number)).finish()), stage=stage.spec.name
        )

    def check(self, *, patience: float = 0.0) -> bool:
        """Whether all is done by now, waiting so many seconds; raises what a stage or storing raised."""
        return self._thread.check(patience=patience)

    def stop(self) -> None:
        """Do nothing more."""
        self._thread.stop()

    def _store(self, stage: Stage, number: int, rows: Records) -> None:
        self._shelf.add(stage, number, rows)
        self._closed(stage.spec.name, number)


class Lane:
    """A stage in the decode pass: opens a worker for each clip whose window holds the frame, and closes it after."""

    def __init__(self, stage: Stage, sampling: Sampling, shelf: Shelf, *, thread: WorkThread, keeper: Keeper) -> None:
        self.stage = stage
        self.sampling = sampling
        self.time = 0.0
        self._shelf = shelf
        self._keeper = keeper
        self._there = shelf.clips_of(stage)
        self._open: dict[int, Worker] = {}
        self._next = 0
        self._opens_at, self._closes_at = self._window(0)[0], math.inf
        self._thread = thread
        # Found out once: to ask it of every frame takes longer than some stages look.
        self._show = stage.show if isinstance(stage, ShowsTogether) else _show_each
        self._looks_on = isinstance(stage, LooksOn)
        self._looked_at: Shown | None = None  #: the frame before, by a stage that looks on

    def want(self, clips: int | None) -> Want:
        """The frames it needs for the clips that are not there yet, of so many (None: nobody knows how many)."""
        known = max(self._there, default=-1) + 1 if clips is None else clips
        spans = [self._window(number) for number in range(known) if number not in self._there]
        if clips is None:
            spans.append((self._window(known)[0], math.inf))
        return Want(fps=self.sampling.fps, spans=_merged(spans), picture=self.sampling.picture)

    def offer(self, shown: Shown) -> None:
        """Queue a frame that it wants."""
        self._thread.give(lambda: self._see(shown), stage=self.stage.spec.name, instead=shown.done)

    def end(self, duration: float) -> None:
        """The video is over after so many seconds: close what is left; clips that it does not reach are dropped."""
        self._thread.give(lambda: self._finish(duration), stage=self.stage.spec.name)

    def check(self, *, patience: float = 0.0) -> bool:
        """Whether all is done by now, waiting so many seconds; raises what the stage raised."""
        return self._thread.check(patience=patience)

    def stop(self) -> None:
        """Do nothing more."""
        self._thread.stop()
        self._let_go()

    def _see(self, shown: Shown) -> None:
        done: Shown | None = shown
        if self._looks_on:
            done, self._looked_at = self._looked_at, shown
        try:
            self._feed(shown.frame)
        finally:
            if done is not None:
                done.done()

    def _feed(self, frame: Frame) -> None:
        """Give a frame to every worker whose window holds it."""
        while self._opens_at <= frame.time:
            if self._next not in self._there:
                self._open[self._next] = self.stage.open(self._shelf.clip(self._next))
            self._next += 1
            self._note_window()
            self._close_before(frame.time)  # one by one, so that a long gap never holds many open
        self._close_before(frame.time)
        self._show(list(self._open.values()), frame)
        self.time = frame.time

    def _let_go(self) -> None:
        """Nobody looks at the last frame any more."""
        if self._looked_at is not None:
            self._looked_at.done()
            self._looked_at = None

    def _note_window(self) -> None:
        """Note when the next clip opens and when the first open one closes: not worked out anew for each frame."""
        self._opens_at = self._window(self._next)[0]
        self._closes_at = min((self._window(number)[1] for number in self._open), default=math.inf)

    def _close_before(self, time: float) -> None:
        if time < self._closes_at:
            return
        for number in list(self._open):
            if time >= self._window(number)[1]:
                self._close(number)
        self._note_window()

    def _finish(self, duration: float) -> None:
        count = clip_count(duration)
        for number in list(self._open):
            if number < count:
                self._close(number)
        for number in range(self._next, count):
            if number not in self._there:
                self._store(number, self.stage.open(self._shelf.clip(number)))
        if isinstance(self.stage, LooksOn):
            self.stage.settle()
        self._let_go()
        self.time = duration

    def _close(self, number: int) -> None:
        self._store(number, self._open.pop(number))

    def _store(self, number: int, worker: Worker) -> None:
        self._keeper.keep(self.stage, number, worker.finish())

    def _window(self, number: int) -> tuple[float, float]:
        span = clip_span(number)
        return span.start - self.sampling.warm_up, span.end + self.sampling.look_ahead


def _show_each(workers: Sequence[Worker], frame: Frame) -> None:
    for worker in workers:
        worker.see(frame)


def _merged(spans: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Spans in order, those that touch as one."""
    merged: list[tuple[float, float]] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)

"""Running stages: all that look at frames in one decode pass, then those that work on stored rows."""

from __future__ import annotations

from typing import Protocol

from world_api.build.media.frames import DecodePass, Frame
from world_api.build.shelf import Shelf
from world_api.build.stage import Sampling, Stage, Worker, clip_count, clip_span


class Progress(Protocol):
    """Told how far each stage has got, for whoever shows it."""

    def update(self, stage: str, done: float, total: float) -> None:
        """A stage has worked through ``done`` of ``total`` seconds of video."""
        ...


class _Lane:
    """One stage in the decode pass: opens a worker for each clip whose window holds the frame, and closes it after."""

    def __init__(self, stage: Stage, sampling: Sampling, shelf: Shelf) -> None:
        self.stage = stage
        self._sampling = sampling
        self._shelf = shelf
        self._open: dict[int, Worker] = {}
        self._next = 0

    def feed(self, frame: Frame, previous: float | None) -> None:
        """Give a frame to every worker whose window holds it."""
        if not self._sampling.takes(frame.time, previous):
            return
        while clip_span(self._next).start - self._sampling.warm_up <= frame.time:
            if not self._shelf.has(self.stage, self._next):
                self._open[self._next] = self.stage.open(self._shelf.clip(self._next))
            self._next += 1
            self._close_before(frame.time)  # one by one, so that a long gap never holds many open
        self._close_before(frame.time)
        for worker in self._open.values():
            worker.see(frame)

    def _close_before(self, time: float) -> None:
        for number in list(self._open):
            if time >= clip_span(number).end + self._sampling.look_ahead:
                self._close(number)

    def end(self, duration: float) -> None:
        """The video is over: close what is left; clips that it does not reach are dropped."""
        count = clip_count(duration)
        for number in list(self._open):
            if number < count:
                self._close(number)
        for number in range(self._next, count):
            if not self._shelf.has(self.stage, number):
                self._shelf.add(self.stage, number, self.stage.open(self._shelf.clip(number)).finish())

    def _close(self, number: int) -> None:
        self._shelf.add(self.stage, number, self._open.pop(number).finish())


def run_pass(stages: list[Stage], decode: DecodePass, shelf: Shelf, progress: Progress) -> None:
    """Decode the video once and feed every stage that samples frames."""
    lanes = [_Lane(stage, stage.spec.sampling, shelf) for stage in stages if stage.spec.sampling is not None]
    expected = decode.source.declared_duration or 0.0
    previous: float | None = None
    for frame in decode:
        for lane in lanes:
            lane.feed(frame, previous)
        if previous is None or int(frame.time) > int(previous):
            for lane in lanes:
                progress.update(lane.stage.spec.name, frame.time, max(frame.time, expected))
        previous = frame.time
    for lane in lanes:
        lane.end(decode.duration)
        progress.update(lane.stage.spec.name, decode.duration, decode.duration)


def run_on_rows(stages: list[Stage], duration: float, shelf: Shelf, progress: Progress) -> None:
    """Run the stages that need no frames, in the order of the recipe, clip after clip."""
    for stage in stages:
        if stage.spec.sampling is not None:
            continue
        for number in range(clip_count(duration)):
            if not shelf.has(stage, number):
                shelf.add(stage, number, stage.open(shelf.clip(number)).finish())
            progress.update(stage.spec.name, min(duration, clip_span(number).end), duration)

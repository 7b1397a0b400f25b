"""Builds that are measured from inside."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from world_api.build.builder import Job, build_world
from world_api.build.stage import Clip, FrameStage, Recipe, Records, RowStage, Stage, StageSpec, Worker
from world_api.core.execution import SystemClock
from world_api.core.ports import Image, TextLine, TextReader
from world_api.core.spans import Box
from world_api.media.decoder import MediaWorker
from world_api.media.frames import Frame
from world_api.recipes import recipe_for

#: Left out of what is compared with a tool that only finds shots.
APART = ("screen_texts", "recognised_speech")

Figures = dict[str, float]


class Silent:
    """Progress that is not shown."""

    def update(self, stage: str, done: float, total: float) -> None:
        """Nothing to draw."""

    def say(self, text: str) -> None:
        """Nobody to tell."""


def _stages_of(recipe: Recipe, video: Path) -> Sequence[Stage]:
    with closing(MediaWorker()) as worker:
        return recipe.stages(video, worker)


def left_out(video: Path) -> list[str]:
    """The stages of the classical profile that are measured apart."""
    return [stage.spec.name for stage in _stages_of(recipe_for("classical"), video) if stage.spec.name in APART]


class _TimedWorker:
    """Counts the processor time that a worker takes."""

    def __init__(self, worker: Worker, name: str, taken: Counter[str]) -> None:
        self._worker, self._name, self._taken = worker, name, taken

    def see(self, frame: Frame) -> None:
        """Pass a frame on."""
        started = time.thread_time_ns()
        self._worker.see(frame)
        self._taken[self._name] += time.thread_time_ns() - started

    def finish(self) -> Records:
        """Pass the rows back."""
        started = time.thread_time_ns()
        rows = self._worker.finish()
        self._taken[self._name] += time.thread_time_ns() - started
        return rows


class _TimedFrameStage:
    """A stage whose workers are timed."""

    def __init__(self, stage: FrameStage, taken: Counter[str]) -> None:
        self._stage, self._taken = stage, taken

    @property
    def spec(self) -> StageSpec:
        """The stage's own."""
        return self._stage.spec

    def open(self, clip: Clip) -> Worker:
        """A timed worker."""
        return _TimedWorker(self._stage.open(clip), self.spec.name, self._taken)


class _TimedRowStage:
    """A stage on rows that is timed."""

    def __init__(self, stage: RowStage, taken: Counter[str]) -> None:
        self._stage, self._taken = stage, taken

    @property
    def spec(self) -> StageSpec:
        """The stage's own."""
        return self._stage.spec

    def make_rows(self, clip: Clip) -> Records:
        """Pass the rows back."""
        started = time.thread_time_ns()
        rows = self._stage.make_rows(clip)
        self._taken[self.spec.name] += time.thread_time_ns() - started
        return rows


def _timed(stage: Stage, taken: Counter[str]) -> Stage:
    return _TimedRowStage(stage, taken) if isinstance(stage, RowStage) else _TimedFrameStage(stage, taken)


def stages(video: Path) -> Figures:
    """The processor seconds of each stage of one build, and of the video under ``duration``.

    Pictures are converted once for all stages; who asks first pays.
    """
    taken: Counter[str] = Counter()
    recipe = recipe_for("classical", without=left_out(video))
    timed = Recipe(
        profile=recipe.profile,
        stages=lambda path, worker: [_timed(stage, taken) for stage in recipe.stages(path, worker)],
    )
    duration = _build(video, timed)
    return {"duration": duration} | {name: nanoseconds / 1e9 for name, nanoseconds in taken.items()}


class TimedReader:
    """Counts the frames that are read and how long (seconds on the clock) that takes, and glances alike."""

    def __init__(self, reader: TextReader) -> None:
        self._reader = reader
        self.producer = reader.producer
        self.frames, self.reading, self.glances, self.glancing = 0, 0.0, 0, 0.0

    def locate(self, image: Image) -> Sequence[Box]:
        """Pass on."""
        started = time.perf_counter()
        found = self._reader.locate(image)
        self.glances, self.glancing = self.glances + 1, self.glancing + time.perf_counter() - started
        return found

    def read(self, image: Image) -> Sequence[TextLine]:
        """Pass on."""
        started = time.perf_counter()
        found = self._reader.read(image)
        self.frames, self.reading = self.frames + 1, self.reading + time.perf_counter() - started
        return found


def screen_text(video: Path) -> Figures:
    """How many frames a build reads the screen in and glances at, and the seconds that takes."""
    from world_api.build import ScreenTexts
    from world_api.perception.classical import RapidOcrReader

    reader = TimedReader(RapidOcrReader())
    reader.locate(np.zeros((180, 320, 3), np.uint8))  # its models are loaded now
    reader.glances, reader.glancing = 0, 0.0
    duration = _build(video, Recipe(profile="classical", stages=lambda *_: [ScreenTexts(reader)]))
    return {
        "duration": duration,
        "frames": reader.frames,
        "reading": reader.reading,
        "glances": reader.glances,
        "glancing": reader.glancing,
    }


def _build(video: Path, recipe: Recipe) -> float:
    with tempfile.TemporaryDirectory() as store:
        report = build_world(
            Job(
                video=video, store=Path(store), name="measured", recipe=recipe, force=False, progress=Silent(),
                clock=SystemClock(),
            )
        )  # fmt: skip
    return report.duration

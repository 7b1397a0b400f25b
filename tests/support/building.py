"""What stands around a build in a test: who watches it, the clock it reads, what breaks it off, the video it is told of."""

from __future__ import annotations

import math
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from world_api.build import Clip, Stage, clip_span
from world_api.core import TimeSpan, hash_bytes
from world_api.core.files import file_lock
from world_api.media import Frame, Probe, Want
from world_api.world import rows_from_records


class Silent:
    """Progress nobody watches; no stage may have done more than there is."""

    def update(self, stage: str, done: float, total: float) -> None:
        assert 0 <= done <= total + 1e-6

    def say(self, text: str) -> None:
        """Nobody listens."""


def made_once(tmp_path_factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that all workers of a test run share, filled by the first one that needs it; only to be read."""
    root = tmp_path_factory.getbasetemp()
    folder = (root.parent if os.environ.get("PYTEST_XDIST_WORKER") else root) / name
    with file_lock(folder.with_suffix(".lock")):
        if not folder.exists():
            unfinished = folder.with_suffix(".unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            make(unfinished)
            unfinished.rename(folder)
    return folder


class Listener(Silent):
    """Progress that keeps what is said to it; ``spoke`` is set by the first words."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.spoke = threading.Event()

    def say(self, text: str) -> None:
        self.said.append(text)
        self.spoke.set()


class StandingClock:
    """A clock that stands still."""

    def now(self) -> str:
        return "2026-01-01T00:00:00+00:00"

    def monotonic(self) -> float:
        return 0.0


class Broken(Exception):
    """Stands for a power cut, or a fault of a stage."""


def made_source(
    *, start: float = 0.0, rate: float = 10.0, size: tuple[int, int] = (320, 180), has_audio: bool = False
) -> Probe:
    """What a stage is told of a video that there is not."""
    width, height = size
    return Probe(
        path=Path("made.mp4"), container="mp4", codec="h264", width=width, height=height, rotation=0, frame_rate=rate,
        start=start, declared_duration=None, has_audio=has_audio,
    )  # fmt: skip


def made_clip(
    number: int = 0, stored: Mapping[str, Sequence[dict[str, Any]]] | None = None, *, source: Probe | None = None
) -> Clip:
    """A clip as a stage sees it: with the rows that are stored, without sound, its images named by their content."""

    def read(table: str, span: TimeSpan) -> pa.Table:
        own = (stored or {}).get(table, [])
        return rows_from_records(table, [row for row in own if span.contains(row.get("time", row.get("start")))])

    return Clip(
        number=number, span=clip_span(number), source=source or made_source(), rows=read,
        keep_image=lambda jpeg: f"{hash_bytes(jpeg)}.jpg",
    )  # fmt: skip


def sampled_for(stage: Stage, frames: Iterable[Frame]) -> Iterator[Frame]:
    """Those frames that a stage is fed; none for one that looks at rows."""
    sampling, previous = stage.spec.sampling, None
    want = Want(fps=sampling.fps if sampling is not None else None, spans=((-math.inf, math.inf),))
    for frame in frames:
        if sampling is not None and want.takes(frame.time, previous):
            yield frame
        previous = frame.time

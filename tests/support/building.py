"""What stands around a build in a test: who watches it, the clock it reads, what breaks it off, the video it is told of."""

from __future__ import annotations

import math
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pytest

from world_api.build import Clip, Job, Recipe, Stage, Voices, clip_span
from world_api.core import SAMPLE_RATE, Samples, TimeSpan, Vectors, hash_bytes
from world_api.core.files import file_lock
from world_api.media import Frame, Probe, Want
from world_api.options import Listening
from world_api.recipes import recipe_for
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


# --- voices -----------------------------------------------------------------------------------------------------------


class LoudnessDetector:
    """Voice is whatever is louder than a tenth."""

    producer = "made/1"
    hang_over = 0.5

    def voiced(self, samples: Samples) -> Sequence[TimeSpan]:
        loud = np.concatenate([[0], (np.abs(samples) > 0.1).astype(np.int8), [0]])
        edges = np.flatnonzero(np.diff(loud)).reshape(-1, 2) / SAMPLE_RATE
        return [TimeSpan(start=float(a), end=float(b)) for a, b in edges]


PITCHES = (110, 170, 240, 330)


class Pitches:
    """Embeds the shares of four pitches in a sound. Remembers how much it was given."""

    producer = "pitches/1"
    sure, doubtful = 0.9, 0.5

    def embed(self, pieces: Sequence[Samples]) -> Vectors:
        found = np.zeros((len(pieces), len(PITCHES)), np.float32)
        for row, piece in enumerate(pieces):
            time = np.arange(len(piece)) / SAMPLE_RATE
            found[row] = [abs(np.sum(piece * np.exp(-2j * np.pi * pitch * time))) for pitch in PITCHES]
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return np.divide(found, lengths, out=np.zeros_like(found), where=lengths > 1e-6)


def talk(seconds: float, *turns: tuple[float, float, int]) -> Samples:
    """Silence, with voices: start, end, and which of the pitches."""
    made = np.zeros(round(seconds * SAMPLE_RATE), np.float32)
    for start, end, which in turns:
        first, last = round(start * SAMPLE_RATE), round(end * SAMPLE_RATE)
        time = np.arange(first, last) / SAMPLE_RATE
        made[first:last] = 0.2 * np.where(np.sin(2 * np.pi * PITCHES[which] * time) >= 0, 1, -1)
    return made


#: A conversation of four in 70 s: start, end, and which of the pitches.
CONVERSATION = (
    (1, 5, 0), (6.5, 10, 1), (12, 16, 0), (16, 20, 3), (23.5, 33, 1), (40, 44, 2), (50, 54, 1), (60, 64, 2),
)  # fmt: skip


def talking_film(path: Path, seconds: float = 70.0) -> Path:
    """A grey picture with the beginning of the conversation as its sound."""
    heard = talk(70, *CONVERSATION)[: round(seconds * SAMPLE_RATE)]
    with av.open(str(path), "w", format="matroska") as made:
        picture = made.add_stream("libx264", rate=5, options={"g": "25"})
        picture.width, picture.height, picture.pix_fmt = 64, 48, "yuv420p"
        sound = made.add_stream("pcm_s16le", rate=SAMPLE_RATE, layout="mono")
        step = SAMPLE_RATE // 5
        for number in range(math.ceil(seconds * 5)):
            frame = av.VideoFrame.from_ndarray(np.full((48, 64, 3), 90, np.uint8), format="bgr24")
            frame.pts = number
            made.mux(picture.encode(frame))
            part = (heard[None, number * step : (number + 1) * step] * 32767).astype(np.int16)
            samples = av.AudioFrame.from_ndarray(part, "s16", "mono")
            samples.sample_rate, samples.pts = SAMPLE_RATE, number * step
            made.mux(sound.encode(samples))
        made.mux(picture.encode())
        made.mux(sound.encode())
    return path


def voices_job(video: Path, store: Path) -> Job:
    """A build of scenes and voices, with an encoder that hears pitches."""
    without = ("screen_texts", "moving_things", "stitches", "look_links")
    plain = recipe_for("classical", Listening(speech="off", subtitles="none"), without=without)
    recipe = Recipe(
        profile="classical",
        stages=lambda path, worker: [*plain.stages(path, worker), Voices(Pitches(), LoudnessDetector())],
    )
    return Job(video=video, store=store, name="x", recipe=recipe, force=False, progress=Silent(), clock=StandingClock())

"""Stages: what preprocessing is made of.

A stage looks at a video in clips of thirty seconds. For each clip it opens a fresh worker, which is fed the frames of
the clip's window ``[start - warm_up, end + look_ahead)`` and gives back the rows of ``[start, end)`` alone. So the rows
of a clip depend on nothing but its window: a resumed build, a growing video and a batch build give the same rows. What
runs across a join is put together by later stages from stored rows, never by hidden state.

A stage without sampling is fed no frames; it works on the stored rows of the stages before it, or on files beside the
video. It may add rows about moments before its clip that become known in it (``known_at``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from world_api.build.code import hash_code
from world_api.build.media.frames import Frame, PixelFormat
from world_api.build.media.losses import LossNote
from world_api.build.media.probe import Probe
from world_api.core.canonical import content_hash
from world_api.core.ports import Samples
from world_api.core.spans import TimeSpan

if TYPE_CHECKING:
    import pyarrow as pa

CLIP_SECONDS = 30.0

#: What gives a stage its frames.
FRAME_MODULES = tuple(
    f"world_api.build.media.{name}"
    for name in ("opening", "probe", "frames", "decoding", "timeline", "wants", "child.slots")
)

Record = dict[str, Any]
Records = Mapping[str, list[Record]]  #: table name -> rows


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Which frames a stage is fed: the first in each step of ``1 / fps`` seconds (None: every frame).

    ``warm_up`` and ``look_ahead`` (seconds) are how much around each clip it is fed besides. ``max_side`` is the size in
    pixels the stage usually looks at, for the reader's information. With ``picture`` (longest side, pixel format) it looks
    at nothing else: that picture is then made where the frame is decoded, and the frame stays there. No other stage may
    ask for the same one, since scalers there and here may differ by a grey level.
    """

    fps: float | None
    max_side: int
    warm_up: float = 0.0
    look_ahead: float = 0.0
    picture: tuple[int, PixelFormat] | None = None


@dataclass(frozen=True, kw_only=True)
class StageSpec:
    """What a stage is. Whatever changes its rows stands in here, since its files are found by it."""

    name: str
    version: int
    tables: tuple[str, ...]
    sampling: Sampling | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()  #: names of the stages whose rows it reads
    #: For a stage without sampling: how far past the end of a clip (seconds) the rows reach that it reads.
    rows_ahead: float = 0.0
    #: Whether it reads the whole file, not frames or rows: of a video that grows it works on nothing before the end.
    whole_file: bool = False
    #: Whether it looks at a frame in less time than handing the frame to another thread takes: such stages share one.
    quick: bool = False
    libraries: tuple[str, ...] = ()  #: distributions whose version changes the rows
    #: Names of the modules whose code makes the rows; a package stands for all its modules.
    modules: tuple[str, ...] = ()

    @property
    def producer(self) -> str:
        """What the rows say made them."""
        return f"{self.name}/{self.version}"

    def key(self, *, source_hash: str, upstream: Mapping[str, str]) -> str:
        """The short hash that names the stage's files: everything its rows depend on."""
        from importlib.metadata import version  # takes as long to import as NumPy

        sampling = self.sampling
        facts = {
            "source": source_hash,
            "stage": self.producer,
            "clip_seconds": CLIP_SECONDS,
            "sampling": None
            if sampling is None
            else [sampling.fps, sampling.warm_up, sampling.look_ahead, sampling.picture],
            "parameters": dict(self.parameters),
            "libraries": {name: version(name) for name in self.libraries},
            "code": hash_code(self.modules if sampling is None else (*self.modules, *FRAME_MODULES)),
            "upstream": {name: upstream[name] for name in self.needs},
        }
        return content_hash(facts)[:16]


Hear = Callable[[TimeSpan], Samples]


def no_sound(_span: TimeSpan) -> Samples:
    """Of a video that is silent, or that nobody listens to."""
    return np.zeros(0, dtype=np.float32)


@dataclass(frozen=True, kw_only=True)
class Clip:
    """One clip as a stage sees it.

    ``rows(table, span)`` reads stored rows of earlier stages whose time lies in a span; ``keep_image`` stores an encoded
    JPEG and returns its path inside the world; ``audio(span)`` is the sound (mono, 16,000 samples a second, -1 to 1), empty
    where the video has none.
    """

    number: int
    span: TimeSpan
    source: Probe
    rows: Callable[[str, TimeSpan], pa.Table]
    keep_image: Callable[[bytes], str]
    audio: Hear = no_sound


class Worker(Protocol):
    """One stage at work on one clip."""

    def see(self, frame: Frame) -> None:
        """Take one sampled frame of the clip's window; frames come in time order."""
        ...

    def finish(self) -> Records:
        """The rows of the clip's own span, by table."""
        ...


class Stage(Protocol):
    """A part of preprocessing."""

    @property
    def spec(self) -> StageSpec:
        """What it is."""
        ...

    def open(self, clip: Clip) -> Worker:
        """A fresh worker for one clip; it must not share state with another."""
        ...


@runtime_checkable
class ShowsTogether(Protocol):
    """A stage that rather takes a frame for several of its workers at once."""

    def show(self, workers: Sequence[Worker], frame: Frame) -> None:
        """Give a frame to workers of this stage."""
        ...


@runtime_checkable
class LooksOn(Protocol):
    """A stage that shows frames together and goes on looking at one until the next is shown, or a clip is finished."""

    def settle(self) -> None:
        """Wait until no frame is looked at any more."""
        ...


@runtime_checkable
class TellsLosses(Protocol):
    """A stage that knows of something it could not take from its source."""

    @property
    def losses(self) -> Sequence[LossNote]:
        """What was lost."""
        ...


@runtime_checkable
class TellsLossesAtEnd(Protocol):
    """A stage that knows of something it could not take once it is known how long the video is."""

    def losses_at_end(self, *, start: float, duration: float) -> Sequence[LossNote]:
        """What was lost, of a video that begins at ``start`` on the file's own clock and is so long (seconds)."""
        ...


def losses_told_by(stages: Iterable[Stage]) -> list[LossNote]:
    """What the stages could not take from their sources."""
    return [loss for stage in stages if isinstance(stage, TellsLosses) for loss in stage.losses]


def losses_told_at_end(stages: Iterable[Stage], *, start: float, duration: float) -> list[LossNote]:
    """What the stages could not take, now that it is known how long the video is (seconds)."""
    telling = [stage for stage in stages if isinstance(stage, TellsLossesAtEnd)]
    return [loss for stage in telling for loss in stage.losses_at_end(start=start, duration=duration)]


def clip_span(number: int) -> TimeSpan:
    """The span of a clip; the last one is not shortened to the video's end."""
    return TimeSpan(start=number * CLIP_SECONDS, end=(number + 1) * CLIP_SECONDS)


def clip_count(duration: float) -> int:
    """How many clips a video of that many seconds has; at least one."""
    return max(1, math.ceil(duration / CLIP_SECONDS - 1e-9))

"""Stages: what preprocessing is made of.

A stage looks at a video in clips of thirty seconds. For each clip a frame stage opens a fresh worker, which is fed the frames of
the clip's window ``[start - warm_up, end + look_ahead)`` and gives back the rows of ``[start, end)`` alone. So the rows
of a clip depend on nothing but its window: a resumed build, a growing video and a batch build give the same rows. What
runs across a join is put together by later stages from stored rows, never by hidden state.

A row stage is fed no frames; it works on the stored rows of the stages before it, or on files beside the
video. It may add rows about moments before its clip that become known in it (``known_at``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from world_api.core.canonical import content_hash
from world_api.core.faults import BackendFault
from world_api.core.ports import Samples
from world_api.core.spans import TimeSpan
from world_api.media.container import Probe
from world_api.media.decode_pass import LossNote
from world_api.media.decoder import MediaWorker
from world_api.media.frames import Frame, PixelFormat

if TYPE_CHECKING:
    import pyarrow as pa

CLIP_SECONDS = 30.0

#: The modules that give a stage its frames.
FRAME_MODULES = tuple(f"world_api.media.{name}" for name in ("container", "frames", "decode_pass", "shared_memory"))

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
    #: Whether it looks at a frame in less time than handing the frame to another thread takes; others have a thread each.
    quick: bool = False
    libraries: tuple[str, ...] = ()  #: distributions whose version changes the rows
    #: Names of the modules whose code makes the rows.
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


class FrameStage(Protocol):
    """A part of preprocessing that looks at frames, as its ``spec.sampling`` says."""

    @property
    def spec(self) -> StageSpec:
        """What it is."""
        ...

    def open(self, clip: Clip) -> Worker:
        """A fresh worker for one clip; it must not share state with another."""
        ...


@runtime_checkable
class RowStage(Protocol):
    """A part of preprocessing that works on stored rows, on sound, or on files beside the video; it has no sampling."""

    @property
    def spec(self) -> StageSpec:
        """What it is."""
        ...

    def make_rows(self, clip: Clip) -> Records:
        """The rows of one clip, by table."""
        ...


Stage = FrameStage | RowStage


@runtime_checkable
class ShowsTogether(Protocol):
    """A stage that rather takes a frame for several of its workers at once."""

    def show(self, workers: Sequence[Worker], frame: Frame) -> None:
        """Give a frame to workers of this stage."""
        ...


@runtime_checkable
class TellsLosses(Protocol):
    """A stage that knows of something it could not take from its source."""

    def losses(self, *, start: float, duration: float) -> Sequence[LossNote]:
        """What was lost, of a video that begins at ``start`` on the file's own clock and is so long (seconds)."""
        ...


def clip_span(number: int) -> TimeSpan:
    """The span of a clip; the last one is not shortened to the video's end."""
    return TimeSpan(start=number * CLIP_SECONDS, end=(number + 1) * CLIP_SECONDS)


def clip_count(duration: float) -> int:
    """How many clips a video of that many seconds has; at least one."""
    return max(1, math.ceil(duration / CLIP_SECONDS - 1e-9))


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The stages a world is built with, in an order in which each finds the rows it needs.

    ``stages(video, worker)`` makes fresh stages for one video file, which the worker looks into; a row stage may add rows to
    the table of another. ``apart`` names the stages that may work in a process of their own, and the function
    (``module:function``) that makes each there.
    """

    profile: str
    stages: Callable[[Path, MediaWorker], Sequence[Stage]]
    apart: Mapping[str, str] = field(default_factory=dict)


def hash_code(modules: Iterable[str]) -> str:
    """SHA-256 over the source of modules by name.

    Raises:
        ModuleNotFoundError: for a name that is no module.
    """
    return content_hash({name: _hash_module(name) for name in sorted(set(modules))})


@cache
def _hash_module(name: str) -> str:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"there is no module {name}", name=name)
    # The same line ends on every machine.
    return sha256(Path(spec.origin).read_bytes().replace(b"\r\n", b"\n")).hexdigest()


def keys_of(stages: Sequence[Stage], source_hash: str) -> dict[str, str]:
    """The key of every stage's files: what the rows depend on, those of the stages before it included."""
    keys: dict[str, str] = {}
    for stage in stages:
        keys[stage.spec.name] = stage.spec.key(source_hash=source_hash, upstream=keys)
    return keys


def leave_out(stages: Sequence[Stage], names: Collection[str]) -> list[Stage]:
    """The stages that are not named.

    Raises:
        BackendFault: ``no_such_stage``, for a name that is none of them; ``stage_needed``, where one that stays reads
            the rows of one that goes.
    """
    known = [stage.spec.name for stage in stages]
    for name in names:
        if name not in known:
            raise BackendFault(
                "no_such_stage", f"there is no stage {name!r}", hint=f"the stages are {', '.join(known)}"
            )
    gone, reading = set(names), []
    for stage in stages:  # each reads the rows of those before it
        if stage.spec.name not in gone and (needed := gone.intersection(stage.spec.needs)):
            gone.add(stage.spec.name)
            reading.append((stage.spec.name, min(needed)))
    if reading:
        name, needed_name = reading[0]
        raise BackendFault(
            "stage_needed",
            f"the stage {name!r} works on the rows of {needed_name!r}",
            hint="leave out, too: " + ", ".join(repr(other) for other, _ in reading),
        )
    return [stage for stage in stages if stage.spec.name not in names]

"""Stages: the parts of a build that make rows.

A stage works in clips of thirty seconds. For each clip a frame stage opens a new worker, which gets the frames of the
clip's window ``[start - warm_up, end + look_ahead)`` and returns only the rows of ``[start, end)``. So the rows of a
clip depend only on its window: a resumed build, a growing video and a batch build give the same rows. Later stages join
tracks across clips from stored rows, never from hidden state.

Where frames could not be decoded (a hole), the frames on both sides are no neighbours: the worker ends before the hole as
at the end of a video, and another one of the same clip begins after it.

A row stage gets no frames; it works on the stored rows of the stages before it, or on files beside the video. It may
add rows about moments before its clip that become known in it (``known_at``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, runtime_checkable

from world_api.core.canonical import content_hash
from world_api.core.faults import BackendFault
from world_api.core.ports import Samples
from world_api.core.spans import Box, TimeSpan

if TYPE_CHECKING:
    import pyarrow as pa

    from world_api.media.container import Probe
    from world_api.media.decode_pass import LossNote
    from world_api.media.decoder import MediaWorker
    from world_api.media.frames import Frame, PixelFormat

CLIP_SECONDS = 30.0

#: The distributions that every stage may use.
_LIBRARIES = ("av", "numpy", "opencv-python-headless", "pyarrow")
#: The modules whose code, with what they import, decodes the frames of a stage.
FRAME_MODULES = ("world_api.media.decode_pass", "world_api.media.shared_memory")
#: An import at the left margin; imports for type checking, and those inside functions, are indented.
_IMPORT = re.compile(rb"^(?:from|import) (world_api\.(?:build|perception|media|core)\.\w+)", re.MULTILINE)

Record = dict[str, Any]
Records = Mapping[str, list[Record]]  #: table name -> rows


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Which frames a stage gets: the first in each step of ``1 / fps`` seconds (None: every frame).

    Attributes:
        max_side: The longest side in pixels of the pictures that the stage usually requests, for information.
        warm_up, look_ahead: Seconds before and after each clip whose frames the stage gets, too.
        picture: Longest side and pixel format of the only picture it requests. The decoding process then sends that
            picture, not the frame. No other stage may request the same: the two scalers may differ by a grey level.
    """

    fps: float | None
    max_side: int
    warm_up: float = 0.0
    look_ahead: float = 0.0
    picture: tuple[int, PixelFormat] | None = None


@dataclass(frozen=True, kw_only=True)
class StageSpec:
    """The description of a stage: all that its rows depend on. Files of rows are found by a hash of it.

    The hash includes the code of the stage, of ``modules`` and of the modules of this package that they import, and the
    versions of the usual libraries.

    Attributes:
        parameters: The choices of the caller.
        libraries: Further distributions whose version changes the rows.
        modules: The modules of its adapters.
    """

    name: str
    version: int
    tables: tuple[str, ...]
    sampling: Sampling | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()  #: names of the stages whose rows it reads
    #: For a stage without sampling: how far after the end of a clip (seconds) it reads rows.
    rows_ahead: float = 0.0
    #: Whether it reads the whole file instead of frames or rows: it waits for the end of a growing video.
    whole_file: bool = False
    #: Whether processing a frame takes less time than switching to another thread; all other frame stages have a thread each.
    quick: bool = False
    libraries: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()

    @property
    def producer(self) -> str:
        """The value of the rows' column ``producer``."""
        return f"{self.name}/{self.version}"

    def key(self, *, source_hash: str, upstream: Mapping[str, str]) -> str:
        """Return a short hash of everything the rows depend on, which is part of the names of the stage's files.

        ``upstream``: the keys of the stages before it, by name.
        """
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
            "libraries": {name: version(name) for name in (*_LIBRARIES, *self.libraries)},
            "code": hash_code(self.modules if sampling is None else (*self.modules, *FRAME_MODULES)),
            "upstream": {name: upstream[name] for name in self.needs},
        }
        return content_hash(facts)[:16]


Audio = Callable[[TimeSpan], Samples]


def no_sound(_span: TimeSpan) -> Samples:
    """Return no samples, for a video without sound or a build that does not use it."""
    import numpy as np

    return np.zeros(0, dtype=np.float32)


@dataclass(frozen=True, kw_only=True)
class Clip:
    """One clip and the data a stage can read.

    ``rows(table, span)`` reads stored rows of earlier stages whose time is in a span; ``keep_image`` stores an encoded JPEG and
    returns its path inside the world; ``audio(span)`` is the sound (mono, 16,000 samples a second, -1 to 1), empty if the video
    has none. ``holes`` (for row stages) are the parts of the video that were not decoded. ``part`` counts the workers of the
    clip before this one, each of which a hole has ended.
    """

    number: int
    span: TimeSpan
    source: Probe
    rows: Callable[[str, TimeSpan], pa.Table]
    keep_image: Callable[[bytes], str]
    audio: Audio = no_sound
    holes: Sequence[TimeSpan] = ()
    part: int = 0


class Worker(Protocol):
    """A stage's state for one clip."""

    def see(self, frame: Frame) -> None:
        """Process one sampled frame of the clip's window; frames come in time order."""

    def finish(self) -> Records:
        """Return the rows of the clip's own span, by table. The column ``producer`` is added when they are stored."""


class FrameStage(Protocol):
    """A stage that processes frames, those that ``spec.sampling`` selects."""

    @property
    def spec(self) -> StageSpec:
        """The description of the stage."""

    def open(self, clip: Clip) -> Worker:
        """Return a new worker for one clip; it must not share state with another."""


@runtime_checkable
class RowStage(Protocol):
    """A stage that works on stored rows, on sound, or on files beside the video; it has no sampling."""

    @property
    def spec(self) -> StageSpec:
        """The description of the stage."""

    def make_rows(self, clip: Clip) -> Records:
        """Return the rows of one clip, by table, as :meth:`Worker.finish` does."""


Stage = FrameStage | RowStage


@runtime_checkable
class ReportsLosses(Protocol):
    """A stage that reports what it could not read from its source."""

    def losses(self, *, start: float, duration: float) -> Sequence[LossNote]:
        """Return what was lost of a video that begins at ``start`` on the file's own clock (all times in seconds)."""


def box_of(row: Record) -> Box:
    """Return the box of a row with columns x1, y1, x2 and y2."""
    return Box(x1=row["x1"], y1=row["y1"], x2=row["x2"], y2=row["y2"])


def box_columns(box: Box) -> Record:
    """Return the columns x1, y1, x2 and y2 of a box, rounded to a tenth of a pixel."""
    return dict(zip(("x1", "y1", "x2", "y2"), box.rounded(), strict=True))


def clip_span(number: int) -> TimeSpan:
    """Return the span of a clip; the last one is not shortened to the video's end."""
    return TimeSpan(start=number * CLIP_SECONDS, end=(number + 1) * CLIP_SECONDS)


def clip_count(duration: float) -> int:
    """Return the number of clips of a video with this duration (seconds); at least one."""
    return max(1, math.ceil(duration / CLIP_SECONDS - 1e-9))


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How the worlds of a profile are built: by which stages, each after the stages whose rows it needs.

    ``stages(video, worker)`` returns new stages for one video file, which ``worker`` can decode; two stages may write
    rows of the same table. ``apart`` maps the names of stages that may run in a process of their own to the function
    (``module:function``) that creates the stage there.
    """

    profile: str
    stages: Callable[[Path, MediaWorker], Sequence[Stage]]
    apart: Mapping[str, str] = field(default_factory=dict)


def hash_code(modules: Iterable[str]) -> str:
    """Return the SHA-256 of the source of modules, and of all modules of build, perception, media and core they import.

    Raises:
        ModuleNotFoundError: there is no module of that name.
    """
    hashes: dict[str, str] = {}
    waiting = list(modules)
    while waiting:
        if (name := waiting.pop()) not in hashes:
            hashes[name], imported = _read_module(name)
            waiting.extend(imported)
    return content_hash(hashes)


@cache
def _read_module(name: str) -> tuple[str, tuple[str, ...]]:
    """Return the SHA-256 of a module's source, and the names of the modules of ``hash_code``'s packages that it imports."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"there is no module {name}", name=name)
    source = Path(spec.origin).read_bytes().replace(b"\r\n", b"\n")  # the same line ends on every machine
    return sha256(source).hexdigest(), tuple(found.decode() for found in _IMPORT.findall(source))


def keys_of(stages: Sequence[Stage], source_hash: str) -> dict[str, str]:
    """Return the key (``StageSpec.key``) of each stage, by name. It depends on the keys of the stages whose rows the stage reads."""
    keys: dict[str, str] = {}
    for stage in stages:
        spec = replace(stage.spec, modules=(type(stage).__module__, *stage.spec.modules))
        keys[spec.name] = spec.key(source_hash=source_hash, upstream=keys)
    return keys


T = TypeVar("T")


class EarlierRows(Generic[T]):
    """A cache of what a row stage reads from clips before the current one: stored rows do not change.

    Args:
        read: Reads rows of a span, in a form that the stage chooses.
    """

    def __init__(self, read: Callable[[Clip, TimeSpan], list[T]]) -> None:
        self._read = read
        self._end = 0.0
        self._found: list[T] = []

    def before(self, clip: Clip, *, oldest: float = 0.0) -> list[T]:
        """Return the items from ``oldest`` (seconds; must never decrease) to the start of the clip, maybe with older ones."""
        if clip.span.start < self._end:  # another pass
            self._end, self._found = 0.0, []
        begin = max(self._end, oldest)
        if begin < clip.span.start:
            self._found.extend(self._read(clip, TimeSpan(start=begin, end=clip.span.start)))
        self._end = clip.span.start
        return self._found


def leave_out(stages: Sequence[Stage], names: Collection[str], *, absent: Collection[str] = ()) -> list[Stage]:
    """Return the stages without those named.

    ``absent``: names of further stages that the profile has with other models or options; they may be named, too.

    Raises:
        BackendFault: ``no_such_stage`` for an unknown name; ``stage_needed`` if a remaining stage reads their rows.
    """
    known = list(dict.fromkeys([*(stage.spec.name for stage in stages), *absent]))
    if unknown := [name for name in names if name not in known]:
        hint = f"the stages are {', '.join(known)}"
        raise BackendFault("no_such_stage", f"there is no stage {unknown[0]!r}", hint=hint)
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

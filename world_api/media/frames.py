"""Frames of a video, pictures made of them on request, and a description of the frames that a stage wants."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock, get_ident
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from world_api.core.execution import OnceEach
from world_api.core.ports import Image
from world_api.media.container import quarter_turn

if TYPE_CHECKING:
    from av.filter import Graph
    from av.video.frame import VideoFrame
    from av.video.reformatter import VideoReformatter

T = TypeVar("T")
PixelFormat = Literal["bgr", "gray"]
#: Pictures no larger than this (longer side, pixels) are interpolated from neighbouring pixels instead of averaged over all:
#: that costs a third, and stages that compare colours need such a picture of every frame.
_QUICK_SIDE = 128
_AV_FORMATS = {"bgr": "bgr24", "gray": "gray"}


def _scaled(raw: VideoFrame, width: int, height: int, pixel_format: PixelFormat) -> Image:
    """Return the stored (not yet rotated) picture scaled to that size, as an array that shares no memory with the frame."""
    tables = _scaling_tables(get_ident(), width, height, pixel_format)
    interpolation = "FAST_BILINEAR" if max(width, height) <= _QUICK_SIDE else "AREA"
    # One thread: small pictures cost more to split than to scale, and the result is the same on every machine.
    scaled = tables.reformat(raw, width, height, _AV_FORMATS[pixel_format], interpolation=interpolation, threads=1)
    # A picture that needed no conversion shares its memory with the frame.
    return np.array(scaled.to_ndarray(), dtype=np.uint8, copy=scaled is raw or None)


@lru_cache(maxsize=64)
def _scaling_tables(_thread: int, _width: int, _height: int, _pixel_format: PixelFormat) -> VideoReformatter:
    """Return FFmpeg's scaling tables for one thread, size and format, cached: making them costs more than scaling."""
    from av.video.reformatter import VideoReformatter

    return VideoReformatter()


class Frame:
    """One presented frame. Pictures are made on request and kept by size and pixel format.

    A stage may request pictures only while it processes the frame: the memory of the pixels is reused. This class is a
    frame without pixels, which no stage wants; subclasses have pixels, in this process or in another one.

    Args:
        time: Project time in seconds.
        height: Rows of the stored picture in pixels.
        width: Columns of the stored picture in pixels.
        turn: The rotation to apply to it, counter-clockwise: 0, 90, 180 or 270 degrees.
    """

    wanted: Sequence[int] = ()  #: the places of those wants of a decode pass that take the frame

    def __init__(self, time: float, *, height: int = 0, width: int = 0, turn: int = 0) -> None:
        self.time = time
        self.turn = turn
        self.shape = (width, height) if turn in (90, 270) else (height, width)  #: of the displayed picture
        self._pictures: dict[tuple[int | None, PixelFormat], Image] = {}
        self._lock = Lock()
        self._derived: OnceEach[Callable[[Frame], Any], Any] = OnceEach()
        self._users = 1

    def picture(self, max_side: int | None = None, pixel_format: PixelFormat = "bgr") -> Image:
        """Return the displayed picture, its longer side at most ``max_side`` pixels (never enlarged).

        The array is height x width x 3 BGR, or height x width for ``gray``. Callers may keep it but must not write into
        it.

        Raises:
            RuntimeError: the frame has no pixels (any more).
        """
        key = (None if max_side is None or max_side >= max(self.shape) else max_side, pixel_format)
        with self._lock:
            if key not in self._pictures:
                self._pictures[key] = picture = self._convert(*key)
                picture.flags.writeable = False  # stages share it, as those in other processes share theirs
            return self._pictures[key]

    def derived(self, make: Callable[[Frame], T]) -> T:
        """Return the result of a function of this frame alone; it is computed once for all workers and threads."""
        found: T = self._derived.get(make, lambda: make(self))
        return found

    def video_frame(self) -> VideoFrame:
        """Return the stored (not yet rotated) picture; raises ``RuntimeError`` if the frame has no pixels."""
        raise RuntimeError("a picture was requested of a frame that no stage wanted")

    def kept(self) -> Frame:
        """Return the frame with its own memory for pixels, so that pictures can be requested later."""
        return self

    def hold(self, users: int = 1) -> None:
        """Add users to the one that a frame has at first; the memory is reused after the last one's :meth:`release`."""
        with self._lock:
            self._users += users

    def release(self) -> None:
        """End the use by one user. After the last one the memory is reused, and no further picture can be made."""
        with self._lock:
            self._users -= 1
            is_last = self._users == 0
        if is_last:
            self._free()

    def _free(self) -> None:
        """Give back the memory of the pixels."""

    def _convert(self, max_side: int | None, pixel_format: PixelFormat) -> Image:
        raw = self.video_frame()
        width, height = self.shape if self.turn in (90, 270) else self.shape[::-1]
        if max_side is not None:
            scale = max_side / max(width, height)
            width, height = max(2, round(width * scale)), max(2, round(height * scale))
        picture = _scaled(raw, width, height, pixel_format)
        return np.ascontiguousarray(np.rot90(picture, self.turn // 90)) if self.turn else picture


class DecodedFrame(Frame):
    """A frame that this process decoded, fitted into the video's size by ``fitter`` if one is given.

    ``turn`` is by default the frame's own.
    """

    def __init__(self, raw: VideoFrame, *, time: float, fitter: Fitter | None = None, turn: int | None = None) -> None:
        turn = quarter_turn(raw) if turn is None else turn
        self._fitter = None if fitter is None or fitter.fits(raw) else fitter
        width, height = (raw.width, raw.height) if self._fitter is None else self._fitter.stored_size(turn)
        super().__init__(time, height=height, width=width, turn=turn)
        self._raw = raw

    def video_frame(self) -> VideoFrame:
        """Return the stored (not yet rotated) picture, fitted into the video's size."""
        if self._fitter is not None:
            self._raw, self._fitter = self._fitter.fit(self._raw), None
        return self._raw


class Fitter:
    """Fits frames into the picture of their video, ``width`` x ``height`` pixels as displayed (those of its first frame).

    A frame of another size is scaled to the largest size that fits, with its proportions, and centred on black. So all frames
    of a video can be compared, and boxes are pixels of one displayed picture.
    """

    def __init__(self, width: int, height: int) -> None:
        self._size = width, height
        self._graph: tuple[tuple[int, int, str, int], Graph] | None = None  #: for frames like the last one

    def fits(self, raw: VideoFrame) -> bool:
        """Whether a stored (not yet rotated) frame has the video's size already."""
        return (raw.width, raw.height) == self.stored_size(quarter_turn(raw))

    def fit(self, raw: VideoFrame) -> VideoFrame:
        """Return a stored frame scaled into the video's size."""
        kind = raw.width, raw.height, raw.format.name, quarter_turn(raw)
        if self._graph is None or self._graph[0] != kind:
            self._graph = kind, _fitting(raw, *self.stored_size(kind[-1]))
        self._graph[1].push(raw)
        fitted: VideoFrame = self._graph[1].pull()  # type: ignore[assignment]  # a graph of pictures gives pictures
        return fitted

    def stored_size(self, turn: int) -> tuple[int, int]:
        """Return width and height of a frame before it is rotated by ``turn`` degrees for display."""
        width, height = self._size
        return (height, width) if turn in (90, 270) else (width, height)


def _fitting(raw: VideoFrame, width: int, height: int) -> Graph:
    """Return a filter graph that scales frames like this one into a size and fills the rest with black."""
    from fractions import Fraction

    from av.filter import Graph

    graph = Graph()
    source = graph.add_buffer(width=raw.width, height=raw.height, format=raw.format, time_base=Fraction(1, 1000))
    share = min(width / raw.width, height / raw.height)
    # Even sizes and places, since most formats keep colours for two by two pixels; at least as large as those.
    inner = [
        min(whole, max(2, round(side * share / 2) * 2)) for side, whole in ((raw.width, width), (raw.height, height))
    ]
    at = [(whole - side) // 4 * 2 for side, whole in zip(inner, (width, height), strict=True)]
    scale = graph.add("scale", f"{inner[0]}:{inner[1]}:flags=area")
    pad = graph.add("pad", f"{width}:{height}:{at[0]}:{at[1]}")
    sink = graph.add("buffersink")
    source.link_to(scale)
    scale.link_to(pad)
    pad.link_to(sink)
    graph.configure()
    return graph


@dataclass(frozen=True, kw_only=True)
class Want:
    """The frames that a stage wants: ``fps`` a second (None: all) inside ``spans`` (seconds, half-open, in order).

    With ``picture`` (longest side in pixels, pixel format) only that picture of each frame is needed.
    """

    fps: float | None
    spans: tuple[tuple[float, float], ...]
    picture: tuple[int, PixelFormat] | None = None

    def takes(self, time: float, previous: float | None) -> bool:
        """Whether a frame is wanted: it is in a span, and the first in its step of ``1 / fps`` seconds.

        ``previous``: time of the frame before; None if there is none.
        """
        # Called for every frame: a generator would cost more than the loop.
        for start, end in self.spans:
            if start <= time < end:
                if self.fps is None or previous is None:
                    return True
                return math.floor(time * self.fps + 1e-6) > math.floor(previous * self.fps + 1e-6)
        return False

    @classmethod
    def restored(cls, record: dict[str, Any]) -> Want:
        """Return the want from its ``asdict`` form, also after a conversion to JSON and back."""
        picture = record["picture"]
        return cls(fps=record["fps"], spans=tuple(map(tuple, record["spans"])), picture=picture and tuple(picture))

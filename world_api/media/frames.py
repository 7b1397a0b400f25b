"""Frames of a video, pictures made of them on request, and which frames a stage wants."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock, get_ident
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

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
#: Filter graphs that are kept, for the frame sizes seen last; each takes a mebibyte.
_KEPT_GRAPHS = 4
_AV_FORMATS = {"bgr": "bgr24", "gray": "gray"}


class Scaler:
    """Scales and converts frames. FFmpeg's tables are kept by size, format and thread: they cost more than the pixels."""

    def __init__(self) -> None:
        self._tables: dict[tuple[int, int, int, PixelFormat], VideoReformatter] = {}

    def convert(self, raw: VideoFrame, *, width: int, height: int, pixel_format: PixelFormat) -> Image:
        """The stored (not yet rotated) picture in that size."""
        key = (get_ident(), width, height, pixel_format)
        if (tables := self._tables.get(key)) is None:
            from av.video.reformatter import VideoReformatter

            tables = self._tables[key] = VideoReformatter()
        interpolation = "FAST_BILINEAR" if max(width, height) <= _QUICK_SIDE else "AREA"
        # One thread: small pictures cost more to split than to scale, and the result is the same on every machine.
        scaled = tables.reformat(raw, width, height, _AV_FORMATS[pixel_format], interpolation=interpolation, threads=1)
        # A picture that needed no conversion shares its memory with the frame.
        return np.array(scaled.to_ndarray(), dtype=np.uint8, copy=scaled is raw or None)


class Pixels(Protocol):
    """The pixels of one frame. ``turn`` is the rotation to apply, counter-clockwise: 0, 90, 180 or 270 degrees."""

    width: int
    height: int
    turn: int

    def video_frame(self) -> VideoFrame:
        """The stored (not yet rotated) picture."""

    def ready(self, max_side: int | None, pixel_format: PixelFormat) -> Image | None:
        """A displayed picture of that size and format, if the decoding process made one."""

    def kept(self) -> Pixels:
        """The same pixels in memory that is not reused."""


@dataclass(kw_only=True)
class DecodedPixels:
    """Pixels that a decoder in this process returned; ``fitter`` scales them to ``width`` x ``height`` if they have another size."""

    raw: VideoFrame
    width: int
    height: int
    turn: int
    fitter: Fitter | None = None

    def video_frame(self) -> VideoFrame:
        """The stored picture."""
        if self.fitter is not None:
            self.raw, self.fitter = self.fitter.fit(self.raw), None
        return self.raw

    def ready(self, max_side: int | None, pixel_format: PixelFormat) -> Image | None:
        """None: pictures are made on request."""
        return None

    def kept(self) -> Pixels:
        """Themselves: their memory is not reused."""
        return self


class Frame:
    """One presented frame. Pictures are made on request and kept by size and pixel format.

    A stage may request pictures only while it is shown the frame: the memory of the pixels is reused. ``pixels`` is None for a
    frame that no stage wants.
    """

    def __init__(self, pixels: Pixels | None, *, time: float, scaler: Scaler) -> None:
        self.time = time
        self._pixels = pixels
        self._scaler = scaler
        self._pictures: dict[tuple[int | None, PixelFormat], Image] = {}
        self._lock = Lock()
        self._derived: OnceEach[Callable[[Frame], Any], Any] = OnceEach()

    @property
    def has_pixels(self) -> bool:
        """Whether pictures of the frame can be made."""
        return self._pixels is not None

    @property
    def pixels(self) -> Pixels:
        """Its pixels.

        Raises:
            RuntimeError: it has none, since no stage wanted it.
        """
        if self._pixels is None:
            raise RuntimeError("a picture was requested of a frame that no stage wanted")
        return self._pixels

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the displayed picture in pixels."""
        height, width = self.pixels.height, self.pixels.width
        return (width, height) if self.pixels.turn in (90, 270) else (height, width)

    def picture(self, max_side: int | None = None, pixel_format: PixelFormat = "bgr") -> Image:
        """The displayed picture, its longer side at most ``max_side`` pixels (never enlarged).

        Returns height x width x 3 BGR, or height x width for ``gray``. Do not write into it; it may be kept.
        """
        key = self._key(max_side, pixel_format)
        with self._lock:
            if key not in self._pictures:
                self._pictures[key] = self._convert(*key)
            return self._pictures[key]

    def derived(self, make: Callable[[Frame], T]) -> T:
        """The result of a function of this frame alone; it is computed once for all workers and threads."""
        found: T = self._derived.get(make, lambda: make(self))
        return found

    def kept(self) -> Frame:
        """The same frame with pixels in memory of its own, for pictures that may be requested later."""
        return Frame(self.pixels.kept(), time=self.time, scaler=self._scaler)

    def _key(self, max_side: int | None, pixel_format: PixelFormat) -> tuple[int | None, PixelFormat]:
        longer = max(self.pixels.width, self.pixels.height)
        return (None if max_side is None or max_side >= longer else max_side, pixel_format)

    def _convert(self, max_side: int | None, pixel_format: PixelFormat) -> Image:
        if (made := self.pixels.ready(max_side, pixel_format)) is not None:
            return made
        width, height = self.pixels.width, self.pixels.height
        if max_side is not None:
            scale = max_side / max(width, height)
            width, height = max(2, round(width * scale)), max(2, round(height * scale))
        picture = self._scaler.convert(self.pixels.video_frame(), width=width, height=height, pixel_format=pixel_format)
        turns = self.pixels.turn // 90
        return np.ascontiguousarray(np.rot90(picture, turns)) if turns else picture


class Fitter:
    """Fits frames into the picture of their video, ``width`` x ``height`` pixels as displayed (those of its first frame).

    A frame of another size is scaled to the largest size that fits, with its proportions, and centred on black. So all frames
    of a video can be compared, and boxes are pixels of one displayed picture.
    """

    def __init__(self, width: int, height: int) -> None:
        self._size = width, height
        self._graphs: dict[tuple[int, int, str, int], Graph] = {}

    def fits(self, raw: VideoFrame) -> bool:
        """Whether a stored (not yet rotated) frame has the size already."""
        return (raw.width, raw.height) == self.stored_size(quarter_turn(raw))

    def fit(self, raw: VideoFrame) -> VideoFrame:
        """A stored frame in the video's size."""
        turn = quarter_turn(raw)
        key = raw.width, raw.height, raw.format.name, turn
        graph = self._graphs.pop(key, None) or _fitting(raw, *self.stored_size(turn))
        graph.push(raw)
        fitted: VideoFrame = graph.pull()  # type: ignore[assignment]  # a graph of pictures gives pictures
        self._graphs[key] = graph
        while len(self._graphs) > _KEPT_GRAPHS:
            self._graphs.pop(next(iter(self._graphs)))
        return fitted

    def stored_size(self, turn: int) -> tuple[int, int]:
        """Width and height of a frame before it is rotated by that many degrees for display."""
        width, height = self._size
        return (height, width) if turn in (90, 270) else (width, height)


def _fitting(raw: VideoFrame, width: int, height: int) -> Graph:
    """A filter graph that scales frames like this one into a size and fills the rest with black."""
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


def decoded_frame(raw: VideoFrame, *, time: float, scaler: Scaler, fitter: Fitter | None = None) -> Frame:
    """A frame that this process decoded, in the video's size if a ``fitter`` is given."""
    turn = quarter_turn(raw)
    fitter = None if fitter is None or fitter.fits(raw) else fitter
    width, height = (raw.width, raw.height) if fitter is None else fitter.stored_size(turn)
    pixels = DecodedPixels(raw=raw, width=width, height=height, turn=turn, fitter=fitter)
    return Frame(pixels, time=time, scaler=scaler)


@dataclass(frozen=True, kw_only=True)
class Want:
    """Frames at a rate (a second; None for every frame) inside spans of time (seconds, half-open, in order).

    With ``picture`` (longest side in pixels, pixel format) only that picture of each frame is needed.
    """

    fps: float | None
    spans: tuple[tuple[float, float], ...]
    picture: tuple[int, PixelFormat] | None = None

    def takes(self, time: float, previous: float | None) -> bool:
        """Whether a frame is wanted: it is in a span, and the first in its step of ``1 / fps`` seconds."""
        # Called for every frame: a generator would cost more than the loop.
        for start, end in self.spans:
            if start <= time < end:
                if self.fps is None or previous is None:
                    return True
                return math.floor(time * self.fps + 1e-6) > math.floor(previous * self.fps + 1e-6)
        return False

    def record(self) -> dict[str, Any]:
        """The JSON form; the end of an open span is None."""
        spans = [[start, end if math.isfinite(end) else None] for start, end in self.spans]
        return {"fps": self.fps, "spans": spans, "picture": self.picture}

    @classmethod
    def restored(cls, record: dict[str, Any]) -> Want:
        """The inverse of :meth:`record`."""
        spans = tuple((start, math.inf if end is None else end) for start, end in record["spans"])
        picture = record["picture"]
        return cls(fps=record["fps"], spans=spans, picture=None if picture is None else (picture[0], picture[1]))


def last_end(wants: Sequence[Want]) -> float:
    """The time (seconds) from which on no frame is wanted."""
    return max((span[1] for want in wants for span in want.spans), default=0.0)

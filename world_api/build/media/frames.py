"""The decode pass: every presented frame of a video once, in order, converted only where somebody looks at it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from world_api.build.media.probe import Probe, frame_time, open_video, quarter_turn, video_stream
from world_api.build.media.timeline import Timeline
from world_api.core.ports import Image

if TYPE_CHECKING:
    from av.packet import Packet
    from av.video.frame import VideoFrame
    from av.video.reformatter import VideoReformatter

PixelFormat = Literal["bgr", "gray"]
_AV_FORMATS = {"bgr": "bgr24", "gray": "gray"}
#: A video that ends this much (seconds) before its header says is called cut off.
_ENDS_EARLY = 1.0


class Scaler:
    """Scales and converts frames; keeps FFmpeg's tables per size and format, which cost more than the pixels."""

    def __init__(self) -> None:
        self._tables: dict[tuple[int, int, PixelFormat], VideoReformatter] = {}

    def convert(self, raw: VideoFrame, *, width: int, height: int, pixel_format: PixelFormat) -> Image:
        """The stored (not yet rotated) picture in that size."""
        from av.video.reformatter import VideoReformatter

        key = (width, height, pixel_format)
        if key not in self._tables:
            self._tables[key] = VideoReformatter()
        scaled = self._tables[key].reformat(raw, width, height, _AV_FORMATS[pixel_format], interpolation="AREA")
        return np.asarray(scaled.to_ndarray(), dtype=np.uint8)


class Frame:
    """One presented frame. Pictures are made when asked for and kept per size and pixel format."""

    def __init__(self, raw: VideoFrame, *, time: float, scaler: Scaler) -> None:
        self.time = time
        self._raw = raw
        self._scaler = scaler
        self._pictures: dict[tuple[int | None, PixelFormat], Image] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the displayed picture in pixels."""
        height, width = self._raw.height, self._raw.width
        return (width, height) if quarter_turn(self._raw) in (90, 270) else (height, width)

    def picture(self, max_side: int | None = None, pixel_format: PixelFormat = "bgr") -> Image:
        """The displayed picture, its longer side at most ``max_side`` pixels (never enlarged).

        Returns height x width x 3 BGR, or height x width for ``gray``. Do not write into it.
        """
        longer = max(self._raw.width, self._raw.height)
        key = (None if max_side is None or max_side >= longer else max_side, pixel_format)
        if key not in self._pictures:
            self._pictures[key] = self._convert(*key)
        return self._pictures[key]

    def _convert(self, max_side: int | None, pixel_format: PixelFormat) -> Image:
        width, height = self._raw.width, self._raw.height
        if max_side is not None:
            scale = max_side / max(width, height)
            width, height = max(2, round(width * scale)), max(2, round(height * scale))
        picture = self._scaler.convert(self._raw, width=width, height=height, pixel_format=pixel_format)
        turns = quarter_turn(self._raw) // 90
        return np.ascontiguousarray(np.rot90(picture, turns)) if turns else picture


@dataclass(kw_only=True)
class Damage:
    """What a pass could not decode: packets refused, frames marked corrupt, and between which times."""

    packets: int = 0
    frames: int = 0
    first: float | None = None
    last: float | None = None

    def note(self, time: float) -> None:
        """Widen the damaged stretch to hold a time."""
        self.first = time if self.first is None else min(self.first, time)
        self.last = time if self.last is None else max(self.last, time)


@dataclass(frozen=True, kw_only=True)
class LossNote:
    """Something of the source that was lost, and where (seconds)."""

    code: str
    message: str
    start_time: float | None = None
    end_time: float | None = None


@dataclass(kw_only=True)
class DecodePass:
    """Iterates the frames of a probed video once; afterwards knows its true length and what was lost.

    Frame times rise strictly; frames that come out of order or twice are left out, and where the file's clock leaps the
    time goes on from the last frame. Both are counted among the losses.
    """

    source: Probe
    frames: int = 0
    last_time: float = 0.0
    last_duration: float = 0.0
    damage: Damage = field(default_factory=Damage)
    timeline: Timeline = field(init=False)
    _scaler: Scaler = field(default_factory=Scaler)

    def __post_init__(self) -> None:
        self.timeline = Timeline(start=self.source.start)

    def __iter__(self) -> Iterator[Frame]:
        for raw in self._decoded():
            time = self._time_of(raw)
            if time is None:
                continue
            if raw.is_corrupt:
                self.damage.frames += 1
                self.damage.note(time)
            self._advance(raw, time)
            yield Frame(raw, time=self.last_time, scaler=self._scaler)

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the end of the last one."""
        return round(self.last_time + self.last_duration, 6)

    def losses(self) -> list[LossNote]:
        """What was lost, in plain words."""
        found = self._clock_losses()
        damage = self.damage
        if damage.packets or damage.frames:
            found.append(
                LossNote(
                    code="damaged_frames",
                    message=f"{damage.packets} packets could not be decoded and {damage.frames} frames are damaged",
                    start_time=_milliseconds(damage.first),
                    end_time=_milliseconds(damage.last),
                )
            )
        declared = self._declared_duration()
        if declared is not None and declared - self.duration > max(_ENDS_EARLY, 2 * self.last_duration):
            found.append(
                LossNote(
                    code="ends_early",
                    message=f"the file says {declared:.1f} s but its frames end at {self.duration:.1f} s",
                    start_time=_milliseconds(self.duration),
                    end_time=_milliseconds(declared),
                )
            )
        return found

    def _clock_losses(self) -> list[LossNote]:
        timeline, found = self.timeline, []
        if timeline.left_out:
            found.append(
                LossNote(
                    code="times_step_back",
                    message=f"{timeline.left_out} frames were left out: their times lie before those of earlier frames",
                    start_time=_milliseconds(timeline.first_left_out),
                )
            )
        if timeline.leaps:
            found.append(
                LossNote(
                    code="times_leap",
                    message=f"the file's clock leaps {timeline.leaps} times; the time was carried on from the last frame, so"
                    " subtitles may be off after the first leap, and so may single frames looked up in the file",
                    start_time=_milliseconds(timeline.first_leap),
                )
            )
        return found

    def _declared_duration(self) -> float | None:
        """What the header says, which means nothing where the clock leaps."""
        return None if self.timeline.leaps else self.source.declared_duration

    def _decoded(self) -> Iterator[VideoFrame]:
        import av

        with open_video(self.source.path) as container:
            stream = video_stream(container, self.source.path)
            packets = container.demux(stream)
            while True:
                try:
                    packet = next(packets)
                except StopIteration:
                    return
                except av.FFmpegError:
                    self._refuse()
                    return
                yield from self._decode(packet)

    def _decode(self, packet: Packet[Any]) -> Iterator[VideoFrame]:
        import av

        try:
            frames = packet.decode()
        except av.FFmpegError:
            self._refuse()
            return
        for frame in frames:
            if isinstance(frame, av.VideoFrame):
                yield frame

    def _refuse(self) -> None:
        self.damage.packets += 1
        self.damage.note(self.last_time)

    def _time_of(self, raw: VideoFrame) -> float | None:
        step = self.last_duration or 1 / max(self.source.frame_rate, 1.0)
        own = frame_time(raw) if raw.pts is not None else self._own_next_time(step)
        return self.timeline.place(own, step=step)

    def _own_next_time(self, step: float) -> float:
        """Where a frame without a time belongs, on the file's own clock."""
        return self.source.start - self.timeline.offset + (self.last_time + step if self.frames else 0.0)

    def _advance(self, raw: VideoFrame, time: float) -> None:
        shown = float(raw.duration * raw.time_base) if raw.duration and raw.time_base else 0.0
        if self.timeline.sound_step(shown):
            self.last_duration = shown
        elif self.source.frame_rate > 0:
            self.last_duration = 1 / self.source.frame_rate
        self.last_time = time
        self.frames += 1


def _milliseconds(time: float | None) -> float | None:
    return None if time is None else round(time, 3)

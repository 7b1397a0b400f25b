"""The decode pass: every presented frame of a video once, in order, and what was lost of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import IO, TYPE_CHECKING, Any

from world_api.media.container import (
    DEFAULT_LIMITS,
    Limits,
    Probe,
    decode_pictures,
    frame_time,
    in_seconds,
    open_video,
    quarter_turn,
    video_stream,
)
from world_api.media.frames import Fitter, Frame, Scaler, decoded_frame

if TYPE_CHECKING:
    from fractions import Fraction

    from av.container import InputContainer
    from av.packet import Packet
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

#: A clock that goes back by more than this (seconds) was started anew; by less, frames are out of order or there twice.
_STEP_BACK = 1.0
#: A frame so long (seconds) after the one before was not meant: no picture stands still that long.
_LEAP = 3600.0
_SAME = 1e-6


@dataclass(kw_only=True)
class Timeline:
    """Takes the frames' own times in order; afterwards knows how often the clock leapt, and what was left out.

    ``offset`` is what is added to the file's own times (seconds) at present; ``start`` is the first frame's own time.
    """

    start: float
    offset: float = 0.0
    left_out: int = 0
    leaps: int = 0
    first_leap: float | None = None
    first_left_out: float | None = None
    _last: float | None = None

    def place(self, own_time: float, *, step: float) -> float | None:
        """The project's time of the next frame, or None where the frame is to be left out.

        ``step`` is how long (seconds) the frame before is shown, for where the clock says nothing.
        """
        time = own_time - self.start + self.offset
        last = self._last
        if last is None:
            self._last = max(0.0, time)
            return self._last
        if time < last - _STEP_BACK or time > last + _LEAP:
            self.leaps += 1
            self.first_leap = last if self.first_leap is None else self.first_leap
            self.offset += last + step - time
            time = last + step
        if time <= last + _SAME:
            self.left_out += 1
            self.first_left_out = last if self.first_left_out is None else self.first_left_out
            return None
        self._last = time
        return time

    def record(self) -> dict[str, Any]:
        """Where it stands, as JSON can hold it."""
        return {
            "offset": self.offset, "left_out": self.left_out, "leaps": self.leaps, "first_leap": self.first_leap,
            "first_left_out": self.first_left_out, "last": self._last,
        }  # fmt: skip

    @classmethod
    def restored(cls, start: float, record: dict[str, Any]) -> Timeline:
        """One that stands where :meth:`record` was taken."""
        facts = {**record}
        last = facts.pop("last")
        return cls(start=start, _last=last, **facts)

    def sound_step(self, seconds: float) -> bool:
        """Whether a frame may be shown that long."""
        return 0.0 < seconds <= _LEAP


#: A video that ends this much (seconds) before its header says is called cut off.
_ENDS_EARLY = 1.0


@dataclass(kw_only=True)
class Damage:
    """What a pass could not decode: packets refused, frames marked corrupt, and between which times.

    ``resized`` counts frames of another size than the first (``size``: width and height of the first such), which were fitted
    into it, and tells between which times (seconds) they lie.
    """

    packets: int = 0
    frames: int = 0
    first: float | None = None
    last: float | None = None
    resized: int = 0
    size: tuple[int, int] = (0, 0)
    first_resized: float | None = None
    last_resized: float | None = None

    def note(self, time: float) -> None:
        """Widen the damaged stretch to hold a time."""
        self.first = time if self.first is None else min(self.first, time)
        self.last = time if self.last is None else max(self.last, time)

    def note_size(self, width: int, height: int, time: float) -> None:
        """Count a frame of another size (pixels as displayed)."""
        if not self.resized:
            self.size, self.first_resized = (width, height), time
        self.resized += 1
        self.last_resized = time


@dataclass(frozen=True, kw_only=True)
class LossNote:
    """Something of the source that was lost, and where (seconds)."""

    code: str
    message: str
    start_time: float | None = None
    end_time: float | None = None


def damage_losses(damage: Damage) -> list[LossNote]:
    """Frames and packets that were damaged."""
    if not (damage.packets or damage.frames):
        return []
    return [
        LossNote(
            code="damaged_frames",
            message=f"{damage.packets} packets could not be decoded and {damage.frames} frames are damaged",
            start_time=milliseconds(damage.first),
            end_time=milliseconds(damage.last),
        )
    ]


def size_losses(damage: Damage, width: int, height: int) -> list[LossNote]:
    """Frames whose size was not that of the first (``width`` x ``height``)."""
    if not damage.resized:
        return []
    return [
        LossNote(
            code="picture_size_changes",
            message=f"the picture changes its size from {width}x{height} to {damage.size[0]}x{damage.size[1]} pixels at"
            f" {damage.first_resized or 0.0:.1f} s; {damage.resized} frames of other sizes were scaled to fit {width}x{height},"
            " with black borders where their proportions differ, and boxes are pixels of that",
            start_time=milliseconds(damage.first_resized),
            end_time=milliseconds(damage.last_resized),
        )
    ]


def clock_losses(timeline: Timeline) -> list[LossNote]:
    """Frames out of order, and leaps of the file's clock."""
    found = []
    if timeline.left_out:
        found.append(
            LossNote(
                code="times_step_back",
                message=f"{timeline.left_out} frames were left out: their times lie before those of earlier frames",
                start_time=milliseconds(timeline.first_left_out),
            )
        )
    if timeline.leaps:
        found.append(
            LossNote(
                code="times_leap",
                message=f"the file's clock leaps {timeline.leaps} times; the time was carried on from the last frame, so"
                " subtitles may be off after the first leap, and so may single frames looked up in the file",
                start_time=milliseconds(timeline.first_leap),
            )
        )
    return found


def ending_losses(duration: float, declared: float | None, *, last_step: float) -> list[LossNote]:
    """Frames that end before the header says the video does."""
    if declared is None or declared - duration <= max(_ENDS_EARLY, 2 * last_step):
        return []
    return [
        LossNote(
            code="ends_early",
            message=f"the file says {declared:.1f} s but its frames end at {duration:.1f} s",
            start_time=milliseconds(duration),
            end_time=milliseconds(declared),
        )
    ]


def milliseconds(time: float | None) -> float | None:
    """A time as it is told."""
    return None if time is None else round(time, 3)


#: How far (seconds) before the place to go on a pass begins to decode.
_RUN_UP = 2.0


@dataclass(frozen=True, kw_only=True)
class PassState:
    """Where a pass stands after a frame. ``last_pts`` is that frame's own stamp, None where the file gives none."""

    frames: int
    last_time: float
    last_duration: float
    last_pts: int | None
    damage: dict[str, Any]
    timeline: dict[str, Any]

    @property
    def can_go_on(self) -> bool:
        """Whether the place can be found again in the file, with the same frames after it: all has been sound so far."""
        unsound = self.timeline["leaps"] or self.timeline["left_out"] or self.damage["packets"] or self.damage["frames"]
        return self.last_pts is not None and not unsound


class _LostPlace(Exception):
    """A pass did not find the frame after which it was to go on."""


@dataclass(kw_only=True)
class DecodePass:
    """Iterates the frames of a probed video once; afterwards knows its true length and what was lost.

    Frame times rise strictly; frames that come out of order or twice are left out, and where the file's clock leaps the
    time goes on from the last frame. Both are counted among the losses. Frames of another size than the source's are fitted
    into that and counted, too.

    ``go_on_from`` takes up a pass after the frame that a state names; where that frame is not found the pass begins
    anew. With ``leap`` (seconds) the pass goes on so long after it instead, past what could not be decoded. ``file`` is
    read in place of the path of ``source``.
    """

    source: Probe
    limits: Limits = DEFAULT_LIMITS
    go_on_from: PassState | None = None
    leap: float = 0.0
    file: IO[bytes] | None = None
    frames: int = 0
    last_time: float = 0.0
    last_duration: float = 0.0
    last_pts: int | None = None
    damage: Damage = field(default_factory=Damage)
    timeline: Timeline = field(init=False)
    _scaler: Scaler = field(default_factory=Scaler)
    _fitter: Fitter = field(init=False)
    _step: Fraction | None = None  #: of the stream's clock, in seconds

    def __post_init__(self) -> None:
        self.timeline = Timeline(start=self.source.start)
        self._fitter = Fitter(self.source.width, self.source.height)
        if self.go_on_from is not None:
            self._restore(self.go_on_from)

    def __iter__(self) -> Iterator[Frame]:
        try:
            yield from self._placed(self._decoded())
        except _LostPlace:
            self._begin_anew()
            yield from self._placed(self._decoded())

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the end of the last one."""
        return round(self.last_time + self.last_duration, 6)

    def losses(self) -> list[LossNote]:
        """What was lost, in plain words."""
        # What the header says means nothing where the clock leaps.
        declared = None if self.timeline.leaps else self.source.declared_duration
        return [
            *clock_losses(self.timeline),
            *damage_losses(self.damage),
            *size_losses(self.damage, self.source.width, self.source.height),
            *ending_losses(self.duration, declared, last_step=self.last_duration),
        ]

    def state(self) -> PassState:
        """Where the pass stands."""
        return PassState(
            frames=self.frames, last_time=self.last_time, last_duration=self.last_duration, last_pts=self.last_pts,
            damage=asdict(self.damage), timeline=self.timeline.record(),
        )  # fmt: skip

    def _restore(self, state: PassState) -> None:
        self.frames, self.last_time, self.last_duration = state.frames, state.last_time, state.last_duration
        self.last_pts, self.damage = state.last_pts, Damage(**state.damage)
        self.timeline = Timeline.restored(self.source.start, state.timeline)

    def _begin_anew(self) -> None:
        self.go_on_from = None
        self.frames, self.last_time, self.last_duration, self.last_pts = 0, 0.0, 0.0, None
        self.damage, self.timeline = Damage(), Timeline(start=self.source.start)

    def _placed(self, decoded: Iterator[VideoFrame]) -> Iterator[Frame]:
        for raw in decoded:
            time = self._time_of(raw)
            if time is None:
                continue
            if raw.is_corrupt:
                self.damage.frames += 1
                self.damage.note(time)
            self._advance(raw, time)
            if not self._fitter.fits(raw):
                turned = quarter_turn(raw) in (90, 270)
                size = (raw.height, raw.width) if turned else (raw.width, raw.height)
                self.damage.note_size(*size, self.last_time)
            yield decoded_frame(raw, time=self.last_time, scaler=self._scaler, fitter=self._fitter)

    def _decoded(self) -> Iterator[VideoFrame]:
        with open_video(self.source.path, limits=self.limits, file=self.file) as container:
            stream = video_stream(container, self.source.path, limits=self.limits)
            self._step = stream.time_base
            if self.go_on_from is None:
                yield from self._all(container, stream)
            elif self.leap:
                yield from self._beyond(container, stream)
            else:
                yield from self._after(container, stream, self.go_on_from)

    def _all(self, container: InputContainer, stream: VideoStream) -> Iterator[VideoFrame]:
        import av

        packets = container.demux(stream)
        while True:
            try:
                packet = next(packets)
            except StopIteration:
                return
            except av.FFmpegError:
                self._refuse()
                return
            for picture in self._decode(packet):
                if picture.width * picture.height <= self.limits.pixels:
                    yield picture
                else:
                    self._refuse()

    def _after(self, container: InputContainer, stream: VideoStream, state: PassState) -> Iterator[VideoFrame]:
        """The frames after one that is known by its stamp."""
        import av

        if not state.can_go_on or stream.time_base is None or state.last_pts is None:
            raise _LostPlace
        try:
            container.seek(max(0, state.last_pts - int(_RUN_UP / stream.time_base)), stream=stream, backward=True)
        except av.FFmpegError:
            raise _LostPlace from None
        decoded = self._all(container, stream)
        for raw in decoded:
            if raw.pts is not None and raw.pts >= state.last_pts:
                if raw.pts > state.last_pts:
                    raise _LostPlace
                break
        else:
            raise _LostPlace
        self.damage = Damage(**state.damage)  # what is met on the way to the place says nothing
        yield from decoded

    def _beyond(self, container: InputContainer, stream: VideoStream) -> Iterator[VideoFrame]:
        """The frames after a stretch that is left out."""
        import av

        target = self.last_time + self.leap
        if stream.time_base is not None:
            try:
                container.seek(int((self.source.start + target) / stream.time_base), stream=stream, backward=False)
            except av.FFmpegError:
                return
        for raw in self._all(container, stream):
            if raw.pts is not None and frame_time(raw) - self.source.start >= target:
                yield raw

    def _decode(self, packet: Packet[Any]) -> list[VideoFrame]:
        import av

        try:
            return decode_pictures(packet)
        except av.FFmpegError:
            self._refuse()
            return []

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
        shown = in_seconds(raw.duration, self._step) if self._step else 0.0
        if self.timeline.sound_step(shown):
            self.last_duration = shown
        elif self.source.frame_rate > 0:
            self.last_duration = 1 / self.source.frame_rate
        self.last_time, self.last_pts = time, raw.pts
        self.frames += 1

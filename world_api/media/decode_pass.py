"""The decode pass: every presented frame of a video once, in order, and what was lost of it."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from typing import IO, TYPE_CHECKING, Any

from world_api.media.container import (
    DEFAULT_LIMITS,
    Limits,
    Probe,
    decode_pictures,
    decoded,
    frame_time,
    open_video,
    quarter_turn,
    video_stream,
)
from world_api.media.frames import DecodedFrame, Fitter, Frame, Scaler

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

#: A clock that goes back by more than this (seconds) was restarted; by less, frames are out of order or repeated.
_STEP_BACK = 1.0
#: A frame this long (seconds) after the one before is a leap of the clock, and no frame is shown longer than this.
_LEAP = 3600.0
_SAME = 1e-6
#: A video whose frames end this much (seconds) before its header says is reported as cut off.
_ENDS_EARLY = 1.0
#: How far (seconds) before the frame to resume after decoding begins.
_RUN_UP = 2.0


@dataclass(kw_only=True)
class Timeline:
    """Maps the frames' own times to project times, and counts leaps of the file's clock and frames left out.

    ``offset`` (seconds) is added to the file's own times at present; ``start`` is the first frame's own time.
    """

    start: float
    offset: float = 0.0
    left_out: int = 0
    leaps: int = 0
    first_leap: float | None = None
    first_left_out: float | None = None
    last: float | None = None

    def place(self, own_time: float, *, step: float) -> float | None:
        """Return the project time of the next frame, or None if the frame must be left out.

        ``step`` is how long (seconds) the frame before is shown; it is used where the clock leaps.
        """
        time, last = own_time - self.start + self.offset, self.last
        if last is None:
            self.last = max(0.0, time)
            return self.last
        if time < last - _STEP_BACK or time > last + _LEAP:
            self.leaps += 1
            self.first_leap = last if self.first_leap is None else self.first_leap
            self.offset += last + step - time
            time = last + step
        if time <= last + _SAME:
            self.left_out += 1
            self.first_left_out = last if self.first_left_out is None else self.first_left_out
            return None
        self.last = time
        return time


@dataclass(kw_only=True)
class Damage:
    """What a pass could not decode: refused packets, frames marked corrupt, and the times (seconds) between which they are.

    ``resized`` counts frames of another size than the first frame, which were fitted into its size; ``size`` is the width and
    height of the first of them.
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
        """Widen the damaged span to include a time."""
        self.first = time if self.first is None else min(self.first, time)
        self.last = time if self.last is None else max(self.last, time)

    def note_size(self, raw: VideoFrame, time: float) -> None:
        """Count a frame of another size."""
        if not self.resized:
            turned = quarter_turn(raw) in (90, 270)
            self.size = (raw.height, raw.width) if turned else (raw.width, raw.height)
            self.first_resized = time
        self.resized += 1
        self.last_resized = time


@dataclass(kw_only=True)
class PassState:
    """The state of a pass after a frame. ``last_pts`` is that frame's own timestamp, None if the file gives none."""

    timeline: Timeline
    damage: Damage = field(default_factory=Damage)
    frames: int = 0
    last_time: float = 0.0
    last_duration: float = 0.0
    last_pts: int | None = None

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the end of the last one."""
        return round(self.last_time + self.last_duration, 6)

    @property
    def can_resume(self) -> bool:
        """Whether a pass can resume after this frame with the same frames as before: the file had no fault up to it."""
        faults = self.timeline.leaps or self.timeline.left_out or self.damage.packets or self.damage.frames
        return self.last_pts is not None and not faults

    def record(self) -> dict[str, Any]:
        """The JSON form."""
        return asdict(self)

    @classmethod
    def restored(cls, record: dict[str, Any]) -> PassState:
        """The inverse of :meth:`record`."""
        return cls(**{**record, "timeline": Timeline(**record["timeline"]), "damage": Damage(**record["damage"])})


@dataclass(frozen=True, kw_only=True)
class LossNote:
    """Something of the source that was lost, and where (seconds)."""

    code: str
    message: str
    start_time: float | None = None
    end_time: float | None = None


def loss(code: str, message: str, start: float | None = None, end: float | None = None) -> LossNote:
    """A loss whose times are rounded to milliseconds."""
    start, end = (None if time is None else round(time, 3) for time in (start, end))
    return LossNote(code=code, message=message, start_time=start, end_time=end)


def losses(source: Probe, state: PassState) -> list[LossNote]:
    """What a pass over a video lost up to its state."""
    timeline, damage, found = state.timeline, state.damage, []
    if timeline.left_out:
        message = f"{timeline.left_out} frames were left out: their times are before those of earlier frames"
        found.append(loss("times_step_back", message, timeline.first_left_out))
    if timeline.leaps:
        message = (
            f"the file's clock leaps {timeline.leaps} times; the time was carried on from the last frame, so"
            " subtitles may be off after the first leap, and so may single frames looked up in the file"
        )
        found.append(loss("times_leap", message, timeline.first_leap))
    if damage.packets or damage.frames:
        message = f"{damage.packets} packets could not be decoded and {damage.frames} frames are damaged"
        found.append(loss("damaged_frames", message, damage.first, damage.last))
    if damage.resized:
        size, other = f"{source.width}x{source.height}", "{}x{}".format(*damage.size)
        message = (
            f"the picture changes its size from {size} to {other} pixels at {damage.first_resized or 0.0:.1f} s;"
            f" {damage.resized} frames of other sizes were scaled to fit {size}, with black borders where their proportions"
            " differ, and boxes are pixels of that"
        )
        found.append(loss("picture_size_changes", message, damage.first_resized, damage.last_resized))
    # What the header says means nothing if the clock leaps.
    declared = None if timeline.leaps else source.declared_duration
    if declared is not None and declared - state.duration > max(_ENDS_EARLY, 2 * state.last_duration):
        message = f"the file says {declared:.1f} s but its frames end at {state.duration:.1f} s"
        found.append(loss("ends_early", message, state.duration, declared))
    return found


class _ResumeFailed(Exception):
    """The frame after which a pass was to resume was not found."""


@dataclass(kw_only=True)
class DecodePass:
    """Iterates the frames of a probed video once; afterwards ``state`` knows its true length and what was lost.

    Frame times rise strictly. Frames out of order or repeated are left out; if the file's clock leaps, time continues from the
    last frame. Frames of another size than the source's are fitted into it.

    Args:
        resume_from: Continue after the frame of this state. If that frame is not found, the pass starts at the beginning.
        skip: With ``resume_from``, continue this many seconds after its frame instead, past what could not be decoded.
        file: Read in place of the path of ``source``.
    """

    source: Probe
    limits: Limits = DEFAULT_LIMITS
    resume_from: PassState | None = None
    skip: float = 0.0
    file: IO[bytes] | None = None

    def __post_init__(self) -> None:
        self.state = deepcopy(self.resume_from) or PassState(timeline=Timeline(start=self.source.start))
        self._scaler = Scaler()
        self._fitter = Fitter(self.source.width, self.source.height)

    def __iter__(self) -> Iterator[Frame]:
        try:
            yield from self._frames()
        except _ResumeFailed:
            self.resume_from, self.state = None, PassState(timeline=Timeline(start=self.source.start))
            yield from self._frames()

    def _frames(self) -> Iterator[Frame]:
        state, rate = self.state, self.source.frame_rate
        with open_video(self.source.path, limits=self.limits, file=self.file) as container:
            stream = video_stream(container, self.source.path, limits=self.limits)
            tick = stream.time_base  #: of the stream's clock, in seconds
            if self.resume_from is None:
                frames = self._all(container, stream)
            elif self.skip:
                frames = self._beyond(container, stream)
            else:
                frames = self._after(container, stream, self.resume_from)
            for raw in frames:
                time = self._time_of(raw)
                if time is None:
                    continue
                if raw.is_corrupt:
                    state.damage.frames += 1
                    state.damage.note(time)
                # The same number as by fractions, which cost more than everything else that is done with a frame.
                shown = raw.duration * tick.numerator / tick.denominator if tick else 0.0
                if 0.0 < shown <= _LEAP:
                    state.last_duration = shown
                elif rate > 0:
                    state.last_duration = 1 / rate
                state.last_time, state.last_pts = time, raw.pts
                state.frames += 1
                if not self._fitter.fits(raw):
                    state.damage.note_size(raw, time)
                yield DecodedFrame(raw, time=time, scaler=self._scaler, fitter=self._fitter)

    def _all(self, container: InputContainer, stream: VideoStream) -> Iterator[VideoFrame]:
        for picture in decoded(container, stream, decode_pictures, refused=self._refuse):
            if picture.width * picture.height <= self.limits.pixels:
                yield picture
            else:
                self._refuse()

    def _after(self, container: InputContainer, stream: VideoStream, state: PassState) -> Iterator[VideoFrame]:
        """The frames after the one of a state, which is found by its timestamp."""
        import av

        if not state.can_resume or stream.time_base is None or state.last_pts is None:
            raise _ResumeFailed
        try:
            container.seek(max(0, state.last_pts - int(_RUN_UP / stream.time_base)), stream=stream, backward=True)
        except av.FFmpegError:
            raise _ResumeFailed from None
        frames = self._all(container, stream)
        found = next((raw.pts for raw in frames if raw.pts is not None and raw.pts >= state.last_pts), None)
        if found != state.last_pts:
            raise _ResumeFailed
        self.state.damage = deepcopy(state.damage)  # packets refused before that frame say nothing
        yield from frames

    def _beyond(self, container: InputContainer, stream: VideoStream) -> Iterator[VideoFrame]:
        """The frames after the seconds that are skipped."""
        import av

        target = self.state.last_time + self.skip
        if stream.time_base is not None:
            try:
                container.seek(int((self.source.start + target) / stream.time_base), stream=stream, backward=False)
            except av.FFmpegError:
                return
        for raw in self._all(container, stream):
            if raw.pts is not None and frame_time(raw) - self.source.start >= target:
                yield raw

    def _refuse(self) -> None:
        self.state.damage.packets += 1
        self.state.damage.note(self.state.last_time)

    def _time_of(self, raw: VideoFrame) -> float | None:
        state = self.state
        step = state.last_duration or 1 / max(self.source.frame_rate, 1.0)
        if raw.pts is not None:
            own = frame_time(raw)
        else:  # a frame without a time follows the one before
            own = self.source.start - state.timeline.offset + (state.last_time + step if state.frames else 0.0)
        return state.timeline.place(own, step=step)

"""The decode pass: every presented frame of a video once, in order, and a record of what was lost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import IO, TYPE_CHECKING, Any

from world_api.media.container import (
    DEFAULT_LIMITS,
    LONGEST_FRAME,
    SHORTEST_HOLE,
    Limits,
    Probe,
    decode_pictures,
    decoded,
    frame_time,
    open_video,
    packet_time,
    video_stream,
)
from world_api.media.frames import DecodedFrame, Fitter, Frame

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.packet import Packet
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

#: A clock that goes back by more than this (seconds) was restarted; by less, frames are out of order or repeated.
_STEP_BACK = 1.0
_SAME = 1e-6
#: Codes of losses: the frames end before the header says; the limit of hours has cut the video.
ENDS_EARLY, LONGER_THAN_LIMIT = "ends_early", "longer_than_limit"
#: A video whose frames end this much (seconds) before its header says is reported as cut off.
_ENDS_EARLY = 1.0
#: Decoding begins this long (seconds) before the frame after which a pass resumes.
_RUN_UP = 2.0


@dataclass(kw_only=True)
class Tally:
    """How often something happened, and when (seconds) first and last."""

    count: int = 0
    first: float = 0.0
    last: float = 0.0

    def add(self, time: float) -> None:
        """Count one more occurrence, at this time (seconds)."""
        self.first = min(self.first, time) if self.count else time
        self.last = max(self.last, time) if self.count else time
        self.count += 1

    def times(self) -> str:
        """Return when it happened, as a text: "at 3.0 s" or "from 3.0 s to 9.5 s"."""
        first, last = f"{self.first:.1f} s", f"{self.last:.1f} s"
        return f"at {first}" if first == last else f"from {first} to {last}"


@dataclass(kw_only=True)
class PassState:
    """The state of a pass after a frame: the project time, and what was lost so far.

    Attributes:
        start: The first frame's own time (seconds).
        offset: Seconds that are added to the file's own times at present.
        frames: The number of frames so far.
        last_time, last_duration: When the frame is shown, in project time, and for how long (seconds).
        last_pts: The frame's own timestamp, None if the file gives none.
        leaps, left_out: Leaps of the file's clock, and frames whose times are not after those of earlier ones.
        refused, corrupt: Packets that could not be decoded, at their own times, and frames marked corrupt.
        resized: Frames of another size than the first frame, which were fitted into its size.
        other_size: Width and height of the first of those.
    """

    start: float
    offset: float = 0.0
    frames: int = 0
    last_time: float = 0.0
    last_duration: float = 0.0
    last_pts: int | None = None
    leaps: Tally = field(default_factory=Tally)
    left_out: Tally = field(default_factory=Tally)
    refused: Tally = field(default_factory=Tally)
    corrupt: Tally = field(default_factory=Tally)
    resized: Tally = field(default_factory=Tally)
    other_size: tuple[int, int] = (0, 0)

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the end of the last one."""
        return round(self.last_time + self.last_duration, 6)

    @property
    def can_resume(self) -> bool:
        """Whether a pass can resume after this frame with the same frames as before: the file had no fault up to it."""
        faults = self.leaps.count or self.left_out.count or self.refused.count or self.corrupt.count
        return self.last_pts is not None and not faults

    @classmethod
    def restored(cls, record: dict[str, Any]) -> PassState:
        """Return the state from its ``asdict`` form, also from JSON."""
        fields: dict[str, Any] = {name: Tally(**v) if isinstance(v, dict) else v for name, v in record.items()}
        return cls(**fields)

    def place(self, own_time: float, *, step: float) -> bool:
        """Advance to the next frame, unless it must be left out; return whether it was placed.

        ``own_time``: the frame's time on the file's clock; ``step``: how long the frame before is shown, used if the
        clock leaps (seconds).
        """
        time, last = own_time - self.start + self.offset, self.last_time
        if not self.frames:
            time = max(0.0, time)
        elif time < last - _STEP_BACK or time > last + LONGEST_FRAME:
            self.leaps.add(last)
            self.offset += last + step - time
            time = last + step
        if self.frames and time <= last + _SAME:
            self.left_out.add(last)
            return False
        self.last_time = time
        self.frames += 1
        return True


@dataclass(frozen=True, kw_only=True)
class LossNote:
    """Something of the source that was lost: a code, a message, and its time range (seconds; None if unknown)."""

    code: str
    message: str
    start_time: float | None = None
    end_time: float | None = None

    @property
    def place(self) -> tuple[str, float | None, float | None]:
        """Code, start and end, by which notes are compared: the message may differ if the same part is lost again."""
        return self.code, self.start_time, self.end_time


def loss(code: str, message: str, start: float | None = None, end: float | None = None) -> LossNote:
    """Return a loss whose times are rounded to milliseconds."""
    start, end = (None if time is None else round(time, 3) for time in (start, end))
    return LossNote(code=code, message=message, start_time=start, end_time=end)


def losses(source: Probe, state: PassState) -> list[LossNote]:
    """Return what a pass has lost up to ``state``, one note for each kind of loss."""
    found = []
    if state.left_out.count:
        message = (
            f"frames left out, whose times are not after those of earlier frames: {state.left_out.count},"
            f" the first at {state.left_out.first:.1f} s"
        )
        found.append(loss("times_step_back", message, state.left_out.first))
    if state.leaps.count:
        message = (
            f"leaps of the file's clock: {state.leaps.count}, the first at {state.leaps.first:.1f} s; the time was carried"
            " on from the last frame, so subtitles may be off after the first leap, and so may single frames looked up in the file"
        )
        found.append(loss("times_leap", message, state.leaps.first))
    if damage := [tally for tally in (state.refused, state.corrupt) if tally.count]:
        both, end = Tally(), state.duration  # a damaged packet may have a time beyond the end
        for time in [time for tally in damage for time in (tally.first, tally.last)]:
            both.add(min(time, end))
        message = (
            f"packets that could not be decoded: {state.refused.count}, damaged frames: {state.corrupt.count},"
            f" {both.times()}"
        )
        found.append(loss("damaged_frames", message, both.first, both.last))
    if state.resized.count:
        size, other = f"{source.width}x{source.height}", "{}x{}".format(*state.other_size)
        message = (
            f"the picture changes its size from {size} to {other} pixels at {state.resized.first:.1f} s; frames of other"
            f" sizes ({state.resized.count}) were scaled to fit {size}, with black borders where their proportions"
            " differ, and boxes are pixels of that"
        )
        found.append(loss("picture_size_changes", message, state.resized.first, state.resized.last))
    # What the header says means nothing if the clock leaps.
    declared = None if state.leaps.count else source.declared_duration
    if declared is not None and declared - state.duration > max(_ENDS_EARLY, 2 * state.last_duration):
        message = f"the file says {declared:.1f} s but its frames end at {state.duration:.1f} s"
        found.append(loss(ENDS_EARLY, message, state.duration, declared))
    return found


class _ResumeFailed(Exception):
    """The frame after which a pass was to resume was not found."""


@dataclass(kw_only=True)
class DecodePass:
    """Iterates the frames of a probed video once; ``state`` then contains the true duration and what was lost.

    Frame times rise strictly. Frames out of order or repeated are left out; if the file's clock leaps, time continues
    from the last frame. Frames of another size than the source's are fitted into it.

    Args:
        resume_from: Continue after the frame of this state; if that frame is not found, start at the beginning.
        skip: With ``resume_from``, continue this many seconds after its frame, past what could not be decoded.
        file: Read in place of the path of ``source``.
        most: The video ends at this time at the latest (seconds); no frame at it or after it is given.
        is_cut: Afterwards, whether the video goes on after ``most``.
        last_end: Afterwards, if there was no frame after ``skip``, when the last packet of the file ends (seconds), if known.
        holes: Start and end (seconds) of the parts, up to the frame given last, of which no packet could be decoded, or all
            frames are marked corrupt.
    """

    source: Probe
    limits: Limits = DEFAULT_LIMITS
    resume_from: PassState | None = None
    skip: float = 0.0
    file: IO[bytes] | None = None
    most: float = math.inf
    is_cut: bool = field(default=False, init=False)
    last_end: float | None = field(default=None, init=False)
    holes: list[tuple[float, float]] = field(default_factory=list, init=False)
    _read: float = -math.inf  #: the time of the packet read last, on the file's clock
    _corrupt_since: float | None = field(
        default=None, init=False
    )  #: start of the first of the frames given last that are corrupt (seconds)
    _refused: list[float] = field(default_factory=list, init=False)  #: a heap of times that no frame has reached

    def __post_init__(self) -> None:
        self.state = deepcopy(self.resume_from) or PassState(start=self.source.start)
        self._fitter = Fitter(self.source.width, self.source.height)

    def __iter__(self) -> Iterator[Frame]:
        try:
            yield from self._frames()
        except _ResumeFailed:
            self.resume_from, self.state = None, PassState(start=self.source.start)
            self._refused, self.holes, self._corrupt_since = [], [], None
            yield from self._frames()

    def _frames(self) -> Iterator[Frame]:
        state = self.state
        with open_video(self.source.path, limits=self.limits, file=self.file) as container:
            stream = video_stream(container, self.source.path, limits=self.limits)
            tick = stream.time_base  #: of the stream's clock, in seconds
            if self.resume_from is None:
                frames = self._all(container, stream)
            elif self.skip:
                frames = self._beyond(container, stream)
            else:
                frames = self._after(container, stream, self.resume_from)
            is_given = not self.skip  #: else whether a frame came after what was skipped
            for raw in frames:
                before, ended = state.last_time if state.frames else -math.inf, state.duration
                if not self._place(raw):
                    continue
                time = state.last_time
                if time >= self.most:
                    state.last_time, state.frames, self.is_cut = max(0.0, before), state.frames - 1, True
                    self._end_in_hole(ended, self.most)
                    break
                is_given = True
                self._find_hole(before, ended, time)
                if raw.is_corrupt:
                    state.corrupt.add(time)
                    self._corrupt_since = time if self._corrupt_since is None else self._corrupt_since
                else:
                    self._end_corrupt(time)
                # The same number as by fractions, which cost more than everything else that is done with a frame.
                shown = raw.duration * tick.numerator / tick.denominator if tick else 0.0
                state.last_duration = self._shown(shown)
                state.last_pts = raw.pts
                if not self._fitter.fits(raw):
                    if not state.resized.count:
                        state.other_size = DecodedFrame(raw, time=time).shape[::-1]
                    state.resized.add(time)
                yield DecodedFrame(raw, time=time, fitter=self._fitter)
        self._end_corrupt(state.duration)
        declared = None if state.leaps.count or self.is_cut else self.source.declared_duration
        if declared is not None and is_given:
            end = min(state.refused.last + self.source.frame_seconds, declared, self.most)
            self.is_cut = self._end_in_hole(state.duration, end) and end == self.most < declared
        if state.duration > self.most:
            state.last_duration, self.is_cut = self.most - state.last_time, True

    def _all(self, container: InputContainer, stream: VideoStream) -> Iterator[VideoFrame]:
        def refuse(packet: Packet[Any] | None) -> None:
            self._refuse(None if packet is None else packet_time(packet))

        def decode(packet: Packet[Any]) -> list[VideoFrame]:
            if (time := packet_time(packet)) is not None:
                self._read = time
            return decode_pictures(packet)

        for picture in decoded(container, stream, decode, refused=refuse):
            if picture.width * picture.height <= self.limits.pixels:
                yield picture
            else:
                self._refuse(picture.time)

    def _after(self, container: InputContainer, stream: VideoStream, state: PassState) -> Iterator[VideoFrame]:
        """Yield the frames after the one of a state, which is found by its timestamp; else raise ``_ResumeFailed``."""
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
        self.state.refused, self._refused = Tally(), []  # packets refused before that frame say nothing
        yield from frames

    def _beyond(self, container: InputContainer, stream: VideoStream) -> Iterator[VideoFrame]:
        """Yield the frames from ``skip`` seconds after the last frame on."""
        import av

        target = self.state.last_time + self.skip
        frames = self._all(container, stream)
        if stream.time_base is not None:
            try:
                container.seek(int((self.source.start + target) / stream.time_base), stream=stream, backward=False)
            except av.FFmpegError:
                frames = iter(())
        is_beyond = False
        for raw in frames:
            if raw.pts is not None and frame_time(raw) - self.source.start >= target:
                if not is_beyond:
                    is_beyond, self._refused = True, []  # that part is left out anyhow
                yield raw
        if not is_beyond and self.file is None:  # one that grows would be waited for
            self.last_end = self._last_end(container, stream)

    def _last_end(self, container: InputContainer, stream: VideoStream) -> float | None:
        """Return when the last packet ends in project time (seconds), None if unknown; nothing is decoded.

        Beyond the last key frame there may be packets that no seek finds.
        """
        import av

        if stream.time_base is None:
            return None
        place = int((self.source.start + self.state.last_time) / stream.time_base)
        with suppress(av.FFmpegError):
            container.seek(place, stream=stream, backward=True)
        end, is_known = self.state.duration, False
        for packet in decoded(container, stream, lambda packet: [packet]):
            time = math.inf if packet.pts is None else float(packet.pts * stream.time_base) - self.source.start
            if time <= end + LONGEST_FRAME:  # else the clock leaps
                shown = float((packet.duration or 0) * stream.time_base)
                end, is_known = max(end, time + self._shown(shown)), True
        return round(end, 6) if is_known else None

    def _shown(self, seconds: float) -> float:
        """Return ``seconds``, for which the file shows a frame, or the time of one frame by the rate if they are impossible."""
        return seconds if 0.0 < seconds <= self.source.longest_frame else self.source.frame_seconds

    def _refuse(self, own_time: float | None) -> None:
        """Note that no frame came of a packet; ``own_time``: on the file's clock (seconds), None if not known."""
        state = self.state
        time = state.duration if own_time is None else max(0.0, own_time - state.start + state.offset)
        state.refused.add(time)
        heappush(self._refused, time)

    def _end_in_hole(self, ended: float, end: float) -> bool:
        """Note a hole from the end of the last frame to the end of the video (seconds) if :meth:`_find_hole` does; return whether.

        The state then ends at ``end``, since damage at its end makes the video no shorter.
        """
        state = self.state
        if not state.frames or not self._find_hole(state.last_time, ended, end):
            return False
        state.last_time = end - state.last_duration
        return True

    def _find_hole(self, before: float, ended: float, time: float) -> bool:
        """Note a hole up to a time (seconds), at which a frame or the end of the video is; return whether one was noted.

        It needs refused packets and more than a second since ``ended``. ``before``, ``ended``: begin and end of the last frame.
        """
        refused = before
        while self._refused and self._refused[0] < time:
            refused = heappop(self._refused)
        # Packets before the refused ones may be lost altogether, so the end of the last frame counts.
        if refused <= before or time - ended <= SHORTEST_HOLE:
            return False
        self.holes.append((round(ended, 3), round(time, 3)))
        return True

    def _end_corrupt(self, time: float) -> None:
        """Note a hole if all frames of more than a second up to a time (seconds) are corrupt: what they show was not seen."""
        since, self._corrupt_since = self._corrupt_since, None
        if since is not None and time - since > SHORTEST_HOLE:
            self.holes.append((round(since, 3), round(time, 3)))

    def _place(self, raw: VideoFrame) -> bool:
        """Advance the state to a frame, unless it must be left out; return whether it was placed."""
        state = self.state
        step = state.last_duration or self.source.frame_seconds
        if raw.pts is not None:
            own = frame_time(raw)
        else:  # a frame without a time follows the one before
            own = self.source.start - state.offset + (state.last_time + step if state.frames else 0.0)
        last = state.last_time + state.start - state.offset
        if state.refused.count and state.frames and own < last - _STEP_BACK and self._read >= last:
            # The clock was not set back: after damage the decoder gives a frame late that it held before.
            state.left_out.add(state.last_time)
            return False
        return state.place(own, step=step)

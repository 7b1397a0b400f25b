"""Finding the frame of one video that is on screen at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from world_api.core.faults import MediaFault
from world_api.core.ports import Image
from world_api.media.container import (
    DEFAULT_LIMITS,
    Limits,
    Probe,
    decode_pictures,
    frame_time,
    open_video,
    probe,
    video_stream,
)
from world_api.media.decode_pass import DecodePass, Timeline
from world_api.media.frames import Fitter, Frame, Scaler, decoded_frame

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.stream import VideoStream

#: How far before the wanted time (seconds) to look again when a seek landed behind it.
_BACK_OFF = (0.0, 2.0, 12.0)
_HALF_MILLISECOND = 5e-4
#: Seconds to the next wanted frame from which on seeking it costs less than decoding what lies between.
_WORTH_SEEKING = 5.0


class FrameFinder:
    """Frames of one video file by time. Opens the file at each call, so it holds nothing between calls."""

    def __init__(
        self, path: Path, *, limits: Limits = DEFAULT_LIMITS, alive: Callable[[], None] = lambda: None
    ) -> None:
        self._path = path
        self._limits = limits
        self._alive = alive
        self._probe: Probe | None = None
        self._clock_leaps = False
        self._scaler = Scaler()
        self._fitter: Fitter | None = None

    def pictures_played_at(self, times: Sequence[float], longest_side: int | None) -> list[Image]:
        """The frames on screen at several times in rising order, none larger than ``longest_side`` pixels; decoded in one go.

        The frame on screen is the last one whose presentation time is not after the time asked for; times before the first
        frame give the first one, times after the end the last one. A frame counts as begun half a millisecond early, since
        times leave the API rounded to milliseconds.

        Raises:
            MediaFault: ``source_missing``, ``undecodable``.
        """
        source = self._probed()
        found: dict[float, Image] = {}  #: by the time asked for
        for back_off in () if self._clock_leaps else _BACK_OFF:
            if missing := [seconds for seconds in times if seconds not in found]:
                found |= self._run_through(missing, source.start, back_off, longest_side)
        return [
            found[seconds] if seconds in found else self._reached(seconds).picture(longest_side) for seconds in times
        ]

    def _probed(self) -> Probe:
        if not self._path.is_file():
            raise MediaFault(
                "source_missing",
                f"the video file {self._path.name} is no longer where it was when the world was built",
                hint="put the file back, or build the world again",
            )
        if self._probe is None:
            self._probe = probe(self._path, limits=self._limits)
            self._fitter = Fitter(self._probe.width, self._probe.height)
            self._clock_leaps = self._has_leaps()
        return self._probe

    def _run_through(
        self, times: Sequence[float], start: float, back_off: float, longest_side: int | None
    ) -> dict[float, Image]:
        """The pictures that are found by seeking the first and decoding on; those that a seek lands behind are left out."""
        import av

        wanted = [max(0.0, seconds) + start + _HALF_MILLISECOND for seconds in times]
        found: dict[int, Image] = {}
        at = 0
        with open_video(self._path, limits=self._limits) as container:
            stream = video_stream(container, self._path, limits=self._limits)
            while at < len(wanted) and stream.time_base:
                try:
                    place = int(max(0.0, wanted[at] - back_off) / stream.time_base)
                    container.seek(place, stream=stream, backward=True)
                    reached = self._collect(container, stream, wanted, at, found, longest_side)
                except av.FFmpegError:
                    break
                at = max(at + 1, reached)
        return {times[number]: picture for number, picture in found.items()}

    def _collect(
        self,
        container: InputContainer,
        stream: VideoStream,
        wanted: Sequence[float],
        at: int,
        found: dict[int, Image],
        longest_side: int | None,
    ) -> int:
        """Decode on from here, keep the wanted pictures from ``at`` on; which one is to be sought next."""
        import av

        last: Frame | None = None
        for packet in container.demux(stream):
            self._alive()
            try:
                frames = decode_pictures(packet)
            except av.FFmpegError:
                continue
            for frame in frames:
                if frame.pts is None:
                    return len(wanted)  # without times of its own, a frame is found by going through the video
                time = frame_time(frame)
                while at < len(wanted) and time > wanted[at]:
                    if last is None:
                        return at  # the seek landed behind it
                    found[at] = last.picture(longest_side)
                    at += 1
                if at == len(wanted) or wanted[at] - time > _WORTH_SEEKING:
                    return at
                last = decoded_frame(frame, time=time, scaler=self._scaler, fitter=self._fitter)
        while last is not None and at < len(wanted):
            found[at] = last.picture(longest_side)
            at += 1
        return at

    def _reached(self, seconds: float) -> Frame:
        """The frame at a project time by going through the video as the build did; slow, and right whatever the clock."""
        found = None
        for frame in DecodePass(source=self._probed(), limits=self._limits):
            self._alive()
            if found is not None and frame.time > max(0.0, seconds) + _HALF_MILLISECOND:
                break
            found = frame
        if found is None:
            raise MediaFault(
                "undecodable",
                f"no frame of {self._path.name} can be decoded at {seconds:.3f} s",
                hint="try another time",
            )
        return found

    def _has_leaps(self) -> bool:
        """Whether the file's clock starts anew inside it, in formats made to be joined (transport streams and the like)."""
        import av
        from av.format import Flags

        with open_video(self._path, limits=self._limits) as container:
            if Flags.ts_discont not in Flags(container.format.flags):
                return False
            stream = video_stream(container, self._path, limits=self._limits)
            timeline = Timeline(start=0.0)
            try:
                for packet in container.demux(stream):
                    self._alive()
                    if packet.dts is not None and packet.time_base is not None:
                        timeline.place(float(packet.dts * packet.time_base), step=0.0)
            except av.FFmpegError:
                pass  # a damaged end: the clock up to there is known
            return timeline.leaps > 0

"""Finding the frame of one video that is on screen at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from world_api.core.faults import MediaFault
from world_api.core.ports import Image
from world_api.media.container import DEFAULT_LIMITS, Limits, Probe, open_video, probe, video_stream
from world_api.media.decode_pass import DecodePass, Timeline
from world_api.media.frames import Fitter, Frame, Scaler, decode_pictures, decoded_frame, frame_time

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

    def frame_played_at(self, seconds: float) -> Image:
        """The frame on screen at that time: the last one whose presentation time is not after it.

        Times before the first frame give the first one, times after the end the last one. A frame counts as
        begun half a millisecond early, since times leave the API rounded to milliseconds.

        Raises:
            MediaFault: ``source_missing``, ``undecodable``.
        """
        return self._frame_played_at(self._probed(), seconds).picture()

    def pictures_played_at(self, times: Sequence[float], longest_side: int | None) -> list[Image]:
        """The frames on screen at several times in rising order, none larger than ``longest_side``; decoded in one go.

        Raises:
            MediaFault: ``source_missing``, ``undecodable``.
        """
        source = self._probed()
        wanted = [max(0.0, seconds) + source.start + _HALF_MILLISECOND for seconds in times]
        found = {} if self._clock_leaps else self._run_through(wanted, longest_side)
        return [
            found[i] if i in found else self._frame_played_at(source, seconds).picture(longest_side)
            for i, seconds in enumerate(times)
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

    def _frame_played_at(self, source: Probe, seconds: float) -> Frame:
        if self._clock_leaps and (found := self._reached(source, max(0.0, seconds) + _HALF_MILLISECOND)) is not None:
            return found
        wanted = max(0.0, seconds) + source.start + _HALF_MILLISECOND
        for back_off in _BACK_OFF:
            if (found := self._last_not_after(wanted, seek_to=wanted - back_off)) is not None:
                return found
        if (found := self._last_not_after(wanted, seek_to=None)) is not None:
            return found
        # A bare stream has no times in it: its frames have those that the pass gave them.
        if (found := self._reached(source, max(0.0, seconds) + _HALF_MILLISECOND)) is not None:
            return found
        raise MediaFault(
            "undecodable", f"no frame of {self._path.name} can be decoded at {seconds:.3f} s", hint="try another time"
        )

    def _run_through(self, wanted: Sequence[float], longest_side: int | None) -> dict[int, Image]:
        """Those of the wanted pictures that are found by seeking the first and going on from it; others are left out."""
        import av

        found: dict[int, Image] = {}
        at = 0
        with open_video(self._path, limits=self._limits) as container:
            stream = video_stream(container, self._path, limits=self._limits)
            while at < len(wanted) and stream.time_base:
                try:
                    container.seek(int(max(0.0, wanted[at]) / stream.time_base), stream=stream, backward=True)
                    reached = self._collect(container, stream, wanted, at, found, longest_side)
                except av.FFmpegError:
                    break
                at = max(at + 1, reached)
        return found

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

    def _reached(self, source: Probe, wanted: float) -> Frame | None:
        """The frame at a project time by going through the video as the build did; slow, and right whatever the clock."""
        found = None
        for frame in DecodePass(source=source, limits=self._limits):
            self._alive()
            if found is not None and frame.time > wanted:
                break
            found = frame
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

    def _last_not_after(self, wanted: float, *, seek_to: float | None) -> Frame | None:
        import av

        found = None
        step = 1 / max(self._probe.frame_rate, 1.0) if self._probe is not None else 0.0
        with open_video(self._path, limits=self._limits) as container:
            stream = video_stream(container, self._path, limits=self._limits)
            try:
                if seek_to is not None and stream.time_base:
                    container.seek(int(max(0.0, seek_to) / stream.time_base), stream=stream, backward=True)
            except av.FFmpegError:
                return None
            for packet in container.demux(stream):
                try:
                    frames = decode_pictures(packet)
                except av.FFmpegError:
                    continue
                for frame in frames:
                    if frame.pts is None and found is None:
                        continue
                    time = frame_time(frame) if frame.pts is not None or found is None else found.time + step
                    if time > wanted:
                        return found
                    found = decoded_frame(frame, time=time, scaler=self._scaler, fitter=self._fitter)
        return found

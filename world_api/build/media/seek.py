"""Finding the frame of one video that is on screen at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from world_api.build.media.decoding import DecodePass
from world_api.build.media.frames import Frame, Scaler, decode_pictures, decoded_frame, frame_time
from world_api.build.media.limits import DEFAULT_LIMITS, Limits
from world_api.build.media.opening import open_video, video_stream
from world_api.build.media.probe import Probe, probe
from world_api.build.media.timeline import Timeline
from world_api.core.faults import MediaFault
from world_api.core.ports import Image

#: How far before the wanted time (seconds) to look again when a seek landed behind it.
_BACK_OFF = (0.0, 2.0, 12.0)
_HALF_MILLISECOND = 5e-4


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

    def frame_played_at(self, seconds: float) -> Image:
        """The frame on screen at that time: the last one whose presentation time is not after it.

        Times before the first frame give the first one, times after the end the last one. A frame counts as
        begun half a millisecond early, since times leave the API rounded to milliseconds.

        Raises:
            MediaFault: ``source_missing``, ``undecodable``.
        """
        if not self._path.is_file():
            raise MediaFault(
                "source_missing",
                f"the video file {self._path.name} is no longer where it was when the world was built",
                hint="put the file back, or build the world again",
            )
        if self._probe is None:
            self._probe = probe(self._path, limits=self._limits)
            self._clock_leaps = self._has_leaps()
        if (
            self._clock_leaps
            and (found := self._reached(self._probe, max(0.0, seconds) + _HALF_MILLISECOND)) is not None
        ):
            return found.picture()
        wanted = max(0.0, seconds) + self._probe.start + _HALF_MILLISECOND
        for back_off in _BACK_OFF:
            if (found := self._last_not_after(wanted, seek_to=wanted - back_off)) is not None:
                return found.picture()
        if (found := self._last_not_after(wanted, seek_to=None)) is not None:
            return found.picture()
        # A bare stream has no times in it: its frames have those that the pass gave them.
        if (found := self._reached(self._probe, max(0.0, seconds) + _HALF_MILLISECOND)) is not None:
            return found.picture()
        raise MediaFault(
            "undecodable", f"no frame of {self._path.name} can be decoded at {seconds:.3f} s", hint="try another time"
        )

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
                    found = decoded_frame(frame, time=time, scaler=self._scaler)
        return found

"""What a file is before it is decoded: facts, or the named reason why it is no video."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from world_api.build.media.frames import decode_pictures, frame_time, quarter_turn
from world_api.build.media.limits import DEFAULT_LIMITS, Limits
from world_api.build.media.opening import check_pixels, not_a_video, open_video, video_stream

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A video file as its header and its first frame describe it.

    ``start`` is the presentation time (seconds) of the first frame on the file's own clock; project time is that
    clock less ``start``. ``width`` and ``height`` are pixels of the displayed frame, after ``rotation`` (degrees
    counter-clockwise). ``declared_duration`` is what the header says, in seconds, if it says so.
    """

    path: Path
    container: str
    codec: str
    width: int
    height: int
    rotation: int
    frame_rate: float
    start: float
    declared_duration: float | None
    has_audio: bool

    def record(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {**asdict(self), "path": str(self.path)}

    @classmethod
    def restored(cls, record: dict[str, Any]) -> Probe:
        """The inverse of :meth:`record`."""
        return cls(**{**record, "path": Path(record["path"])})


def probe(path: Path, *, limits: Limits = DEFAULT_LIMITS, file: IO[bytes] | None = None) -> Probe:
    """Open a file, decode one frame and describe it. ``file`` is read in place of the path.

    Raises:
        MediaFault: ``no_such_file``, ``is_a_folder``, ``not_a_file``, ``not_readable``, ``empty_file``, ``not_a_video``,
            ``no_video_stream``, ``too_many_pixels``, ``too_many_streams``.
    """
    with open_video(path, limits=limits, file=file) as container:
        stream = video_stream(container, path, limits=limits)
        frame = _first_frame(container, stream, path)
        check_pixels(frame.width, frame.height, path, limits)
        rotation = quarter_turn(frame)
        turned = rotation in (90, 270)
        return Probe(
            path=path,
            container=container.format.name,
            codec=stream.codec_context.name,
            width=frame.height if turned else frame.width,
            height=frame.width if turned else frame.height,
            rotation=rotation,
            frame_rate=_frame_rate(stream),
            start=frame_time(frame),
            declared_duration=_declared_duration(container, stream),
            has_audio=bool(container.streams.audio),
        )


def _first_frame(container: InputContainer, stream: VideoStream, path: Path) -> VideoFrame:
    import av

    packets = container.demux(stream)
    while True:
        try:
            packet = next(packets)
        except (StopIteration, av.FFmpegError):
            break
        try:
            frames = decode_pictures(packet)
        except av.FFmpegError:
            continue
        for frame in frames:
            if frame.width and frame.height:
                return frame
    raise not_a_video(path, "no picture in it can be decoded")


def _frame_rate(stream: VideoStream) -> float:
    rate = stream.average_rate or stream.guessed_rate or stream.base_rate
    return round(float(rate), 6) if rate else 0.0


def _declared_duration(container: InputContainer, stream: VideoStream) -> float | None:
    if stream.duration and stream.time_base:
        return float(stream.duration * stream.time_base)
    return container.duration / 1_000_000 if container.duration else None

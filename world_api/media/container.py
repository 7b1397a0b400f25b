"""Opening a video file or a stream within limits, and describing a file before it is decoded."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice, pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

from world_api.core.faults import MediaFault
from world_api.core.files import hint_of_path

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.packet import Packet
    from av.stream import Stream
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

Decoded = TypeVar("Decoded")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of the process that decodes a file.

    Attributes:
        pixels: Pixels of one frame.
        duration: Seconds of video.
        streams: Streams in one container.
        timeout: Seconds to wait for the next message of the process, which may be a sign of life.
        memory: Bytes of address space, if the system can limit it.
        network: Whether a stream address may be opened; files and playlists never open one.
    """

    pixels: int = 100_000_000
    duration: float = 48 * 3600.0
    streams: int = 64
    timeout: float = 60.0
    memory: int = 8 << 30
    network: bool = False


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, kw_only=True)
class Stamp:
    """The state of a file: inode, size in bytes, time of the last write (ns)."""

    inode: int
    size: int
    written: int

    @classmethod
    def at(cls, path: Path) -> Stamp:
        """Return the state of a file now; raises ``OSError`` if it cannot be read."""
        facts = path.stat()
        return cls(inode=facts.st_ino, size=facts.st_size, written=facts.st_mtime_ns)


#: Demuxers that draw a picture of text or of a listing; what they open is no video.
_TEXT_CONTAINERS = frozenset({"tty", "bin", "xbin", "adf", "idf", "concat", "ffmetadata"})
#: Demuxers of still pictures (animations such as gif and apng are video).
_PICTURE_CONTAINERS = ("image2", "_pipe")
#: Demuxers that open other files or addresses, or a device of this machine.
_OPENING_OTHERS = frozenset({
    "concat", "dash", "webm_dash_manifest", "hls", "imf", "sdp", "rtp", "rtsp", "sap", "lavfi", "image2", "image2pipe",
    "alsa", "fbdev", "video4linux2,v4l2", "x11grab", "oss", "pulse", "jack", "sndio", "kmsgrab", "avfoundation", "dshow",
    "gdigrab", "vfwcap", "decklink", "openal", "libcdio", "iec61883", "xcbgrab", "android_camera", "bktr", "dv1394",
})  # fmt: skip
#: Demuxers of files without presentation times. If frames are not stored in the order of presentation, the times of packets are
#: meaningless; those at which the decoder returns frames are right.
_WITHOUT_PRESENTATION_TIMES = frozenset({"avi"})
#: Smaller pictures (pixels) are decoded on one thread: that is fast enough, and several threads cost a tenth more.
_MANY_PIXELS = 1280 * 720
#: A frame this long (seconds) after the one before is a leap of the clock, and no frame is shown longer than this.
LONGEST_FRAME = 3600.0
#: Where packets could not be decoded and no frame comes for longer than this (seconds), nothing is known of that part.
SHORTEST_HOLE = 1.0
#: Frame rates of a header that differ by this factor contradict each other; so many packets decide.
_RATES_DIFFER, _PACKETS = 10.0, 64
#: Protocols of stream addresses. A playlist never opens files of this machine.
_ADDRESSES = ("http", "https", "rtsp", "rtmp", "rtmps", "rtp", "srt", "udp", "tcp")
_STREAMED = ("hls", "dash", "rtsp", "rtp", "sdp")
_NETWORK = "http,https,tcp,udp,tls,crypto,rtp,srtp,rtmp,rtmps,rtsp,hls,srt"


def open_video(path: Path, *, limits: Limits = DEFAULT_LIMITS, file: IO[bytes] | None = None) -> InputContainer:
    """Open a video file for reading; no other file and no address is opened. ``file`` is read in place of the path.

    Raises:
        MediaFault: ``no_such_file``, ``is_a_folder``, ``not_a_file``, ``not_readable``, ``empty_file``,
            ``file_system``, ``not_a_video``, ``too_many_streams``.
    """
    import av

    if file is None:
        check_file(path)
    options = {
        "protocol_whitelist": "file",
        "format_whitelist": _harmless_formats(),
        "max_streams": str(limits.streams + 1),  # one more than allowed, so that too many are noticed
    }
    try:
        # With the prefix a file named like an address is read as a file.
        container = av.open(file or f"file:{path.absolute()}", "r", metadata_errors="replace", options=options)
    except (av.FFmpegError, ValueError) as error:
        raise not_a_video(path, f"it cannot be opened ({_reason(error)})") from error
    name = container.format.name
    if name in _TEXT_CONTAINERS or name.endswith(_PICTURE_CONTAINERS):
        container.close()
        raise not_a_video(path, f"it is a {name} file")
    if len(container.streams) > limits.streams:
        container.close()
        raise MediaFault(
            "too_many_streams",
            f"{path.name} has more than {limits.streams} streams",
            hint="copy the streams that matter into a file of their own",
        )
    return container


def open_stream(address: str, limits: Limits) -> InputContainer:
    """Open a stream from the network; callers have checked that ``limits`` allow it.

    Raises:
        MediaFault: ``stream_not_reached``.
    """
    import av

    if address.partition("://")[0].lower() not in _ADDRESSES:
        raise MediaFault(
            "stream_not_reached",
            f"{address} is no address of a stream",
            hint=f"one begins with {', '.join(_ADDRESSES)}",
        )
    options = {
        "protocol_whitelist": _NETWORK,
        "format_whitelist": ",".join([_harmless_formats(), *_STREAMED]),
        "max_streams": str(limits.streams),
    }
    try:
        return av.open(
            address, "r", metadata_errors="replace", options=options, timeout=(limits.timeout, limits.timeout)
        )
    except (av.FFmpegError, ValueError, OSError) as error:
        raise MediaFault(
            "stream_not_reached",
            f"the stream {address} cannot be opened ({_reason(error)})",
            hint="check the address, and that this machine can connect to it",
        ) from error


@cache
def _harmless_formats() -> str:
    """Return the names of all demuxers that open only the given file, separated by commas."""
    import av

    return ",".join(sorted(av.formats_available - _OPENING_OTHERS))


def video_stream(container: InputContainer, path: Path, *, limits: Limits = DEFAULT_LIMITS) -> VideoStream:
    """Return the video stream to decode: the best one that is not a cover picture.

    Raises:
        MediaFault: ``no_video_stream``, ``not_a_video``, ``too_many_pixels``.
    """
    from av.stream import Disposition

    streams = [s for s in container.streams.video if not s.disposition & Disposition.attached_pic]
    streams = [s for s in streams if s.codec_context is not None]
    if not streams and container.streams.audio:
        raise MediaFault(
            "no_video_stream", f"{path.name} has sound but no picture", hint="give a file with a video stream"
        )
    if not streams:
        raise not_a_video(path, f"it is a {container.format.name} file without a picture")
    best = container.streams.best("video")
    chosen = next((s for s in streams if best is not None and s.index == best.index), streams[0])
    codec = chosen.codec_context
    check_pixels(codec.width, codec.height, path, limits)
    codec.options = {"max_pixels": str(limits.pixels)}
    # Threads by frame hide the faults of VP8: pictures that could not be decoded come out as if they were whole.
    chosen.thread_type = "SLICE" if codec.name == "vp8" else "AUTO"
    if codec.width * codec.height < _MANY_PIXELS:
        codec.thread_count = 1
    return chosen


def check_pixels(width: int, height: int, path: Path, limits: Limits) -> None:
    """Raise a fault if frames have more pixels than the limits allow.

    Raises:
        MediaFault: ``too_many_pixels``.
    """
    if width * height > limits.pixels:
        raise MediaFault(
            "too_many_pixels",
            f"a frame of {path.name} has {width} x {height} pixels; more than {limits.pixels / 1e6:g} million are not decoded",
            hint="scale the video down, or raise the limit with --max-megapixels",
        )


def check_file(path: Path) -> None:
    """Raise a fault unless a path is a readable file with content. It is not opened: opening a pipe would block.

    Raises:
        MediaFault: ``no_such_file``, ``is_a_folder``, ``not_a_file``, ``not_readable``, ``empty_file``,
            ``file_system``.
    """
    try:
        facts = path.stat()
    except FileNotFoundError:
        raise MediaFault("no_such_file", f"there is no file {path}", hint=hint_of_path(path)) from None
    except OSError as error:
        raise MediaFault("file_system", f"{path}: {error.strerror}", hint="check the path") from error
    if stat.S_ISDIR(facts.st_mode):
        raise MediaFault("is_a_folder", f"{path} is a folder", hint="give the path of one video file")
    if not stat.S_ISREG(facts.st_mode):
        raise MediaFault(
            "not_a_file",
            f"{path} is a pipe, a socket or a device, and no file",
            hint="write its bytes into a file; a file that is still being written is built with --follow",
        )
    if not os.access(path, os.R_OK):
        raise MediaFault("not_readable", f"{path} cannot be read", hint="check the permissions of the file")
    if facts.st_size == 0:
        raise MediaFault("empty_file", f"{path.name} is empty", hint="the download or the copy may have failed")


def not_a_video(path: Path, why: str) -> MediaFault:
    """Return the fault of a file without a picture that can be decoded; ``why`` is the reason."""
    return MediaFault(
        "not_a_video",
        f"{path.name} is not a video this can decode: {why}",
        hint="give a video file such as mp4, mkv, webm or mov; a file cut off in copying must be copied again",
    )


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()


@dataclass(frozen=True, kw_only=True)
class Probe:
    """Facts about a video file from its header and its first frame.

    ``start`` is the presentation time (seconds) of the first frame on the file's own clock, or of the first packet if the
    beginning cannot be decoded; project time is that clock minus ``start``. ``width`` and ``height`` are pixels of the
    displayed frame, after ``rotation`` (degrees counter-clockwise). ``frame_rate`` is 0 if unknown, or so low
    that a frame would last longer than ``longest_frame``. ``declared_duration``: seconds of video by the header; None if it
    has none. That of a Matroska or WebM file may be longer, since it is that of the whole file.
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

    @property
    def longest_frame(self) -> float:
        """The longest time (seconds) for which a frame can be shown: an hour, or the declared duration and 1 s if less."""
        return min(LONGEST_FRAME, 1.0 + max(0.0, self.declared_duration or LONGEST_FRAME))

    @property
    def frame_seconds(self) -> float:
        """How long a frame is shown if the file does not say (seconds); one second if the rate is unknown."""
        return 1 / self.frame_rate if self.frame_rate > 0 else 1.0

    @classmethod
    def restored(cls, record: dict[str, Any]) -> Probe:
        """Return the probe from its ``asdict`` form, also from JSON, where ``path`` is a text."""
        return cls(**{**record, "path": Path(record["path"])})


def probe(path: Path, *, limits: Limits = DEFAULT_LIMITS, file: IO[bytes] | None = None) -> Probe:
    """Open a file, decode one frame and describe it. ``file`` is read in place of the path.

    Raises:
        MediaFault: ``no_such_file``, ``is_a_folder``, ``not_a_file``, ``not_readable``, ``empty_file``,
            ``file_system``, ``not_a_video``, ``no_video_stream``, ``too_many_pixels``, ``too_many_streams``.
    """
    with open_video(path, limits=limits, file=file) as container:
        stream = video_stream(container, path, limits=limits)
        refused: list[float] = []

        def refuse(packet: Packet[Any] | None) -> None:
            if packet is not None and (time := packet_time(packet)) is not None:
                refused.append(time)

        frames = decoded(container, stream, decode_pictures, refused=refuse)
        frame = next((frame for frame in frames if frame.width and frame.height), None)
        if frame is None:
            raise not_a_video(path, "no picture in it can be decoded")
        check_pixels(frame.width, frame.height, path, limits)
        rotation, size = quarter_turn(frame), (frame.width, frame.height)
        width, height = size[::-1] if rotation in (90, 270) else size
        rate = _frame_rate(container, stream)
        duration = container.duration / 1_000_000 if container.duration else None
        if stream.duration and stream.time_base:
            duration = float(stream.duration * stream.time_base)
        found = Probe(
            path=path, container=container.format.name, codec=stream.codec_context.name, width=width, height=height,
            rotation=rotation, frame_rate=round(rate, 6), start=frame_time(frame),
            declared_duration=duration, has_audio=bool(container.streams.audio),
        )  # fmt: skip
        found = found if found.frame_seconds <= found.longest_frame else replace(found, frame_rate=0.0)
        # A few packets before the first key frame are no damage, and one at an impossible time says nothing.
        first = min(refused, default=found.start)
        return replace(found, start=first) if SHORTEST_HOLE < found.start - first <= found.longest_frame else found


def _frame_rate(container: InputContainer, stream: Stream) -> float:
    """Return the frames per second that a header gives, 0 if it gives none; reads on if what it gives is contradictory.

    Its mean over the file becomes far too small by one wrong time in it, and some formats give their clock's ticks instead.
    Of rates that differ much, the one closest to the times of the next packets holds.
    """
    import av

    rates = [float(rate) for rate in (stream.average_rate, stream.guessed_rate, stream.base_rate) if rate]
    if not rates or max(rates) <= _RATES_DIFFER * min(rates):
        return rates[0] if rates else 0.0
    times: list[float] = []
    with suppress(av.FFmpegError):
        for packet in islice(container.demux(stream), _PACKETS):
            if packet.pts is not None and packet.time_base:
                times.append(float(packet.pts * packet.time_base))
    times.sort()
    steps = sorted(later - earlier for earlier, later in pairwise(times) if later > earlier)
    step = steps[len(steps) // 2] if steps else 1 / rates[0]
    return min(rates, key=lambda rate: abs(math.log(rate * step)))


def decoded(
    container: InputContainer,
    stream: Stream,
    decode: Callable[[Packet[Any]], Iterable[Decoded]],
    *,
    refused: Callable[[Packet[Any] | None], None] = lambda packet: None,
) -> Iterator[Decoded]:
    """Yield what ``decode`` returns for each packet of a stream from the present position on.

    It ends at the end of the file or at damage beyond which nothing can be read. Packets that cannot be decoded are left
    out; ``refused`` is called with each, and with None if no more can be read.
    """
    import av

    packets = container.demux(stream)
    while True:
        try:
            packet = next(packets, None)
        except av.FFmpegError:
            refused(None)
            return
        if packet is None:
            return
        try:
            found = decode(packet)
        except av.FFmpegError:
            refused(packet)
        else:
            yield from found


def decode_pictures(packet: Packet[Any]) -> list[VideoFrame]:
    """Return the pictures that a packet completes, in the order of presentation, with rising times.

    Raises:
        av.FFmpegError: the packet cannot be decoded.
    """
    import av

    pictures = [frame for frame in packet.decode() if isinstance(frame, av.VideoFrame)]
    if packet.stream.container.format.name in _WITHOUT_PRESENTATION_TIMES:
        for picture in pictures:
            picture.pts = picture.dts
    return pictures


def packet_time(packet: Packet[Any]) -> float | None:
    """Return when the picture of a packet is presented, on the file's own clock in seconds; None if the file gives none."""
    times = (packet.pts, packet.dts)
    if packet.stream.container.format.name in _WITHOUT_PRESENTATION_TIMES:
        times = (packet.dts, packet.pts)
    ticks = next((time for time in times if time is not None), None)
    tick = packet.time_base
    # The same number as by fractions, which take much longer.
    return None if ticks is None or not tick else ticks * tick.numerator / tick.denominator


def frame_time(frame: VideoFrame) -> float:
    """Return the presentation time on the file's own clock in seconds; 0 if the file gives none."""
    return frame.time or 0.0


def quarter_turn(frame: VideoFrame) -> int:
    """Return the rotation to apply, counter-clockwise, rounded to 0, 90, 180 or 270 degrees."""
    return round(frame.rotation / 90) % 4 * 90

"""Writing a stream from the network into a file as it comes, without decoding it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from world_api.build.media.child.growing import being_written
from world_api.build.media.limits import Limits
from world_api.build.media.opening import open_stream
from world_api.core.faults import MediaFault

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.stream import Stream

#: Seconds between two signs of life.
_SIGN = 1.0


def capture(address: str, path: Path, *, limits: Limits, alive: Callable[[], None]) -> float:
    """Copy the picture, the sound and the text of a stream into a Matroska file; the seconds of video that came.

    A stream that breaks off ends the file; what came is kept.

    Raises:
        MediaFault: ``network_not_allowed``, ``stream_not_reached``, ``no_video_stream``.
    """
    import av

    if not limits.network:
        raise MediaFault(
            "network_not_allowed",
            "no stream is opened unless network protocols are allowed",
            hint="add --allow-network",
        )
    with open_stream(address, limits) as source:
        taken = _taken(source, address)
        # Each cluster goes to disk at once, so that whoever follows the file sees it.
        with av.open(
            str(path), "w", format="matroska", options={"flush_packets": "1", "cluster_time_limit": "1000"}
        ) as out:
            places = {stream.index: out.add_stream_from_template(stream) for stream in taken}
            last, told = 0.0, monotonic()
            packets = source.demux(taken)
            while last <= limits.duration:
                try:
                    packet = next(packets)
                except (StopIteration, av.FFmpegError):
                    break
                if packet.dts is None or packet.time_base is None:
                    continue
                if packet.stream.type == "video":
                    last = max(last, float(packet.dts * packet.time_base))
                packet.stream = places[packet.stream.index]
                out.mux(packet)
                if monotonic() - told > _SIGN:
                    told = monotonic()
                    being_written(path).touch()
                    alive()
    return last


def _taken(source: InputContainer, address: str) -> list[Stream]:
    video = source.streams.best("video")
    if video is None:
        raise MediaFault("no_video_stream", f"{address} has no picture", hint="give a stream with video")
    audio = source.streams.best("audio")
    return [video, *([audio] if audio is not None else [])]

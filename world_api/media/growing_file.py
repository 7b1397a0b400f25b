"""Files that are still being written: reading one as it grows, and recording a stream into one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep, time
from typing import TYPE_CHECKING

from world_api.core.faults import MediaFault
from world_api.media.container import Limits, open_stream

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.stream import Stream

#: Seconds between two looks whether the file has grown.
_STEP = 0.2
_BLOCK = 1 << 20
#: A recording whose writer has shown no life for so long (seconds) is not being written any more.
ABANDONED = 150.0


def being_written(path: Path) -> Path:
    """The file that stands beside another while this project writes that one."""
    return path.with_name(f"{path.name}.part")


def is_being_written(path: Path) -> bool:
    """Whether this project writes a file at this time: its writer has shown life."""
    try:
        return time() - being_written(path).stat().st_mtime < ABANDONED
    except OSError:
        return False


class GrowingFile:
    """A stream over a file. At its end a read waits for more; the file is complete once it has not grown for a while.

    It cannot seek, so nothing is read that is not there yet. ``settled`` is how long (seconds) the file must stay as it is;
    where a file of its name with ``.part`` behind it stands beside it, it is complete only once that has gone. ``waiting``
    is called at each look.
    """

    def __init__(self, path: Path, *, settled: float, waiting: Callable[[], None]) -> None:
        self._path = path
        self._settled = settled
        self._waiting = waiting
        self._file = path.open("rb")
        self._digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes; empty once the file is complete."""
        quiet_since = monotonic()
        while True:
            data = self._file.read(size)
            if data:
                self._digest.update(data)
                return data
            if is_being_written(self._path):
                quiet_since = monotonic()
            elif monotonic() - quiet_since >= self._settled:
                return data
            self._waiting()
            sleep(min(_STEP, self._settled))

    def digest(self) -> str:
        """SHA-256 of all of the file that was read, to its end as it is by now."""
        while block := self._file.read(_BLOCK):
            self._digest.update(block)
        return self._digest.hexdigest()

    def close(self) -> None:
        """Read no more."""
        self._file.close()


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

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
    from av.stream import Stream

#: Seconds between two checks whether the file has grown.
_STEP = 0.2
_BLOCK = 1 << 20
#: A recording counts as abandoned if its writer has shown no sign of life for this long (seconds).
ABANDONED = 150.0


def being_written(path: Path) -> Path:
    """Return the path (``<name>.part``) of the marker file that this project touches about every second while it writes ``path``.

    A writer that was killed leaves it there: ``is_being_written`` checks its age.
    """
    return path.with_name(f"{path.name}.part")


def is_being_written(path: Path) -> bool:
    """Whether this project is writing a file: its marker file was touched in the last 150 seconds."""
    try:
        return time() - being_written(path).stat().st_mtime < ABANDONED
    except OSError:
        return False


class GrowingFile:
    """A file that is read while it grows: a read at its end waits for more.

    The file is complete once it has not grown for ``settled`` seconds and has no fresh ``.part`` marker file beside it.
    A read that waits calls ``waiting`` at each check for new bytes. Seeking is not possible, so only existing bytes are read.
    """

    def __init__(self, path: Path, *, settled: float, waiting: Callable[[], None]) -> None:
        self._path = path
        self._settled = settled
        self._waiting = waiting
        self._file = path.open("rb")
        self._digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most ``size`` (-1: any number), waiting for some; ``b""`` at the end of a complete file."""
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
        """Return the SHA-256 (hexadecimal) of the file, which is read up to its present end."""
        while block := self._file.read(_BLOCK):
            self._digest.update(block)
        return self._digest.hexdigest()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


_SIGN = 1.0  #: seconds between two signs of life


def capture(address: str, path: Path, *, limits: Limits, alive: Callable[[], None]) -> None:
    """Copy the best video and audio of the stream at ``address`` into a Matroska file until it ends or breaks off.

    Copying also ends after ``limits.duration`` seconds. ``alive`` is called about every second while packets arrive.

    Raises MediaFault: ``stream_not_reached``, ``no_video_stream``.
    """
    import av

    with open_stream(address, limits) as source:
        video, audio = source.streams.best("video"), source.streams.best("audio")
        if video is None:
            raise MediaFault("no_video_stream", f"{address} has no picture", hint="give a stream with video")
        taken: list[Stream] = [video] if audio is None else [video, audio]
        # Each cluster is flushed at once, so that a build that follows the file sees it.
        with av.open(
            str(path), "w", format="matroska", options={"flush_packets": "1", "cluster_time_limit": "1000"}
        ) as out:
            places = {stream.index: out.add_stream_from_template(stream) for stream in taken}
            last, shown = 0.0, monotonic()
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
                if monotonic() - shown > _SIGN:
                    shown = monotonic()
                    being_written(path).touch()
                    alive()

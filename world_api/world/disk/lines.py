"""Appending lines to files that several threads and processes write: a line is there whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path

_CHUNK = 65_536


def append_line(path: Path, line: bytes, *, sync: bool = False) -> None:
    """Append one line in one write, making the file and its folder where they are missing.

    Writers take turns under a lock on the file, which goes with the process that held it. What an earlier writer left
    without its end (the machine died, the disk was full) was never a line and is taken away first; a line that cannot be
    written whole is taken back. ``sync`` waits until the line would survive a power cut.

    Raises:
        OSError: it cannot be written; the file holds the lines it held.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        end = _end_of_lines(handle)
        try:
            _write(handle, line + b"\n", path)
            if sync:
                os.fsync(handle)
        except OSError:
            with suppress(OSError):  # what is left then has no end, and the next writer takes it away
                os.ftruncate(handle, end)
            raise
    finally:
        os.close(handle)


def _write(handle: int, data: bytes, path: Path) -> None:
    """One write; where the system takes only a part at once, the rest after it."""
    written = os.write(handle, data)
    while written < len(data):
        more = os.write(handle, data[written:])
        if more == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        written += more


def _end_of_lines(handle: int) -> int:
    """Where the last whole line ends; what stands behind it is cut off."""
    size = end = os.fstat(handle).st_size
    while end and os.pread(handle, 1, end - 1) != b"\n":
        start = max(0, end - _CHUNK)
        end = start + os.pread(handle, end - start, start).rfind(b"\n") + 1
    if end < size:
        os.ftruncate(handle, end)
    return end

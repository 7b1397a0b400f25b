"""Reading a file that somebody else is still writing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep

#: Seconds between two looks whether the file has grown.
_STEP = 0.2


def being_written(path: Path) -> Path:
    """The file that stands beside another while this project writes that one."""
    return path.with_name(f"{path.name}.part")


class GrowingFile:
    """A stream over a file. At its end a read waits for more; the file is complete once it has not grown for a while.

    It cannot seek, so nothing is read that is not there yet. ``settled`` is how long (seconds) the file must stay as it is;
    where a file of its name with ``.part`` behind it stands beside it, it is complete only once that has gone. ``waiting``
    is called at each look.
    """

    def __init__(self, path: Path, *, settled: float, waiting: Callable[[], None]) -> None:
        self._writer = being_written(path)
        self._settled = settled
        self._waiting = waiting
        self._file = path.open("rb")

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes; empty once the file is complete."""
        quiet_since = monotonic()
        while True:
            data = self._file.read(size)
            if data:
                return data
            if self._writer.exists():
                quiet_since = monotonic()
            elif monotonic() - quiet_since >= self._settled:
                return data
            self._waiting()
            sleep(min(_STEP, self._settled))

    def close(self) -> None:
        """Read no more."""
        self._file.close()

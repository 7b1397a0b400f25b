"""What tells one state of a file from another, without reading it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Stamp:
    """The state of a file: its place on the disk, its bytes, when it was last written (ns)."""

    inode: int
    size: int
    written: int

    @classmethod
    def at(cls, path: Path) -> Stamp:
        """The state of a file now.

        Raises:
            OSError: it cannot be told.
        """
        facts = path.stat()
        return cls(inode=facts.st_ino, size=facts.st_size, written=facts.st_mtime_ns)

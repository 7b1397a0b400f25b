"""Data in a page: JSON, packed, in an alphabet that no markup can begin in.

A block is the Base64 of gzip of JSON. The page unpacks it where it is asked for, so that thousands of episodes cost a reader
who looks at ten of them no more than ten. Equal values, equal bytes: no time, no name, no salt is in a block.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Iterator
from typing import Any

from world_api.core.canonical import json_line

_LEVEL = 6
_CHUNK = 200_000  #: characters of JSON in one block of a pool; one value may be more


def packed(value: Any) -> str:
    """A value as a block.

    Raises:
        ValueError: it is not JSON.
    """
    return base64.b64encode(gzip.compress(json_line(value).encode(), _LEVEL, mtime=0)).decode("ascii")


class Pool:
    """Values that many episodes share: each is kept once, in blocks of neighbours.

    ``most`` bounds the size of all blocks in bytes; past it nothing new is taken, and ``refused`` counts what was not.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._places: dict[bytes, int] = {}
        self._open: list[str] = []
        self._size = 0
        self._written = 0
        self._blocks: list[str] = []
        self.starts: list[int] = []  #: the number of the first value of each block
        self.refused = 0

    def add(self, value: Any) -> int | None:
        """The number of a value; None where there is no more room.

        Raises:
            ValueError: it is not JSON.
        """
        text = json_line(value)
        key = hashlib.sha256(text.encode()).digest()
        known = self._places.get(key)
        if known is not None:
            return known
        if self._written >= self._most:
            self.refused += 1
            return None
        if not self._open:
            self.starts.append(len(self._places))
        self._places[key] = len(self._places)
        self._open.append(text)
        self._size += len(text)
        if self._size >= _CHUNK:
            self._close()
        return self._places[key]

    def blocks(self) -> Iterator[str]:
        """All blocks; nothing is added any more."""
        self._close()
        yield from self._blocks

    def _close(self) -> None:
        if self._open:
            joined = f"[{','.join(self._open)}]"
            block = base64.b64encode(gzip.compress(joined.encode(), _LEVEL, mtime=0)).decode("ascii")
            self._blocks.append(block)
            self._written += len(block)
            self._open, self._size = [], 0

"""What a file that is being written was when it was last looked at, so that following it can go on after a break."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from uuid import uuid4

from world_api.build.source import named
from world_api.world.files import hash_bytes, write_atomically

_NAME = "growing.json"
_BLOCK = 1 << 20


class Growth:
    """The provisional name of a growing file, and how much of it has been noted under that name."""

    def __init__(self, folder: Path, video: Path) -> None:
        self._path = folder / _NAME
        self._video = video
        self._token = ""
        self._digest = hashlib.sha256()
        self._bytes = 0
        self._clips = 0
        self._most = math.inf

    def token(self, *, may_go_on: bool) -> str:
        """Stands for the hash of the file until that is known: 64 digits.

        It is the one of an earlier look if the file still begins with what was there then, and ``may_go_on``; else a new one.
        """
        if not self._token:
            known = self._known() if may_go_on else None
            self._token = known if known is not None else hash_bytes(uuid4().bytes)
        return self._token

    @property
    def clips(self) -> int:
        """How many clips from the first on were stored by then; 0 for a new name."""
        return self._clips

    def note(self, clips: int) -> int:
        """Note what of the file is there by now, and that so many clips are stored; how many bytes that is.

        Raises:
            MediaFault: ``source_missing``.
            StoreFault: ``store_not_writable``, ``disk_full``.
        """
        with named(self._video):
            self._take(self._video.stat().st_size)
        self._clips = int(min(clips, self._most))
        record = {"token": self._token, "bytes": self._bytes, "sha256": self._digest.hexdigest(), "clips": self._clips}
        write_atomically(self._path, json.dumps(record).encode())
        return self._bytes

    def bound(self, clips: int) -> None:
        """The file seemed to end: only so many clips from the first on did not look at that end.

        Raises:
            MediaFault, StoreFault: as :meth:`note`.
        """
        self._most = clips
        self.note(min(clips, self._clips))

    def forget(self) -> None:
        """Nobody goes on from what was noted."""
        self._path.unlink(missing_ok=True)

    def _known(self) -> str | None:
        try:
            record = json.loads(self._path.read_bytes())
            token, size, sha256 = str(record["token"]), int(record["bytes"]), record["sha256"]
            clips = int(record["clips"])
            if self._video.stat().st_size < size:
                return None
            self._take(size)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        if self._digest.hexdigest() == sha256:
            self._clips = clips
            return token
        self._digest, self._bytes = hashlib.sha256(), 0
        return None

    def _take(self, size: int) -> None:
        """Hash the file on, up to so many bytes."""
        with self._video.open("rb") as file:
            file.seek(self._bytes)
            while self._bytes < size and (block := file.read(min(_BLOCK, size - self._bytes))):
                self._digest.update(block)
                self._bytes += len(block)

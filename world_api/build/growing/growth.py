"""What a file that is being written was when it was last looked at, so that following it can go on after a break."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from uuid import uuid4

from world_api.world.disk.files import write_atomically
from world_api.world.disk.hashing import hash_bytes

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

    def token(self, *, may_go_on: bool) -> str:
        """Stands for the hash of the file until that is known: 64 digits.

        It is the one of an earlier look if the file still begins with what was there then, and ``may_go_on``; else a new one.
        """
        if not self._token:
            known = self._known() if may_go_on else None
            self._token = known if known is not None else hash_bytes(uuid4().bytes)
        return self._token

    def note(self) -> None:
        """Note what of the file is there by now.

        Raises:
            StoreFault: ``store_not_writable``, ``disk_full``.
        """
        self._take(self._video.stat().st_size)
        record = {"token": self._token, "bytes": self._bytes, "sha256": self._digest.hexdigest()}
        write_atomically(self._path, json.dumps(record).encode())

    def forget(self) -> None:
        """The file is complete and has a hash of its own."""
        self._path.unlink(missing_ok=True)

    def _known(self) -> str | None:
        try:
            record = json.loads(self._path.read_bytes())
            token, size, sha256 = str(record["token"]), int(record["bytes"]), record["sha256"]
            if self._video.stat().st_size < size:
                return None
            self._take(size)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if self._digest.hexdigest() == sha256:
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

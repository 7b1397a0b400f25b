"""What follows from a world's rows, kept beside it, so that opening a world of days does not mean making it again.

::

    STORE/.derived/<id>/<key>/<name>.arrow      tables in the order they are read in, joined tracks, search indexes
    STORE/.derived/<id>/<key>/index.json        their hashes, written last

The key covers the world's files and the code that reads them: what was kept for other rows or by other code is not
looked at. Nothing here is a truth. What is missing or damaged is made again in memory, which only takes longer.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc

from world_api.core.canonical import content_hash
from world_api.world.disk.files import not_writable, write_atomically
from world_api.world.disk.hashing import hash_bytes, hash_file
from world_api.world.disk.manifest import Manifest
from world_api.world.disk.tables import SESSION_TABLES

FOLDER = ".derived"
INDEX = "index.json"
#: The rooms whose code decides what follows from rows, under the package's folder.
_PACKAGE = Path(__file__).resolve().parents[2]
_ROOMS = ("core", "world")


class Derived:
    """Tables that are read where they are kept and made where they are not. ``keep`` also stores what was made."""

    def __init__(self, folder: Path, *, keep: bool = False) -> None:
        self._folder = folder
        self._keep = keep
        self._hashes: dict[str, str] = _read_hashes(folder)

    def table(self, name: str, make: Callable[[], pa.Table]) -> pa.Table:
        """The table of that name, mapped into memory when it is kept; its bytes are checked first."""
        kept = self._read(name)
        if kept is not None:
            return kept
        made = make()
        if self._keep:
            self._write(name, made)
        return made

    def finish(self) -> None:
        """Let readers use what was stored, and drop what was kept for other rows or code.

        Raises:
            StoreFault: ``store_not_writable``, ``disk_full``.
        """
        write_atomically(self._folder / INDEX, json.dumps(self._hashes, sort_keys=True).encode())
        for old in self._folder.parent.iterdir():
            if old != self._folder:
                shutil.rmtree(old, ignore_errors=True)

    def _read(self, name: str) -> pa.Table | None:
        expected = self._hashes.get(name)
        path = self._folder / f"{name}.arrow"
        try:
            # Arrow trusts what it maps: a changed byte can end the process, so the file is checked first.
            if expected is None or hash_file(path) != expected:
                return None
            with pa.memory_map(str(path), "rb") as source:
                return pa.ipc.open_file(source).read_all()
        except (OSError, pa.ArrowInvalid):
            return None

    def _write(self, name: str, table: pa.Table) -> None:
        path = self._folder / f"{name}.arrow"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            # Beside its place first: another process may have the old one mapped.
            part = path.with_suffix(".part")
            with pa.OSFile(str(part), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
                # One chunk a column, so that a column is one array when it is mapped again.
                writer.write_table(table.combine_chunks())
            part.replace(path)
        except OSError as error:
            raise not_writable(path, error) from error
        self._hashes[name] = hash_file(path)


def derived_folder(store: Path, manifest: Manifest) -> Path:
    """Where what follows from a world's rows is kept."""
    return store / FOLDER / manifest.video_id / derived_key(manifest)


def derived_key(manifest: Manifest) -> str:
    """What the derived tables depend on: the video's facts, the rows that sessions do not write, and the code."""
    files = sorted(f"{entry.path} {entry.sha256}" for entry in manifest.files if entry.table not in SESSION_TABLES)
    return content_hash([manifest.video.model_dump(mode="json"), "\n".join(files), _code()])[:32]


@cache
def _code() -> str:
    sources = sorted(path for room in _ROOMS for path in (_PACKAGE / room).rglob("*.py"))
    return content_hash({path.relative_to(_PACKAGE).as_posix(): hash_bytes(path.read_bytes()) for path in sources})


def _read_hashes(folder: Path) -> dict[str, str]:
    try:
        found = json.loads((folder / INDEX).read_bytes())
    except (OSError, ValueError):
        return {}
    return {str(name): str(digest) for name, digest in found.items()} if isinstance(found, dict) else {}

"""Files of a world: immutable Arrow files per table and clip, and images named by their content.

::

    STORE/ID/world.json                              the manifest, written last
    STORE/ID/rows/<table>/<clip>-<key>-<hash>.arrow  the rows of one table and one clip; hash: of the file's content
    STORE/ID/images/<hash>.jpg                       key frames
    STORE/ID/local.json                              where this machine keeps the source video; not part of the world
    STORE/ID/sessions/<name>.jsonl                   what sessions wrote; not part of the world

Every file appears whole or not at all: it is written beside its place, synced, and renamed into it. A clip's file
under its key is all that resuming needs, and its name tells whether it is still what was written.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from world_api.core.faults import StoreFault
from world_api.world.disk.files import write_atomically
from world_api.world.disk.hashing import hash_bytes, hash_file
from world_api.world.disk.manifest import FileEntry
from world_api.world.disk.tables import TABLES, empty_table

ROWS = "rows"
IMAGES = "images"
#: So many digits of the hash of a file of rows, and of an image, stand in its name.
_NAMED, _NAMED_IMAGE = 16, 24


def rows_path(table: str, clip: int, key: str, sha256: str) -> str:
    """Where the rows of one table and clip lie, relative to the world's folder."""
    return f"{ROWS}/{table}/{clip:06d}-{key}-{sha256[:_NAMED]}.arrow"


def write_rows(folder: Path, *, table: str, clip: int, key: str, rows: pa.Table) -> FileEntry:
    """Store one clip's rows of one table under its key; rows are cast to the table's schema.

    Raises:
        StoreFault: ``store_not_writable``, ``disk_full``.
        pyarrow.ArrowInvalid: rows that do not fit the schema (a fault of the stage).
    """
    fitted = rows.select(TABLES[table].schema.names).cast(TABLES[table].schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, TABLES[table].schema) as writer:
        writer.write_table(fitted)
    data = sink.getvalue().to_pybytes()
    digest = hash_bytes(data)
    path = rows_path(table, clip, key, digest)
    if not _is_there(folder / path, digest):
        write_atomically(folder / path, data)
    return FileEntry(path=path, sha256=digest, table=table, clip=clip, rows=fitted.num_rows)


def _is_there(path: Path, digest: str) -> bool:
    try:
        return hash_file(path) == digest
    except OSError:
        return False


def find_rows(folder: Path, *, table: str, key: str) -> dict[int, FileEntry]:
    """The stored files of one table under a key, by clip. What is not what its name says counts as not there."""
    found: dict[int, FileEntry] = {}
    for path in sorted((folder / ROWS / table).glob(f"*-{key}-*.arrow")):
        clip, named = path.name.partition("-")[0], path.stem.rpartition("-")[2]
        if clip.isdecimal() and int(clip) not in found and (entry := _entry(path, table, int(clip), named)) is not None:
            found[int(clip)] = entry
    return found


def _entry(path: Path, table: str, clip: int, named: str) -> FileEntry | None:
    try:
        digest = hash_file(path)
        if digest[:_NAMED] != named:
            return None
        rows = _read(path).num_rows
    except (OSError, pa.ArrowInvalid):
        return None
    return FileEntry(path=f"{ROWS}/{table}/{path.name}", sha256=digest, table=table, clip=clip, rows=rows)


def rows_from_records(table: str, records: list[dict[str, Any]]) -> pa.Table:
    """Rows of a table from plain records, in the table's schema."""
    return pa.Table.from_pylist(records, schema=TABLES[table].schema)


def read_table(folder: Path, table: str, files: list[FileEntry]) -> pa.Table:
    """All rows of one table, clip after clip.

    Raises:
        StoreFault: ``world_damaged``, when a file is missing or is not what the manifest lists.
    """
    parts = []
    for entry in files:
        try:
            # Arrow trusts what it maps: a changed byte can end the process, so the file is checked first.
            if hash_file(folder / entry.path) != entry.sha256:
                raise pa.ArrowInvalid("its content has changed")
            parts.append(_read(folder / entry.path))
        except (OSError, pa.ArrowInvalid) as error:
            raise StoreFault(
                "world_damaged",
                f"{entry.path} cannot be read: {error}",
                hint="if the world was just built anew, open it again; else build it again with --force",
            ) from error
    return pa.concat_tables(parts) if parts else empty_table(table)


def _read(path: Path) -> pa.Table:
    with pa.memory_map(str(path), "rb") as source:
        return pa.ipc.open_file(source).read_all()


def write_image(folder: Path, jpeg: bytes) -> str:
    """Keep an encoded image under its content's hash; its path relative to the world's folder."""
    digest = hash_bytes(jpeg)
    path = f"{IMAGES}/{digest[:_NAMED_IMAGE]}.jpg"
    if not _is_there(folder / path, digest):
        write_atomically(folder / path, jpeg)
    return path


def has_image(folder: Path, path: str) -> bool:
    """Whether a kept image is there and still what its name says."""
    try:
        return hash_file(folder / path)[:_NAMED_IMAGE] == Path(path).stem
    except OSError:
        return False

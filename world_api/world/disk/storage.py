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

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc

from world_api.core.faults import StoreFault
from world_api.world.disk.arrow_files import read_arrow
from world_api.world.disk.files import open_regular, write_atomically
from world_api.world.disk.hashing import MOST_FILE_BYTES, hash_bytes, hash_stored
from world_api.world.disk.manifest import IMAGES, MANIFEST, MOST_PIXELS, MOST_SECONDS, ROWS, FileEntry
from world_api.world.disk.tables import TABLES, empty_table

#: So many digits of the hash of a file of rows, and of an image, stand in its name.
_NAMED, _NAMED_IMAGE = 16, 24
#: No number of a row is as large: seconds, shares and counts. Some names have narrower bounds; a box may stick out of the picture.
_MOST = 1e9
_BOUNDS = {"time": (0.0, MOST_SECONDS), "confidence": (0.0, 1.0)} | dict.fromkeys(
    ("x1", "y1", "x2", "y2"), (-float(MOST_PIXELS), float(MOST_PIXELS))
)
_IMAGE_PATH = rf"^{IMAGES}/[A-Za-z0-9_][A-Za-z0-9_.-]*$"


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
        return hash_stored(path) == digest
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
        digest = hash_stored(path)
        if digest[:_NAMED] != named:
            return None
        rows = read_arrow(path, TABLES[table].schema)
        _check_rows(table, rows)
    except (OSError, ValueError):
        return None
    return FileEntry(path=f"{ROWS}/{table}/{path.name}", sha256=digest, table=table, clip=clip, rows=rows.num_rows)


def rows_from_records(table: str, records: list[dict[str, Any]]) -> pa.Table:
    """Rows of a table from plain records, in the table's schema."""
    return pa.Table.from_pylist(records, schema=TABLES[table].schema)


def read_table(folder: Path, table: str, files: list[FileEntry]) -> pa.Table:
    """All rows of one table, clip after clip.

    Raises:
        StoreFault: ``world_damaged``, when a file is missing, is not what the manifest lists, or holds what is no row.
    """
    parts = [_read_entry(folder, table, entry) for entry in files]
    if not parts:
        return empty_table(table)
    rows = pa.concat_tables(parts)
    try:
        _check_rows(
            table, rows
        )  # all at once: a column of a thousand files costs little more than one of a single file
    except ValueError:
        for entry, part in zip(files, parts, strict=True):
            with _named(entry):
                _check_rows(table, part)
        raise
    return rows


def _read_entry(folder: Path, table: str, entry: FileEntry) -> pa.Table:
    with _named(entry):
        if hash_stored(folder / entry.path) != entry.sha256:
            raise ValueError("its content has changed")
        rows = read_arrow(folder / entry.path, TABLES[table].schema)
        if rows.num_rows != entry.rows:
            raise ValueError(f"it holds {rows.num_rows} rows, and {MANIFEST} says {entry.rows}")
        return rows


@contextmanager
def _named(entry: FileEntry) -> Iterator[None]:
    """What is wrong with a file is a named fault."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise StoreFault(
            "world_damaged",
            f"{entry.path} cannot be read: {str(error)[:200]}",
            hint="if the world was just built anew, open it again; else build it again with --force",
        ) from error


def _check_rows(table: str, rows: pa.Table) -> None:
    """Refuse rows that no video has.

    Raises:
        ValueError: what is wrong with them.
    """
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        _check_column(name, column)
    if table == "memories":  # spans of the video alone are clipped to it when they are read
        starts, ends = rows.column("start").to_numpy(), rows.column("end").to_numpy()
        if not ((starts >= 0.0) & (starts <= ends) & (ends <= MOST_SECONDS)).all():
            raise ValueError("a memory of it is of no stretch of a video")


def _check_column(name: str, column: pa.ChunkedArray) -> None:
    """Refuse what no row holds: nothing at all, no number, or one that is far too large; paths that lead elsewhere."""
    while pa.types.is_list(column.type) or pa.types.is_fixed_size_list(column.type):
        _refuse_nulls(name, column)
        column = pc.list_flatten(column)
    _refuse_nulls(name, column)
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        least, most = _BOUNDS.get(name, (-_MOST, _MOST))
        values = column.to_numpy()
        for value in (values.min(), values.max()) if len(values) else ():  # NaN, if any is
            if not least <= value <= most:
                raise ValueError(f"column {name} holds {value!s}, which is no {name} of a video")
    elif name == "image" and not pc.all(pc.match_substring_regex(column, _IMAGE_PATH), min_count=0).as_py():
        raise ValueError("column image names a file that is not in the folder of images")


def _refuse_nulls(name: str, column: pa.ChunkedArray) -> None:
    if column.null_count:
        raise ValueError(f"column {name} lacks {column.null_count} values")


def write_image(folder: Path, jpeg: bytes) -> str:
    """Keep an encoded image under its content's hash; its path relative to the world's folder."""
    digest = hash_bytes(jpeg)
    path = f"{IMAGES}/{digest[:_NAMED_IMAGE]}.jpg"
    if not _is_there(folder / path, digest):
        write_atomically(folder / path, jpeg)
    return path


def read_image(folder: Path, path: str) -> bytes | None:
    """A kept image as it was encoded; None where it is not there, not what its name says, or no JPEG."""
    try:
        with open_regular(folder / path) as file:
            jpeg = file.read(MOST_FILE_BYTES)
    except OSError:
        return None
    is_whole = hash_bytes(jpeg)[:_NAMED_IMAGE] == Path(path).stem
    return jpeg if is_whole and jpeg.startswith(b"\xff\xd8") else None


def has_image(folder: Path, path: str) -> bool:
    """Whether a kept image is there and still what its name says."""
    try:
        return hash_stored(folder / path)[:_NAMED_IMAGE] == Path(path).stem
    except OSError:
        return False

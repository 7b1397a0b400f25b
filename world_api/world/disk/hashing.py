"""Hashes of content: bytes, files, and the canonical rows of a table.

Two worlds are equal when their canonical rows are: the hash covers values in key order, column by column, so
neither the clip a row was stored in, nor Arrow's chunks, nor its file format change it.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from world_api.world.disk.files import open_regular
from world_api.world.disk.tables import TABLES

_BLOCK = 1 << 20
#: Bytes of a file of rows (of one clip) or an image.
MOST_FILE_BYTES = 1 << 28
#: A file of so many bytes, of which the disk holds less than one in so many, is mostly nothing; compression gives no such share.
_LARGE, _LEAST_SHARE = 1 << 24, 64
#: Unit of ``st_blocks`` (bytes), whatever the file system's own.
_DISK_BLOCK = 512


def hash_bytes(data: bytes) -> str:
    """SHA-256 as hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def hash_file(path: Path) -> str:
    """SHA-256 of a file's bytes, read in blocks.

    Raises:
        OSError: it cannot be read; ``EINVAL``: it is no regular file.
    """
    digest = hashlib.sha256()
    with open_regular(path) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def hash_stored(path: Path, *, most: int | None = MOST_FILE_BYTES) -> str:
    """SHA-256 of a file of a world, which anybody may have made: one that takes long to read for nothing is not read.

    Raises:
        OSError: as :func:`hash_file`; ``EFBIG``: it has more than ``most`` bytes, or far more than the disk holds of it.
    """
    facts = path.stat()
    if most is not None and facts.st_size > most:
        raise OSError(errno.EFBIG, f"its {facts.st_size} bytes are more than the {most} such a file has", str(path))
    if facts.st_size >= _LARGE and bytes_on_disk(facts) * _LEAST_SHARE < facts.st_size:
        held = bytes_on_disk(facts)
        raise OSError(errno.EFBIG, f"it is sparse: the disk holds {held} of its {facts.st_size} bytes", str(path))
    return hash_file(path)


def bytes_on_disk(facts: os.stat_result) -> int:
    """How many bytes of a file the disk holds; a sparse file has more than that."""
    return facts.st_blocks * _DISK_BLOCK


def canonical(table: pa.Table, name: str) -> pa.Table:
    """The rows in the order of the table's key, then of every other sortable column."""
    spec = TABLES[name]
    order = list(spec.key) + [
        c for c in spec.schema.names if c not in spec.key and not _nested(table.schema.field(c).type)
    ]
    return table.select(spec.schema.names).sort_by([(column, "ascending") for column in order])


def hash_rows(tables: Iterable[tuple[str, pa.Table]]) -> str:
    """SHA-256 over the canonical rows of several tables, given as ``(name, table)`` in any order."""
    digest = hashlib.sha256()
    for name, table in sorted(tables, key=lambda item: item[0]):
        ordered = canonical(table, name).combine_chunks()
        digest.update(f"{name}:{ordered.num_rows};".encode())
        for column in ordered.schema.names:
            digest.update(f"{column};".encode())
            _update(digest, ordered.column(column))
    return digest.hexdigest()


def _nested(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind))


def _update(digest: Any, column: pa.ChunkedArray) -> None:
    """Feed one column: fixed-width values as little-endian bytes, strings and lists as lengths and content."""
    kind = column.type
    if pa.types.is_fixed_size_list(kind):
        _update(digest, pc.list_flatten(column))
    elif pa.types.is_list(kind):
        digest.update(_bytes(pc.list_value_length(column)))
        _update(digest, pc.list_flatten(column))
    elif pa.types.is_string(kind):
        digest.update(_bytes(pc.binary_length(column)))
        for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            digest.update("".join(chunk.to_pylist()).encode())
    else:
        digest.update(_bytes(column))


def _bytes(column: Any) -> bytes:
    values = np.ascontiguousarray(column.to_numpy())
    return values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()

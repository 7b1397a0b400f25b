"""Reading Arrow files of unknown origin: mapped into memory, and checked before anything looks at a value.

Arrow believes what a file says of itself; offsets that do not fit end the process when a value is read. The checks here are
linear in the file's size and cost a fraction of its hash (decision 037).
"""

from __future__ import annotations

import struct
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc

#: A file begins with this, and ends with its first part; what follows the beginning are the messages of a stream.
_MAGIC, _END = b"ARROW1\0\0", b"ARROW1"
#: Where the table of a record batch notes that its buffers are compressed, and a message notes its header (Message.fbs).
_HEADER_FIELD, _COMPRESSION_FIELD = 2, 3


def read_arrow(path: Path, schema: pa.Schema | None = None) -> pa.Table:
    """All record batches of an Arrow file, mapped, not copied; ``schema`` is the one it must have.

    Compressed files are refused, since a small one may unpack to any size; this project writes none.

    Raises:
        OSError: it cannot be opened.
        ValueError: it is not such a file.
    """
    try:
        with pa.memory_map(str(path), "rb") as source:
            whole = source.read_buffer()
        return _read(whole, schema)
    except (pa.ArrowException, EOFError, struct.error) as error:
        raise ValueError(str(error) or type(error).__name__) from error


def _read(whole: pa.Buffer, schema: pa.Schema | None) -> pa.Table:
    if whole.slice(0, len(_MAGIC)).to_pybytes() != _MAGIC or not memoryview(whole)[-len(_END) :] == _END:
        raise ValueError("it is not a whole Arrow file")
    messages = iter(pa.ipc.MessageReader.open_stream(whole.slice(len(_MAGIC))))
    if (first := next(messages, None)) is None:
        raise ValueError("it is empty")
    found = pa.ipc.read_schema(first)
    if schema is not None and not found.equals(schema):
        raise ValueError(f"its columns are {_shown(found)} and not {_shown(schema)}")
    batches = []
    for message in messages:
        if message.type != "record batch":
            raise ValueError(f"it holds a {message.type}")
        if _is_compressed(message.metadata):
            raise ValueError("it is compressed")
        batches.append(pa.ipc.read_record_batch(message, found))
    table = pa.Table.from_batches(batches, found)
    table.validate(full=True)
    return table


def _is_compressed(metadata: pa.Buffer) -> bool:
    """Whether a record batch message says so. Metadata is a FlatBuffer, which Arrow verified when it read the message.

    Raises:
        struct.error: it is cut short.
    """
    data = memoryview(metadata)
    root = struct.unpack_from("<I", data)[0]
    header = _field(data, root, _HEADER_FIELD)
    batch = header + struct.unpack_from("<I", data, header)[0] if header else 0
    return bool(batch and _field(data, batch, _COMPRESSION_FIELD))


def _field(data: memoryview, table: int, number: int) -> int:
    """Where a field of a FlatBuffer's table lies; 0 where it is not there."""
    entries = table - struct.unpack_from("<i", data, table)[0]
    at = 4 + 2 * number
    if at >= struct.unpack_from("<H", data, entries)[0]:
        return 0
    offset = struct.unpack_from("<H", data, entries + at)[0]
    return table + offset if offset else 0


def _shown(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)[:200]

"""Files of rows as somebody hostile would write them: their hashes fit, and their content does not."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from world_api.core import hash_bytes

Damage = Callable[[Path, Random], None]
_NUMBERS = ("nan", "inf", "-inf", "1e308", "-1e300", "1e12")


def manifest(folder: Path) -> dict[str, Any]:
    """The manifest as JSON."""
    found: dict[str, Any] = json.loads((folder / "world.json").read_text())
    return found


def write_manifest(folder: Path, record: Any) -> None:
    """Put another manifest in place."""
    (folder / "world.json").write_text(json.dumps(record))


def some_file(folder: Path, dice: Random, table: str = "") -> dict[str, Any]:
    files = [entry for entry in manifest(folder)["files"] if entry["rows"] and table in ("", entry["table"])]
    found: dict[str, Any] = dice.choice(files)
    return found


def replace_file(folder: Path, path: str, data: bytes, **facts: Any) -> None:
    """Write another content of a file of rows, and the hash that fits it."""
    (folder / path).write_bytes(data)
    record = manifest(folder)
    for entry in record["files"]:
        if entry["path"] == path:
            entry.update({"sha256": hash_bytes(data), **facts})
    write_manifest(folder, record)


# What files of rows hold.


def _encoded(rows: pa.Table, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, rows.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue().to_pybytes())


def _rows(folder: Path, entry: dict[str, Any]) -> pa.Table:
    with pa.OSFile(str(folder / entry["path"])) as source:
        return pa.ipc.open_file(source).read_all()


def _with_rows(change: Callable[[pa.Table, Random], pa.Table], *tables: str, **options: Any) -> Damage:
    def damage(folder: Path, dice: Random) -> None:
        entry = some_file(folder, dice, dice.choice(tables or ("",)))
        rows = change(_rows(folder, entry), dice)
        replace_file(folder, entry["path"], _encoded(rows, **options), rows=rows.num_rows)

    return damage


def _column(rows: pa.Table, dice: Random, *kinds: pa.DataType) -> int:
    return dice.choice([number for number, field in enumerate(rows.schema) if field.type in kinds])


def _number(rows: pa.Table, dice: Random) -> pa.Table:
    at = _column(rows, dice, pa.float64(), pa.float32())
    values = rows.column(at).to_numpy().copy()
    kind = rows.schema.field(at).type
    with np.errstate(over="ignore"):
        values[dice.randrange(len(values))] = float(dice.choice(_NUMBERS))
    return rows.set_column(at, rows.schema.field(at), pa.array(values, type=kind))


def _vector(rows: pa.Table, dice: Random) -> pa.Table:
    at = rows.schema.get_field_index("vector")
    kind = rows.schema.field(at).type
    flat = rows.column(at).combine_chunks().flatten().to_numpy().copy()
    flat[dice.randrange(len(flat))] = dice.choice([math.nan, math.inf])
    return rows.set_column(at, rows.schema.field(at), pa.FixedSizeListArray.from_arrays(pa.array(flat), type=kind))


def _null(rows: pa.Table, dice: Random) -> pa.Table:
    at = dice.randrange(rows.num_columns)
    field = rows.schema.field(at)
    values = [*rows.column(at).to_pylist()[:-1], None]
    return _unchecked(rows, at, pa.array(values, type=field.type))


def _unchecked(rows: pa.Table, at: int, column: pa.Array) -> pa.Table:
    columns = [column if number == at else part.combine_chunks() for number, part in enumerate(rows.columns)]
    return pa.Table.from_arrays(columns, schema=rows.schema)


def _null_in_list(rows: pa.Table, dice: Random) -> pa.Table:
    at = rows.schema.get_field_index("colours")
    return _unchecked(rows, at, pa.array([["red", None]] * rows.num_rows, type=rows.schema.field(at).type))


def _image(rows: pa.Table, dice: Random) -> pa.Table:
    name = dice.choice(
        ["/etc/passwd", "../../secret.jpg", "images/../../secret.jpg", "images/none.jpg", "", "images/a\n"]
    )
    return _unchecked(rows, 1, pa.array([name] * rows.num_rows))


def _other_columns(rows: pa.Table, dice: Random) -> pa.Table:
    kind = dice.randrange(6)
    at = _column(rows, dice, pa.string())
    name = rows.column_names[at]
    if kind == 0:
        return rows.drop_columns([dice.choice(rows.column_names)])
    if kind == 1:
        return rows.append_column("more", pa.array(range(rows.num_rows)))
    if kind == 2:
        return rows.select(rows.column_names[::-1])
    if kind == 3:
        return rows.set_column(at, name, rows.column(at).dictionary_encode())
    if kind == 4:
        return rows.set_column(at, name, rows.column(at).cast(pa.large_string()))
    return rows.rename_columns([column.upper() for column in rows.column_names])


def _strange(rows: pa.Table, dice: Random) -> pa.Table:
    """Rows that could be, however odd: nothing about them is damaged, and every answer must be one."""
    columns = []
    for field, column in zip(rows.schema, rows.columns, strict=True):
        count = rows.num_rows
        if field.type in (pa.float64(), pa.float32()):
            values: list[Any] = [dice.choice([0.0, -5.0, 1e8, -1e8, 45.0, 0.5, 1e-30]) for _ in range(count)]
        elif field.type == pa.string() and field.name != "image":
            values = [
                dice.choice(["", "\x1b[2J", "t0000_01", "人", "../..", "a" * 3000, "\u202e", "ent_"])
                for _ in range(count)
            ]
        else:
            values = column.to_pylist()
        columns.append(pa.array(values, type=field.type))
    return pa.Table.from_arrays(columns, schema=rows.schema)


def _offsets(change: Callable[[np.ndarray, Random], None], kind: str = "text") -> Damage:
    """Offsets of a column of texts or lists that do not fit what they point into."""

    def damage(folder: Path, dice: Random) -> None:
        entry = some_file(folder, dice, "sightings" if kind == "list" else "")
        rows = _rows(folder, entry)
        wanted = [field.name for field in rows.schema if field.type == pa.string()] if kind == "text" else ["colours"]
        column = rows.column(dice.choice(wanted)).combine_chunks()
        offsets = np.frombuffer(column.buffers()[1], dtype=np.int32)[: len(column) + 1]
        data = bytearray((folder / entry["path"]).read_bytes())
        at = data.find(offsets.tobytes())
        changed = offsets.copy()
        change(changed, dice)
        data[at : at + changed.nbytes] = changed.tobytes()
        replace_file(folder, entry["path"], bytes(data))

    return damage


def _far(offsets: np.ndarray, dice: Random) -> None:
    offsets[dice.randrange(1, len(offsets)) :] = dice.choice([2**31 - 1, 2**30, 10**6])


def _backwards(offsets: np.ndarray, dice: Random) -> None:
    offsets[dice.randrange(len(offsets))] = dice.choice([-1, -(2**31), -(10**6)])


def _shuffled(offsets: np.ndarray, dice: Random) -> None:
    offsets[0], offsets[-1] = offsets[-1] + 7, 0


def _no_utf8(folder: Path, dice: Random) -> None:
    entry = some_file(folder, dice)
    data = (folder / entry["path"]).read_bytes()
    producer = _rows(folder, entry).column("producer")[0].as_py().encode()
    at = data.rfind(producer)
    replace_file(folder, entry["path"], data[:at] + b"\xff\xfe" + data[at + 2 :])


def _flipped(folder: Path, dice: Random) -> None:
    entry = some_file(folder, dice)
    data = bytearray((folder / entry["path"]).read_bytes())
    for _ in range(dice.choice([1, 3, 20])):
        data[dice.randrange(8, len(data))] ^= 1 << dice.randrange(8)
    replace_file(folder, entry["path"], bytes(data))


def _cut(folder: Path, dice: Random) -> None:
    entry = some_file(folder, dice)
    data = (folder / entry["path"]).read_bytes()
    replace_file(folder, entry["path"], data[: dice.choice([0, 1, 7, 8, 9, 12, len(data) // 2, len(data) - 1])])


def _other_table(folder: Path, dice: Random) -> None:
    one, other = some_file(folder, dice, "cuts"), some_file(folder, dice, "sightings")
    replace_file(folder, one["path"], (folder / other["path"]).read_bytes(), rows=other["rows"])


def _other_count(folder: Path, dice: Random) -> None:
    entry = some_file(folder, dice)
    replace_file(
        folder, entry["path"], (folder / entry["path"]).read_bytes(), rows=entry["rows"] + dice.choice([-1, 1, 10**12])
    )


def _bomb(folder: Path, dice: Random) -> None:
    """A small file that unpacks to a large one."""
    entry = some_file(folder, dice, "cuts")
    row = _rows(folder, entry).slice(0, 1)
    rows = pa.concat_tables([row] * 20_000).combine_chunks()
    data = _encoded(rows, compression=dice.choice(["zstd", "lz4"]))
    replace_file(folder, entry["path"], data, rows=rows.num_rows)


ROW_KINDS: dict[str, Damage] = {
    "offsets behind the data": _offsets(_far),
    "offsets before the data": _offsets(_backwards),
    "offsets that run backwards": _offsets(_shuffled),
    "offsets of lists behind the data": _offsets(_far, "list"),
    "offsets of lists before the data": _offsets(_backwards, "list"),
    "text that is no UTF-8": _no_utf8,
    "bits flipped": _flipped,
    "more bits flipped": _flipped,
    "cut off": _cut,
    "another table": _other_table,
    "other columns": _with_rows(_other_columns),
    "other columns once more": _with_rows(_other_columns),
    "another number of rows": _other_count,
    "a number that is none": _with_rows(_number),
    "a number that is none, once more": _with_rows(_number),
    "a time that is none": _with_rows(_number, "cuts", "sightings", "speech"),
    "a vector that is none": _with_rows(_vector, "looks"),
    "nothing in a column": _with_rows(_null),
    "nothing in a list": _with_rows(_null_in_list, "sightings"),
    "an image elsewhere": _with_rows(_image, "key_frames"),
    "compressed": _with_rows(lambda rows, dice: rows, compression="zstd"),
    "a bomb": _bomb,
    "strange rows": _with_rows(_strange),
    "strange speech": _with_rows(_strange, "speech"),
    "strange things": _with_rows(_strange, "sightings"),
    "strange links": _with_rows(_strange, "track_links", "look_links"),
    "strange memories": _with_rows(_strange, "memories", "registrations"),
}  # fmt: skip

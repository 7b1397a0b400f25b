"""Worlds as somebody hostile would make them, by seed: files whose hashes fit and whose content does not, paths that lead out
of the folder, what is no file, numbers no video has."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from tests.support.damaged_rows import ROW_KINDS, Damage, manifest, some_file, write_manifest

# What stands in the manifest.


def _with_manifest(change: Callable[[dict[str, Any], Random], None]) -> Damage:
    def damage(folder: Path, dice: Random) -> None:
        record = manifest(folder)
        change(record, dice)
        write_manifest(folder, record)

    return damage


def _with_video(name: str, *values: Any) -> Damage:
    return _with_manifest(lambda record, dice: record["video"].update({name: dice.choice(values)}))


def _with_path(*paths: str, images: bool = False) -> Damage:
    def change(record: dict[str, Any], dice: Random) -> None:
        entry = dice.choice(record["images" if images else "files"])
        entry["path"] = dice.choice(paths).replace("PATH", entry["path"])

    return _with_manifest(change)


def _drop_a_field(record: dict[str, Any], dice: Random) -> None:
    place = dice.choice([record, record["video"], record["source"], record["files"][0]])
    del place[dice.choice([name for name in place if name not in ("schema_version", "complete", "took")])]


def _mistype_a_field(record: dict[str, Any], dice: Random) -> None:
    place = dice.choice([record, record["video"], record["source"], record["files"][0]])
    name = dice.choice([name for name in place if name not in ("schema_version", "losses", "stages")])
    place[name] = dice.choice([None, [1], {"a": {}}, -1.5])


def _list_twice(record: dict[str, Any], dice: Random) -> None:
    record["files"] += [dice.choice(record["files"])] * 3


def _raw(*contents: bytes) -> Damage:
    return lambda folder, dice: _put(folder / "world.json", dice.choice(contents))


def _put(path: Path, data: bytes) -> None:
    path.write_bytes(data)


# What lies in the folder.


def _instead(*names: str, how: str) -> Damage:
    """Something else in place of a file or folder: a link, a pipe, a folder, nothing."""

    def damage(folder: Path, dice: Random) -> None:
        name = dice.choice(names)
        if name in ("ROWS", "IMAGE"):
            name = (
                some_file(folder, dice)["path"] if name == "ROWS" else dice.choice(manifest(folder)["images"])["path"]
            )
        place, aside = folder / name, folder.with_name("aside") / name
        aside.parent.mkdir(parents=True, exist_ok=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_dir() or place.exists():
            shutil.move(place, aside)
        else:
            aside.write_bytes(b"")
        if how == "link":
            place.symlink_to(aside)
        elif how == "device":
            place.symlink_to(dice.choice(["/dev/zero", "/dev/stdin", "/dev/tty", "/proc/self/environ"]))
        elif how == "pipe":
            os.mkfifo(place)
        elif how == "folder":
            place.mkdir()

    return damage


def _local(*contents: str) -> Damage:
    def damage(folder: Path, dice: Random) -> None:
        secret = folder.with_name("secret.mp4")
        secret.write_bytes(b"private" * 1000)
        record = manifest(folder)
        record["source"]["bytes"] = secret.stat().st_size
        record["complete"] = dice.choice([True, False])
        write_manifest(folder, record)
        (folder / "local.json").write_text(dice.choice(contents).replace("SECRET", str(secret)))

    return damage


def _session(*lines: str) -> Damage:
    def damage(folder: Path, dice: Random) -> None:
        (folder / "sessions").mkdir(exist_ok=True)
        (folder / "sessions" / "default.jsonl").write_text(dice.choice(lines) + "\n")

    return damage


_MEMORY = (
    '{"event": "memory_written", "known_at": KNOWN, "memory_id": "mem_1", "level": "event", "start": START, "end": END,'
    ' "content": "x"}'
)


def _memory(known: str = "1", start: str = "1", end: str = "2") -> str:
    return _MEMORY.replace("KNOWN", known).replace("START", start).replace("END", end)


KINDS: dict[str, Damage] = {
    **ROW_KINDS,
    "rows up the folder": _with_path("../PATH", "rows/../../secret.arrow", "rows/cuts/../../../x.arrow"),
    "rows at a place of their own": _with_path("/etc/passwd", "/dev/zero", "rows/cuts/.arrow", "rows\\cuts\\a.arrow", ""),
    "images elsewhere": _with_path("../PATH", "/etc/passwd", "images/../world.json", "images/", images=True),
    "a duration no video has": _with_video("duration", 1e308, 1e12, -1.0, math.nan, math.inf, "long"),
    "a size no video has": _with_video("width", 0, -5, 10**400, 10**12, 1.5),
    "a rate no video has": _with_video("frame_rate", math.inf, -1.0, math.nan),
    "a table nobody knows": _with_manifest(lambda record, dice: record["files"][0].update({"table": "../../x"})),
    "a table of another": _with_manifest(lambda record, dice: record["files"][0].update({"table": "memories"})),
    "a field that lacks": _with_manifest(_drop_a_field),
    "a field of another kind": _with_manifest(_mistype_a_field),
    "a field that is one more": _with_manifest(lambda record, dice: record.update({"more": 1})),
    "files listed twice": _with_manifest(_list_twice),
    "a clip no video has": _with_manifest(lambda record, dice: record["files"][0].update({"clip": dice.choice([-1, 10**30])})),
    "a hash that is none": _with_manifest(lambda record, dice: record.update({"world_hash": "../../../x"})),
    "another hash": _with_manifest(lambda record, dice: record.update({"world_hash": "0" * 64})),
    "an id that is none": _with_manifest(lambda record, dice: record.update({"video_id": dice.choice(["../x", "", "A B"])})),
    "another schema version": _with_manifest(lambda record, dice: record.update({"schema_version": dice.choice([1, 99, None])})),
    "no JSON": _raw(b"", b"{", b"\xff\xfe{}", b"[" * 200_000, b'{"schema_version":' * 50_000, b"9" * 10_000, b"null", b"[]"),
    "a link to rows": _instead("ROWS", how="link"),
    "a link to a device": _instead("ROWS", "IMAGE", "world.json", "local.json", how="device"),
    "a link to images": _instead("IMAGE", "images", how="link"),
    "a link to a folder": _instead("rows", "rows/cuts", "sessions", how="link"),
    "a link to a manifest": _instead("world.json", how="link"),
    "a pipe for rows": _instead("ROWS", how="pipe"),
    "a pipe for an image": _instead("IMAGE", how="pipe"),
    "a pipe for a manifest": _instead("world.json", how="pipe"),
    "a pipe for a session": _instead("sessions/default.jsonl", "local.json", how="pipe"),
    "a link for a session": _instead("sessions/default.jsonl", "local.json", how="link"),
    "a folder for a file": _instead("ROWS", "IMAGE", "world.json", "local.json", "sessions/default.jsonl", how="folder"),
    "nothing for a file": _instead("ROWS", "IMAGE", how="nothing"),
    "another video": _local('{"source_path": "SECRET"}', '{"source_path": "SECRET", "stamp": {}, "head": null}',
                            '{"source_path": "SECRET", "stamp": {"inode": 1, "size": 7000, "written": 0}, "head": null}'),
    "a place that is none": _local("{", "[]", '{"source_path": 3}', '{"source_path": "/dev/zero"}', "[" * 100_000,
                                  '{"source_path": "\\u0000"}'),
    "a session that is none": _session("{", "null", _memory("NaN"), _memory(start="Infinity"), _memory(start="1e308", end="-1"),
                                     "\xff"),
    "a strange session": _session(_memory("-5"), _memory(start="-5", end="1e9"), _memory(start="5", end="1")),
}  # fmt: skip
#: What checking the world does not name: it is no part of it, or may have hit no byte that says anything.
UNCHECKED = {"another video", "a place that is none", "a session that is none", "a strange session", "a folder for a file",
             "bits flipped", "more bits flipped"}  # fmt: skip

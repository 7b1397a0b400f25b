"""Verification of a stored world of unknown origin, in a process of its own.

A damaged or hostile file can crash only that process; the calling one continues and reports what is wrong.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from world_api.core.execution import restricted_environment
from world_api.core.faults import StoreFault, VideoWorldError, internal_fault
from world_api.core.files import bytes_on_disk, check_plain, hash_stored
from world_api.world.storage import (
    MANIFEST,
    TICK,
    count_wrong,
    hash_rows,
    read_image,
    read_manifest,
    read_table,
    rules_broken,
)
from world_api.world.store import DERIVED_FOLDER, Derived, World, derived_folder, world_folder, world_hash
from world_api.world.tables import TABLES

#: Limits in seconds and bytes of memory, and the bytes of the world on disk that allow another second.
_SECONDS, _MEMORY, _BYTES_A_SECOND = 120.0, 8 << 30, 2 << 20
#: The program of the process.
_PROGRAM = f"import sys; from {__name__} import main; main(*sys.argv[1:])"


def check_apart(store: Path, video_id: str) -> list[str]:
    """Run :func:`check_world` in another process, which a hostile file may crash; return its messages, or one on a crash or timeout.

    Raises StoreFault: ``bad_video_id``, ``no_such_world``, ``other_schema_version``, ``world_damaged``.
    """
    folder = world_folder(store, video_id)
    with suppress(OSError):  # the process reports it, too
        check_plain(folder)
    # The holes of sparse files do not count.
    files = (entry for entry in folder.rglob("*") if not entry.is_symlink() and entry.is_file())
    size = sum(bytes_on_disk(entry.stat()) for entry in files)
    modules = os.pathsep.join(path for path in sys.path if path)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _PROGRAM, str(store.resolve()), video_id, str(_MEMORY + 4 * size)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=restricted_environment(os.environ) | {"PYTHONPATH": modules, "OPENBLAS_NUM_THREADS": "1"},
            timeout=_SECONDS + size / _BYTES_A_SECOND,
            check=False,
        )
    except subprocess.TimeoutExpired as expired:
        return [f"reading it did not end within {expired.timeout:.0f} s"]
    if done.returncode < 0:
        return [f"a process that read it was ended by {signal.Signals(-done.returncode).name}"]
    try:
        report = json.loads(done.stdout)
        wrong, fault = report["wrong"], report["fault"]
    except (ValueError, TypeError, KeyError):
        return [f"a process that read it ended with status {done.returncode}"]
    if fault is not None:
        raise StoreFault(fault["code"], fault["message"], hint=fault["hint"])
    return [str(line) for line in wrong]


def check_world(world: World) -> list[str]:
    """Return messages about the faults of a stored world, those of the first check that finds any; empty if it is sound.

    Every file is compared with its hash in the manifest, all rows are read and checked against the rules of their tables
    (``tables.Rules``), and stored derived rows are compared with them.
    """
    listed = [(entry.path, entry.sha256) for entry in world.manifest.files]
    listed += [(image.path, image.sha256) for image in world.manifest.images]
    wrong = []
    for path, sha256 in listed:
        try:
            if hash_stored(world.folder / path) != sha256:
                wrong.append(f"{path}: its content has changed")
        except OSError as error:
            wrong.append(f"{path}: {error.strerror}")
    wrong = wrong or _rows_wrong(world)
    own = world.manifest
    if not wrong and world_hash(world.folder, own.video, own.files, own.stages) != own.world_hash:
        wrong.append(f"{MANIFEST}: the rows do not have the hash it names")
    return wrong or _images_wrong(world) or _kept_wrong(world)


def _images_wrong(world: World) -> list[str]:
    wrong = []
    for image in world.manifest.images:
        if (size := (world.folder / image.path).stat().st_size) != image.bytes:
            wrong.append(f"{image.path}: it has {size} bytes, and {MANIFEST} says {image.bytes}")
        elif read_image(world.folder, image.path) is None:
            wrong.append(f"{image.path}: it is no JPEG, or not the one that its name says")
    return wrong


def _rows_wrong(world: World) -> list[str]:
    """Return a message for each unreadable table and unlisted key frame; without these, for each broken rule of a table."""
    wrong = []
    tables: dict[str, pa.Table] = {}
    images = {image.path for image in world.manifest.images}
    for name in TABLES:
        try:
            tables[name] = rows = read_table(world.folder, name, world.manifest.files_of(name))
        except StoreFault as fault:
            wrong.append(fault.message)
            continue
        named = set(rows.column("image").to_pylist()) if "image" in rows.column_names else set()
        wrong += [
            f"{path}, a key frame, is none of the images that {MANIFEST} lists" for path in sorted(named - images)
        ]
    return wrong or [
        line
        for name, rows in tables.items()
        for line in (*rules_broken(name, rows, world.manifest), *_relations_broken(name, tables))
    ]


#: A moment is known when it comes or later, an interval at its end or later.
_KNOWN = (("time", "known_at"), ("end", "known_at"))


def _relations_broken(name: str, tables: dict[str, pa.Table]) -> list[str]:
    """Return a message for each rule between rows that the table ``name`` breaks, and for rows known before their time."""
    rows, rules = tables[name], TABLES[name].rules
    wrong = []
    for low, high in _KNOWN:
        if low in rows.column_names:
            lower, higher = rows.column(low).to_numpy(), rows.column(high).to_numpy()
            wrong += count_wrong(name, high, rows.column(high), higher < lower - TICK, f"less than its {low}")
    for column, (table, target) in rules.references.items():
        values = rows.column(column)
        values = pc.list_flatten(values) if pa.types.is_list(values.type) else values
        there = pc.is_in(values, value_set=pc.unique(tables[table].column(target)))
        wrong += count_wrong(name, column, values, pc.invert(there).to_numpy(), f"no {target} of a row of {table}")
    for key in ([] if rules.repeats else [TABLES[name].key]) + [(column,) for column in rules.unique]:
        if again := rows.num_rows - rows.select(key).group_by(list(key)).aggregate([]).num_rows:
            wrong.append(f"rows of {name}: {again} of {rows.num_rows} have the {', '.join(key)} of another one")
    if rules.follows is not None and (circle := _circle(rows, *rules.follows)):
        wrong.append(f"rows of {name}: {' and '.join(rules.follows)} lead back, by {str(circle)[:100]}")
    return wrong


def _circle(rows: pa.Table, first: str, second: str) -> list[str]:
    """Return the values on a circle, if references from column ``first`` to ``second`` (texts or lists) form one; else empty."""
    ways: TopologicalSorter[str] = TopologicalSorter()
    for start, ends in zip(rows.column(first).to_pylist(), rows.column(second).to_pylist(), strict=True):
        ways.add(start, *(ends if isinstance(ends, list) else [ends]))
    try:
        ways.prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def _kept_wrong(world: World) -> list[str]:
    """Return a message for each stored copy of a table of rows that is damaged or differs from the world's files.

    Copies are in the folder of derived tables. Other derived tables (tracks, search indexes) are not checked.
    """
    kept = Derived(derived_folder(world.folder.parent, world.manifest))
    wrong = []
    for name in TABLES:
        there = kept.read(f"rows.{name}")
        path = f"{DERIVED_FOLDER}/{world.manifest.video_id}: rows.{name}"
        if there is None and kept.damaged(f"rows.{name}"):
            wrong.append(f"{path}: its content has changed")
        elif there is not None:
            rows = read_table(world.folder, name, world.manifest.files_of(name))
            if not there.schema.equals(TABLES[name].schema) or hash_rows([(name, there)]) != hash_rows([(name, rows)]):
                wrong.append(f"{path}: these are not the world's rows")
    return wrong


def main(store: str, video_id: str, memory: str) -> None:
    """Check a world and write the faults to standard output, as JSON; ``memory`` is the limit in bytes."""
    for what, most in ((resource.RLIMIT_AS, int(memory)), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(what)
        with suppress(ValueError, OSError):
            resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    wrong, fault = [], None
    try:
        folder = world_folder(Path(store), video_id)
        wrong = check_world(World(folder, read_manifest(folder).model_copy(update={"video_id": video_id})))
    except VideoWorldError as error:
        fault = error.record()["error"]
    except MemoryError:
        wrong = ["reading it takes too much memory"]
    # Any other error is reported as a fault, not as a trace.
    except Exception as error:  # noqa: BLE001 - see above
        wrong = [f"reading it ends in {internal_fault(error).message}"]
    json.dump({"wrong": wrong, "fault": fault}, sys.stdout)

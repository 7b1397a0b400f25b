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
from pathlib import Path

from world_api.core.execution import restricted_environment
from world_api.core.faults import StoreFault, VideoWorldError, internal_fault
from world_api.core.files import bytes_on_disk, check_plain, hash_stored
from world_api.world.storage import MANIFEST, hash_rows, read_manifest, read_table
from world_api.world.store import DERIVED_FOLDER, Derived, World, derived_folder, world_folder, world_hash
from world_api.world.tables import TABLES

#: Limits in seconds and bytes of memory, and the bytes of the world on disk that allow another second.
_SECONDS, _MEMORY, _BYTES_A_SECOND = 120.0, 8 << 30, 2 << 20
#: The program of the process.
_PROGRAM = f"import sys; from {__name__} import main; main(*sys.argv[1:])"


def check_apart(store: Path, video_id: str) -> list[str]:
    """Run :func:`check_world` in a process of its own, which a hostile file may crash; return a line for each fault.

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
    """Return a line for each fault of a stored world; none if it is sound.

    Every file is compared with its hash in the manifest, all rows are read, and stored derived rows are compared with
    them.
    """
    listed = [(entry.path, entry.sha256) for entry in world.manifest.files]
    listed += [(image.path, image.sha256) for image in world.manifest.images]
    wrong = []
    for path, sha256 in listed:
        try:
            found = hash_stored(world.folder / path)
        except OSError as error:
            wrong.append(f"{path}: {error.strerror}")
            continue
        if found != sha256:
            wrong.append(f"{path}: its content has changed")
    wrong = wrong or _rows_wrong(world)
    if not wrong and world_hash(world.folder, world.manifest.video, world.manifest.files) != world.manifest.world_hash:
        wrong.append(f"{MANIFEST}: the rows do not have the hash it tells")
    return wrong or _kept_wrong(world)


def _rows_wrong(world: World) -> list[str]:
    """Return a line for each table that cannot be read, and for each key frame that the manifest does not list."""
    wrong = []
    images = {image.path for image in world.manifest.images}
    for name in TABLES:
        try:
            rows = read_table(world.folder, name, world.manifest.files_of(name))
        except StoreFault as fault:
            wrong.append(fault.message)
            continue
        named = set(rows.column("image").to_pylist()) if "image" in rows.column_names else set()
        wrong += [
            f"{path}, a key frame, is none of the images that {MANIFEST} lists" for path in sorted(named - images)
        ]
    return wrong


def _kept_wrong(world: World) -> list[str]:
    """Return a line for each stored copy of a table of rows that is damaged or differs from the world's files.

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

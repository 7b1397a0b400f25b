"""Checking a stored world of unknown origin, all of it, in a process of its own.

Whatever a damaged or hostile file does to that process, the one that asked goes on, and says by name what is wrong.
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

from world_api.core.ambient.environment import restricted_environment
from world_api.core.faults import StoreFault, VideoWorldError
from world_api.core.last_resort import internal_fault
from world_api.world.disk.files import check_plain
from world_api.world.disk.hashing import bytes_on_disk
from world_api.world.disk.manifest import read_manifest
from world_api.world.disk.stored import World, check_world, world_folder

#: Seconds and bytes of memory that checking takes at most, and how many bytes of the world on the disk allow another second.
_SECONDS, _MEMORY, _BYTES_A_SECOND = 120.0, 8 << 30, 2 << 20


def check_apart(store: Path, video_id: str) -> list[str]:
    """What is wrong with a world, as :func:`check_world` tells it, found out by a process that may die of it.

    Raises:
        StoreFault: ``bad_video_id``, ``no_such_world``, ``other_schema_version``, ``world_damaged``.
    """
    folder = world_folder(store, video_id)
    with suppress(OSError):  # the process says so, too
        check_plain(folder)
    size = _size(folder)
    modules = os.pathsep.join(path for path in sys.path if path)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", __name__, str(store.resolve()), video_id, str(_MEMORY + 4 * size)],
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
        told = json.loads(done.stdout)
        wrong, fault = told["wrong"], told["fault"]
    except (ValueError, TypeError, KeyError):
        return [f"a process that read it ended with status {done.returncode}"]
    if fault is not None:
        raise StoreFault(fault["code"], fault["message"], hint=fault["hint"])
    return [str(line) for line in wrong]


def _size(folder: Path) -> int:
    """Bytes that all files of a world take on the disk; what a sparse file leaves out takes no time that anybody grants it."""
    return sum(bytes_on_disk(entry.stat()) for entry in folder.rglob("*") if not entry.is_symlink() and entry.is_file())


def main(store: str, video_id: str, memory: str) -> None:
    """Check a world and write what is wrong to standard output, as JSON."""
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
    # Whatever else a file leads to is told as a fault, not as a trace.
    except Exception as error:  # noqa: BLE001 - see above
        wrong = [f"reading it ends in {internal_fault(error).message}"]
    json.dump({"wrong": wrong, "fault": fault}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])

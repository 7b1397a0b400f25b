"""Beginning a run, or going on with one: its lock, its worlds, its folder."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eval.datasets.items import Item
from eval.datasets.records import item_record
from eval.runs.lines import ItemLine
from eval.runs.manifest import Manifest, read_manifest, write_manifest
from eval.runs.places import RunFolder
from eval.runs.planning.libraries import keep_copies
from eval.runs.planning.plan import Plan
from eval.runs.reading import read_items
from eval.runs.running.workshop import store_of
from eval.runs.running.worlds import build
from world_api.core.canonical import json_line
from world_api.core.faults import EvalFault, VideoWorldError
from world_api.world.files import not_writable, write_atomically

if TYPE_CHECKING:
    from world_api.build.builder import Progress
    from world_api.core.ports import Clock

#: Processes of a run that was killed end with their question; so long they are waited for.
_PATIENCE = 20.0
_STEP = 0.1


@contextmanager
def locked(folder: RunFolder, *, sleep: Callable[[float], None], clock: Clock) -> Iterator[int]:
    """Hold the run's lock; its handle, which processes that ask inherit.

    Raises:
        EvalFault: ``run_busy``, where another process asks in it.
        StoreFault: ``store_not_writable``, ``disk_full``.
    """
    try:
        folder.root.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise not_writable(folder.lock, error) from error
    try:
        _lock(handle, folder, sleep=sleep, until=clock.monotonic() + _PATIENCE, clock=clock)
        yield handle
    finally:
        os.close(handle)


def _lock(handle: int, folder: RunFolder, *, sleep: Callable[[float], None], until: float, clock: Clock) -> None:
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
        else:
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
            return
        if _holder_lives(handle) or clock.monotonic() >= until:
            raise EvalFault(
                "run_busy",
                f"another process asks in {folder.root.name}",
                hint="wait until it is through, or give another folder with --out",
            )
        sleep(_STEP)


def _holder_lives(handle: int) -> bool:
    """Whether the process that began to hold the lock is there; if not, those it started are about to end."""
    try:
        holder = int(os.pread(handle, 32, 0) or b"0")
        if holder <= 0:
            return False
        os.kill(holder, 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True


def begin(plan: Plan, folder: RunFolder, *, progress: Progress, clock: Clock) -> Manifest:
    """Build the worlds that are missing, and write what the run is; a run that was begun goes on if it is still the same.

    Raises:
        EvalFault: ``run_changed``, naming what is not as it was; ``run_damaged``.
        MediaFault, StoreFault, BackendFault: as building worlds names them.
    """
    before = refuse_another(plan, folder)
    worlds = _built(plan, progress=progress, clock=clock)
    manifest = plan.manifest(worlds)
    if before is not None:
        _refuse_other_worlds(before.worlds, worlds)
        kept = {name: getattr(before, name) for name in ("versions", "git", "loop", "stretches")}
        manifest = replace(manifest, **kept)
    lines = [
        ItemLine(dataset=name, item=item_record(item)).record() for name, items in plan.items.items() for item in items
    ]
    keep_copies(plan.configuration, folder.libraries, plan.library_records)
    write_atomically(folder.config, plan.configuration.content)
    _write_json(folder, {"configuration_folder": str(plan.configuration.folder)})
    write_atomically(folder.items, b"".join(json_line(line).encode() + b"\n" for line in lines))
    write_manifest(folder.manifest, manifest)
    return manifest


def refuse_another(plan: Plan, folder: RunFolder) -> Manifest | None:
    """What the run in a folder was begun as, which the plan must go on with; None where none was begun.

    Raises:
        EvalFault: ``run_changed``, naming what is not as it was; ``run_damaged``.
    """
    before = read_manifest(folder.manifest) if folder.manifest.exists() else None
    if before is not None:
        now = plan.manifest({})
        refuse_changed(before, now)
        _refuse_fewer(before, read_items(folder), plan)
        _refuse_renamed(before, now, folder)
    return before


def refuse_changed(before: Manifest, now: Manifest) -> None:
    """Refuse to go on with a run that is another one now. More arms, seeds, budgets or worlds are no other run.

    Raises:
        EvalFault: ``run_changed``.
    """
    changed: list[str] = []
    for name, record in before.datasets.items():
        if name not in now.datasets or now.datasets[name].hash != record.hash:
            changed.append(f"the questions of {name}")
        elif now.datasets[name].missing_hash != record.missing_hash:
            changed.append(f"which videos of {name} are there")
    for library, kept in before.libraries.items():
        if library not in now.libraries or now.libraries[library].hash != kept.hash:
            changed.append(f"the library {library}")
    if before.model != now.model:
        changed.append("the model")
    if before.prompts != now.prompts:
        changed.append("the prompts")
    if not changed:
        cells = {cell.id for cell in now.cells}
        changed += [f"the cell {cell.id}" for cell in before.cells if cell.id not in cells][:3]
    if changed:
        raise EvalFault(
            "run_changed",
            "the run was begun with another configuration; what is not as it was: " + ", ".join(changed),
            hint="begin a new run with another --out; what is there stays as it is",
        )


def _refuse_fewer(before: Manifest, items: Mapping[tuple[str, str], Item], plan: Plan) -> None:
    """Questions may be added to a run; none may go, or the samples of it would be chosen after they were seen.

    Raises:
        EvalFault: ``run_changed``.
    """
    now = {(name, item.id): item for name, picked in plan.items.items() for item in picked}
    for name, record in before.datasets.items():
        begun = [key for key in items if key[0] == name]
        left = sum(key in now and item_record(now[key]) == item_record(items[key]) for key in begun)
        if left < max(len(begun), record.items):
            raise EvalFault(
                "run_changed",
                f"the run was begun with {record.items} questions of {name}; {left} of them are asked now",
                hint="give the split, limit and domains that it was begun with, or begin a new run with another --out",
            )


def _refuse_renamed(before: Manifest, now: Manifest, folder: RunFolder) -> None:
    """The primary contrast is named before anything is asked, and stays what it is from then on.

    Raises:
        EvalFault: ``run_changed``.
    """
    asked = folder.samples.exists() or any(folder.episodes.glob("*/*"))
    if asked and _told(before.primary) != _told(now.primary):
        raise EvalFault(
            "run_changed",
            f"the run has samples, and its primary contrast was {_told(before.primary)}; now it would be {_told(now.primary)}",
            hint="put back what was named before, or begin a new run with another --out; `eval compare` compares any arms",
        )


def _told(primary: Mapping[str, str | None] | None) -> str:
    return ", ".join(f"{key} {value}" for key, value in (primary or {}).items() if value is not None) or "none"


def _refuse_other_worlds(before: Mapping[str, Mapping[str, str]], now: Mapping[str, Mapping[str, str]]) -> None:
    for video, profiles in before.items():
        for profile, hash_before in profiles.items():
            found = now.get(video, {}).get(profile)
            if found != hash_before:
                raise EvalFault(
                    "run_changed",
                    f"the {profile} world of {video} is not the one that the run was begun with",
                    hint="begin a new run with another --out, or bring the world back",
                )


def _built(plan: Plan, *, progress: Progress, clock: Clock) -> dict[str, dict[str, str]]:
    """The hashes of all worlds, by video and profile; those that are missing are built, each once."""
    store = store_of(plan.configuration)
    found: dict[str, dict[str, str]] = {}
    for world in plan.worlds:
        known = world.hash
        if known is None:
            progress.say(f"building the {world.profile} world of {world.video.video_id} ...")
            try:
                known = build(store, world.profile, world.video, progress=progress, clock=clock)
            except VideoWorldError as fault:
                fault.message = f"the {world.profile} world of {world.video.video_id}: {fault.message}"
                raise
        found.setdefault(world.video.video_id, {})[world.profile] = known
    return found


def _write_json(folder: RunFolder, record: Mapping[str, Any]) -> None:
    write_atomically(folder.local, json_line(dict(record)).encode() + b"\n")

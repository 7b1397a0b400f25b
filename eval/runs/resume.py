"""Begin a run or continue one: its lock, the checks that it is still the same run, its worlds and folder, and what is finished."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from controller.accounts import accounts_of, total
from controller.questions import Question
from controller.records.journal import EPISODES, Journal, JournalEntry, is_there, lines_of, recorded
from eval.datasets.items import item_record
from eval.runs.cells import Cell, Sample
from eval.runs.files import Cost, ItemLine, LineFile, RunFolder, SampleLine
from eval.runs.libraries import copy_libraries
from eval.runs.manifest import Manifest, read_manifest, write_manifest
from eval.runs.plan import Plan
from eval.runs.reading import read_items
from eval.runs.scheduler import SET_UP_FAULTS
from eval.runs.worlds import build
from world_api.core.canonical import json_line
from world_api.core.faults import EvalFault, VideoWorldError
from world_api.world.files import not_writable, write_atomically

if TYPE_CHECKING:
    from world_api.build import Progress
    from world_api.core.ports import Clock

#: Worker processes of a run that was killed end with their sample; the lock is waited for so long (seconds).
_LOCK_TIMEOUT, _LOCK_RETRY = 20.0, 0.1
#: Ends of episodes that are no result of the model.
_NO_RESULT = SET_UP_FAULTS | {"interrupted"}


@contextmanager
def run_lock(folder: RunFolder, *, clock: Clock) -> Iterator[int]:
    """Hold the run's lock; yields its file descriptor, which worker processes inherit.

    Raises:
        EvalFault: ``run_busy`` if another process holds it.
        StoreFault: ``store_not_writable``, ``disk_full``.
    """
    try:
        folder.root.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise not_writable(folder.lock, error) from error
    try:
        until = clock.monotonic() + _LOCK_TIMEOUT
        while not _try_lock(handle):
            if _holder_lives(handle) or clock.monotonic() >= until:
                raise EvalFault(
                    "run_busy",
                    f"another process asks in {folder.root.name}",
                    hint="wait until it is through, or give another folder with --out",
                )
            time.sleep(_LOCK_RETRY)
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield handle
    finally:
        os.close(handle)


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EACCES):
            raise
        return False
    return True


def _holder_lives(handle: int) -> bool:
    """Whether the process that took the lock is alive; if not, its worker processes hold it and are about to end."""
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
    """Build missing worlds and write the run's files; a run that was begun must still be the same.

    Raises:
        EvalFault: ``run_changed``, naming what differs; ``run_damaged``.
        MediaFault, StoreFault, BackendFault: as building worlds names them.
    """
    before = check_same_run(plan, folder)
    worlds = _build_worlds(plan, progress=progress, clock=clock)
    manifest = plan.manifest(worlds)
    if before is not None:
        _check_worlds(before, worlds)
        kept = {name: getattr(before, name) for name in ("versions", "git", "loop", "stretches")}
        manifest = replace(manifest, **kept)
    lines = [
        ItemLine(dataset=name, item=item_record(item)).record() for name, items in plan.items.items() for item in items
    ]
    local = {"configuration_folder": str(plan.configuration.folder)}
    copy_libraries(plan.configuration, folder.libraries, plan.library_records)
    write_atomically(folder.config, plan.configuration.content)
    write_atomically(folder.local, json_line(local).encode() + b"\n")
    write_atomically(folder.items, b"".join(json_line(line).encode() + b"\n" for line in lines))
    write_manifest(folder.manifest, manifest)
    return manifest


def _build_worlds(plan: Plan, *, progress: Progress, clock: Clock) -> dict[str, dict[str, str]]:
    """The hashes of all worlds, by video and profile; missing worlds are built."""
    found: dict[str, dict[str, str]] = {}
    for world in plan.worlds:
        known = world.hash
        if known is None:
            progress.say(f"building the {world.profile} world of {world.video.video_id} ...")
            try:
                known = build(plan.configuration.store, world.profile, world.video, progress=progress, clock=clock)
            except VideoWorldError as fault:
                fault.message = f"the {world.profile} world of {world.video.video_id}: {fault.message}"
                raise
        found.setdefault(world.video.video_id, {})[world.profile] = known
    return found


def check_same_run(plan: Plan, folder: RunFolder) -> Manifest | None:
    """The manifest that a folder's run was begun with, if there is one; the plan must continue that run.

    More arms, seeds, budgets, worlds or questions do not make another run.

    Raises:
        EvalFault: ``run_changed``, naming what differs; ``run_damaged``.
    """
    if not folder.manifest.exists():
        return None
    before, now = read_manifest(folder.manifest), plan.manifest({})
    _check_parts(before, now)
    _check_questions(before, plan, folder)
    asked = folder.samples.exists() or any(folder.episodes.glob("*/*"))
    if asked and _primary_text(before) != _primary_text(now):
        raise EvalFault(
            "run_changed",
            f"the run has samples, and its primary contrast was {_primary_text(before)}; now it would be {_primary_text(now)}",
            hint="put back what was named before, or begin a new run with another --out; `eval compare` compares any arms",
        )
    return before


def _check_parts(before: Manifest, now: Manifest) -> None:
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


def _check_questions(before: Manifest, plan: Plan, folder: RunFolder) -> None:
    """No question may leave a run, or its samples would be chosen after they were seen."""
    now = {(name, item.id): item_record(item) for name, picked in plan.items.items() for item in picked}
    begun = {key: item_record(item) for key, item in read_items(folder).items()}
    for name, record in before.datasets.items():
        own = [key for key in begun if key[0] == name]
        left = sum(now.get(key) == begun[key] for key in own)
        if left < max(len(own), record.items):
            raise EvalFault(
                "run_changed",
                f"the run was begun with {record.items} questions of {name}; {left} of them are asked now",
                hint="give the split, limit and domains that it was begun with, or begin a new run with another --out",
            )


def _primary_text(manifest: Manifest) -> str:
    parts = (manifest.primary or {}).items()
    return ", ".join(f"{key} {value}" for key, value in parts if value is not None) or "none"


def _check_worlds(before: Manifest, now: Mapping[str, Mapping[str, str]]) -> None:
    for video, profiles in before.worlds.items():
        for profile, world_hash in profiles.items():
            if now.get(video, {}).get(profile) != world_hash:
                raise EvalFault(
                    "run_changed",
                    f"the {profile} world of {video} is not the one that the run was begun with",
                    hint="begin a new run with another --out, or bring the world back",
                )


@dataclass(frozen=True, kw_only=True)
class ResumeState:
    """Which samples of a run are finished, by key.

    ``adopted`` are finished samples that a process recorded and did not note before it died. ``lost`` were finished, and their
    episode or its recording is gone. ``other_costs`` were paid for samples that do not count; a limit of money includes them.
    ``lines`` is how many lines ``samples.jsonl`` has, with those adopted and without those that only hold a cost.
    """

    finished: Mapping[str, SampleLine]
    adopted: tuple[SampleLine, ...] = ()
    lost: tuple[SampleLine, ...] = ()
    other_costs: tuple[Cost, ...] = ()
    lines: int = 0


def resume_state(plan: Plan, folder: RunFolder) -> ResumeState:
    """Compare ``samples.jsonl`` with the journals of a run.

    Raises:
        EvalFault: ``run_damaged``, ``other_schema_version``.
    """
    lines = list(LineFile(folder.samples, SampleLine))
    noted = {line.sample: line for line in lines if not line.held}
    by_cell: dict[str, list[Sample]] = {}
    for sample in plan.samples():
        by_cell.setdefault(sample.cell.id, []).append(sample)
    finished: dict[str, SampleLine] = {}
    adopted: list[SampleLine] = []
    lost: list[SampleLine] = []
    for cell_id, samples in by_cell.items():
        journal = folder.journal(cell_id)
        unused = _recorded_episodes(journal)
        open_samples: list[Sample] = []
        for sample in samples:
            line = noted.get(sample.key)
            if line is not None and (line.episode is None or line.episode in unused):
                finished[sample.key] = line
                continue
            lost += [line] if line is not None else []
            open_samples.append(sample)
        unused -= {str(finished[sample.key].episode) for sample in samples if sample.key in finished}
        for line in _adopt(journal, unused, open_samples):
            adopted.append(line)
            finished[line.sample] = line
    return ResumeState(
        finished=finished,
        adopted=tuple(adopted),
        lost=tuple(lost),
        other_costs=tuple(line.cost for line in lines if finished.get(line.sample) is not line),
        lines=sum(not line.held for line in lines) + len(adopted),
    )


def _recorded_episodes(journal: Path) -> set[str]:
    """The names of finished episodes whose recording is there; the episodes themselves are not read."""
    path = journal / EPISODES
    if not is_there(path):
        return set()
    return {line.name for line in lines_of(path) if line.name is not None} & recorded(journal)


def _adopt(journal: Path, names: set[str], samples: Sequence[Sample]) -> Iterator[SampleLine]:
    """Match whole recorded episodes with open samples of the same question; each episode is adopted once."""
    if not names or not samples:
        return
    by_question: dict[tuple[Question, str], deque[Sample]] = {}
    for sample in samples:
        by_question.setdefault((sample.item.question, sample.item.video_id), deque()).append(sample)
    for entry in Journal(journal).scan(only=names):
        if not isinstance(entry, JournalEntry) or entry.conditions.broken_off:
            continue
        episode = entry.episode
        waiting = by_question.get((episode.task.question, episode.task.video_id))
        failed = episode.fault.code if episode.fault is not None else None
        if failed in _NO_RESULT or not waiting or not _belongs(entry, waiting[0].cell):
            continue
        sample = waiting.popleft()
        spent = total(accounts_of(episode).physical)
        yield SampleLine(
            sample=sample.key,
            cell=sample.cell.id,
            item=sample.item.id,
            episode=entry.name,
            cost=Cost(tokens=spent.tokens, money=spent.money),
            checksum=str(entry.sums.get("episode", "")),
            failed=failed is not None,
        )


def _belongs(entry: JournalEntry, cell: Cell) -> bool:
    task = entry.episode.task
    library = task.library.hash if task.library is not None else None
    return task.system == cell.arm.system and library in (None, cell.arm.library_hash)

"""A whole run, from its configuration to its recorded samples, as ``videoworld eval run`` performs it.

A run is continued if its folder holds the same run; its finished samples are found in its files.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from controller.answers import Question
from controller.records.journal import EPISODES, Journal, JournalEntry, lines_of, recorded
from eval.datasets.items import Item, item_record
from eval.runs.configuration import Configuration, read_configuration
from eval.runs.executor import SampleOutcome, SampleRunner, SampleWorker, SubprocessWorker
from eval.runs.libraries import copy_libraries
from eval.runs.plan import RunPlan, make_plan
from eval.runs.records import (
    ItemLine,
    RunFolder,
    RunManifest,
    Sample,
    SampleCost,
    SampleLine,
    ScoreLine,
    append_samples,
    configuration_of,
    note_provenance,
    provenance_of,
    read_lines,
    read_manifest,
    write_manifest,
)
from eval.runs.scheduler import SET_UP_FAULTS, RunEnd, RunScheduler, Tally
from eval.runs.stored_run import read_items
from eval.runs.worlds import build_for_run
from eval.scoring.scorers import score_value
from world_api.chat.rule_based import RULE_BASED
from world_api.core.canonical import json_line
from world_api.core.faults import EvalFault, VideoWorldError
from world_api.core.files import not_writable, write_atomically
from world_api.core.ports import Clock
from world_api.world.storage import BuildCost
from world_api.world.store import open_world

if TYPE_CHECKING:
    from eval.runs.scheduler import ProgressDisplay
    from world_api.build import Progress


#: Faults that end an episode but are no result of the model.
_NO_RESULT = SET_UP_FAULTS | {"interrupted"}


def check_same_run(plan: RunPlan, folder: RunFolder) -> RunManifest | None:
    """Return the manifest of a folder's run, None if there is none; the plan must continue that run.

    A run may get more arms, seeds, budgets, worlds or questions.
    Raises EvalFault: ``run_changed``, naming the difference; ``run_damaged``.
    """
    if not folder.manifest.exists():
        return None
    before, now = read_manifest(folder.manifest), plan.manifest({})
    _check_parts(before, now)
    _check_questions(before, plan, folder)
    has_samples = folder.samples.exists() or any(folder.episodes.glob("*/*"))
    named, wanted = _primary_text(before), _primary_text(now)
    if has_samples and named != wanted:
        what = f"the run has samples, and its primary contrast was {named}; now it would be {wanted}"
        hint = "put back what was named before, or begin a new run with another --out; `eval compare` compares any arms"
        raise EvalFault("run_changed", what, hint=hint)
    return before


def _check_parts(before: RunManifest, now: RunManifest) -> None:
    known, cells = _identity(now), {cell.id for cell in now.cells}
    changed = [part for part, value in _identity(before).items() if known.get(part) != value]
    changed = changed or [f"the cell {cell.id}" for cell in before.cells if cell.id not in cells][:3]
    if changed:
        what = f"the run was begun with another configuration; what is not as it was: {', '.join(changed)}"
        raise EvalFault("run_changed", what, hint="begin a new run with another --out; what is there stays as it is")


def _identity(manifest: RunManifest) -> dict[str, str]:
    """Return the values (hashes, names) that must be unchanged when a run is continued; keys are their names in messages."""
    datasets, libraries = manifest.datasets.items(), manifest.libraries.items()
    parts = {f"the questions of {name}": one.hash for name, one in datasets}
    parts |= {f"which videos of {name} are there": one.missing_hash for name, one in datasets}
    parts |= {f"the library {name}": one.hash for name, one in libraries}
    return parts | {"the model": manifest.model, "the prompts": manifest.prompts}


def _check_questions(before: RunManifest, plan: RunPlan, folder: RunFolder) -> None:
    """Check that all questions of the run are still asked, so that no question is dropped after its result is known."""
    now = {(name, item.id): item_record(item) for name, picked in plan.items.items() for item in picked}
    begun = {key: item_record(item) for key, item in read_items(folder).items()}
    for name, record in before.datasets.items():
        own = [key for key in begun if key[0] == name]
        left = sum(now.get(key) == begun[key] for key in own)
        if left < max(len(own), record.items):
            what = f"the run was begun with {record.items} questions of {name}; {left} of them are asked now"
            hint = "give the split, limit and domains that it was begun with, or begin a new run with another --out"
            raise EvalFault("run_changed", what, hint=hint)


def _primary_text(manifest: RunManifest) -> str:
    parts = (manifest.primary or {}).items()
    return ", ".join(f"{key} {value}" for key, value in parts if value is not None) or "none"


@dataclass(frozen=True, kw_only=True)
class ResumeState:
    """The finished samples of a run, by key, and which of them are right according to ``scores.jsonl``.

    ``adopted`` are finished samples that a process recorded but did not add to ``samples.jsonl`` before it died.
    ``lost`` were finished, but their episode or its recording is gone. ``other_costs`` were paid for samples that do
    not count; a limit of money includes them. ``lines`` is the number of lines of ``samples.jsonl`` with the adopted,
    without those that only record a cost.
    """

    finished: Mapping[str, SampleLine]
    correct: Mapping[str, bool]
    adopted: Sequence[SampleLine]
    lost: Sequence[SampleLine]
    other_costs: Sequence[SampleCost]
    lines: int


def resume_state(plan: RunPlan, folder: RunFolder) -> ResumeState:
    """Return the finished samples by ``samples.jsonl`` and the journals; episodes are only read in cells that lack samples.

    Raises EvalFault: ``run_damaged``, ``other_schema_version``.
    """
    lines = list(read_lines(folder.samples, SampleLine))
    noted = {line.sample: line for line in lines if not line.held}
    correct: dict[str, bool] = {}
    with suppress(EvalFault):  # a damaged scores.jsonl is written again at the end
        scores = read_lines(folder.scores, ScoreLine)
        correct = {line.sample: line.correct for line in scores if line.is_of(noted.get(line.sample))}
    by_cell: dict[str, list[Sample]] = {}
    for sample in plan.samples():
        by_cell.setdefault(sample.cell.id, []).append(sample)
    finished: dict[str, SampleLine] = {}
    adopted: list[SampleLine] = []
    lost: list[SampleLine] = []
    for cell_id, samples in by_cell.items():
        journal = folder.journal(cell_id)
        # Finished episodes whose recording exists; the episodes themselves are not read.
        there = {str(line.name) for line in lines_of(journal / EPISODES)} & recorded(journal)
        known = [noted[sample.key] for sample in samples if sample.key in noted]
        kept = {line.sample: line for line in known if line.episode is None or line.episode in there}
        lost += [line for line in known if line.sample not in kept]
        missing = [sample for sample in samples if sample.key not in kept]
        unused = there - {str(line.episode) for line in kept.values()}
        found = [
            SampleOutcome.of(entry.episode, entry.name).line(sample)
            for entry, sample in _matched(journal, unused, missing)
        ]
        adopted += found
        finished |= kept | {line.sample: line for line in found}
    return ResumeState(
        finished=finished,
        correct=correct,
        adopted=adopted,
        lost=lost,
        other_costs=[line.cost for line in lines if finished.get(line.sample) is not line],
        lines=sum(not line.held for line in lines) + len(adopted),
    )


def _matched(journal: Path, unused: set[str], missing: Sequence[Sample]) -> Iterator[tuple[JournalEntry, Sample]]:
    """Yield episodes named in ``unused``, each with a missing sample of its question; unusable episodes are left out."""
    waiting: dict[tuple[Question, str], deque[Sample]] = {}
    for sample in missing:
        waiting.setdefault((sample.item.question, sample.item.video_id), deque()).append(sample)
    for entry in Journal(journal).scan(only=unused) if unused and missing else ():
        if not isinstance(entry, JournalEntry):
            continue
        episode = entry.episode
        open_samples = waiting.get((episode.task.question, episode.task.video_id))
        failed = episode.fault.code if episode.fault is not None else None
        if entry.conditions.broken_off or failed in _NO_RESULT or not open_samples:
            continue
        arm = open_samples[0].cell.arm
        library = episode.task.library.hash if episode.task.library is not None else None
        if episode.task.system == arm.system and library in (None, arm.library_hash):
            yield entry, open_samples.popleft()


_ENDPOINT_WORKERS = 8  #: default number of simultaneous samples with a model behind an endpoint


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A configuration and the folder of its run. ``continues``: it was read from that folder and uses its libraries."""

    configuration: Configuration
    folder: RunFolder
    continues: bool = False

    @property
    def workers(self) -> int:
        """Number of samples that run at the same time."""
        document = self.configuration.document
        default = len(os.sched_getaffinity(0)) if document.model == RULE_BASED else _ENDPOINT_WORKERS
        return document.parallel or default


@dataclass(frozen=True, kw_only=True)
class RunOutcome:
    """The state of a run when this process ends it.

    ``adopted`` counts samples whose recorded episode was taken over, ``again`` those whose episode was lost.
    """

    folder: RunFolder
    tally: Tally
    adopted: int
    again: int
    ended: RunEnd

    @property
    def complete(self) -> bool:
        """Whether every sample is finished."""
        return self.tally.done >= self.tally.planned

    def record(self) -> dict[str, Any]:
        """Return the JSON form."""
        fault = self.ended.fault
        return {
            "run": str(self.folder.root),
            "complete": self.complete,
            "adopted": self.adopted,
            "asked_again": self.again,
            **self.tally.record(),
            "stopped": None if fault is None else fault.record()["error"],
            "interrupted": self.ended.interrupted,
        }


def open_experiment(path: Path, *, overrides: tuple[str, ...] = (), out: Path | None = None) -> Experiment:
    """Return the experiment of a configuration file, to be run in the folder ``out``, or of the folder of a run.

    Raises EvalFault: ``bad_override`` if overrides or ``out`` are given with a folder; the faults of reading either.
    """
    if path.is_dir():
        if overrides or out is not None:
            what = "a run is continued as it began"
            raise EvalFault("bad_override", what, hint="give its configuration to change it")
        folder = RunFolder(path)
        return Experiment(configuration=configuration_of(folder), folder=folder, continues=True)
    configuration = read_configuration(path, overrides=overrides)
    document = configuration.document
    default = configuration.folder / "runs" / (document.name or path.stem)
    root = out or (configuration.path(document.out) if document.out is not None else default)
    return Experiment(configuration=configuration, folder=RunFolder(root))


def run_experiment(
    experiment: Experiment,
    *,
    clock: Clock,
    environment: Mapping[str, str],
    display: ProgressDisplay,
    building: Progress,
) -> RunOutcome:
    """Build missing worlds and run the unfinished samples; finished samples are kept.

    Raises EvalFault: ``run_busy``, ``run_changed``, the faults of the plan; VideoWorldError: the faults of building
    worlds.
    """
    folder = experiment.folder
    with run_lock(folder, clock=clock) as lock:
        plan, runner = make_plan(
            experiment.configuration, folder, clock=clock, environment=environment, copies=experiment.continues
        )
        check_limits(plan, runner)
        manifest = begin(plan, folder, progress=building, clock=clock)
        state = resume_state(plan, folder)
        append_samples(folder, state.adopted)
        tally = _resumed_tally(plan, state, say=display.say)
        samples = [sample for sample in plan.samples() if sample.key not in state.finished]
        ended = RunEnd()
        if samples:
            price = runner.prices.of(runner.model.name)
            now = provenance_of(plan.manifest({}), plan.configuration.document, price=price, environment=environment)
            note_provenance(folder, manifest, now, finished=state.lines, say=display.say)
            count = min(experiment.workers, len(samples))
            with _workers(runner, folder, count, lock=lock, environment=environment) as workers:
                scheduler = RunScheduler(
                    folder=folder, workers=workers, tally=tally, limits=plan.configuration.document.limits,
                    is_right=correctness(plan), clock=clock, show=display.update, say=display.say,
                )  # fmt: skip
                ended = scheduler.run(samples)
    return RunOutcome(folder=folder, tally=tally, adopted=len(state.adopted), again=len(state.lost), ended=ended)


def _resumed_tally(plan: RunPlan, state: ResumeState, *, say: Callable[[str], object]) -> Tally:
    """Return the counts of finished samples and the cost of the run so far, and show messages on what was found.

    The cost includes that of samples that do not count, such as those asked again. ``say`` shows a message.
    """
    tally = Tally(planned=plan.count)
    cells = {cell.id: cell for cell in plan.cells}
    for key, line in state.finished.items():
        tally.pay(line.cost)
        tally.add(cells[line.cell], correct=state.correct.get(key), failed=line.failed)
    for cost in state.other_costs:
        tally.pay(cost)
    if tally.done:
        say(f"{tally.done:,} of {tally.planned:,} questions were asked before and are kept")
    if state.adopted:
        say(f"{len(state.adopted):,} of them had been recorded and not noted")
    if state.lost:
        say(f"{len(state.lost):,} episodes or their recordings are not there any more; their questions are asked again")
    return tally


def check_limits(plan: RunPlan, runner: SampleRunner) -> None:
    """Check that the model's price is known if money is limited. Raises EvalFault: ``bad_configuration``."""
    name = runner.model.name
    if plan.configuration.document.limits.money is not None and runner.prices.of(name) is None:
        what = f"a limit of money needs the price of {name!r}"
        raise plan.configuration.bad(("limits", "money"), what, hint="give `prices`, or no limit of money")


@contextmanager
def _workers(
    runner: SampleRunner, folder: RunFolder, count: int, *, lock: int, environment: Mapping[str, str]
) -> Iterator[list[SampleWorker]]:
    """Yield workers: threads for a model behind an endpoint or for a single worker, else processes."""
    wanted = count if runner.model.name == RULE_BASED and count > 1 else 0
    processes = [SubprocessWorker(folder, lock=lock, environment=environment) for _ in range(wanted)]
    for process in processes:
        process.start()
    try:
        yield [process.run for process in processes] or [runner.run] * count
    except BaseException:  # such as a second Ctrl-C: do not wait for the current samples
        for process in processes:
            process.close(kill=True)
        raise
    for process in processes:
        process.close()


#: Seconds to wait for the lock: worker processes of a killed run end after their sample.
_LOCK_TIMEOUT, _LOCK_RETRY = 20.0, 0.1


@contextmanager
def run_lock(folder: RunFolder, *, clock: Clock) -> Iterator[int]:
    """Hold the run's lock; yield its file descriptor, which worker processes inherit.

    Raises EvalFault: ``run_busy`` if another process holds it; StoreFault: ``store_not_writable``, ``disk_full``.
    """
    try:
        folder.root.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise not_writable(folder.lock, error) from error
    until = clock.monotonic() + _LOCK_TIMEOUT
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                # If the process that took the lock is gone, its worker processes hold it and are about to end.
                holder = os.pread(handle, 32, 0).strip()
                is_alive = holder.isdigit() and Path(f"/proc/{int(holder)}").exists()
                if is_alive or clock.monotonic() >= until:
                    what = f"another process asks in {folder.root.name}"
                    hint = "wait until it is through, or give another folder with --out"
                    raise EvalFault("run_busy", what, hint=hint) from None
            time.sleep(_LOCK_RETRY)
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield handle
    finally:
        os.close(handle)


def begin(plan: RunPlan, folder: RunFolder, *, progress: Progress, clock: Clock) -> RunManifest:
    """Build missing worlds and write the run's files; return the manifest. If the run exists, check that it is the same.

    Raises EvalFault: ``run_changed``, naming the difference; ``run_damaged``; MediaFault, StoreFault, BackendFault:
    those of building worlds.
    """
    before = check_same_run(plan, folder)
    worlds = _build_worlds(plan, progress=progress, clock=clock)
    manifest = replace(plan.manifest(worlds), building=_building(plan.configuration.store, worlds))
    if before is not None:
        for video, made in before.worlds.items():
            for profile, known in made.items():
                if worlds.get(video, {}).get(profile) != known:
                    what = f"the {profile} world of {video} is not the one that the run was begun with"
                    hint = "begin a new run with another --out, or bring the world back"
                    raise EvalFault("run_changed", what, hint=hint)
        kept = {name: getattr(before, name) for name in ("versions", "git", "loop", "provenance")}
        manifest = replace(manifest, **kept)
    items = [ItemLine(dataset=name, item=item_record(item)) for name, held in plan.items.items() for item in held]
    local = {"configuration_folder": str(plan.configuration.folder)}
    copy_libraries(plan.configuration, folder.libraries, plan.library_records)
    write_atomically(folder.config, plan.configuration.content)
    write_atomically(folder.local, json_line(local).encode() + b"\n")
    write_atomically(folder.items, b"".join(json_line(line.record()).encode() + b"\n" for line in items))
    write_manifest(folder.manifest, manifest)
    return manifest


def _build_worlds(plan: RunPlan, *, progress: Progress, clock: Clock) -> dict[str, dict[str, str]]:
    """Return the hashes of all worlds by video and profile; build missing worlds."""
    found: dict[str, dict[str, str]] = {}
    for world in plan.worlds:
        known = world.hash
        if known is None:
            progress.say(f"building the {world.profile} world of {world.video.video_id} ...")
            store = plan.configuration.store
            try:
                known = build_for_run(store, world.profile, world.video, progress=progress, clock=clock)
            except VideoWorldError as fault:
                fault.message = f"the {world.profile} world of {world.video.video_id}: {fault.message}"
                raise
        found.setdefault(world.video.video_id, {})[world.profile] = known
    return found


def _building(store: Path, worlds: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, BuildCost]]:
    """Return what building the worlds took, by video and profile, for those that say it."""
    found: dict[str, dict[str, BuildCost]] = {}
    for video, profiles in worlds.items():
        for profile in profiles:
            if (took := open_world(store / profile, video).manifest.took) is not None:
                found.setdefault(video, {})[profile] = took
    return found


def correctness(plan: RunPlan) -> Callable[[Item, Any, str | None], bool | None]:
    """Return a function of item, value and text that checks an answer; None: the right one is unknown, or a judge decides."""
    judged = plan.configuration.document.judge is not None
    protocols = {id(item): one.dataset.protocol for one in plan.picked for item in one.items}

    def is_right(item: Item, value: Any, answer: str | None) -> bool | None:
        if item.answer is None or (judged and item.question.kind == "open"):
            return None
        try:
            return score_value(item, value, answer, protocol=protocols.get(id(item), {})).correct
        except VideoWorldError:
            return None

    return is_right

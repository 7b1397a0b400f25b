"""Continue a run: check that it is the same run, and find the samples that are finished."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from controller.answers import Question
from controller.records.journal import EPISODES, Journal, JournalEntry, lines_of, recorded
from eval.datasets.items import item_record
from eval.runs.executor import SampleOutcome
from eval.runs.plan import RunPlan
from eval.runs.records import (
    RunFolder,
    RunManifest,
    Sample,
    SampleCost,
    SampleLine,
    ScoreLine,
    read_lines,
    read_manifest,
)
from eval.runs.scheduler import SET_UP_FAULTS
from eval.runs.stored_run import read_items
from world_api.core.faults import EvalFault

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

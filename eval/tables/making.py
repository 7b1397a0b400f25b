"""One row a sample, of a whole run: each journal is read once, and of its episodes only the figures are kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from controller.episode import Episode
from controller.records.journal import Journal, JournalEntry
from eval.datasets.items import Item
from eval.runs.cells import Cell
from eval.runs.lines import SampleLine
from eval.runs.reading import Run, refuse_unreadable
from eval.scoring.evidence import evidence_score
from eval.scoring.score import Score
from eval.tables.episodes.libraries import LibraryFacts, library_facts
from eval.tables.episodes.metrics import Figures, figures_of
from eval.tables.rows import SampleRow
from world_api.backends.chat.rule_based import RULE_BASED
from world_api.core.canonical import canonical
from world_api.core.faults import EpisodeFault, EvalFault

NOT_FINISHED, NOT_SCORED, NO_ANSWER = "not run yet", "not scored", "no reference answer"
MISSING, UNUSABLE = "questions of missing videos", "entries of datasets that cannot be asked"

_NO_SCORE = Score(correct=False, score=0.0, scorer="none/1", details={"reason": NO_ANSWER})


@dataclass(frozen=True, kw_only=True)
class RunRows:
    """The rows of a run, what is not among them by reason, and what is known of its libraries by name.

    ``unknown`` are the samples of questions whose answer nobody knows: to be looked at, and in no figure.
    """

    rows: tuple[SampleRow, ...]
    unknown: tuple[SampleRow, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    libraries: Mapping[str, LibraryFacts] = field(default_factory=dict)


def rows_of(run: Run) -> list[SampleRow]:
    """One row for each scored sample, in the order of the run's samples.

    Raises:
        EvalFault: ``not_scored``.
    """
    return list(read_rows(run).rows)


def read_rows(run: Run) -> RunRows:
    """The rows of a run, with what is left out of them.

    Raises:
        EvalFault: ``not_scored``: there are samples, and no score of any.
    """
    asked = [line for line in run.samples if run.has_answer(line)]
    scored = [line for line in asked if line.sample in run.scores]
    if asked and not scored:
        raise EvalFault("not_scored", "no sample of the run is scored", hint="run `videoworld eval score RUN` first")
    libraries = libraries_of(run)
    by_cell: dict[str, list[SampleLine]] = {}
    for line in run.samples:
        if line.sample in run.scores or not run.has_answer(line):
            by_cell.setdefault(line.cell, []).append(line)
    found = [row for name, lines in by_cell.items() for row in _rows_of_cell(run, run.cells[name], lines, libraries)]
    scorable = {line.sample for line in scored}
    rows = [row for row in found if row.sample in scorable]
    unknown = [row for row in found if row.sample not in scorable]
    left_out = {
        NOT_FINISHED: max(0, run.planned - len(run.samples)),
        NOT_SCORED: len(asked) - len(scored),
        NO_ANSWER: len(run.samples) - len(asked),
    }
    left_out |= _not_asked(run)
    return RunRows(rows=tuple(rows), unknown=tuple(unknown), left_out=left_out, libraries=libraries)


def _not_asked(run: Run) -> dict[str, int]:
    """What never became a sample: questions, not samples, are counted."""
    records = run.manifest.datasets.values()
    missing = sum(record.missing_questions for record in records)
    return {MISSING: missing, UNUSABLE: sum(sum(record.left_out.values()) for record in records)}


def libraries_of(run: Run) -> dict[str, LibraryFacts]:
    """The libraries that the run's arms were given, by the names their arms have for them."""
    told = run.manifest.libraries
    found: dict[str, LibraryFacts] = {}
    for cell in run.cells.values():
        name = cell.arm.library
        if name is not None and name not in found:
            record = told.get(name)
            found[name] = library_facts(name, cell.arm.library_hash, made_by_run=run.folder.libraries, told=record)
    return found


@dataclass(frozen=True)
class _Seen:
    """What is kept of an episode. Settings and tools on offer are one object for all episodes that have the same."""

    figures: Figures
    outcome: str
    reason: str | None
    value: Any
    system: str
    model: str
    settings: Mapping[str, Any]
    world_hash: str
    evidence_iou: float | None


def _rows_of_cell(
    run: Run, cell: Cell, lines: Sequence[SampleLine], libraries: Mapping[str, LibraryFacts]
) -> Iterator[SampleRow]:
    library = libraries.get(cell.arm.library or "")
    wanted = {line.episode: run.item(line) for line in lines if line.episode is not None}
    seen, lost = _episodes(run.journal(cell.id), wanted, library) if wanted else ({}, {})
    for line in lines:
        found = seen.get(line.episode or "")
        fault = None
        if found is None:
            told = line.fault["code"] if line.fault is not None else "no_episode"
            fault = lost.get(line.episode, "unknown_episode") if line.episode is not None else told
        yield _row(run, cell, line, found, fault, library)


def _episodes(
    journal: Journal, wanted: Mapping[str, Item], library: LibraryFacts | None
) -> tuple[dict[str, _Seen], dict[str, str]]:
    """What is kept of the episodes of a journal by name, and the faults of those that cannot be read."""
    hashes = library.tools if library is not None else {}
    seen: dict[str, _Seen] = {}
    lost: dict[str, str] = {}
    kept: dict[str, Any] = {}
    try:
        for found in journal.scan():
            if found.name in wanted:
                if isinstance(found, JournalEntry):
                    seen[found.name] = _seen(found.episode, wanted[found.name], hashes, kept)
                else:
                    lost[found.name] = found.fault.code
    except EpisodeFault as fault:
        refuse_unreadable(fault)
        lost = dict.fromkeys(wanted.keys() - seen.keys(), fault.code) | lost
    return seen, lost


def _seen(episode: Episode, item: Item, hashes: Mapping[str, str], kept: dict[str, Any]) -> _Seen:
    figures = figures_of(episode, hashes)
    evidence = evidence_score(episode.spans, item.spans)
    return _Seen(
        figures=figures,
        outcome=episode.outcome,
        reason=episode.reason,
        value=episode.value,
        system=episode.task.system,
        model=episode.model,
        settings=kept.setdefault("settings " + canonical(episode.task.settings), episode.task.settings),
        world_hash=kept.setdefault(episode.task.world_hash, episode.task.world_hash),
        evidence_iou=evidence.iou if evidence is not None else None,
    )


def _row(
    run: Run, cell: Cell, line: SampleLine, seen: _Seen | None, fault: str | None, library: LibraryFacts | None
) -> SampleRow:
    item, score = run.item(line), run.scores[line.sample] if run.has_answer(line) else _NO_SCORE
    held = _figures(seen)
    return SampleRow(
        sample=line.sample,
        cell=cell.id,
        arm=cell.arm.name if cell.arm.library is None else f"{cell.arm.name}@{cell.arm.library}",
        arm_name=cell.arm.name,
        system=cell.arm.system,
        library=library.name if library is not None else None,
        library_hash=cell.arm.library_hash,
        library_domain=library.domain if library is not None else None,
        library_arm=library.arm if library is not None else None,
        dataset=cell.dataset,
        world=cell.world,
        budget=cell.budget,
        seed=cell.seed,
        model=seen.model if seen is not None else cell.model,
        item=item.id,
        video=item.video_id,
        kind=item.question.kind,
        domain=item.domain,
        content=item.content,
        template=item.template,
        episode=line.episode,
        correct=score.correct and _counts(seen),
        score=score.score if _counts(seen) else 0.0,
        scorer=score.scorer,
        details=score.details,
        outcome=seen.outcome if seen is not None else "failed",
        reason=seen.reason if seen is not None else fault,
        gone=seen is None and line.episode is not None,
        settings=seen.settings if seen is not None else cell.arm.settings,
        plumbing=run.manifest.rule_based or (seen is not None and seen.model == RULE_BASED),
        **held,
    )


def _counts(seen: _Seen | None) -> bool:
    """Only an episode that can be read and gave an answer may be right: whatever else a file of scores says."""
    return seen is not None and seen.outcome != "failed"


def _figures(seen: _Seen | None) -> dict[str, Any]:
    if seen is None:
        return {}
    own = seen.figures
    return {
        "rounds": own.rounds,
        "calls": own.calls,
        "inner_calls": own.inner_calls,
        "malformed": own.malformed,
        "empty": own.empty,
        "seconds": own.seconds,
        "spend": own.spend,
        "tools": own.tools,
        "offered": own.offered,
        "value": seen.value,
        "world_hash": seen.world_hash,
        "evidence_iou": seen.evidence_iou,
    }

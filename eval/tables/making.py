"""One row a sample, of a whole run: each journal is read once, and of its episodes only the figures are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from controller.episode import Episode
from controller.records.journal import Entry, Journal
from controller.summary import watermark
from eval.runs.cells import Cell
from eval.tables.episodes.libraries import LibraryFacts, library_facts
from eval.tables.episodes.metrics import Figures, figures_of
from eval.tables.rows import SampleRow
from world_api.backends.chat.rule_based import RULE_BASED
from world_api.core.canonical import canonical
from world_api.core.faults import EpisodeFault, EvalFault

if TYPE_CHECKING:
    from eval.datasets.items import Item
    from eval.runs.reading import Run, SampleRecord
    from eval.scoring.score import Score


@dataclass(frozen=True, kw_only=True)
class RunRows:
    """The rows of a run, what is not among them and why, and what is known of its libraries by name."""

    rows: tuple[SampleRow, ...]
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
    libraries = _libraries(run)
    by_cell: dict[str, list[SampleRecord]] = {}
    left_out: Counter[str] = Counter()
    for sample in run.samples.values():
        if sample.cell not in run.cells or _item(run, sample) is None:
            left_out["of no cell or question of this run"] += 1
        elif sample.key not in run.scores:
            left_out["not scored"] += 1
        else:
            by_cell.setdefault(sample.cell, []).append(sample)
    if run.samples and not by_cell and left_out["not scored"]:
        raise EvalFault("not_scored", "no sample of the run is scored", hint="run `videoworld eval score RUN` first")
    made: dict[str, SampleRow] = {}
    for cell_id, samples in by_cell.items():
        made.update((row.sample, row) for row in _rows_of_cell(run, cell_id, samples, libraries))
    rows = tuple(made[key] for key in run.samples if key in made)
    return RunRows(rows=rows, left_out=dict(left_out), libraries=libraries)


@dataclass(frozen=True)
class _Seen:
    """What is kept of an episode."""

    figures: Figures
    outcome: str
    reason: str | None
    value: Any
    plumbing: bool
    settings: Mapping[str, Any]
    world_hash: str
    library_hash: str | None


def _rows_of_cell(
    run: Run, cell_id: str, samples: Sequence[SampleRecord], libraries: Mapping[str, LibraryFacts]
) -> Iterator[SampleRow]:
    cell = run.cells[cell_id]
    library = libraries.get(cell.arm.library or "")
    wanted = {sample.episode for sample in samples if sample.episode is not None}
    seen, lost = _episodes(run.folder.journal(cell_id), wanted, library) if wanted else ({}, {})
    for sample in samples:
        item = _item(run, sample)
        if item is not None:
            found = seen.get(sample.episode or "")
            fault = sample.fault or (lost.get(sample.episode or "", "recording_missing") if found is None else None)
            yield _row(sample, cell, item, run.scores[sample.key], found, fault, library)

"""What all tables of a run are made from: its rows, what is left out of them, what the run is, and how they are grouped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from controller.display import WATERMARK
from eval.runs.manifest import DatasetRecord
from eval.runs.reading import Run
from eval.tables.episodes.libraries import LibraryFacts
from eval.tables.labels import Labels, labels_of
from eval.tables.making import read_rows
from eval.tables.rows import SampleRow
from eval.tables.table import Column, Row, Table

Key = TypeVar("Key", bound=Hashable)
Rows = Sequence[SampleRow]


@dataclass(frozen=True, kw_only=True, order=True)
class Setting:
    """What arms are compared within: the same questions, worlds and budget."""

    dataset: str
    world: str
    budget: str


@dataclass(frozen=True, kw_only=True)
class Study:
    """The rows of a run and what it takes to make tables of them. ``seed`` is that of every resampling.

    ``unknown`` are the samples of questions whose answer nobody knows: they are in no table.
    """

    rows: tuple[SampleRow, ...]
    unknown: tuple[SampleRow, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    libraries: Mapping[str, LibraryFacts] = field(default_factory=dict)
    primary: Mapping[str, str | None] | None = None
    datasets: Mapping[str, DatasetRecord] = field(default_factory=dict)
    labels: Labels = field(default_factory=Labels)  #: what people say of answers
    seed: int = 1

    @property
    def baseline(self) -> str | None:
        """The arm that the run names as the one to compare with, if it does."""
        return self.primary.get("against") if self.primary else None

    @property
    def watermark(self) -> str | None:
        """What must stand beside every figure, if anything."""
        return WATERMARK if any(row.plumbing for row in (*self.rows, *self.unknown)) else None

    @property
    def warning(self) -> str | None:
        """What must be said of figures some of whose samples are wrong only because their episode is gone."""
        return warning_of(self.rows)

    def with_rows(self, rows: Iterable[SampleRow]) -> Study:
        """The same study of fewer samples."""
        return replace(self, rows=tuple(rows))

    def table(
        self,
        name: str,
        title: str,
        columns: Sequence[Column],
        rows: Iterable[Row],
        *,
        of: Rows | None = None,
        note: str = "",
        left_out: Mapping[str, int] | None = None,
    ) -> Table:
        """A table of this study, with its counts and its watermark; ``of`` are the samples it is about (all)."""
        about = self.rows if of is None else of
        return Table(
            name=name,
            title=title,
            columns=tuple(columns),
            rows=tuple(rows),
            note=" ".join(part for part in (warning_of(about), note) if part),
            watermark=self.watermark,
            n=len(about),
            clusters=len(videos(about)),
            left_out={**self.left_out, **(left_out or {})},
        )


def warning_of(rows: Rows) -> str | None:
    """How many samples count as wrong because their episode is gone or damaged, by arm; None where none is."""
    gone = Counter(row.arm for row in rows if row.gone)
    if not gone:
        return None
    arms = ", ".join(f"{arm} {number:,}" for arm, number in sorted(gone.items()))
    return f"WARNING: {gone.total():,} of {len(rows):,} samples count as wrong because their episode is deleted or damaged ({arms})."


def study_of(run: Run) -> Study:
    """Read a run for its tables.

    Raises:
        EvalFault: ``not_scored``.
    """
    read = read_rows(run)
    return Study(
        rows=read.rows,
        unknown=read.unknown,
        left_out=read.left_out,
        libraries=read.libraries,
        primary=run.manifest.primary,
        datasets=run.manifest.datasets,
        labels=labels_of(run, read.rows),
    )


def setting_of(row: SampleRow) -> Setting:
    """What a sample may be compared within."""
    return Setting(dataset=row.dataset, world=row.world, budget=row.budget)


def grouped(rows: Iterable[SampleRow], key: Callable[[SampleRow], Key]) -> dict[Key, list[SampleRow]]:
    """Rows by a key, in the order in which the keys come up."""
    found: dict[Key, list[SampleRow]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def videos(rows: Iterable[SampleRow]) -> set[tuple[str, str]]:
    """The clusters: the videos of samples, each within its dataset."""
    return {cluster(row) for row in rows}


def cluster(row: SampleRow) -> tuple[str, str]:
    """The cluster of a sample."""
    return row.dataset, row.video


def keys(rows: Iterable[SampleRow]) -> tuple[str, ...]:
    """The keys of samples."""
    return tuple(row.sample for row in rows)


def libraries_are_real(row: SampleRow) -> bool:
    """Whether a sample's library is one that tools are meant to help by: no placebo and no chance composites."""
    return row.library is not None and row.library_arm not in ("placebo", "random")

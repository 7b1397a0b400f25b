"""A run on disk: its cells, questions, finished samples, scores and episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from controller.episode import Episode
from controller.records.journal import DamagedEntry, Journal, JournalEntry, is_there, recorded
from eval.datasets.items import Item
from eval.runs.records import (
    Cell,
    ItemLine,
    Provenance,
    RunFolder,
    RunManifest,
    SampleLine,
    ScoreLine,
    damaged,
    read_lines,
    read_manifest,
)
from eval.scoring.kinds import Score
from world_api.core.faults import EpisodeFault


@dataclass(frozen=True, kw_only=True)
class Gone:
    """The number of samples by arm whose episode is deleted or damaged, and of episodes that have no recording."""

    episodes: Mapping[str, int] = field(default_factory=dict)
    recordings: int = 0


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run on disk.

    ``samples`` are the finished ones of the run's cells, in the order of cells and questions; if a sample was run
    again, the last line counts. ``scores`` are by sample, only those of the present episodes. Episodes are read when
    they are needed, a cell's journal once.
    """

    folder: RunFolder
    manifest: RunManifest
    cells: Mapping[str, Cell]
    items: Mapping[tuple[str, str], Item]  #: by dataset and id
    samples: tuple[SampleLine, ...]
    scores: Mapping[str, Score | ScoreLine]
    _journals: dict[str, dict[str, JournalEntry | DamagedEntry]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def planned(self) -> int:
        """Number of samples that the run has when it is finished."""
        return self.planned_in(self.cells.values())

    def planned_in(self, cells: Iterable[Cell]) -> int:
        """Return the number of samples that these cells have when they are finished."""
        counts = Counter(dataset for dataset, _ in self.items)
        return sum(counts[cell.dataset] for cell in cells)

    @cached_property
    def provenance(self) -> tuple[tuple[Provenance, int], ...]:
        """Each record of code and endpoint, with the number of samples that it ran; a sample run twice counts twice."""
        known = self.manifest.provenance
        if not known:
            return ()
        lines = sum(not line.held for line in read_lines(self.folder.samples, SampleLine))
        ends = [*(one.first for one in known[1:]), lines]
        return tuple((one, max(0, end - one.first)) for one, end in zip(known, ends, strict=True))

    @cached_property
    def by_key(self) -> Mapping[str, SampleLine]:
        """The finished samples by their keys."""
        return {line.sample: line for line in self.samples}

    @cached_property
    def of_cell(self) -> Mapping[str, Sequence[SampleLine]]:
        """The finished samples by the id of their cell; cells without finished samples are left out."""
        found: dict[str, list[SampleLine]] = {}
        for line in self.samples:
            found.setdefault(line.cell, []).append(line)
        return found

    def by_cell(self) -> Iterator[tuple[Cell, Sequence[SampleLine]]]:
        """Yield the cells with their finished samples; a journal is dropped from memory after its cell."""
        for name, cell in self.cells.items():
            yield cell, self.of_cell.get(name, ())
            self.forget(name)

    def item(self, sample: SampleLine) -> Item:
        """Return the question of a sample."""
        return self.items[self.cells[sample.cell].dataset, sample.item]

    def has_answer(self, sample: SampleLine) -> bool:
        """Whether the reference answer to a sample's question is known; else the sample gets no score."""
        return self.item(sample).answer is not None

    @property
    def unscored(self) -> int:
        """Number of finished samples that have no score although their answer is known."""
        return sum(line.sample not in self.scores and self.has_answer(line) for line in self.samples)

    def entry(self, sample: SampleLine) -> JournalEntry | None:
        """Return the entry of a sample's episode in its journal; None if the sample ended without an episode.

        Raises EpisodeFault: ``recording_damaged``, ``recording_schema``, ``recording_missing``,
        ``recording_not_readable``, ``unknown_episode``.
        """
        if sample.episode is None:
            return None
        if sample.cell not in self._journals:
            folder = self.folder.journal(sample.cell)
            entries = self.journal(sample.cell).scan() if is_there(folder) else ()
            self._journals[sample.cell] = {entry.name: entry for entry in entries}
        found = self._journals[sample.cell].get(sample.episode)
        if isinstance(found, DamagedEntry):
            raise found.fault
        if found is None:
            what = f"the episode {sample.episode[:80]!r} of {sample.cell} is not there"
            hint = "run it again: `videoworld eval run RUN` asks what is missing"
            raise EpisodeFault("unknown_episode", what, hint=hint)
        return found

    def episode(self, sample: SampleLine) -> Episode | None:
        """Return the episode of a sample; None if it has none. Raises as ``entry`` does."""
        entry = self.entry(sample)
        return None if entry is None else entry.episode

    def journal(self, cell: str) -> Journal:
        """Return the journal of a cell, by the cell's id."""
        return Journal(self.folder.journal(cell))

    def forget(self, cell: str) -> None:
        """Drop a cell's journal from memory."""
        self._journals.pop(cell, None)

    def gone(self) -> Gone:
        """Count missing or damaged episodes and recordings of the finished samples; every journal is read once.

        Raises EpisodeFault: ``recording_not_readable``.
        """
        found, recordings = Counter[str](), 0
        for cell, lines in self.by_cell():
            known = recorded(self.folder.journal(cell.id))
            for line in lines:
                try:
                    recordings += self.entry(line) is not None and line.episode not in known
                except EpisodeFault as fault:
                    refuse_unreadable(fault)
                    found[cell.label] += 1
        return Gone(episodes=found, recordings=recordings)


def refuse_unreadable(fault: EpisodeFault) -> None:
    """Raise the fault if it is that of a file without read permission: the episodes in it may be intact."""
    if fault.code == "recording_not_readable":
        raise fault


def read_run(path: Path | str) -> Run:
    """Read a run. A bundle is first unpacked into a folder that exists until this process ends.

    Raises EvalFault: ``no_such_run``, ``run_damaged``, ``other_schema_version``; the faults of opening a bundle.
    """
    path = Path(path)
    if path.is_file():
        from eval.runs.bundle import unpacked

        path = unpacked(path.resolve())
    folder = RunFolder(path)
    manifest = read_manifest(folder.manifest)
    cells = {cell.id: cell for cell in manifest.cells}
    items = read_items(folder)
    places = {key: number for number, key in enumerate(items)}
    order = {name: number for number, name in enumerate(cells)}
    last = {
        line.sample: line
        for line in read_lines(folder.samples, SampleLine)
        if not line.held and line.cell in cells and (cells[line.cell].dataset, line.item) in items
    }
    for line in last.values():
        if line.sample != cells[line.cell].sample_key(line.item):
            raise damaged(f"a sample of {line.cell} does not have the key of its question {line.item[:80]!r}")
    samples = sorted(last.values(), key=lambda line: (order[line.cell], places[cells[line.cell].dataset, line.item]))
    scores = {line.sample: line for line in read_lines(folder.scores, ScoreLine) if line.is_of(last.get(line.sample))}
    return Run(folder=folder, manifest=manifest, cells=cells, items=items, samples=tuple(samples), scores=scores)


def read_items(folder: RunFolder) -> dict[tuple[str, str], Item]:
    """Return the questions of a run by dataset and id, in the order in which they are asked.

    Raises EvalFault: ``run_damaged``, ``other_schema_version``.
    """
    from eval.datasets.items import BadItem, item_from_record

    found: dict[tuple[str, str], Item] = {}
    for number, line in enumerate(read_lines(folder.items, ItemLine), start=1):
        try:
            item = item_from_record(line.item)
        except BadItem as error:
            raise damaged(f"line {number} of {folder.items.name} is no question: {error}") from None
        found[line.dataset, item.id] = item
    return found

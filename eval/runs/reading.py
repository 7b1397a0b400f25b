"""Reading a run: what it is, its questions, what is finished, the scores, and its episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from controller.episode import Episode
from controller.records.journal import DamagedEntry, Journal, JournalEntry, is_there, recorded
from eval.datasets.items import Item
from eval.runs.cells import Cell
from eval.runs.files import ItemLine, LineFile, RunFolder, SampleLine, ScoreLine, damaged
from eval.runs.manifest import Manifest, Stretch, read_manifest
from eval.scoring.score import Score
from world_api.core.faults import EpisodeFault


@dataclass(frozen=True, kw_only=True)
class Gone:
    """Samples whose episode is gone or damaged, by arm, and how many have one whose recording is gone."""

    episodes: Mapping[str, int] = field(default_factory=dict)
    recordings: int = 0


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run as it stands on disk.

    ``samples`` are the finished ones of the run's cells, in the order of cells and questions; where a sample was asked again,
    its last line counts. ``scores`` are by sample; one that nobody has scored since it was asked has none. Episodes are read
    from disk when they are asked for; a cell's journal is read once.
    """

    folder: RunFolder
    manifest: Manifest
    cells: Mapping[str, Cell]
    items: Mapping[tuple[str, str], Item]  #: by dataset and id
    samples: tuple[SampleLine, ...]
    scores: Mapping[str, Score]
    _journals: dict[str, dict[str, JournalEntry | DamagedEntry]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def planned(self) -> int:
        """How many samples the run has when it is finished."""
        of_dataset: dict[str, int] = {}
        for dataset, _ in self.items:
            of_dataset[dataset] = of_dataset.get(dataset, 0) + 1
        return sum(of_dataset.get(cell.dataset, 0) for cell in self.cells.values())

    @cached_property
    def stretches(self) -> tuple[tuple[Stretch, int], ...]:
        """By which code and endpoint samples were asked, and how many by each; one that was asked again counts each time."""
        told = self.manifest.stretches
        if not told:
            return ()
        noted = sum(not line.held for line in LineFile(self.folder.samples, SampleLine))
        ends = [*(one.first for one in told[1:]), noted]
        return tuple((one, max(0, end - one.first)) for one, end in zip(told, ends, strict=True))

    @cached_property
    def by_key(self) -> Mapping[str, SampleLine]:
        """The finished samples by their keys."""
        return {line.sample: line for line in self.samples}

    def item(self, sample: SampleLine) -> Item:
        """The question of a sample."""
        return self.items[self.cells[sample.cell].dataset, sample.item]

    def has_answer(self, sample: SampleLine) -> bool:
        """Whether the right answer to a sample's question is known; else it can be neither right nor wrong."""
        return self.item(sample).answer is not None

    @property
    def unscored(self) -> int:
        """How many finished samples have no score, and should."""
        return sum(line.sample not in self.scores and self.has_answer(line) for line in self.samples)

    def entry(self, sample: SampleLine) -> JournalEntry | None:
        """The episode of a sample as its journal holds it; None where the sample has a fault in place of an episode.

        Raises:
            EpisodeFault: ``recording_damaged``, ``recording_schema``, ``recording_missing``, ``unknown_episode``.
        """
        if sample.episode is None:
            return None
        found = self._entries(sample.cell).get(sample.episode)
        if isinstance(found, DamagedEntry):
            raise found.fault
        if found is None:
            raise EpisodeFault(
                "unknown_episode",
                f"the episode {sample.episode[:80]!r} of {sample.cell} is not there",
                hint="run it again: `videoworld eval run RUN` asks what is missing",
            )
        return found

    def episode(self, sample: SampleLine) -> Episode | None:
        """The same, without what stands beside the episode in its journal."""
        entry = self.entry(sample)
        return None if entry is None else entry.episode

    def journal(self, cell: str) -> Journal:
        """The journal of a cell."""
        return Journal(self.folder.journal(cell))

    def forget(self, cell: str) -> None:
        """Let go of a cell's journal, so that a large run is read in bounded memory."""
        self._journals.pop(cell, None)

    def by_cell(self) -> Iterator[tuple[Cell, tuple[SampleLine, ...]]]:
        """The cells with their finished samples; a journal is let go once its cell is through."""
        of_cell: dict[str, list[SampleLine]] = {}
        for line in self.samples:
            of_cell.setdefault(line.cell, []).append(line)
        for name, cell in self.cells.items():
            yield cell, tuple(of_cell.get(name, ()))
            self.forget(name)

    def gone(self) -> Gone:
        """What the finished samples lack, every journal read once.

        Raises:
            EpisodeFault: ``recording_not_readable``.
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

    def _entries(self, cell: str) -> dict[str, JournalEntry | DamagedEntry]:
        if cell not in self._journals:
            folder = self.folder.journal(cell)
            found = Journal(folder).scan() if is_there(folder) else ()
            self._journals[cell] = {entry.name: entry for entry in found}
        return self._journals[cell]


def refuse_unreadable(fault: EpisodeFault) -> None:
    """Raise the fault of a file that may not be read: unlike one that is gone or damaged it says nothing of its episodes."""
    if fault.code == "recording_not_readable":
        raise fault


def read_run(path: Path | str) -> Run:
    """Read a run; a bundle is unpacked first, for as long as this process lives.

    Raises:
        EvalFault: ``no_such_run``, ``run_damaged``, ``other_schema_version``; what opening a bundle names.
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
        for line in LineFile(folder.samples, SampleLine)
        if not line.held and line.cell in cells and (cells[line.cell].dataset, line.item) in items
    }
    for line in last.values():
        if line.sample != cells[line.cell].sample_key(line.item):
            raise damaged(f"a sample of {line.cell} does not have the key of its question {line.item[:80]!r}")
    samples = sorted(last.values(), key=lambda line: (order[line.cell], places[cells[line.cell].dataset, line.item]))
    scores = {
        line.sample: line.as_score() for line in LineFile(folder.scores, ScoreLine) if line.is_of(last.get(line.sample))
    }
    return Run(folder=folder, manifest=manifest, cells=cells, items=items, samples=tuple(samples), scores=scores)


def read_items(folder: RunFolder) -> dict[tuple[str, str], Item]:
    """The questions of a run, by dataset and id, in the order in which they are asked.

    Raises:
        EvalFault: ``run_damaged``, ``other_schema_version``.
    """
    from eval.datasets.items import BadItem, item_from_record

    found: dict[tuple[str, str], Item] = {}
    for number, line in enumerate(LineFile(folder.items, ItemLine), start=1):
        try:
            item = item_from_record(line.item)
        except BadItem as error:
            raise damaged(f"line {number} of {folder.items.name} is no question: {error}") from None
        found[line.dataset, item.id] = item
    return found

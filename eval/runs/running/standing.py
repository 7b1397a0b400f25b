"""Where a run stands: what is finished, what was recorded and not noted, what has to be asked again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from controller.accounts import accounts_of, total
from controller.records.files import EPISODES, lines_of
from controller.records.journal import Entry, Journal
from eval.datasets.items import Item
from eval.runs.cells import Cell
from eval.runs.lines import Cost, LineFile, SampleLine
from eval.runs.places import RunFolder
from eval.runs.planning.plan import Plan, Sample
from world_api.core.faults import EpisodeFault

#: Faults of the set-up: the endpoint, the machine, the configuration. Whatever they end says nothing of the model.
SET_UP = frozenset(
    {
        "endpoint_not_configured", "endpoint_bad_url", "endpoint_refused_key", "endpoint_refused_request",
        "endpoint_unreachable", "endpoint_error", "bad_model_name", "no_price", "record_not_writable", "disk_full",
        "store_not_writable", "cache_not_writable", "no_such_world", "world_damaged", "other_schema_version",
        "session_failed", "worker_ended", "system_not_loadable",
    }
)  # fmt: skip
#: Ends of episodes that are no result of anything.
_NO_RESULT = SET_UP | {"interrupted"}


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What is finished, by key, and what was adopted of it: recorded by a process that died before it noted so.

    ``lost`` are samples that were finished and whose episode is not there any more.
    """

    finished: Mapping[str, SampleLine]
    adopted: tuple[SampleLine, ...] = ()
    lost: tuple[SampleLine, ...] = ()


def standing_of(plan: Plan, folder: RunFolder) -> Standing:
    """Where a run stands.

    Raises:
        EvalFault: ``run_damaged``, ``other_schema_version``.
    """
    noted: dict[str, SampleLine] = {line.sample: line for line in LineFile(folder.samples, SampleLine)}
    by_cell: dict[str, list[Sample]] = {}
    for sample in plan.samples():
        by_cell.setdefault(sample.cell.id, []).append(sample)
    finished: dict[str, SampleLine] = {}
    adopted: list[SampleLine] = []
    lost: list[SampleLine] = []
    for samples in by_cell.values():
        cell = samples[0].cell
        journal = folder.journal(cell.id)
        names = _names(journal)
        waiting: list[Sample] = []
        for sample in samples:
            line = noted.get(sample.key)
            if line is not None and (line.episode is None or line.episode in names):
                finished[sample.key] = line
                continue
            if line is not None:
                lost.append(line)
            waiting.append(sample)
        taken = {line.episode for line in finished.values() if line.cell == cell.id}
        for line in _adopted(journal, [name for name in names if name not in taken], waiting):
            adopted.append(line)
            finished[line.sample] = line
    return Standing(finished=finished, adopted=tuple(adopted), lost=tuple(lost))


def _names(journal: Path) -> list[str]:
    """The names of the finished episodes of a journal, without reading them."""
    path = journal / EPISODES
    return [line.name for line in lines_of(path) if line.name is not None] if path.exists() else []


def _adopted(journal: Path, names: Iterable[str], waiting: list[Sample]) -> Iterator[SampleLine]:
    """The lines of samples whose episode was recorded and not noted; each episode is adopted once."""
    for entry in _readable(journal, names):
        sample = next((one for one in waiting if _is_of(entry, one.cell, one.item)), None)
        if sample is not None:
            waiting.remove(sample)
            spent = total(accounts_of(entry.episode).physical)
            yield SampleLine(
                sample=sample.key,
                cell=sample.cell.id,
                item=sample.item.id,
                episode=entry.name,
                cost=Cost(tokens=spent.tokens, money=spent.money),
            )


def _readable(journal: Path, names: Iterable[str]) -> Iterator[Entry]:
    """The episodes that came to an end of their own and are whole."""
    for name in names:
        try:
            entry = Journal(journal).find(name)
        except EpisodeFault:
            continue  # damaged: asked again, under another name
        fault = entry.episode.fault
        if not entry.conditions.broken_off and not (fault is not None and fault.code in _NO_RESULT):
            yield entry


def _is_of(entry: Entry, cell: Cell, item: Item) -> bool:
    task = entry.episode.task
    library = task.library.hash if task.library is not None else None
    return (
        task.question == item.question
        and task.video_id == item.video_id
        and task.system == cell.arm.system
        and library in (None, cell.arm.library_hash)
    )

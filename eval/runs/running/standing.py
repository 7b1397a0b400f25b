"""Where a run stands: what is finished, what was recorded and not noted, what has to be asked again."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from controller.accounts import accounts_of, total
from controller.episode import Task
from controller.questions import Question
from controller.records.journal import EPISODES, Journal, JournalEntry, is_there, lines_of, recorded
from eval.runs.cells import Cell
from eval.runs.lines import Cost, LineFile, SampleLine
from eval.runs.places import RunFolder
from eval.runs.planning.plan import Plan, Sample
from eval.runs.running.workshop import Asked

#: Faults of the set-up: the endpoint, the machine, the configuration. Whatever they end says nothing of the model.
SET_UP = frozenset(
    {
        "endpoint_not_configured", "endpoint_bad_url", "endpoint_refused_key", "endpoint_refused_request",
        "endpoint_unreachable", "endpoint_error", "endpoint_unknown_model", "endpoint_rate_limited", "endpoint_takes_no_images",
        "bad_model_name", "no_price", "record_not_writable", "disk_full",
        "store_not_writable", "cache_not_writable", "no_such_world", "world_damaged", "other_schema_version",
        "session_failed", "worker_ended", "system_not_loadable",
    }
)  # fmt: skip
#: Ends of episodes that are no result of anything.
_NO_RESULT = SET_UP | {"interrupted"}


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What is finished, by key, and what was adopted of it: recorded by a process that died before it noted so.

    ``answers`` are what the adopted ones said, by key. ``lost`` are samples that were finished and whose episode, or its
    recording, is not there any more. ``more`` is what was paid for them and for others that count no more: a limit of money
    counts it too. ``noted`` is how many lines of samples the run has, once those that are adopted are noted as well.
    """

    finished: Mapping[str, SampleLine]
    adopted: tuple[SampleLine, ...] = ()
    answers: Mapping[str, Asked] = field(default_factory=dict)
    lost: tuple[SampleLine, ...] = ()
    more: tuple[Cost, ...] = ()
    noted: int = 0


def standing_of(plan: Plan, folder: RunFolder) -> Standing:
    """Where a run stands.

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
    answers: dict[str, Asked] = {}
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
        own = [finished[sample.key].episode for sample in samples if sample.key in finished]
        for line, asked in _adopted(journal, names.difference(name for name in own if name is not None), waiting):
            adopted.append(line)
            finished[line.sample], answers[line.sample] = line, asked
    return Standing(
        finished=finished,
        adopted=tuple(adopted),
        answers=answers,
        lost=tuple(lost),
        more=tuple(line.cost for line in lines if finished.get(line.sample) is not line),
        noted=sum(not line.held for line in lines) + len(adopted),
    )


def _names(journal: Path) -> set[str]:
    """The names of the finished episodes of a journal whose recording is there, without reading them."""
    path = journal / EPISODES
    if not is_there(path):
        return set()
    return {line.name for line in lines_of(path) if line.name is not None} & recorded(journal)


def _adopted(journal: Path, names: set[str], waiting: Sequence[Sample]) -> Iterator[tuple[SampleLine, Asked]]:
    """The samples whose episode was recorded and not noted, with what was answered; each episode is adopted once."""
    if not names or not waiting:
        return
    about: dict[tuple[Question, str], deque[Sample]] = {}
    for sample in waiting:
        about.setdefault((sample.item.question, sample.item.video_id), deque()).append(sample)
    for entry in _readable(journal, names):
        task, left = entry.episode.task, about.get((entry.episode.task.question, entry.episode.task.video_id))
        if left and _is_of(task, left[0].cell):
            sample, episode = left.popleft(), entry.episode
            spent = total(accounts_of(episode).physical)
            asked = Asked(
                episode=entry.name,
                failed=episode.fault.code if episode.fault is not None else None,
                cost=Cost(tokens=spent.tokens, money=spent.money),
                value=episode.value,
                answer=episode.answer,
                checksum=str(entry.sums.get("episode", "")),
            )
            yield line_of(sample, asked), asked


def _readable(journal: Path, names: set[str]) -> Iterator[JournalEntry]:
    """The episodes that came to an end of their own and are whole; others are asked again, under another name."""
    for entry in Journal(journal).scan(only=names):
        if isinstance(entry, JournalEntry):
            fault = entry.episode.fault
            if not entry.conditions.broken_off and not (fault is not None and fault.code in _NO_RESULT):
                yield entry


def _is_of(task: Task, cell: Cell) -> bool:
    library = task.library.hash if task.library is not None else None
    return task.system == cell.arm.system and library in (None, cell.arm.library_hash)


def line_of(sample: Sample, asked: Asked, *, held: bool = False) -> SampleLine:
    """What is noted of a sample that was asked."""
    return SampleLine(
        sample=sample.key,
        cell=sample.cell.id,
        item=sample.item.id,
        episode=asked.episode,
        fault=asked.fault,
        cost=asked.cost,
        checksum=asked.checksum,
        failed=asked.failed is not None,
        held=held,
    )

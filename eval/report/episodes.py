"""Samples and episodes of a run for the page: an index to filter and search, and trajectories packed in blocks.

Results are cut to one line; complete results, declarations and prompts are in a pool that all episodes share.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from controller import display
from controller.answers import SUBMIT_ANSWER, Question, text_of
from controller.episode import CallRecord, Episode, RoundRecord, accounts_of
from controller.records.journal import Conditions
from eval.datasets.items import Item
from eval.report.pictures import Chosen, FrameKey, ShownMoment, moments_of
from eval.runs.stored_run import Run
from eval.tables.rows import SampleRow
from world_api.core.canonical import json_line
from world_api.core.faults import EpisodeFault
from world_api.page.html import packed, packed_text

_CHUNK = 200_000  #: characters of JSON in one block of a pool; one value may be more


class Pool:
    """Values that many episodes share: each is stored once; values added one after another are packed in one block.

    ``most`` limits the size of all blocks in bytes. Beyond it ``add`` refuses new values; ``refused`` counts this.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._places: dict[bytes, int] = {}
        self._open: list[str] = []
        self._size = 0
        self._written = 0
        self._blocks: list[str] = []
        self.starts: list[int] = []  #: the number of the first value of each block
        self.refused = 0

    def add(self, value: Any) -> int | None:
        """Add a value and return its number; None if the pool is full. Raises ValueError: it is not JSON."""
        text = json_line(value)
        key = hashlib.sha256(text.encode()).digest()
        known = self._places.get(key)
        if known is not None:
            return known
        if self._written >= self._most:
            self.refused += 1
            return None
        if not self._open:
            self.starts.append(len(self._places))
        self._places[key] = len(self._places)
        self._open.append(text)
        self._size += len(text)
        if self._size >= _CHUNK:
            self._close()
        return self._places[key]

    def blocks(self) -> Iterator[str]:
        """Yield all blocks, each a packed list of values; call it after the last value was added."""
        self._close()
        yield from self._blocks

    def _close(self) -> None:
        if self._open:
            block = packed_text(f"[{','.join(self._open)}]")
            self._blocks.append(block)
            self._written += len(block)
            self._open, self._size = [], 0


_ANSWER = 160  #: most columns of an answer in a list
#: The start time in an episode's name. It differs if the question is asked again; the page shows ``*`` instead.
_HASH = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")  #: of which twelve digits are shown
_BEGAN = re.compile(r"^\d{14}-", re.ASCII)

#: The attributes that samples are filtered by, in the order of the filters.
DIMENSIONS: tuple[tuple[str, str, Callable[[SampleRow], str | None]], ...] = (
    ("arm", "Arm", lambda row: row.arm),
    ("library", "Library", lambda row: row.library),
    ("domain", "Domain", lambda row: row.domain),
    ("content", "Content", lambda row: row.content),
    ("world", "World", lambda row: row.world),
    ("budget", "Budget", lambda row: row.budget),
    ("seed", "Seed", lambda row: str(row.seed)),
    ("dataset", "Dataset", lambda row: row.dataset),
    ("video", "Video", lambda row: row.video),
    ("kind", "Answer type", lambda row: row.kind),
    ("template", "Template", lambda row: row.template),
    ("outcome", "Ended", lambda row: row.outcome if row.reason is None else f"{row.outcome}: {row.reason}"),
)


@dataclass(frozen=True, kw_only=True)
class GatheredEpisode:
    """An episode on the page: the number of its block, its index in the block, its answer and the moments to show."""

    block: int
    at: int
    answer: str | None
    moments: Sequence[ShownMoment]


@dataclass(kw_only=True)
class Sets:
    """Sets of samples behind figures, each stored once, as text: ranges of row numbers in the index, ``0-39,80``."""

    places: Mapping[str, int]
    _known: dict[str, int] = field(default_factory=dict)

    def number(self, samples: Iterable[str]) -> int | None:
        """Return the number of a set of sample keys, added if it is new; None if none of them is on the page."""
        text = ranges((self.places[sample] for sample in samples if sample in self.places), between=",")
        return self._known.setdefault(text, len(self._known)) if text else None

    def record(self) -> list[str]:
        """Return the text of each set; a set's number is its position in the list."""
        return list(self._known)


def ranges(numbers: Iterable[int], *, between: str) -> str:
    """Return numbers as text, with ranges for successive ones: ``1-3,7``."""
    runs = [list(run) for _, run in groupby(enumerate(sorted(set(numbers))), key=lambda pair: pair[1] - pair[0])]
    return between.join(f"{run[0][1]}-{run[-1][1]}" if len(run) > 1 else f"{run[0][1]}" for run in runs)


def index_of(
    rows: Sequence[SampleRow], items: Mapping[tuple[str, str], Item], episodes: Mapping[str, GatheredEpisode]
) -> dict[str, Any]:
    """Return the index of all samples, by columns; a sample has the same place in each column.

    The column ``mark`` is 1 for a right answer, 0 for a wrong one, 2 if the right answer is not known.
    """
    numbered = {key: number for number, key in enumerate(dict.fromkeys((row.dataset, row.item) for row in rows))}
    spent = [row.spent() for row in rows]
    found = [episodes.get(row.sample) for row in rows]
    answers = [None if one is None else one.answer for one in found]
    return {
        "dimensions": [
            {"name": name, "title": title, **_coded([read(row) for row in rows])} for name, title, read in DIMENSIONS
        ],
        "items": [_item(items[key]) for key in numbered],
        "tools": _tools(rows),
        "item": [numbered[row.dataset, row.item] for row in rows],
        "mark": [2 if items[row.dataset, row.item].answer is None else int(row.correct) for row in rows],
        "score": [round(row.score, 4) for row in rows],
        "answer": [None if answer is None else display.cut(display.single_line(answer), _ANSWER) for answer in answers],
        "rounds": [row.rounds for row in rows],
        "calls": [row.calls for row in rows],
        "inner": [row.inner_calls for row in rows],
        "tokens": [0 if total is None else total.tokens for total in spent],
        "details": [
            {
                key: display.cut(value, _ANSWER) if isinstance(value, str) else value
                for key, value in row.details.items()
                if isinstance(value, str | int | float)
            }
            for row in rows
        ],
        "place": [None if one is None else [one.block, one.at] for one in found],
        "cell": _coded([row.cell for row in rows]),
        "episode": [None if row.episode is None else _BEGAN.sub("*-", row.episode) for row in rows],
    }


def value_in_words(question: Question, value: Any) -> str | None:
    """Return the value of an answer as text for readers; None without an answer."""
    if isinstance(value, Mapping) and value["start_time"] == value["end_time"]:
        return f"{value['start_time']} s, a point in time"
    return None if value is None else text_of(question, value)


def _coded(values: Sequence[str | None]) -> dict[str, Any]:
    """Return the distinct ``values``, and as ``codes`` for every sample the index of its value; -1 for None."""
    known = [value for value in dict.fromkeys(values) if value is not None]
    numbers: dict[str | None, int] = {value: number for number, value in enumerate(known)}
    return {"values": known, "codes": [numbers.get(value, -1) for value in values]}


def _item(item: Item) -> dict[str, Any]:
    question = item.question
    references = [value_in_words(question, value) for value in (item.answer, *item.also)]
    return {
        "id": item.id,
        "video": item.video_id,
        "question": question.text,
        "kind": question.kind,
        "options": list(question.options),
        "as_of": question.as_of,
        "reference": " / ".join(dict.fromkeys(filter(None, references))) or None,
        "spans": [[span.start, span.end] for span in item.spans],
    }


def _tools(rows: Sequence[SampleRow]) -> dict[str, Any]:
    """Return the names of all tools that were called (``values``), and for each sample indexes into them (``used``)."""
    known: dict[str, int] = {}
    used = [[known.setdefault(tool.name, len(known)) for tool in row.tools if tool.calls] for row in rows]
    return {"values": list(known), "used": used}


_MAX_INNER = 400  #: operations inside one call that are shown


def trajectory(episode: Episode, conditions: Conditions, pool: Pool) -> dict[str, Any]:
    """Return the record of an episode for the page; large values are replaced by their numbers in the pool."""
    task = episode.task
    declared = [tool.get("function", {}) for tool in episode.tools]
    return {
        "system": task.system,
        "offered": display.offered_text(episode),
        "world": task.world_hash,
        "library": None if task.library is None else [task.library.name, task.library.hash],
        "settings": [
            [key, display.cut(_HASH.sub(r"\1", display.in_words(value)), 200)]
            for key, value in _settings(task.settings)
        ],
        "model": episode.model,
        "prompts": [episode.language, episode.prompt_hash],
        "version": conditions.version,
        "budget": {key: value for key, value in episode.budget.record().items() if value is not None},
        "tools": pool.add([[str(tool.get("name", "")), str(tool.get("description", ""))] for tool in declared]),
        "given": pool.add([message for message in episode.messages[:2] if message.get("role") != "assistant"]),
        "rounds": list(_rounds(episode, pool)),
        "outcome": episode.outcome,
        "reason": episode.reason,
        "fault": None if episode.fault is None else [episode.fault.code, episode.fault.message, episode.fault.hint],
        "answer": episode.answer,
        "spans": [[span.start_time, span.end_time, episode.tools_that_gave(span)] for span in episode.spans],
        "slips": episode.slips,
        "cost": accounts_of(episode).record(),
        "watermark": display.watermark(episode),
    }


def _settings(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _settings(value)
        elif value not in (None, [], ""):
            yield key, value


def _rounds(episode: Episode, pool: Pool) -> Iterator[dict[str, Any]]:
    before = [call for call in episode.calls if call.round == 0]
    if before:
        yield {"number": 0, "calls": [_call(call, pool) for call in before]}
    for record in episode.rounds:
        calls = [_call(call, pool) for call in episode.calls if call.round == record.number]
        yield {**_round(episode, record), "calls": calls}


def _round(episode: Episode, record: RoundRecord) -> dict[str, Any]:
    usage = record.usage
    shown = {
        "number": record.number,
        "tokens": [usage.prompt, usage.completion, usage.cached, int(usage.estimated)],
        "thought": record.thought,
        "says": display.reply_text(episode, record),
        "problems": list(record.problems),
        "folded": record.folded,
        "bare": not record.tools_offered,
        "kept": not record.physical,
    }
    return {key: value for key, value in shown.items() if value}


def _call(call: CallRecord, pool: Pool) -> dict[str, Any]:
    is_answer = call.tool == SUBMIT_ANSWER and call.problem is None
    shown = {
        "tool": call.tool,
        "given": display.arguments_text(call.arguments),
        "arguments": pool.add(call.arguments),
        "short": "" if is_answer else display.result_text(call.result),
        "whole": None if is_answer else pool.add(call.result),
        "failed": call.failed,
        "slips": [slip for slip in (call.problem, call.note) if slip is not None],
        "inside": [_inner(inner) for inner in call.inner_calls[:_MAX_INNER]],
        "more": max(0, len(call.inner_calls) - _MAX_INNER),
        "made_of": display.outputs_text(call.origins),
        "spent": display.spent_text(call.spent) if call.spent else "",
    }
    # Here 0 is a number in the pool, not an empty value.
    return {key: value for key, value in shown.items() if value or (value == 0 and key in ("arguments", "whole"))}


def _inner(call: Mapping[str, Any]) -> list[Any]:
    """Return as a list an inner call's number, name, outcome, count of results, arguments (text), source calls (numbers)."""
    arguments, size, made_from = call.get("arguments"), call.get("size"), call.get("made_from")
    return [
        call.get("call"),
        str(call.get("name")),
        str(call.get("outcome")),
        size if isinstance(size, int) else None,
        display.arguments_text(arguments) if isinstance(arguments, Mapping) else "",
        [number for number in made_from if isinstance(number, int)] if isinstance(made_from, list) else [],
    ]


_AT_ONCE = 100  #: most episodes in a block


@dataclass(kw_only=True)
class Gathered:
    """The episodes on the page, by sample. ``damaged`` maps samples with an unreadable episode to the fault's code."""

    blocks: list[str] = field(default_factory=list)
    episodes: dict[str, GatheredEpisode] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)


def gather(
    run: Run,
    rows: Collection[SampleRow],
    pool: Pool,
    *,
    progress: Callable[[float, float], object] = lambda done, whole: None,
) -> Gathered:
    """Pack the episodes of these samples, shared values into ``pool``; one cell's journal at a time is in memory."""
    gathered = Gathered()
    wanted = {row.sample for row in rows}
    for _, samples in run.by_cell():
        progress(len(gathered.episodes), len(wanted))
        records: list[dict[str, Any]] = []
        for sample in samples:
            if sample.sample not in wanted:
                continue
            try:
                entry = run.entry(sample)
            except EpisodeFault as fault:
                gathered.damaged[sample.sample] = fault.code
                continue
            if entry is None:
                continue
            gathered.episodes[sample.sample] = GatheredEpisode(
                block=len(gathered.blocks),
                at=len(records),
                answer=entry.episode.answer,
                moments=moments_of(entry.episode, run.item(sample)),
            )
            records.append(trajectory(entry.episode, entry.conditions, pool))
            if len(records) == _AT_ONCE:
                gathered.blocks.append(packed(records))
                records = []
        if records:
            gathered.blocks.append(packed(records))
    progress(len(wanted), len(wanted))
    return gathered


def frame_blocks(gathered: Gathered, chosen: Chosen, numbers: Mapping[FrameKey, int]) -> list[str]:
    """Return for each block of episodes a block with their moments; ``numbers`` maps frames to pictures' numbers."""

    def shown(moment: ShownMoment) -> dict[str, Any]:
        frame = chosen.frame_of(moment)
        number = None if frame is None else numbers.get(frame)
        boxes = [[box.x1, box.y1, box.x2, box.y2, box.label] for box in moment.boxes]
        return {"frame": number, "time": moment.time, "why": moment.why, "boxes": boxes}

    by_block: list[list[list[dict[str, Any]]]] = [[] for _ in gathered.blocks]
    for one in gathered.episodes.values():
        by_block[one.block].append([shown(moment) for moment in one.moments])
    return [packed(moments) for moments in by_block]

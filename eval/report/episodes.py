"""The episodes of a run as the page shows them: read once, packed cell by cell, with the moments that want a picture.

Results stand in a line here; whole results, declarations and prompts are in a pool that all episodes share.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from controller.accounts import accounts_of
from controller.answers import SUBMIT_ANSWER
from controller.display import (
    SILENT,
    arguments_text,
    assistant_message,
    offered_text,
    outputs_text,
    result_text,
    spent_text,
    value_text,
    watermark,
)
from controller.episode import CallRecord, Episode, RoundRecord
from controller.records.conditions import Conditions
from eval.report.index import Place
from eval.report.page import Pool, packed
from eval.report.pictures import Chosen, FrameKey, Moment, moments_of
from eval.runs.run import Run
from eval.tables.rows import SampleRow
from world_api.core.faults import EpisodeFault

_MAX_INNER = 400  #: operations inside one call that are shown


def trajectory(episode: Episode, conditions: Conditions, pool: Pool) -> dict[str, Any]:
    """The record of an episode for the page."""
    task = episode.task
    return {
        "system": task.system,
        "offered": offered_text(episode, conditions),
        "world": task.world_hash,
        "library": None if task.library is None else [task.library.name, task.library.hash],
        "settings": [[key, value_text(value, 200)] for key, value in _settings(task.settings)],
        "model": episode.model,
        "prompts": [episode.language, episode.prompt_hash],
        "version": conditions.version,
        "budget": {key: value for key, value in episode.budget.record().items() if value is not None},
        "tools": pool.add(_declared(episode.tools)),
        "told": pool.add([message for message in episode.messages[:2] if message.get("role") != "assistant"]),
        "rounds": list(_rounds(episode, pool)),
        "outcome": episode.outcome,
        "reason": episode.reason,
        "fault": None if episode.fault is None else [episode.fault.code, episode.fault.message, episode.fault.hint],
        "answer": episode.answer,
        "spans": [[span.start_time, span.end_time, episode.tools_that_gave(span)] for span in episode.spans],
        "slips": episode.slips,
        "cost": accounts_of(episode).record(),
        "watermark": watermark(episode),
    }


def _settings(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _settings(value)
        elif value not in (None, [], ""):
            yield key, value


def _declared(tools: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    functions = [tool.get("function", {}) for tool in tools]
    return [[str(function.get("name", "")), str(function.get("description", ""))] for function in functions]


def _rounds(episode: Episode, pool: Pool) -> Iterator[dict[str, Any]]:
    before = [call for call in episode.calls if call.round == 0]
    if before:
        yield {"number": 0, "calls": [_call(call, pool) for call in before]}
    for record in episode.rounds:
        calls = [_call(call, pool) for call in episode.calls if call.round == record.number]
        yield {**_round(episode, record), "calls": calls}


def _round(episode: Episode, record: RoundRecord) -> dict[str, Any]:
    usage = record.usage
    said = assistant_message(episode, record).get("content")
    told = {
        "number": record.number,
        "tokens": [usage.prompt, usage.completion, usage.cached, int(usage.estimated)],
        "thought": record.thought,
        "says": said if isinstance(said, str) and said.strip() and not SILENT.intersection(record.problems) else None,
        "problems": list(record.problems),
        "folded": record.folded,
        "bare": not record.tools_offered,
        "kept": not record.physical,
    }
    return {key: value for key, value in told.items() if value}


def _call(call: CallRecord, pool: Pool) -> dict[str, Any]:
    is_answer = call.tool == SUBMIT_ANSWER and call.problem is None
    told = {
        "tool": call.tool,
        "given": arguments_text(call.arguments),
        "arguments": pool.add(call.arguments),
        "short": "" if is_answer else result_text(call.result),
        "whole": None if is_answer else pool.add(call.result),
        "failed": call.failed,
        "slips": [slip for slip in (call.problem, call.note) if slip is not None],
        "inside": [_inner(inner) for inner in call.inner_calls[:_MAX_INNER]],
        "more": max(0, len(call.inner_calls) - _MAX_INNER),
        "made_of": outputs_text(call.origins),
        "spent": spent_text(call.spent) if call.spent else "",
    }
    return {
        key: value
        for key, value in told.items()
        if value not in (None, "", [], 0, False) or (value == 0 and key in _IDS)
    }


#: Numbers in the pool: 0 is one like any other.
_IDS = frozenset({"arguments", "whole"})


def _inner(call: Mapping[str, Any]) -> list[Any]:
    """An operation inside a tool: its number, name, outcome, how much was found, what it was given, and of which calls."""
    arguments, size, made_from = call.get("arguments"), call.get("size"), call.get("made_from")
    return [
        call.get("call"),
        str(call.get("name")),
        str(call.get("outcome")),
        size if isinstance(size, int) else None,
        arguments_text(arguments) if isinstance(arguments, Mapping) else "",
        [number for number in made_from if isinstance(number, int)] if isinstance(made_from, list) else [],
    ]


_AT_ONCE = 100  #: episodes in a block at most


@dataclass(kw_only=True)
class Gathered:
    """What the page holds of the episodes, by sample. ``damaged`` are those that could not be read, with the reason."""

    blocks: list[str] = field(default_factory=list)
    places: dict[str, Place] = field(default_factory=dict)
    answers: dict[str, str | None] = field(default_factory=dict)
    moments: dict[str, list[Moment]] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)


def gather(run: Run, rows: Collection[SampleRow], pool: Pool) -> Gathered:
    """Read the episodes of these samples; of a cell's journal nothing is kept once its cell is packed."""
    gathered = Gathered()
    wanted = {row.sample for row in rows}
    for _, samples in run.by_cell():
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
            gathered.answers[sample.sample] = entry.episode.answer
            gathered.moments[sample.sample] = moments_of(entry.episode, run.item(sample))
            gathered.places[sample.sample] = Place(block=len(gathered.blocks), at=len(records))
            records.append(trajectory(entry.episode, entry.conditions, pool))
            if len(records) == _AT_ONCE:
                gathered.blocks.append(packed(records))
                records = []
        if records:
            gathered.blocks.append(packed(records))
    return gathered


def frame_blocks(gathered: Gathered, chosen: Chosen, numbers: Mapping[FrameKey, int]) -> list[str]:
    """For every block of episodes a block with the pictures of their moments; ``numbers`` are those of the pictures."""
    by_block: list[list[list[dict[str, Any]]]] = [[] for _ in gathered.blocks]
    for sample, place in gathered.places.items():
        by_block[place.block].append([_shown(moment, chosen, numbers) for moment in gathered.moments[sample]])
    return [packed(moments) for moments in by_block]


def _shown(moment: Moment, chosen: Chosen, numbers: Mapping[FrameKey, int]) -> dict[str, Any]:
    frame = chosen.frame_of(moment)
    return {
        "frame": None if frame is None else numbers.get(frame),
        "time": moment.time,
        "why": moment.why,
        "boxes": [box.record() for box in moment.boxes],
    }

"""A sample of a run as a sample of an Inspect log: question, conversation, answer, scores, tokens, and what it was run with."""

from __future__ import annotations

from collections.abc import Mapping

from controller.accounts import accounts_of
from controller.display import WATERMARK
from controller.episode import Episode
from eval.datasets.items import Item
from eval.inspecting.messages import Record, messages_of
from eval.runs.cells import Cell
from eval.runs.lines import SampleLine
from eval.scoring.score import Score
from world_api.backends.chat.prices import Price, Tokens
from world_api.core.canonical import json_line
from world_api.core.faults import VideoWorldError

#: Limits of an episode in the words of Inspect.
_LIMITS = {
    "rounds": "turn",
    "calls": "custom",
    "tokens": "token",
    "money": "cost",
    "seconds": "time",
    "window": "context",
}
_RIGHT, _WRONG = "C", "I"


def sample_record(
    item: Item,
    cell: Cell,
    line: SampleLine,
    episode: Episode | VideoWorldError | None,
    score: Score | None,
    *,
    plumbing: bool,
    sample_id: str,
    epoch: int,
) -> Record:
    """The sample; a fault in place of an episode (of the sample, or of its record) stands as its error."""
    record: Record = {
        "id": sample_id,
        "epoch": epoch,
        "uuid": line.sample,
        "input": item.question.text,
        "choices": list(item.question.options) or None,
        "target": told(item.answer),
        "metadata": _metadata(item, cell, line, plumbing=plumbing),
    }
    if score is not None:
        record["scores"] = _scores(score, None)
    if isinstance(episode, Episode):
        record |= _of_episode(episode, line.sample)
        record["metadata"] |= _told_of(episode)
        if score is not None:
            record["scores"] = _scores(score, episode.answer)
    else:
        record["error"] = _error(line, episode)
    return record


def told(value: object) -> str:
    """An answer as text: of an interval or an order its JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json_line(value)


def _of_episode(episode: Episode, sample: str) -> Record:
    completion = episode.answer if episode.answer is not None else ""
    record: Record = {
        "messages": messages_of(episode, sample),
        "output": {
            "model": episode.model,
            "choices": [
                {
                    "message": {
                        "id": f"{sample[:16]}-answer",
                        "role": "assistant",
                        "content": completion,
                        "source": "generate",
                    },
                    "stop_reason": "stop" if episode.outcome != "failed" else "unknown",
                }
            ],
            "completion": completion,
        },
        "model_usage": usage_of(episode),
        "turn_count": len(episode.rounds),
    }
    if episode.timings is not None:
        record |= {"started_at": episode.timings.started_at, "total_time": episode.timings.seconds}
    if episode.outcome == "forced" and episode.reason in _LIMITS:
        most = getattr(episode.budget, episode.reason, None)
        record["limit"] = {"type": _LIMITS[episode.reason], "limit": float(most or 0), "reason": episode.reason}
    return record


def usage_of(episode: Episode) -> dict[str, Record]:
    """Tokens by model as they were really asked for; those a server had kept stand apart, as Inspect has it."""
    found: dict[str, Record] = {}
    for item in episode.rounds:
        if item.physical:
            _add(found, episode.model, item.usage, episode.prices)
    for call in episode.calls:
        for spent in call.spent:
            if spent.physical:
                _add(found, spent.model, spent, episode.prices)
    return found


def _add(found: dict[str, Record], model: str, tokens: Tokens, prices: Mapping[str, Price]) -> None:
    usage = found.setdefault(
        model,
        {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0, "input_tokens_cache_read": 0, "total_cost": None},
    )
    cached = min(tokens.cached, tokens.prompt)  # some servers count more
    usage["input_tokens"] += tokens.prompt - cached
    usage["input_tokens_cache_read"] += cached
    usage["output_tokens"] += tokens.completion
    usage["total_tokens"] += tokens.prompt + tokens.completion
    price = prices.get(model)
    if price is not None:
        usage["total_cost"] = (usage["total_cost"] or 0.0) + price.money(tokens)


def _metadata(item: Item, cell: Cell, line: SampleLine, *, plumbing: bool) -> Record:
    record: Record = {
        "sample": line.sample,
        "cell": cell.id,
        "arm": cell.arm.name,
        "system": cell.arm.system,
        "library": cell.arm.library,
        "dataset": cell.dataset,
        "world": cell.world,
        "budget": cell.budget,
        "seed": cell.seed,
        "episode": line.episode,
        "video": item.video_id,
        "kind": item.question.kind,
        "as_of": item.question.as_of,
        "domain": item.domain,
        "content": item.content,
        "template": item.template,
        "evidence": [[span.start, span.end] for span in item.spans],
        "labels": dict(item.labels),
    }
    return record | ({"watermark": WATERMARK} if plumbing else {})


def _told_of(episode: Episode) -> Record:
    return {
        "outcome": episode.outcome,
        "reason": episode.reason,
        "value": episode.value,
        "spans": [
            {"start_time": span.start_time, "end_time": span.end_time, "calls": span.returned_by}
            for span in episode.spans
        ],
        "world_hash": episode.task.world_hash,
        "slips": episode.slips,
        "calls": [
            {"tool": call.tool, "ran": call.ran, "failed": call.failed, "inner_calls": len(call.inner_calls)}
            for call in episode.calls
        ],
        "accounts": accounts_of(episode).record(),
    }


def _scores(score: Score, answer: str | None) -> dict[str, Record]:
    """Whether it counts as right, as Inspect's scorers say it, and the finer score beside it."""
    details = {"scorer": score.scorer, **score.details}
    return {
        "correct": {"value": _RIGHT if score.correct else _WRONG, "answer": answer, "metadata": details},
        "score": {"value": score.score, "answer": answer, "metadata": {"scorer": score.scorer}},
    }


def _error(line: SampleLine, fault: Episode | VideoWorldError | None) -> Record:
    if isinstance(fault, VideoWorldError):
        message = f"{fault.message} [{fault.code}]"
    elif line.fault is not None:
        message = f"{line.fault['message']} [{line.fault['code']}]"
    else:
        message = "there is no episode of this sample"
    return {"message": message, "traceback": "", "traceback_ansi": ""}

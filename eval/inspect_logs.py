"""Export of runs as logs of Inspect (inspect.aisi.org.uk): one log per condition, seeds as epochs.

A condition is an arm, library, dataset, world and budget. A log is first plain JSON in the form of
``inspect_ai.log.EvalLog`` (version 2), which can be tested without Inspect; with the extra ``inspect`` it is validated
and written. One log is in memory at a time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from controller.display import WATERMARK
from controller.episode import Episode, accounts_of
from eval.runs.records import Arm, Cell, SampleLine
from eval.runs.stored_run import Run
from eval.tables.rows import SampleRow, read_rows
from world_api.chat.messages import Usage
from world_api.core.canonical import canonical_json, content_hash, json_line, parse_json
from world_api.core.cost import Spent
from world_api.core.faults import EvalFault, VideoWorldError
from world_api.core.files import not_writable
from world_api.installation import from_extra

Record = dict[str, Any]
Scores = Mapping[str, SampleRow]

SUFFIXES = (".eval", ".json")
UNKNOWN_TIME = "1970-01-01T00:00:00+00:00"  #: Inspect requires a time; used if no episode has one
_LOG_VERSION = 2
#: Inspect's names for the limits of an episode.
_LIMITS = {
    "rounds": "turn", "calls": "custom", "tokens": "token", "money": "cost", "seconds": "time", "window": "context",
}  # fmt: skip


def messages_of(episode: Episode, sample: str) -> list[Record]:
    """Return the messages of an episode in Inspect's form, with ids that begin with that of the ``sample``.

    The thought of a message comes before its text.
    """
    functions = {call.id: call.tool for call in episode.calls}
    failed = {call.id for call in episode.calls if call.failed}
    thoughts = _thoughts(episode)
    converted = []
    for number, message in enumerate(episode.messages):
        role, words = message.get("role"), text_of(message.get("content"))
        record: Record = {"id": f"{sample[:16]}-{number:04d}", "role": role, "content": words}
        if role == "assistant":
            if number in thoughts:
                text = [{"type": "text", "text": words}] if words else []
                record["content"] = [{"type": "reasoning", "reasoning": thoughts[number]}, *text]
            calls = [_call(item) for item in _mappings(message.get("tool_calls"))]
            record |= {"tool_calls": calls} if calls else {}
            record |= {"model": episode.model, "source": "generate"}
        elif role == "tool":
            call_id = str(message.get("tool_call_id") or "")
            record |= {"tool_call_id": call_id, "function": functions.get(call_id, "")}
            record |= {"error": {"type": "unknown", "message": words[:500]}} if call_id in failed else {}
        else:  # messages of the loop have the role of the user
            record |= {"role": role if role == "system" else "user", "source": "input"}
        converted.append(record)
    return converted


def _thoughts(episode: Episode) -> dict[int, str]:
    """Return rounds' thoughts by the index of the message with their calls; of rounds without calls only the last."""
    by_round = {item.number: item.thought for item in episode.rounds if item.thought}
    round_of = {call.id: call.round for call in episode.calls}
    found: dict[int, str] = {}
    last = None
    for number, message in enumerate(episode.messages):
        last = number if message.get("role") == "assistant" else last
        for call in _mappings(message.get("tool_calls")):
            if thought := by_round.pop(round_of.get(str(call.get("id")), -1), None):
                found[number] = thought
    if last is not None and episode.rounds and (thought := by_round.get(episode.rounds[-1].number)):
        found.setdefault(last, thought)
    return found


def text_of(content: object) -> str:
    """Return the text of a message's content; a picture is replaced by its name."""
    if isinstance(content, str):
        return content
    return "\n".join(_part(item) for item in _mappings(content))


def _part(part: Mapping[str, Any]) -> str:
    if isinstance(part.get("text"), str):
        return str(part["text"])
    picture = part.get("image_url", part)
    url = picture.get("url", "") if isinstance(picture, Mapping) else picture
    return f"[picture {str(url)[:80]}]"


def _mappings(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _call(call: Mapping[str, Any]) -> Record:
    function = call.get("function")
    function = function if isinstance(function, Mapping) else {}
    written = function.get("arguments")
    record: Record = {"id": str(call.get("id") or ""), "function": str(function.get("name") or ""), "type": "function"}
    why = "it is not a JSON object"
    try:
        value = parse_json(written) if isinstance(written, str) else written
    except ValueError as error:
        value, why = None, str(error)[:200]
    if isinstance(value, dict):
        return {**record, "arguments": value}
    return {**record, "arguments": {"written": answer_text(written)}, "parse_error": why}


def answer_text(value: object) -> str:
    """Return an answer as text; intervals and orders as JSON, None as an empty text."""
    if isinstance(value, str):
        return value
    return "" if value is None else json_line(value)


def usage_of(episode: Episode) -> dict[str, Record]:
    """Return the tokens that were really requested, by model; cached ones are counted separately, as in Inspect."""
    asked: list[tuple[str, Usage | Spent]] = [(episode.model, item.usage) for item in episode.rounds if item.physical]
    asked += [(spent.model, spent) for call in episode.calls for spent in call.spent if spent.physical]
    found: dict[str, Record] = {}
    for model, tokens in asked:
        cached = min(tokens.cached, tokens.prompt)  # some servers count more
        usage = {
            "input_tokens": tokens.prompt - cached,
            "output_tokens": tokens.completion,
            "total_tokens": tokens.prompt + tokens.completion,
            "input_tokens_cache_read": cached,
            "total_cost": episode.prices[model].money(tokens) if model in episode.prices else None,
        }
        _add(found, model, usage)
    return found


def _add(found: dict[str, Record], model: str, usage: Record) -> None:
    """Add usage to that of a model in ``found``. An unknown cost (None) adds nothing; the sum of only None is None."""
    so_far = found.setdefault(model, dict.fromkeys(usage))
    for key, value in usage.items():
        so_far[key] = value if so_far[key] is None else so_far[key] + (value or 0)


def _sample(run: Run, cell: Cell, line: SampleLine, score: SampleRow | None) -> Record:
    """Return a sample without its id; it has an error if its episode is missing or cannot be read."""
    item = run.item(line)
    metadata: Record = {
        "sample": line.sample, "cell": cell.id, "episode": line.episode, "video": item.video_id,
        "arm": cell.arm.name, "system": cell.arm.system, "library": cell.arm.library,
        "dataset": cell.dataset, "world": cell.world, "budget": cell.budget, "seed": cell.seed,
        "kind": item.question.kind, "as_of": item.question.as_of, "domain": item.domain,
        "content": item.content, "template": item.template, "labels": dict(item.labels),
        "evidence": [[span.start, span.end] for span in item.spans],
        **_watermark(run),
    }  # fmt: skip
    record: Record = {
        "uuid": line.sample,
        "input": item.question.text,
        "choices": list(item.question.options) or None,
        "target": answer_text(item.answer),
        "metadata": metadata,
    }
    episode, why = None, "there is no episode of this sample"
    try:
        episode = run.episode(line)
    except VideoWorldError as fault:
        why = f"{fault.message} [{fault.code}]"
    if episode is not None:
        record |= _episode_fields(episode, line.sample)
        metadata |= _episode_metadata(episode)
    else:
        why = why if line.fault is None else f"{line.fault['message']} [{line.fault['code']}]"
        record["error"] = {"message": why, "traceback": "", "traceback_ansi": ""}
    if score is not None:
        answer = episode.answer if episode is not None else None
        details = {"scorer": score.scorer, **score.details}
        record["scores"] = {
            "correct": {"value": "C" if score.correct else "I", "answer": answer, "metadata": details},
            "score": {"value": score.score, "answer": answer, "metadata": {"scorer": score.scorer}},
        }
    return record


def _watermark(run: Run) -> Record:
    return {"watermark": WATERMARK} if run.manifest.rule_based else {}


def _episode_fields(episode: Episode, sample: str) -> Record:
    answer = episode.answer if episode.answer is not None else ""
    message = {"id": f"{sample[:16]}-answer", "role": "assistant", "content": answer, "source": "generate"}
    choice = {"message": message, "stop_reason": "stop" if episode.outcome != "failed" else "unknown"}
    record: Record = {
        "messages": messages_of(episode, sample),
        "output": {"model": episode.model, "choices": [choice], "completion": answer},
        "model_usage": usage_of(episode),
        "turn_count": len(episode.rounds),
    }
    if episode.timings is not None:
        record |= {"started_at": episode.timings.started_at, "total_time": episode.timings.seconds}
    if episode.outcome == "forced" and episode.reason in _LIMITS:
        limit = getattr(episode.budget, episode.reason, None)
        record["limit"] = {"type": _LIMITS[episode.reason], "limit": float(limit or 0), "reason": episode.reason}
    return record


def _episode_metadata(episode: Episode) -> Record:
    calls = [
        {"tool": call.tool, "ran": call.ran, "failed": call.failed, "inner_calls": len(call.inner_calls)}
        for call in episode.calls
    ]
    spans = [
        {"start_time": span.start_time, "end_time": span.end_time, "calls": span.returned_by} for span in episode.spans
    ]
    return {
        **{name: getattr(episode, name) for name in ("outcome", "reason", "value", "slips")},
        "spans": spans,
        "world_hash": episode.task.world_hash,
        "calls": calls,
        "accounts": accounts_of(episode).record(),
    }


@dataclass(frozen=True, kw_only=True)
class Condition:
    """The cells of a run that differ only in their seeds, ordered by seed. ``name`` is valid in a file name."""

    name: str
    cells: tuple[Cell, ...]

    @property
    def first(self) -> Cell:
        """The cell with the smallest seed."""
        return self.cells[0]


def conditions_of(run: Run) -> list[Condition]:
    """Return the conditions of a run, in the order of its cells."""
    groups: dict[str, list[Cell]] = {}
    for cell in run.cells.values():
        key = canonical_json([asdict(cell.arm), cell.dataset, cell.world, cell.budget, cell.model])
        groups.setdefault(key, []).append(cell)
    names = Counter(_name(cells[0]) for cells in groups.values())
    found = []
    for key, cells in groups.items():
        name = _name(cells[0]) if names[_name(cells[0])] == 1 else f"{_name(cells[0])}-{content_hash(key)[:8]}"
        found.append(Condition(name=name, cells=tuple(sorted(cells, key=lambda cell: (cell.seed, cell.id)))))
    return found


def _name(cell: Cell) -> str:
    library = [Path(cell.arm.library).name] if cell.arm.library else []
    parts = (cell.arm.name, *library, cell.dataset, cell.world, cell.budget)
    return ".".join(re.sub(r"[^A-Za-z0-9_+-]+", "-", part) for part in parts)


def scores_of(run: Run) -> Scores:
    """Return the scores of a run's samples by the sample's id, as in its tables; empty if the run is not scored."""
    try:
        return {row.sample: row for row in read_rows(run).rows}
    except EvalFault as fault:
        if fault.code != "not_scored":
            raise
        return {}


def log_record(run: Run, conditions: Sequence[Condition], scores: Scores | None = None) -> Record:
    """Return the log of some conditions of a run as JSON; with several, a sample's id begins with the condition's name.

    A sample that is in no table has no score. To make several logs of a run, pass its ``scores``, which are read once.
    """
    scores = scores_of(run) if scores is None else scores
    samples = []
    for condition in conditions:
        for epoch, cell in enumerate(condition.cells, start=1):
            for line in run.of_cell.get(cell.id, ()):
                name = f"{condition.name}/{line.item}" if len(conditions) > 1 else line.item
                samples.append({"id": name, "epoch": epoch, **_sample(run, cell, line, scores.get(line.sample))})
            run.forget(cell.id)
    planned = run.planned_in([cell for condition in conditions for cell in condition.cells])
    usage: dict[str, Record] = {}
    for sample in samples:
        for model, tokens in sample.get("model_usage", {}).items():
            _add(usage, model, tokens)
    started = [sample["started_at"] for sample in samples if sample.get("started_at")]
    return {
        "version": _LOG_VERSION,
        "status": "success" if planned == len(samples) else "started",
        "eval": _spec(run, conditions, samples, min(started, default=UNKNOWN_TIME)),
        "plan": {"name": "plan", "steps": [_step(condition.first.arm) for condition in conditions]},
        "results": _results(samples, planned),
        "stats": {
            "started_at": min(started, default=""),
            "completed_at": max(map(_end_time, samples), default=""),
            "model_usage": usage,
        },
        "samples": samples,
    }


def _step(arm: Arm) -> Record:
    return {"solver": arm.system, "params": {"arm": arm.name, "library": arm.library, **arm.settings}}


def _end_time(sample: Record) -> str:
    """Return when a sample was answered, in ISO 8601; empty if that is unknown."""
    try:
        start = datetime.fromisoformat(str(sample.get("started_at")))
        return (start + timedelta(seconds=float(sample.get("total_time") or 0.0))).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        return ""


def _spec(run: Run, conditions: Sequence[Condition], samples: list[Record], created: str) -> Record:
    manifest = run.manifest
    title = manifest.name or run.folder.root.name
    name = conditions[0].name if len(conditions) == 1 else title
    cells = [cell for condition in conditions for cell in condition.cells]
    datasets = sorted({cell.dataset for cell in cells})
    known = {name: asdict(manifest.datasets[name]) for name in datasets if name in manifest.datasets}
    ids = list(dict.fromkeys(sample["id"] for sample in samples))
    run_id = content_hash([cell.id for cell in run.cells.values()])[:22]
    return {
        "eval_id": content_hash([name, run_id])[:22],
        "run_id": run_id,
        "created": created,
        "task": "/".join(datasets),
        "task_id": content_hash(name)[:22],
        "task_display_name": name,
        "solver": conditions[0].first.arm.system if len(conditions) == 1 else "several",
        "tags": [*sorted({cell.arm.name for cell in cells}), *_watermark(run).values()],
        "dataset": {"name": "/".join(datasets), "samples": len(ids), "sample_ids": ids, "shuffled": False},
        "model": manifest.model,
        "config": {"epochs": max(len(condition.cells) for condition in conditions)},
        "packages": dict(manifest.versions),
        "metadata": {
            "run": title,
            "cells": [cell.id for cell in cells],
            "seeds": sorted({cell.seed for cell in cells}),
            "budgets": {name: dict(budget) for name, budget in manifest.budgets.items()},
            "datasets": {
                name: {key: one[key] for key in ("hash", "missing_hash", "protocol")} for name, one in known.items()
            },
            "primary": dict(manifest.primary) if manifest.primary else None,
            **_watermark(run),
        },
        "scorers": [{"name": "correct"}, {"name": "score"}],
        **({"revision": {"type": "git", "origin": "", "commit": manifest.git}} if manifest.git else {}),
    }


def _results(samples: list[Record], planned: int) -> Record:
    """Return numbers of samples (``planned``: in total), and means over the scored ones, if any, as in the tables."""
    scores = [sample["scores"] for sample in samples if "scores" in sample]
    values = {
        "correct": ("accuracy", [float(score["correct"]["value"] == "C") for score in scores]),
        "score": ("mean", [float(score["score"]["value"]) for score in scores]),
    }
    counts = {"scored_samples": len(scores), "unscored_samples": len(samples) - len(scores)}
    metrics = []
    for name, (metric, found) in values.items() if scores else ():
        mean = {metric: {"name": metric, "value": round(sum(found) / len(found), 6)}}
        metrics.append({"name": name, "scorer": "video-world-api", **counts, "metrics": mean})
    return {"total_samples": planned, "completed_samples": len(samples), "scores": metrics}


def export_run(run: Run, out: Path) -> Iterator[tuple[Path, int]]:
    """Write a run as logs of Inspect; yield each file with its number of samples.

    If ``out`` ends in .eval or .json, it is one log; otherwise a folder with one log per condition.

    Raises BackendFault: ``extra_missing``; EvalFault: ``nothing_to_export``, ``bad_export_name``, ``not_exportable``;
    StoreFault: ``store_not_writable``.
    """
    with from_extra("inspect"):
        import inspect_ai.log  # noqa: F401 - only whether it can be imported
    if not run.samples:
        what = "no sample of this run is finished"
        raise EvalFault("nothing_to_export", what, hint="`videoworld eval run RUN` continues it")
    scores = scores_of(run)
    for path, conditions in _files(run, out):
        record = log_record(run, conditions, scores)
        _write(record, path)
        yield path, len(record["samples"])


def _files(run: Run, out: Path) -> list[tuple[Path, list[Condition]]]:
    conditions = conditions_of(run)
    if out.suffix in SUFFIXES:
        return [(out, conditions)]
    if out.suffix and not out.is_dir():
        what = f"{out.name} ends in {out.suffix}"
        raise EvalFault("bad_export_name", what, hint="end it in .eval or .json, or give a folder")
    return [
        (out / f"{condition.name}.eval", [condition])
        for condition in conditions
        if any(cell.id in run.of_cell for cell in condition.cells)
    ]


def _write(record: Record, path: Path) -> None:
    """Validate a log with Inspect's own type and write it atomically."""
    from inspect_ai.log import EvalLog, write_eval_log
    from pydantic import ValidationError

    try:
        log = EvalLog.model_validate(record)
    except ValidationError as error:
        first = error.errors()[0]
        what = f"the installed inspect_ai does not take the log: {'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise EvalFault("not_exportable", what, hint="install the version of inspect_ai that the extra names") from None
    part = path.with_name(f".{path.stem}.part{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_eval_log(log, str(part), format="eval" if path.suffix == ".eval" else "json")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise not_writable(path, error) from error

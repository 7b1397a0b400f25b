"""Runs as logs of Inspect (inspect.aisi.org.uk): a log for each condition (arm, library, dataset, world, budget), an epoch a seed.

A log is made as plain JSON first, in the shape of ``inspect_ai.log.EvalLog`` (version 2), so that it can be tested without Inspect;
the extra ``inspect`` checks and writes it. Messages of an episode, which are Chat Completions JSON, become Inspect's own.
Inspect's public interface takes a whole log; in a folder each condition is a log of its own, and one is in memory at a time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from controller.accounts import accounts_of
from controller.display import WATERMARK
from controller.episode import Episode
from eval.datasets.items import Item
from eval.runs.cells import Cell
from eval.runs.files import SampleLine
from eval.runs.reading import Run
from eval.scoring.score import Score
from eval.tables.rows import read_rows
from world_api.chat.usage import Price, Tokens
from world_api.core.canonical import canonical, content_hash, json_line, parse_json
from world_api.core.faults import BackendFault, EvalFault, StoreFault, VideoWorldError

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog

Record = dict[str, Any]


def messages_of(episode: Episode, sample: str) -> list[Record]:
    """The messages, with ids that follow from the sample; the model's thoughts stand before what it said."""
    names: dict[str, str] = {}
    failed = {call.id for call in episode.calls if call.failed}
    thoughts = _thoughts(episode)
    found = []
    for number, message in enumerate(episode.messages):
        role = message.get("role")
        base = {"id": f"{sample[:16]}-{number:04d}", "role": role}
        if role == "assistant":
            record = {**base, **_assistant(message, thoughts.get(number), names), "model": episode.model}
            record["source"] = "generate"
        elif role == "tool":
            record = {**base, **_tool(message, names, failed)}
        else:
            # What the loop itself says is told by the user, as the model gets it.
            record = {**base, "role": role if role == "system" else "user", "content": text_of(message.get("content"))}
            record["source"] = "input"
        found.append(record)
    return found


def _thoughts(episode: Episode) -> dict[int, str]:
    """What the model thought, by the number of the message it came with: that of its calls, or the last one it wrote."""
    rounds = {item.number: item.thought for item in episode.rounds if item.thought}
    round_of = {call.id: call.round for call in episode.calls}
    found: dict[int, str] = {}
    last = None
    for number, message in enumerate(episode.messages):
        if message.get("role") != "assistant":
            continue
        last = number
        ids = [str(call.get("id")) for call in message.get("tool_calls") or () if isinstance(call, Mapping)]
        thought = next((rounds.pop(round_of[own], None) for own in ids if own in round_of), None)
        if thought:
            found[number] = thought
    if last is not None and last not in found and episode.rounds and episode.rounds[-1].number in rounds:
        found[last] = rounds[episode.rounds[-1].number] or ""
    return found


def text_of(content: object) -> str:
    """The words of a message's content; a picture is named and not shown, since logs do not hold it."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(_part(item) for item in content if isinstance(item, Mapping))


def _part(part: Mapping[str, Any]) -> str:
    if isinstance(part.get("text"), str):
        return str(part["text"])
    picture = part.get("image_url", part)
    url = picture.get("url", "") if isinstance(picture, Mapping) else picture
    return f"[picture {str(url)[:80]}]"


def _assistant(message: Mapping[str, Any], thought: str | None, names: dict[str, str]) -> Record:
    words = text_of(message.get("content"))
    content: str | list[Record] = words
    if thought:
        content = [{"type": "reasoning", "reasoning": thought}]
        content += [{"type": "text", "text": words}] if words else []
    calls = [_call(item, names) for item in message.get("tool_calls") or () if isinstance(item, Mapping)]
    return {"content": content, **({"tool_calls": calls} if calls else {})}


def _call(call: Mapping[str, Any], names: dict[str, str]) -> Record:
    function = call.get("function")
    function = function if isinstance(function, Mapping) else {}
    own, name = str(call.get("id") or ""), str(function.get("name") or "")
    names[own] = name
    written = function.get("arguments")
    record: Record = {"id": own, "function": name, "type": "function", "arguments": {}}
    try:
        value = parse_json(written) if isinstance(written, str) else written
    except ValueError as error:
        return {**record, "arguments": {"written": str(written)}, "parse_error": str(error)[:200]}
    if not isinstance(value, dict):
        return {**record, "arguments": {"written": json_line(value)}, "parse_error": "it is not a JSON object"}
    return {**record, "arguments": value}


def _tool(message: Mapping[str, Any], names: Mapping[str, str], failed: set[str]) -> Record:
    own = str(message.get("tool_call_id") or "")
    words = text_of(message.get("content"))
    record: Record = {"content": words, "tool_call_id": own, "function": names.get(own, "")}
    if own in failed:
        record["error"] = {"type": "unknown", "message": words[:500]}
    return record


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


Lines = Mapping[str, list[SampleLine]]
Scores = Mapping[str, Score]

LOG_VERSION = 2
#: Inspect wants a moment; where no episode tells one, this says that it is not known.
UNKNOWN_TIME = "1970-01-01T00:00:00+00:00"
_ROUNDED = 6
_UNFIT = re.compile(r"[^A-Za-z0-9_+-]+")


@dataclass(frozen=True, kw_only=True)
class Condition:
    """The cells of a run that differ in their seeds alone, by rising seed. ``name`` may name a file."""

    name: str
    cells: tuple[Cell, ...]

    @property
    def first(self) -> Cell:
        """The cell of the first seed."""
        return self.cells[0]


def conditions_of(run: Run) -> list[Condition]:
    """The conditions of a run, in its order of cells."""
    groups: dict[str, list[Cell]] = {}
    for cell in run.cells.values():
        key = canonical([asdict(cell.arm), cell.dataset, cell.world, cell.budget, cell.model])
        groups.setdefault(key, []).append(cell)
    names = {key: _name(cells[0]) for key, cells in groups.items()}
    twice = {name for name, count in Counter(names.values()).items() if count > 1}
    return [
        Condition(
            name=f"{names[key]}-{content_hash(key)[:8]}" if names[key] in twice else names[key],
            cells=tuple(sorted(cells, key=lambda cell: (cell.seed, cell.id))),
        )
        for key, cells in groups.items()
    ]


def _name(cell: Cell) -> str:
    """A name for files: arm and library, dataset, world, budget."""
    library = [Path(cell.arm.library).name] if cell.arm.library else []
    parts = (cell.arm.name, *library, cell.dataset, cell.world, cell.budget)
    return ".".join(_UNFIT.sub("-", part) for part in parts)


def lines_by_cell(run: Run) -> Lines:
    """The finished samples of each cell."""
    found: dict[str, list[SampleLine]] = {}
    for line in run.samples:
        found.setdefault(line.cell, []).append(line)
    return found


def scores_of(run: Run) -> Scores:
    """The scores of a run's samples as its tables have them; none of a run of which nothing is scored."""
    try:
        rows = read_rows(run).rows
    except EvalFault as fault:
        if fault.code != "not_scored":
            raise
        return {}
    return {
        row.sample: Score(correct=row.correct, score=row.score, scorer=row.scorer, details=row.details) for row in rows
    }


def log_record(
    run: Run, conditions: list[Condition], lines: Lines | None = None, scores: Scores | None = None
) -> Record:
    """One log of some conditions of a run. With several, a sample's id begins with the condition's name.

    A sample whose episode cannot be read stands with the fault as its error. One that is in no table has no score. Who makes many
    logs of a run gives the ``lines`` and ``scores``.
    """
    several = len(conditions) > 1
    of_cell = lines_by_cell(run) if lines is None else lines
    said = scores_of(run) if scores is None else scores
    samples = [s for condition in conditions for s in _samples(run, condition, of_cell, said, several=several)]
    started = [sample["started_at"] for sample in samples if sample.get("started_at")]
    return {
        "version": LOG_VERSION,
        "status": "success" if _planned(run, conditions) == len(samples) else "started",
        "eval": _spec(run, conditions, samples, min(started, default=UNKNOWN_TIME)),
        "plan": {"name": "plan", "steps": [_step(condition.first) for condition in conditions]},
        "results": _results(samples, _planned(run, conditions)),
        "stats": {
            "started_at": min(started, default=""),
            "completed_at": max(map(_end, samples), default=""),
            "model_usage": _summed([sample.get("model_usage", {}) for sample in samples]),
        },
        "samples": samples,
    }


def _samples(run: Run, condition: Condition, of_cell: Lines, scores: Scores, *, several: bool) -> Iterator[Record]:
    for epoch, cell in enumerate(condition.cells, start=1):
        for line in of_cell.get(cell.id, ()):
            yield sample_record(
                run.item(line),
                cell,
                line,
                _episode(run, line),
                scores.get(line.sample),
                plumbing=run.manifest.rule_based,
                sample_id=f"{condition.name}/{line.item}" if several else line.item,
                epoch=epoch,
            )
        run.forget(cell.id)  # a journal is read once, and let go


def _episode(run: Run, line: SampleLine) -> Episode | VideoWorldError | None:
    try:
        return run.episode(line)
    except VideoWorldError as fault:
        return fault


def _end(sample: Record) -> str:
    """When a sample was answered; nothing where that is not known."""
    try:
        start = datetime.fromisoformat(str(sample.get("started_at")))
        return (start + timedelta(seconds=float(sample.get("total_time") or 0.0))).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        return ""


def _planned(run: Run, conditions: list[Condition]) -> int:
    of_dataset: dict[str, int] = {}
    for dataset, _ in run.items:
        of_dataset[dataset] = of_dataset.get(dataset, 0) + 1
    return sum(of_dataset.get(cell.dataset, 0) for condition in conditions for cell in condition.cells)


def _spec(run: Run, conditions: list[Condition], samples: list[Record], created: str) -> Record:
    manifest = run.manifest
    name = conditions[0].name if len(conditions) == 1 else manifest.name or run.folder.root.name
    datasets = sorted({cell.dataset for condition in conditions for cell in condition.cells})
    ids = list(dict.fromkeys(sample["id"] for sample in samples))
    cells = [cell for condition in conditions for cell in condition.cells]
    run_id = content_hash([cell.id for cell in run.cells.values()])[:22]
    metadata: Record = {
        "run": manifest.name or run.folder.root.name,
        "cells": [cell.id for cell in cells],
        "seeds": sorted({cell.seed for cell in cells}),
        "budgets": {name: dict(manifest.budgets[name]) for name in manifest.budgets},
        "datasets": {
            name: {
                "hash": manifest.datasets[name].hash,
                "missing_hash": manifest.datasets[name].missing_hash,
                "protocol": dict(manifest.datasets[name].protocol),
            }
            for name in datasets
            if name in manifest.datasets
        },
        "primary": dict(manifest.primary) if manifest.primary else None,
    }
    if manifest.rule_based:
        metadata["watermark"] = WATERMARK
    spec: Record = {
        "eval_id": content_hash([name, run_id])[:22],
        "run_id": run_id,
        "created": created,
        "task": "/".join(datasets),
        "task_id": content_hash(name)[:22],
        "task_display_name": name,
        "solver": conditions[0].first.arm.system if len(conditions) == 1 else "several",
        "tags": sorted({cell.arm.name for cell in cells}) + ([WATERMARK] if manifest.rule_based else []),
        "dataset": {"name": "/".join(datasets), "samples": len(ids), "sample_ids": ids, "shuffled": False},
        "model": manifest.model,
        "config": {"epochs": max(len(condition.cells) for condition in conditions)},
        "packages": dict(manifest.versions),
        "metadata": metadata,
        "scorers": [{"name": "correct"}, {"name": "score"}],
    }
    if manifest.git:
        spec["revision"] = {"type": "git", "origin": "", "commit": manifest.git}
    return spec


def _step(cell: Cell) -> Record:
    settings: dict[str, Any] = {"arm": cell.arm.name, "library": cell.arm.library, **cell.arm.settings}
    return {"solver": cell.arm.system, "params": settings}


def _results(samples: list[Record], planned: int) -> Record:
    """Accuracy over all scored samples, as in the tables; none where nothing is scored."""
    scores = [sample["scores"] for sample in samples if "scores" in sample]
    right = [score["correct"]["value"] == "C" for score in scores]
    fine = [float(score["score"]["value"]) for score in scores]
    common = {
        "scorer": "video-world-api",
        "scored_samples": len(scores),
        "unscored_samples": len(samples) - len(scores),
    }
    return {
        "total_samples": planned,
        "completed_samples": len(samples),
        "scores": [
            {"name": "correct", **common, "metrics": {"accuracy": _metric("accuracy", right)}},
            {"name": "score", **common, "metrics": {"mean": _metric("mean", fine)}},
        ]
        if scores
        else [],
    }


def _metric(name: str, values: list[bool] | list[float]) -> Record:
    return {"name": name, "value": round(sum(values) / len(values), _ROUNDED)}


def _summed(usages: list[dict[str, Record]]) -> dict[str, Record]:
    found: dict[str, Record] = {}
    for usage in usages:
        for model, tokens in usage.items():
            held = found.setdefault(model, dict.fromkeys(tokens))
            for key, value in tokens.items():
                held[key] = value if held.get(key) is None else held[key] + (value or 0)
    return found


SUFFIXES = (".eval", ".json")


def export_run(run: Run, out: Path) -> Iterator[tuple[Path, int]]:
    """Write a run as one log (``out`` ends in .eval or .json), or as a log a condition into a folder; each file with its samples.

    Raises:
        BackendFault: ``extra_missing``.
        EvalFault: ``nothing_to_export``, ``bad_export_name``, ``not_exportable``.
        StoreFault: ``store_not_writable``.
    """
    require_inspect()
    if not run.samples:
        raise EvalFault(
            "nothing_to_export", "no sample of this run is finished", hint="`videoworld eval run RUN` goes on with it"
        )
    lines, scores = lines_by_cell(run), scores_of(run)
    for path, conditions in _files(run, out):
        record = log_record(run, conditions, lines, scores)
        _write(record, path)
        yield path, len(record["samples"])


def require_inspect() -> None:
    """See that Inspect is installed.

    Raises:
        BackendFault: ``extra_missing``.
    """
    try:
        import inspect_ai.log  # noqa: F401 - whether it is there is the question
    except ImportError as error:
        raise BackendFault(
            "extra_missing",
            f"Inspect logs are written by inspect_ai, which is not here ({error})",
            hint="pip install 'video-world-api[inspect]'",
        ) from None


def checked_log(record: Record) -> EvalLog:
    """The log as Inspect's own type.

    Raises:
        EvalFault: ``not_exportable``, with the place that the installed version of Inspect does not take.
    """
    from inspect_ai.log import EvalLog
    from pydantic import ValidationError

    try:
        return EvalLog.model_validate(record)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise EvalFault(
            "not_exportable",
            f"the installed inspect_ai does not take the log: {where}: {first['msg']}",
            hint="install the version of inspect_ai that the extra names",
        ) from None


def _files(run: Run, out: Path) -> list[tuple[Path, list[Condition]]]:
    conditions = conditions_of(run)
    if out.suffix in SUFFIXES:
        return [(out, conditions)]
    if out.suffix and not out.is_dir():
        raise EvalFault(
            "bad_export_name", f"{out.name} ends in {out.suffix}", hint="end it in .eval or .json, or give a folder"
        )
    done = {line.cell for line in run.samples}
    there = [item for item in conditions if any(cell.id in done for cell in item.cells)]
    return [(out / f"{condition.name}.eval", [condition]) for condition in there]


def _write(record: Record, path: Path) -> None:
    """Write beside the place and rename, so that a log is there whole or not at all."""
    from inspect_ai.log import write_eval_log

    log = checked_log(record)
    part = path.with_name(f".{path.stem}.part{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_eval_log(log, str(part), format="eval" if path.suffix == ".eval" else "json")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise StoreFault(
            "store_not_writable", f"cannot write {path.name}: {error.strerror or error}", hint="choose another --out"
        ) from error

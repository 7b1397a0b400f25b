"""A run as Inspect logs: one log for each condition (arm, library, dataset, world, budget), whose epochs are the seeds.

A log is made as plain JSON first, in the shape of ``inspect_ai.log.EvalLog`` (version 2), so that it can be looked at and tested
without Inspect; ``writing.py`` has Inspect check and write it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from controller.display import WATERMARK
from controller.episode import Episode
from eval.inspecting.messages import Record
from eval.inspecting.samples import sample_record
from eval.runs.cells import Cell
from eval.runs.lines import SampleLine
from eval.runs.reading import Run
from eval.scoring.score import Score
from eval.tables.making import read_rows
from world_api.core.canonical import canonical, content_hash
from world_api.core.faults import EvalFault, VideoWorldError

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

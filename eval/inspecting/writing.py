"""Having Inspect check and write logs. Its public interface takes a log whole, so that the samples of one log are in memory at once.

With a folder as the goal each condition is a log of its own, and no more than one is held.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from eval.inspecting.logs import Condition, conditions_of, lines_by_cell, log_record, scores_of
from eval.inspecting.messages import Record
from eval.runs.reading import Run
from world_api.core.faults import BackendFault, EvalFault, StoreFault

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog

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
    for path, conditions in _plan(run, out):
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


def _plan(run: Run, out: Path) -> list[tuple[Path, list[Condition]]]:
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

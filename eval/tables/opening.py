"""Opening a run, or a bundle of one, for its tables."""

from __future__ import annotations

from pathlib import Path

from eval.runs.reading import Run, read_run
from eval.runs.scoring import scored_now
from eval.tables.study import Study, study_of


def opened_study(path: Path) -> tuple[Run, Study]:
    """A run, or a bundle of one, with its rows read.

    Raises:
        EvalFault: ``no_such_run``, ``run_damaged``, ``not_scored``; what a bundle names.
    """
    run = scored_now(read_run(path))
    return run, study_of(run)

"""Opening a run, or a bundle of one, for its tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eval.runs.reading import Run, read_run
from eval.tables.study import Study, study_of


@contextmanager
def opened_study(path: Path) -> Iterator[tuple[Run, Study]]:
    """A run with its rows read; a bundle is unpacked for as long as it is open.

    Raises:
        EvalFault: ``no_such_run``, ``run_damaged``, ``not_scored``; what a bundle names.
    """
    run = read_run(path)
    yield run, study_of(run)

"""A run from its configuration to its scores, as ``videoworld eval run`` and ``videoworld.run_experiment`` perform it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.runs.experiment import Experiment, RunOutcome, open_experiment, run_experiment
from eval.runs.scheduler import progress_display, progress_text
from eval.runs.scoring import JUDGE_WORKERS, Scored, configured_judge, score_run
from world_api.core.execution import SystemClock
from world_api.core.faults import EvalFault, VideoWorldError
from world_api.installation import data_frame
from world_api.terminal import progress_bars

if TYPE_CHECKING:
    import pandas as pd

    from eval.scoring import AnswerJudge


@dataclass(frozen=True, kw_only=True, repr=False)
class ScoredRun:
    """A run as far as it came. ``scored`` is None if it could not be scored, for which ``unscored`` is the reason."""

    outcome: RunOutcome
    scored: Scored | None
    unscored: VideoWorldError | None

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return self.outcome.folder.root

    @property
    def fault(self) -> VideoWorldError | None:
        """What ended the run before its end, or the scoring; None if nothing did."""
        return self.outcome.ended.fault or self.unscored

    def record(self) -> dict[str, Any]:
        """Return the JSON form."""
        scored, unscored = self.scored, self.unscored
        return {
            **self.outcome.record(),
            "scored": None if scored is None else scored.record(),
            "not_scored": None if unscored is None else unscored.record()["error"],
        }

    def to_pandas(self) -> pd.DataFrame:
        """Return the arms as a table: how many samples are done, scored and right. Raises BackendFault: ``extra_missing``."""
        arms = self.outcome.tally.arms.items()
        rows = [
            {"arm": name, "done": arm.done, "scored": arm.scored, "right": arm.right, "accuracy": arm.accuracy}
            for name, arm in arms
        ]
        return data_frame(rows)

    def __repr__(self) -> str:
        return f"run {self.folder}\n{progress_text(self.outcome.tally)}"


def run_and_score(
    what: str | PathLike[str],
    *,
    settings: Collection[str] = (),
    out: str | PathLike[str] | None = None,
    yes: bool = False,
    progress: bool = True,
) -> ScoredRun:
    """Run an experiment and score it, as ``videoworld eval run`` does; the same call continues a run that was stopped.

    ``what`` is a configuration, or the folder of a run; ``settings`` are ``KEY=VALUE`` texts that replace values of the
    configuration; ``yes`` agrees that frames are sent to an endpoint; ``progress`` is shown on stderr. Finished questions are
    never asked again.

    Raises EvalFault, BackendFault, VideoWorldError: what stopped the run or its scoring; KeyboardInterrupt: it was interrupted.
    """
    done = begin_run(what, settings=settings, out=out, yes=yes, progress=progress)
    if done.outcome.ended.interrupted:
        raise KeyboardInterrupt
    if done.fault is not None:
        raise done.fault
    return done


def begin_run(
    what: str | PathLike[str],
    *,
    settings: Collection[str] = (),
    out: str | PathLike[str] | None = None,
    yes: bool = False,
    as_json: bool = False,
    progress: bool = True,
) -> ScoredRun:
    """Run and score an experiment as far as possible; what stopped it is in the result. ``progress`` is shown on stderr.

    Raises EvalFault: ``consent_needed``, and the faults of the configuration and the plan.
    """
    clock = SystemClock()
    found = open_experiment(Path(what), overrides=tuple(settings), out=None if out is None else Path(out))
    if found.configuration.document.perception is not None and not yes:
        what_is_sent = "the configuration has a model look at frames, which are sent to the endpoint"
        hint = "see with --dry-run what that may take, then agree: add --yes, from Python yes=True"
        raise EvalFault("consent_needed", what_is_sent, hint=hint)
    _judge(found, say=lambda _: None)  # a judge that is not available is reported before hours of questions
    with (
        progress_bars(shown=progress) as bars,
        progress_display(clock, as_json=as_json, shown=progress) as watch,
    ):
        outcome = run_experiment(found, clock=clock, environment=os.environ, display=watch, building=bars)
    scored: Scored | None = None
    unscored: VideoWorldError | None = None
    try:
        with progress_bars(" samples", shown=progress) as bars:
            scored = score_run(
                found.folder, judge=_judge(found, say=bars.say), workers=JUDGE_WORKERS, progress=bars.update
            )
        outcome.tally.settle(scored.arms)
    except VideoWorldError as fault:
        unscored = fault
    return ScoredRun(outcome=outcome, scored=scored, unscored=unscored)


def _judge(what: Experiment, *, say: Callable[[str], object]) -> AnswerJudge | None:
    """Return the judge that the configuration names, or None; ``say`` gets messages. Raises EvalFault, BackendFault."""
    document = what.configuration.document
    given: dict[str, Any] = {"clock": SystemClock(), "environment": os.environ}
    return configured_judge(document.judge, what.folder, models=[document.model], say=say, **given)

"""Score the episodes of a run, and perform a run from its configuration to its scores. No question is asked again.

``begin_run`` is what ``videoworld eval run`` and ``videoworld.run_experiment`` do; the judge of open answers is chosen here.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from eval.runs.configuration import JudgePart
from eval.runs.experiment import Experiment, RunOutcome, open_experiment, run_experiment
from eval.runs.records import Cell, RunFolder, RunManifest, SampleLine, ScoreLine
from eval.runs.scheduler import progress_display, progress_text
from eval.runs.stored_run import Run, read_run, refuse_unreadable
from eval.scoring.judge import BY_WORDS, answer_judge, same_family
from eval.scoring.kinds import AnswerJudge, Score
from eval.scoring.scorers import AnswerToScore, score_all, score_value
from world_api.core.canonical import json_line
from world_api.core.execution import SystemClock
from world_api.core.faults import BackendFault, EpisodeFault, EvalFault, VideoWorldError
from world_api.core.files import write_atomically
from world_api.core.ports import Clock
from world_api.installation import data_frame
from world_api.terminal import progress_bars

if TYPE_CHECKING:
    import pandas as pd

#: Default number of simultaneous requests to the judge.
JUDGE_WORKERS = 4
#: The scorer of a sample without a readable episode.
NO_EPISODE = "none/1"


def configured_judge(
    part: JudgePart | None,
    folder: RunFolder,
    *,
    models: Iterable[str],
    clock: Clock,
    environment: Mapping[str, str],
    say: Callable[[str], object],
    prompt: Path | None = None,
) -> AnswerJudge | None:
    """Return the judge that ``part`` names, None without one; ``models`` are those that gave the answers to judge.

    Recorded verdicts are not requested again. If no endpoint is configured, only these are used. ``say`` gets messages
    about the choice; ``prompt`` is a file that replaces the judge's prompt.

    Raises EvalFault: ``bad_judge_prompt``, ``recording_damaged``, ``recording_schema``, ``several_judges``;
    BackendFault: ``endpoint_not_configured`` if there are no verdicts either, and other faults of an endpoint.
    """
    record = folder.verdicts
    if part is None:
        if record.exists():
            kept = f"{record.name} is kept for `videoworld eval score`"
            say(f"scored without a judge, for the configuration names none; {kept}")
        return None
    warning = same_family(part.model, models) if part.model != BY_WORDS else None
    if warning is not None:
        say(warning)
    try:
        return answer_judge(
            part.model, wire=part.wire, prompt=prompt, record=record, clock=clock, environment=environment
        )
    except BackendFault as fault:
        if fault.code != "endpoint_not_configured" or not record.exists():
            raise
        say(f"{part.model} cannot be asked, for no endpoint is configured: the verdicts on file are taken")
        return answer_judge(None, prompt=prompt, record=record, clock=clock, environment=environment)


def judge_part_of(manifest: RunManifest) -> JudgePart | None:
    """Return the judge of a run's configuration from its manifest; None if there is none or it is not valid."""
    try:
        return JudgePart.model_validate(manifest.settings.get("judge"))
    except ValidationError:
        return None  # there is none, or the manifest is from elsewhere and not valid here


@dataclass(frozen=True, kw_only=True)
class Scored:
    """The number of scored samples (``samples``), of right ones, and of samples by scorer.

    ``damaged``: name and fault of each unreadable episode. ``arms`` has, by arm, the number of scored and of right samples.
    """

    samples: int
    right: int
    scorers: Mapping[str, int] = field(default_factory=dict)
    damaged: tuple[str, ...] = ()
    arms: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Return the JSON form."""
        counts = {"samples": self.samples, "right": self.right, "scorers": dict(self.scorers)}
        return {**counts, "damaged": list(self.damaged)}


#: Called with a stage, what is done of it, and how much that is in all.
Shown = Callable[[str, float, float], object]


def score_run(
    folder: RunFolder,
    *,
    judge: AnswerJudge | None = None,
    workers: int = 1,
    progress: Shown = lambda stage, done, whole: None,
) -> Scored:
    """Score all finished samples of a run and write ``scores.jsonl`` atomically; equal episodes give equal bytes.

    ``workers`` is the number of simultaneous requests to the judge; ``progress`` is called with
    a stage, the number of its samples that are done, and that of all. A sample whose episode is missing or unreadable is
    wrong, with the fault's code as reason. A question without a known answer gets no score.

    Raises EvalFault: ``no_such_run``, ``run_damaged``, ``other_schema_version``, the faults of scorers; BackendFault:
    the faults of the judge's model; StoreFault: ``store_not_writable``, ``disk_full``.
    """
    run = read_run(folder.root)
    scores: dict[str, Score] = {}
    answers: dict[str, AnswerToScore] = {}
    unreadable: list[str] = []
    for number, (cell, line, found) in enumerate(answers_of(run), start=1):
        progress("read", number, len(run.samples))
        if isinstance(found, AnswerToScore):
            answers[line.sample] = found
        else:
            scores[line.sample] = _wrong(found.code)
            if line.episode is not None:
                unreadable.append(f"{cell.id}/{line.episode}: {found.message}")
    progress("read", len(run.samples), len(run.samples))
    judged = score_all(list(answers.values()), judge=judge, workers=workers, progress=partial(progress, "score"))
    scores |= zip(answers, judged, strict=True)
    lines = [line for line in run.samples if line.sample in scores]
    records = [ScoreLine.of(line, scores[line.sample]).record() for line in lines]
    write_atomically(folder.scores, b"".join(json_line(record).encode() + b"\n" for record in records))
    by_arm: dict[str, list[bool]] = {}
    for line in lines:
        by_arm.setdefault(run.cells[line.cell].label, []).append(scores[line.sample].correct)
    return Scored(
        samples=len(scores),
        right=sum(score.correct for score in scores.values()),
        scorers=dict(sorted(Counter(score.scorer for score in scores.values()).items())),
        damaged=tuple(unreadable),
        arms={label: (len(correct), sum(correct)) for label, correct in by_arm.items()},
    )


def scored_now(run: Run) -> Run:
    """Return the run with scores also for samples that have none yet, because the run was killed or still runs.

    Answers that need a judge get no score. Nothing is written.
    """
    found: dict[str, Score] = {}
    judged = "judge" in run.manifest.settings
    for _, line, one in answers_of(run, skip=run.scores):
        if not isinstance(one, AnswerToScore):
            found[line.sample] = _wrong(one.code)
        elif not (judged and one.item.question.kind == "open"):
            with suppress(EvalFault):  # such as ``no_judge``
                found[line.sample] = score_value(one.item, one.value, one.answer, protocol=one.protocol)
    return replace(run, scores={**run.scores, **found}) if found else run


def answers_of(
    run: Run, *, skip: Collection[str] = ()
) -> Iterator[tuple[Cell, SampleLine, AnswerToScore | EpisodeFault]]:
    """Yield given answers where the right one is known, or why none can be read; ``skip``: keys of samples left out."""
    for cell, lines in run.by_cell():
        protocol = run.manifest.datasets[cell.dataset].protocol if cell.dataset in run.manifest.datasets else {}
        for line in lines:
            if line.sample in skip or not run.has_answer(line):
                continue
            try:
                episode = run.episode(line)
            except EpisodeFault as fault:
                refuse_unreadable(fault)
                yield cell, line, fault
                continue
            if episode is None:
                code = line.fault["code"] if line.fault is not None else "no_episode"
                yield cell, line, EpisodeFault(code, "there is no episode")
            else:
                value, answer = episode.value, episode.answer
                yield cell, line, AnswerToScore(item=run.item(line), value=value, answer=answer, protocol=protocol)


def _wrong(reason: str) -> Score:
    """Return the score of a sample without a readable episode."""
    return Score(correct=False, score=0.0, scorer=NO_EPISODE, details={"reason": reason})


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

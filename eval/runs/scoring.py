"""Scoring a run's episodes, again if need be; no model answers anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from eval.runs.lines import SampleLine, ScoreLine
from eval.runs.places import RunFolder
from eval.runs.reading import Run, read_run, refuse_unreadable
from eval.runs.running.tally import label_of
from eval.scoring.port import AnswerJudge
from eval.scoring.score import Score
from eval.scoring.scorers import Answered, score_all, score_value
from world_api.core.canonical import json_line
from world_api.core.faults import EpisodeFault, EvalFault
from world_api.world.files import write_atomically

#: Who scores a sample of which there is no episode to look at.
NO_EPISODE = "none/1"


@dataclass(frozen=True, kw_only=True)
class Scored:
    """How many samples were scored, by whom; ``damaged`` names those whose episode cannot be read.

    ``arms`` has of each arm how many samples were scored and how many are right.
    """

    samples: int
    right: int
    scorers: Mapping[str, int] = field(default_factory=dict)
    damaged: tuple[str, ...] = ()
    arms: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "samples": self.samples,
            "right": self.right,
            "scorers": dict(self.scorers),
            "damaged": list(self.damaged),
        }


def score_run(folder: RunFolder, *, judge: AnswerJudge | None = None, workers: int = 1) -> Scored:
    """Score all finished samples of a run and write ``scores.jsonl``, whole or not at all; equal episodes, equal bytes.

    ``workers`` answers are put to the judge at a time. A sample without an episode is wrong, for the reason of its fault; so is
    one whose episode cannot be read. A question whose answer nobody knows gets no score: nothing can be right or wrong about it.

    Raises:
        EvalFault: ``no_such_run``, ``run_damaged``, ``other_schema_version``; what scorers name.
        BackendFault: what the judge's model names.
        StoreFault: ``store_not_writable``, ``disk_full``.
    """
    run = read_run(folder.root)
    scores: dict[str, Score] = {}
    answers: dict[str, Answered] = {}
    unreadable: list[str] = []
    for cell, lines in run.by_cell():
        protocol = run.manifest.datasets[cell.dataset].protocol if cell.dataset in run.manifest.datasets else {}
        for line in lines:
            if not run.has_answer(line):
                continue
            try:
                answers[line.sample] = _answered(run, line, protocol)
            except _Without as reason:
                scores[line.sample] = _wrong(str(reason))
            except EpisodeFault as fault:
                refuse_unreadable(fault)
                unreadable.append(f"{cell.id}/{line.episode}: {fault.message}")
                scores[line.sample] = _wrong(fault.code)
    scores |= zip(answers, score_all(list(answers.values()), judge=judge, workers=workers), strict=True)
    records = [ScoreLine.of(line, scores[line.sample]).record() for line in run.samples if line.sample in scores]
    write_atomically(folder.scores, b"".join(json_line(record).encode() + b"\n" for record in records))
    return Scored(
        samples=len(scores),
        right=sum(score.correct for score in scores.values()),
        scorers=dict(sorted(Counter(score.scorer for score in scores.values()).items())),
        damaged=tuple(unreadable),
        arms=_by_arm(run, scores),
    )


def scored_now(run: Run) -> Run:
    """The run with scores of what nobody has scored yet, as of a run that still asks or was killed; nothing is written.

    Answers that are left to a judge stay without one.
    """
    answers: list[tuple[SampleLine, Answered]] = []
    found: dict[str, Score] = {}
    for cell, lines in run.by_cell():
        protocol = run.manifest.datasets[cell.dataset].protocol if cell.dataset in run.manifest.datasets else {}
        for line in lines:
            if line.sample in run.scores or not run.has_answer(line):
                continue
            try:
                answers.append((line, _answered(run, line, protocol)))
            except _Without as reason:
                found[line.sample] = _wrong(str(reason))
            except EpisodeFault as fault:
                refuse_unreadable(fault)
                found[line.sample] = _wrong(fault.code)
    judged = "judge" in run.manifest.settings
    for line, one in answers:
        if not (judged and one.item.question.kind == "open"):
            with suppress(EvalFault):  # such as that there is no judge
                found[line.sample] = score_value(one.item, one.value, one.answer, protocol=one.protocol)
    return replace(run, scores={**run.scores, **found}) if found else run


def _wrong(reason: str) -> Score:
    """The score of a sample of which there is no episode to look at."""
    return Score(correct=False, score=0.0, scorer=NO_EPISODE, details={"reason": reason})


def _by_arm(run: Run, scores: Mapping[str, Score]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for line in run.samples:
        if line.sample in scores:
            label = label_of(run.cells[line.cell])
            count, right = found.get(label, (0, 0))
            found[label] = (count + 1, right + scores[line.sample].correct)
    return found


class _Without(Exception):
    """There is no episode, and why."""


def _answered(run: Run, line: SampleLine, protocol: Mapping[str, Any]) -> Answered:
    """The answer of a sample.

    Raises:
        _Without: there is none.
        EpisodeFault: the episode cannot be read.
    """
    episode = run.episode(line)
    if episode is None:
        raise _Without(line.fault["code"] if line.fault is not None else "no_episode")
    return Answered(item=run.item(line), value=episode.value, answer=episode.answer, protocol=protocol)

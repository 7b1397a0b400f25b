"""Runs for tests: really run, by the rule-based model, over a world made by hand or the sample film's."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eval.runs import RunOutcome, Tally, open_experiment, run_experiment, score_run
from world_api import SystemClock
from world_api.core import json_line

#: Questions about the minute that ``make_world`` of the tests makes by hand, in the project's own format.
QUESTIONS: tuple[dict[str, Any], ...] = (
    {"id": "q1", "question": "At what point do we get our first look at the person in the black coat?", "kind": "interval",
     "answer": {"start_time": 22.0, "end_time": 28.0}, "spans": [[22.0, 28.0]], "domain": "A_locate_count"},
    {"id": "q2", "question": "How many people are there?", "kind": "count", "answer": 2, "domain": "A_locate_count"},
    {"id": "q3", "question": "Why does somebody leave?", "kind": "choice", "options": ["rain", "a bell", "hunger"],
     "answer": "A", "domain": "B_order_cause", "content": "office"},
    {"id": "q4", "question": "In which order do these happen?", "kind": "order", "options": ["somebody comes", "somebody goes"],
     "answer": ["A", "B"], "domain": "B_order_cause"},
    {"id": "q5", "question": "What happens?", "kind": "open", "answer": "somebody walks", "domain": "C_summary_multihop"},
)  # fmt: skip

CONFIGURATION = """\
schema_version: 1
datasets: [films]
libraries: [hand_A, {arm: placebo, of: hand_A}]
arms:
  - flat
  - {name: flat_again, system: flat}
  - hier
  - {name: blind, system: blind}
worlds: [classical]
seeds: [1, 2]
budgets: {usual: {}}
primary: {arm: hier, against: flat, budget: usual, world: classical}
parallel: 1
"""


class Silent:
    """Shows nothing; keeps what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.tally: Tally | None = None

    def update(self, *state: Any) -> None:
        self.tally = state[0] if len(state) == 1 else self.tally

    def say(self, text: str) -> None:
        self.said.append(text)


def write_dataset(
    folder: Path, *, videos: Sequence[str] = ("made",), questions: Sequence[dict[str, Any]] = QUESTIONS
) -> None:
    """A dataset in the project's own format, with the same questions about each video."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        {"schema_version": 1, **question, "id": f"{video}-{question['id']}", "video": video}
        for video in videos
        for question in questions
    ]
    (folder / "questions.jsonl").write_text("".join(json_line(line) + "\n" for line in lines))
    record = {
        "schema_version": 1,
        "name": folder.name,
        "questions": "questions.jsonl",
        "videos": {video: {"file": f"{video}.mp4"} for video in videos},
    }
    (folder / "dataset.json").write_text(json_line(record))


#: Runs that this process made already, by configuration and videos, so that many tests share the asking.
_MADE: dict[tuple[str, tuple[str, ...]], Path] = {}


def made_run(folder: Path, *, configuration: str = CONFIGURATION, videos: Sequence[str] = ("made", "other")) -> Path:
    """Really run a small experiment over worlds made by hand, and score it; the run's folder.

    What was run before in this process is copied, so that each test has a run of its own.
    """
    key = (configuration, tuple(videos))
    if key not in _MADE:
        there = Path(tempfile.mkdtemp(prefix="made-run-"))
        atexit.register(shutil.rmtree, there, ignore_errors=True)
        prepare(there, configuration=configuration, videos=videos)
        outcome = run_here(there / "config.yaml")
        assert outcome.complete
        score_run(outcome.folder)
        _MADE[key] = outcome.folder.root
    made = _MADE[key]
    shutil.copytree(made.parents[1], folder, dirs_exist_ok=True)
    run = folder / made.relative_to(made.parents[1])
    (run / "local.json").write_text(json_line({"configuration_folder": str(folder)}))
    return run


def prepare(folder: Path, *, configuration: str = CONFIGURATION, videos: Sequence[str] = ("made", "other")) -> Path:
    """What such a run needs: worlds, questions, a configuration; its path."""
    from tests.conftest import WorldMaker

    for video in videos:
        WorldMaker(folder / "worlds" / "classical")(video_id=video)
    write_dataset(folder / "films", videos=videos)
    config = folder / "config.yaml"
    config.write_text(configuration)
    return config


def run_here(what: Path, *, overrides: Sequence[str] = (), silent: Silent | None = None) -> RunOutcome:
    """Run a configuration, or go on with a run, in this process."""
    watch = silent or Silent()
    return run_experiment(
        open_experiment(what, overrides=tuple(overrides)),
        clock=SystemClock(),
        environment=dict(os.environ),
        display=watch,
        building=watch,
    )

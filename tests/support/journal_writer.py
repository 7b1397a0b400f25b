"""A process that records episodes: ``python journal_writer.py FOLDER LABEL NUMBER``."""

from __future__ import annotations

import sys
from pathlib import Path

from controller.answers import Question
from controller.episode import Budget, Episode, FaultRecord, Task
from controller.records import Conditions, Journal
from world_api.chat import Exchange


def episode(text: str) -> Episode:
    """An episode that says so much that no buffer holds it."""
    return Episode(
        task=Task(
            question=Question(text="Which?"),
            video_id="clip",
            world_hash="0" * 64,
            session="s",
            revision=0,
            system="flat",
        ),
        model="m",
        prompt_hash="0" * 64,
        language="en",
        tools=[],
        tools_hash="0" * 64,
        budget=Budget(),
        prices={},
        messages=[{"role": "user", "content": text * 20_000}],
        rounds=[],
        calls=[],
        outcome="failed",
        reason="no_answer",
        fault=FaultRecord(code="no_answer", message=text, hint=""),
        value=None,
        answer=None,
        spans=[],
    )


def write(folder: Path, label: str, number: int) -> None:
    """Record so many episodes, all under one label."""
    for place in range(number):
        recording = Journal(folder).begin(label)
        recording.keep(Exchange(request={"place": place}, reply={}, fault=None, seconds=0.0))
        recording.keep_material("digest", {"of": recording.name})
        recording.finish(episode(recording.name), Conditions(system="flat"), ["2026-01-01T00:00:00+00:00", 0.0])


if __name__ == "__main__":
    write(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))

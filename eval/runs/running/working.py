"""A process that asks: ``python -m eval.runs.running.working RUN``, a question a line on stdin, what came of it on stdout."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import IO

from eval.runs.places import RunFolder
from eval.runs.reading import read_items
from eval.runs.running.opened import open_run
from world_api.core.canonical import json_line, parse_json
from world_api.core.faults import VideoWorldError


def main() -> None:
    """Answer until stdin ends. Ctrl-C is the matter of the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # it was blocked until it could be ignored
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints must not stand between answers
    work(RunFolder(Path(sys.argv[1])), sys.stdin.buffer, answers)


def work(folder: RunFolder, questions: IO[bytes], answers: IO[bytes]) -> None:
    """Ask the questions of a run, one after the other."""
    try:
        workshop, cells = open_run(folder, environment=os.environ)
        items = read_items(folder)
    except VideoWorldError as fault:
        answers.write(json_line({"unusable": fault.record()["error"]}).encode() + b"\n")
        answers.flush()
        return
    for line in questions:
        wanted = parse_json(line.decode())
        asked = workshop.ask(cells[wanted["cell"]], items[wanted["dataset"], wanted["item"]])
        try:
            answers.write(json_line(asked.record()).encode() + b"\n")
            answers.flush()
        except BrokenPipeError:
            return  # the run was killed; what was recorded is adopted by the next


if __name__ == "__main__":
    main()

"""Those that ask: this process, with a thread for each question under way; or processes of their own.

A model on an endpoint keeps nobody busy, and threads wait for it. The rule-based one keeps a core busy, so that only further
processes make it faster.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import IO, Any, Protocol

from pydantic import TypeAdapter, ValidationError

from eval.datasets.items import Item
from eval.runs.cells import Cell
from eval.runs.lines import told
from eval.runs.places import RunFolder
from eval.runs.running.workshop import Asked, Workshop
from world_api.core.canonical import json_line, parse_json
from world_api.core.faults import EvalFault

_ASKED = TypeAdapter(Asked)
_MODULE = "eval.runs.running.working"
#: Each process is to keep one core busy; libraries that take all of them would only be in each other's way.
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Hand(Protocol):
    """Asks one question at a time."""

    def ask(self, cell: Cell, item: Item) -> Asked:
        """What came of it."""
        ...

    def close(self, *, at_once: bool = False) -> None:
        """End what was started, once it is through with its question; or at once."""
        ...


class OwnHand:
    """Asks in this process."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop

    def ask(self, cell: Cell, item: Item) -> Asked:
        """What came of it."""
        return self._workshop.ask(cell, item)

    def close(self, *, at_once: bool = False) -> None:
        """Nothing was started."""


class ProcessHand:
    """Asks in a process of its own; a line goes in for each question, a line comes back.

    The process holds the run's lock as long as it lives, so that nobody else goes on with the run while it still records.
    """

    def __init__(self, folder: RunFolder, *, lock: int, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._lock = lock
        self._environment = dict(environment)
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def ask(self, cell: Cell, item: Item) -> Asked:
        """What came of it; a question over which the process died is asked once more, in a new one."""
        for _ in range(2):
            line = self._exchange({"cell": cell.id, "dataset": cell.dataset, "item": item.id})
            if line is not None:
                return _asked(line)
            if self._closed:
                break
            self._end()
        fault = EvalFault(
            "worker_ended",
            f"the process that asked {item.id} in {cell.id} ended, twice",
            hint="ask it alone with `videoworld ask`; it may want more memory than there is",
        )
        return Asked(fault=told(fault), failed=fault.code)

    def close(self, *, at_once: bool = False) -> None:
        """End the process once it is through with its question; or at once, which costs that question's episode."""
        self._closed = True
        self._end(at_once=at_once)

    def _end(self, *, at_once: bool = False) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if at_once:
            process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                _close(pipe)
        process.wait()

    def start(self) -> None:
        """Start the process, so that it gets ready."""
        if self._process is None:
            # Isolated but for the path of imports, so that no file of the current folder is taken for a module.
            path = os.pathsep.join(item for item in sys.path if item)
            # It inherits what is blocked here: Ctrl-C is the matter of this process, also while that one still imports.
            blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", _MODULE, str(self._folder.root.resolve())],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env={**self._environment, **_ONE_THREAD, "PYTHONPATH": path},
                    pass_fds=(self._lock,),
                )
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    def _exchange(self, question: dict[str, Any]) -> bytes | None:
        self.start()
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return None
        try:
            process.stdin.write(json_line(question).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            return None
        return line if line.endswith(b"\n") else None


def _close(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except OSError:
        return  # the process is gone, and took its end with it


def _asked(line: bytes) -> Asked:
    try:
        record = parse_json(line.decode())
    except ValueError:
        record = None
    if isinstance(record, dict) and "unusable" in record:
        fault = record["unusable"]
        raise EvalFault(fault["code"], fault["message"], hint=fault["hint"])
    try:
        return _ASKED.validate_python(record)
    except ValidationError as error:
        raise EvalFault(
            "worker_ended", f"a process that asks answered what cannot be read: {json.dumps(record)[:80]}"
        ) from error

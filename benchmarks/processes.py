"""Running a command in a fresh process and saying what it took."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_POLL = 0.05
#: ``ru_maxrss`` counts kibibytes, on macOS bytes.
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a command took: seconds on the clock and of processors, the most bytes of memory, and what it printed.

    Memory is the resident set of the process and its children added up, at its highest; where there is no ``/proc`` it
    is that of the largest of them.
    """

    wall: float
    cpu: float
    peak: int
    output: str


def run_fresh(command: Sequence[str]) -> Run:
    """Run a command in the project's folder to its end; bytecode is kept as Python usually does.

    Raises:
        RuntimeError: where it fails, with the end of what it said.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        usual = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment = usual | {"PYTHONPATH": str(ROOT)}
        started = time.perf_counter()
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=errors)
        peak = 0
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            wall = time.perf_counter() - started
            if pid:
                break
            peak = max(peak, _resident(process.pid))
            time.sleep(_POLL)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if process.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} failed: {errors.read().decode(errors='replace')[-2000:]}")
        cpu = usage.ru_utime + usage.ru_stime
        return Run(wall=wall, cpu=cpu, peak=max(peak, usage.ru_maxrss * _RSS_UNIT), output=output.read().decode())


def _resident(pid: int) -> int:
    """The bytes that a process and all below it hold now."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = {int(child) for task in tasks for child in (task / "children").read_text(encoding="ascii").split()}
    except (OSError, IndexError):
        return 0  # it has ended meanwhile, or this system has no /proc
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(_resident(child) for child in children)

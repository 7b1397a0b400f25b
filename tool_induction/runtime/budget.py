"""The limits of one run of a tool, and the exceptions that end it early.

After a limit is exceeded no calls are made, but steps without calls still run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from tool_induction.language.evaluation import weight_and_depth
from tool_induction.language.model import StopStatus
from tool_induction.limits import MAX_VALUE_DEPTH
from world_api.core.faults import ToolFault


@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """Limits of one run, including all tools it calls: steps, loop items, bytes of results, saved values, seconds."""

    steps: int = 5_000
    items: int = 2_000
    result_bytes: int = 16_000_000
    values: int = 2_000_000  #: numbers, texts, records and lists in all that is saved under a name
    seconds: float = 300.0
    #: Maximum number of calls at a time; the results do not depend on it. Above 1, the caller must be thread-safe.
    concurrency: int = 1


class BudgetExhausted(ToolFault):
    """A limit of the run is exceeded; the code is ``budget_exhausted``."""


class Stopped(Exception):
    """The condition of a ``require`` step was false, in this tool or in one that it called."""

    def __init__(self, status: StopStatus | str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class RunMeter:
    """Counts what a run uses; ``exhausted`` describes the first limit that was exceeded (empty if none)."""

    def __init__(self, limits: RunLimits, monotonic: Callable[[], float], *, started: float | None = None) -> None:
        self.limits = limits
        self.exhausted = ""
        self._monotonic = monotonic
        self._started = monotonic() if started is None else started
        self._used = {"steps": 0, "items": 0, "bytes": 0, "values": 0}

    def for_worker(self) -> RunMeter:
        """Return a meter for one worker thread: the same limits and start, but 1/``concurrency`` of the saved values."""
        share = replace(self.limits, values=self.limits.values // self.limits.concurrency)
        return RunMeter(share, self._monotonic, started=self._started)

    def count(self, what: Literal["steps", "items"]) -> None:
        """Count a step, or an item of a loop.

        Raises:
            BudgetExhausted: there are too many, or the time is over.
        """
        self._use(what, 1, getattr(self.limits, what))
        if self.is_late():
            self._stop(self._seconds)

    def result(self, size: int) -> None:
        """Count a result of ``size`` bytes. A result after the time limit still counts; no call is made after it.

        Raises:
            BudgetExhausted: all results together are too large.
        """
        self._use("bytes", size, self.limits.result_bytes)
        if self.is_late():
            self.exhausted = self.exhausted or self._seconds

    def bound(self, value: object) -> None:
        """Count the parts of a value that is saved under a name.

        Raises:
            BudgetExhausted: all saved values together have too many parts, or this one is nested too deep.
        """
        amount, depth = weight_and_depth(value, most=self.limits.values)
        self._use("values", amount, self.limits.values)
        if depth > MAX_VALUE_DEPTH:
            self._stop(f"values nested more than {MAX_VALUE_DEPTH} deep")

    def left(self, what: Literal["steps", "items"]) -> int:
        """Return how many more steps or items are allowed; 0 after a limit was exceeded."""
        return 0 if self.exhausted else int(getattr(self.limits, what)) - self._used[what]

    def look(self) -> None:
        """Check the time between two items of a long step.

        After a limit was exceeded, steps without calls may continue until twice the time limit.

        Raises:
            BudgetExhausted: the time is over.
        """
        if self.is_late(times=2 if self.exhausted else 1):
            self._stop(self._seconds)

    def is_late(self, times: int = 1) -> bool:
        """Whether the run has taken longer than ``times`` its time limit. Thread-safe."""
        return self._monotonic() - self._started > self.limits.seconds * times

    @property
    def bytes_left(self) -> int:
        """How many more bytes of results are allowed. The number never grows, so any thread may read it."""
        return self.limits.result_bytes - self._used["bytes"]

    def call(self) -> None:
        """Check before a call that no limit was exceeded.

        Raises:
            BudgetExhausted: a limit was exceeded; the message names the first one.
        """
        if self.exhausted:
            self._stop(self.exhausted)

    @property
    def _seconds(self) -> str:
        return f"more than {self.limits.seconds:g} seconds"

    def _use(self, what: str, amount: int, bound: float) -> None:
        self._used[what] += amount
        if self._used[what] > bound:
            self._stop(f"more than {bound:g} {what}")

    def _stop(self, why: str) -> None:
        self.exhausted = self.exhausted or why
        raise BudgetExhausted("budget_exhausted", f"the run used {why}", hint="narrow the request")

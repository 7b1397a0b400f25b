"""What one run of a tool may use. Enforced in code; running out stops calls, not what needs none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from world_api.core.faults import ToolFault


@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """Bounds of one run, with all tools it calls: steps done, loop items, bytes of results, seconds."""

    steps: int = 5_000
    items: int = 2_000
    result_bytes: int = 16_000_000
    seconds: float = 300.0
    output_items: int = 12  #: entries shown of one list output
    output_characters: int = 4_000  #: characters shown of one text output
    evidence: int = 8


class BudgetExhausted(ToolFault):
    """A bound of the run was reached; the code is ``budget_exhausted``."""


class Meter:
    """Counts what a run uses; ``exhausted`` names the first bound that was reached."""

    def __init__(self, limits: RunLimits, monotonic: Callable[[], float]) -> None:
        self.limits = limits
        self.exhausted = ""
        self._monotonic = monotonic
        self._started = monotonic()
        self._used = {"steps": 0, "items": 0, "bytes": 0}

    def spend(self, what: str, amount: int, bound: float) -> None:
        """Use up some of a bound.

        Raises:
            BudgetExhausted: when there is not enough left, or the time is over.
        """
        self._used[what] += amount
        if self._used[what] > bound:
            self._stop(f"more than {bound:g} {what}")
        if self._monotonic() - self._started > self.limits.seconds:
            self._stop(f"more than {self.limits.seconds:g} seconds")

    def step(self) -> None:
        """One step is about to be done."""
        self.spend("steps", 1, self.limits.steps)

    def item(self) -> None:
        """One item of a loop is about to be done."""
        self.spend("items", 1, self.limits.items)

    def result(self, size: int) -> None:
        """A result of so many bytes came back."""
        self.spend("bytes", size, self.limits.result_bytes)

    def call(self) -> None:
        """A call is about to be made; none is once a bound was reached."""
        if self.exhausted:
            raise BudgetExhausted("budget_exhausted", f"the run used {self.exhausted}", hint="narrow the request")

    def _stop(self, why: str) -> None:
        self.exhausted = self.exhausted or why
        raise BudgetExhausted("budget_exhausted", f"the run used {why}", hint="narrow the request")

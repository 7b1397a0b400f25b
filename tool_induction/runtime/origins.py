"""Which calls an output came from: for each name of a scope, the numbers of the calls its value was computed from.

A step's result came from every call made during the step and from the calls behind every name the step reads, conditions
included; what one operation answers came from that call alone. Calls are numbered from 1 in the order of the plan. With another
answer of a call that is neither in the set of an output nor behind the arguments of one that is, the output is the same.
Not followed: whether a requirement held, a call failed, or a budget ran out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tool_induction.language.model import Call, If, Step, binds, values, walk_steps
from tool_induction.language.syntax import Expr, names

Calls: TypeAlias = frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where an output came from: numbers of calls, and positions in the evidence shown with the result."""

    calls: tuple[int, ...] = ()
    evidence: tuple[int, ...] = ()

    def record(self) -> dict[str, Any]:
        """The wire form; what is empty is left out."""
        parts = {"calls": self.calls, "evidence": self.evidence}
        return {name: list(numbers) for name, numbers in parts.items() if numbers}


class Origins:
    """The calls behind the names of one scope; a name that is not in it came from no call."""

    def __init__(self, calls: Mapping[str, Calls]) -> None:
        self._calls = dict(calls)

    def inside(self, name: str, calls: Calls) -> Origins:
        """Those of an inner scope, in which one more name is bound."""
        return Origins({**self._calls, name: calls})

    def of(self, *exprs: Expr) -> Calls:
        """The calls behind the names that expressions read."""
        return self._behind(name for expr in exprs for name in names(expr))

    def read_by(self, step: Step) -> Calls:
        """The calls behind the names that a step reads; of all steps inside it too, except for a branch."""
        steps = (step,) if isinstance(step, If) else walk_steps((step,))
        return self._behind(name for one in steps for _, value in values(one) for name in names(value))

    def bind(self, step: Step, made: Calls) -> None:
        """Note what a step has bound; ``made`` are the calls made during it."""
        if isinstance(step, If):  # what its steps bind is known by now; which of them ran hangs on the condition
            decided = self.read_by(step)
            for name in binds(step):
                self._calls[name] = self._calls.get(name, frozenset()) | decided
            return
        is_answer = isinstance(step, Call) and step.kind == "api" and step.loop is None
        for name in binds(step):
            self._calls[name] = made if is_answer else made | self.read_by(step)

    def _behind(self, found: Iterable[str]) -> Calls:
        return frozenset[int]().union(*(self._calls.get(name, frozenset()) for name in found))

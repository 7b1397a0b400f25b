"""Calls of operations: counted in the order of the plan, remembered, and put down in the trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tool_induction.language.evaluation import Json
from tool_induction.runtime.answers.asking import Answer, Caller, World, WorldState, listed_under, whole_numbers
from tool_induction.runtime.answers.memo import Memo
from tool_induction.runtime.budget import Meter
from tool_induction.runtime.trace import Tracer
from world_api.core.cost import Cost
from world_api.operations import EVERY_OPERATION

if TYPE_CHECKING:
    from tool_induction.runtime.ahead.lookahead import Lookahead

__all__ = ["Caller", "Memo", "OperationCalls", "World", "WorldState"]


class OperationCalls:
    """Makes the calls of one run, one after the other; answers that were made ahead are taken as they are."""

    def __init__(
        self, world: World, *, meter: Meter, memo: Memo, trace: Tracer, ahead: Lookahead | None = None
    ) -> None:
        self._world = world
        self._meter = meter
        self._memo = memo
        self._trace = trace
        self._ahead = ahead
        self._asked: Counter[str] = Counter()
        self._writes: list[int] = []
        self.logical = 0
        self.physical = 0

    @property
    def cost(self) -> Cost:
        """The price of all that was asked, as if nothing had been remembered."""
        total = Cost()
        for name, count in self._asked.items():
            total += EVERY_OPERATION[name].price.times(count)
        return total

    def __call__(self, name: str, arguments: Mapping[str, Json], made_from: Sequence[int] = ()) -> dict[str, Any]:
        """The result of an operation, its items with their evidence.

        ``made_from`` tells of which calls' results its arguments were made.

        Raises:
            VideoWorldError: what the operation names.
            BudgetExhausted: when a bound of the run was reached.
        """
        self._meter.call()
        arguments = whole_numbers(name, arguments)
        with self._trace.call(name, arguments) as node:
            self.logical += 1
            self._asked[name] += 1
            node.number, node.made_from = self.logical, self._behind(name, made_from)
            key = self._world.key(name, arguments)
            answer = None if key is None else self._memo.get(key)
            if answer is not None:
                node.outcome = "cached"
            else:
                answer = self._made(name, arguments, key)
            result = node.result = answer.result
            rows = result.get(listed_under(name) or "")
            node.size = len(rows) if isinstance(rows, list) else None
            return result

    def _made(self, name: str, arguments: Mapping[str, Json], key: str | None) -> Answer:
        self.physical += 1
        if key is None:
            return self._written(name, arguments)
        ahead = self._ahead
        try:
            answer = (
                self._world.ask(name, arguments)
                if ahead is None
                else ahead.flights.take(key, lambda: self._world.ask(name, arguments))
            )
            self._meter.result(answer.size)
            self._memo.put(key, answer)
        finally:
            if ahead is not None:
                ahead.flights.closed(key)
        return answer

    def _behind(self, name: str, made_from: Sequence[int]) -> tuple[int, ...]:
        """What was written before bears on what a session remembers."""
        if not EVERY_OPERATION[name].depends_on_session or not self._writes:
            return tuple(made_from)
        return tuple(sorted({*made_from, *self._writes}))

    def _written(self, name: str, arguments: Mapping[str, Json]) -> Answer:
        if self._ahead is not None:
            self._ahead.settle()
        self._world.writes += 1
        self._writes.append(self.logical)
        answer = self._world.ask(name, arguments)
        self._meter.result(answer.size)
        return answer

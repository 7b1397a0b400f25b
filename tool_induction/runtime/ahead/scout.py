"""Goes through steps like a run does, and keeps nothing but the answers to the calls it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tool_induction.compiler.compiling import CompiledTool
from tool_induction.language.evaluation import Json
from tool_induction.language.model import Step
from tool_induction.runtime.ahead.flights import Abandoned, Flights
from tool_induction.runtime.answers.asking import World, whole_numbers
from tool_induction.runtime.answers.memo import Memo
from tool_induction.runtime.budget import Meter, RunLimits
from tool_induction.runtime.engine import Engine
from tool_induction.runtime.steps.scopes import Scope, Stopped
from tool_induction.runtime.trace import Untraced


class Scout:
    """One way ahead."""

    def __init__(self, *, tools: Mapping[str, CompiledTool], calls: CallsAhead, meter: MeterAhead) -> None:
        self._engine = Engine(tools=tools, calls=calls, meter=meter, trace=Untraced())

    def go(self, steps: tuple[Step, ...], values: dict[str, Json]) -> None:
        """Do the steps, with these names bound.

        Raises:
            Abandoned: the run wants no more of it.
            VideoWorldError: what a step ended with.
        """
        try:
            self._engine.block(steps, Scope(values))
        except Stopped:
            return


class CallsAhead:
    """Calls that the run is going to make, as long as they are wanted."""

    def __init__(self, world: World, memo: Memo, flights: Flights, is_wanted: Callable[[], bool]) -> None:
        self.logical = 0
        self._world = world
        self._memo = memo
        self._flights = flights
        self._is_wanted = is_wanted

    def __call__(self, name: str, arguments: Mapping[str, Json], made_from: Sequence[int] = ()) -> dict[str, Any]:
        """The result of an operation, as the run will get it.

        Raises:
            Abandoned: the run wants no more of it.
            VideoWorldError: what the operation names.
        """
        arguments = whole_numbers(name, arguments)
        key = self._world.key(name, arguments)
        if key is None or not self._is_wanted():
            raise Abandoned  # also because nothing is written ahead
        answer = self._flights.made_ahead(key, lambda: self._memo.peek(key), lambda: self._world.ask(name, arguments))
        self.logical += 1
        return answer.result


class MeterAhead(Meter):
    """The bounds of a run, so that no way is endless. In place of the time it looks whether the run goes on and has time."""

    def __init__(self, limits: RunLimits, flights: Flights) -> None:
        share = replace(limits, values=limits.values // limits.concurrency)
        super().__init__(share, monotonic=lambda: _while_wanted(flights))


def _while_wanted(flights: Flights) -> float:
    if flights.unwanted:
        raise Abandoned
    return 0.0

"""Running ahead of a run: threads go through steps and loop items that are still to come and make their calls.

What they compute is thrown away; the calls they made lie in ``Flights`` until the run asks for them. The idea is that of
runahead execution in processors (Mutlu et al., HPCA 2003): a second, careless execution only warms the memory of the
first. Nothing that a run counts, bounds or reports can depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import replace
from functools import partial

from tool_induction.compiler.compiling import CompiledTool
from tool_induction.language.evaluation import Json
from tool_induction.language.model import Block, Call, Step
from tool_induction.runtime.ahead.facts import Departure, facts_of
from tool_induction.runtime.ahead.flights import Abandoned, Flights
from tool_induction.runtime.ahead.scout import CallsAhead, MeterAhead, Scout
from tool_induction.runtime.answers.asking import World
from tool_induction.runtime.answers.memo import Memo
from tool_induction.runtime.budget import Meter
from tool_induction.runtime.steps.scopes import Scope
from world_api.core.faults import VideoWorldError

#: Items of a loop that may be under way or done ahead of the one the run is at, for each call that may be under way.
_ITEMS_AHEAD = 2


class Lookahead:
    """The threads that run ahead of one run. They end with it: ``close`` waits for the calls that are under way."""

    def __init__(
        self, *, tools: Mapping[str, CompiledTool], world: World, memo: Memo, flights: Flights, meter: Meter
    ) -> None:
        self._tools = tools
        self._world = world
        self._memo = memo
        self.flights = flights
        self._meter = meter
        self._facts = facts_of(tools)
        self._most = meter.limits.concurrency
        self._pool: ThreadPoolExecutor | None = None
        self._sent: list[Future[None]] = []

    def departures(self, steps: tuple[Step, ...]) -> Mapping[int, tuple[Departure, ...]]:
        """The places of a block at which something may be run ahead, and what."""
        return self._facts.departures(steps)

    def depart(self, departures: Sequence[Departure], scope: Scope, is_wanted: Callable[[], bool]) -> None:
        """Run steps ahead that need nothing but each other and what is bound by now."""
        for departure in departures:
            if departure.distance < self._meter.left("steps"):
                self._send(departure.steps, dict(scope.values), is_wanted)

    def items(self, step: Call | Block, rows: Sequence[Json], scope: Scope) -> ItemsAhead | None:
        """Run the items of a loop ahead, where they do not bear on each other."""
        rows = rows[: self._meter.left("items")]
        if len(rows) < 2 or not self._facts.items_apart(step):
            return None
        assert step.loop is not None  # noqa: S101 - it has items
        steps = self._facts.body(step) if isinstance(step, Block) else (replace(step, loop=None, on_error="fail"),)
        variable, values = step.loop.variable, dict(scope.values)

        def send(place: int, is_wanted: Callable[[], bool]) -> None:
            self._send(steps, {**values, variable: rows[place], step.save_as: []}, is_wanted)

        return ItemsAhead(send, count=len(rows), distance=self._most * _ITEMS_AHEAD)

    def settle(self) -> None:
        """Let nothing be under way: what comes now may change what is answered."""
        self.flights.halted = True
        for future in self._sent:
            future.cancel()
        wait(self._sent)
        self._sent.clear()
        self.flights.halted = False

    def close(self) -> None:
        """End the threads; calls that are under way are waited for, also where the waiting is interrupted once."""
        self.flights.halted = True
        if self._pool is not None:
            try:
                self._end(self._pool)
            except BaseException:
                self._end(self._pool)
                raise

    def _end(self, pool: ThreadPoolExecutor) -> None:
        pool.shutdown(wait=True, cancel_futures=True)
        # The pool does not know of a thread whose start was interrupted; the calls know.
        self.flights.settle()

    def _send(self, steps: tuple[Step, ...], values: dict[str, Json], is_wanted: Callable[[], bool]) -> None:
        if self._meter.exhausted:
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(max_workers=self._most, thread_name_prefix="tool-ahead")
        self._sent = [future for future in self._sent if not future.done()]
        # In a copy of the context, so that what models are asked on the way is charged to the call that wants it.
        self._sent.append(self._pool.submit(copy_context().run, self._go, steps, values, is_wanted))

    def _go(self, steps: tuple[Step, ...], values: dict[str, Json], is_wanted: Callable[[], bool]) -> None:
        if self.flights.halted or not is_wanted():
            return
        scout = Scout(
            tools=self._tools,
            calls=CallsAhead(self._world, self._memo, self.flights, is_wanted),
            meter=MeterAhead(self._meter.limits, self.flights),
        )
        try:
            scout.go(steps, values)
        except (Abandoned, VideoWorldError):
            return  # the run itself will meet the fault where it belongs


class ItemsAhead:
    """The items of one loop that are run ahead; never far ahead, so that little is lost when the loop ends early."""

    def __init__(self, send: Callable[[int, Callable[[], bool]], None], *, count: int, distance: int) -> None:
        self._send = send
        self._count = count
        self._distance = distance
        self._sent = 0
        self._place = -1

    def over(self) -> None:
        """The loop has ended, wherever it was."""
        self._place = self._count

    def at(self, place: int) -> None:
        """The run is at this item."""
        self._place = place
        while self._sent < min(self._count, place + 1 + self._distance):
            self._send(self._sent, partial(self._is_to_come, self._sent))
            self._sent += 1

    def _is_to_come(self, place: int) -> bool:
        """Whether the run is not past that item; asked by the thread that is about to run it ahead."""
        return place >= self._place

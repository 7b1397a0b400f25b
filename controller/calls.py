"""Execution of the tool calls of one reply: calls that only read run in parallel, calls that write run alone and in order.

Results do not depend on thread timing: they are returned in the order of the calls, and the recorded clock is read by the loop's
thread only.
"""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from controller.episode_tools import Toolset
from controller.replies import ToolCall
from world_api.core.cost import Ledger, Spent, deadline, ledger
from world_api.core.faults import as_stored, tool_result_or_error
from world_api.core.ports import Clock

MAX_PARALLEL = 8
#: Seconds for which the calls of a reply are waited for at least, all together, however little time the episode has left.
_SHORTEST_WAIT = 0.5


@dataclass(frozen=True, kw_only=True)
class CallOutcome:
    """The outcome of one call: its whole result, what it spent, and the seconds since the previous result.

    ``timed_out``: the call did not end in time, and the result only says so. ``ran`` is False if there was no time to start it.
    """

    result: dict[str, Any]
    spent: tuple[Spent, ...]
    seconds: float
    timed_out: bool = False
    ran: bool = True


#: A call that was started: its result to come, and its ledger, so that what a hanging call has spent is known.
_PendingCall = tuple[Future[dict[str, Any]], Ledger]


@dataclass(kw_only=True)
class CallExecutor:
    """Executes the calls of one episode; a call that hangs is abandoned and not waited for.

    ``overtime`` is the result of a call that timed out, ``too_late`` that of one that was not started. ``reading`` names the
    system's own, undeclared calls that only read.
    """

    tools: Toolset
    clock: Clock
    overtime: dict[str, Any]
    too_late: dict[str, Any]
    reading: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self._declared = {tool.name: tool for tool in self.tools.get_tools()}

    def execute(self, calls: Sequence[ToolCall], *, left: float) -> list[CallOutcome]:
        """Execute the calls and return their outcomes in the same order.

        After ``left`` seconds, calls that read are abandoned, no further call is started, and running calls make no more model
        requests. Raises EpisodeFault: raised by a tool; the episode cannot continue.
        """
        # Whether a call is started is visible in the record, so it is decided by the recorded clock. Waiting for a thread uses the
        # machine's clock: in a replay calls are fast, and the recorded clock is not waited for.
        until = monotonic() + max(_SHORTEST_WAIT, left)
        began = last = self.clock.monotonic()
        made: list[CallOutcome] = []
        for together in self._batches(calls):
            is_late = left - (last - began) <= 0
            for waited in [None] * len(together) if is_late else self._start(together, until):
                one = self._wait_for(waited, until)
                now = self.clock.monotonic()
                made.append(replace(one, seconds=round(now - last, 6)))
                last = now
        return _charge_first_call(made)

    def _wait_for(self, call: _PendingCall | None, until: float) -> CallOutcome:
        if call is None:
            return CallOutcome(result=self.too_late, spent=(), seconds=0.0, ran=False)
        future, spending = call
        try:
            result = future.result(timeout=max(0.0, until - monotonic()))
        except TimeoutError:
            result = self.overtime
        return CallOutcome(result=result, spent=spending.items, seconds=0.0, timed_out=result is self.overtime)

    def _batches(self, calls: Sequence[ToolCall]) -> Iterator[list[ToolCall]]:
        """Split the calls into runs of calls that only read, and single calls that write."""
        for is_exclusive, run in itertools.groupby(calls, key=self._is_exclusive):
            batch = list(run)
            yield from ([call] for call in batch) if is_exclusive else [batch]

    def _is_exclusive(self, call: ToolCall) -> bool:
        """Whether a call writes, or could write."""
        declared = self._declared.get(call.tool)
        return call.tool not in self.reading if declared is None else declared.writes

    def _start(self, calls: list[ToolCall], until: float) -> list[_PendingCall]:
        """Start the calls. One that writes runs in this thread: it must not go on after it was abandoned."""
        waited: list[_PendingCall] = [(Future(), Ledger()) for _ in calls]
        work: SimpleQueue[tuple[ToolCall, _PendingCall]] = SimpleQueue()
        in_turn: SimpleQueue[tuple[ToolCall, _PendingCall]] = SimpleQueue()
        for call, pending in zip(calls, waited, strict=True):
            declared = self._declared.get(call.tool)
            if self._is_exclusive(call):
                self._fulfil(call, pending, until)
            else:
                (in_turn if declared is not None and declared.in_turn else work).put((call, pending))
        for queue in [*[work] * min(MAX_PARALLEL, work.qsize()), *[in_turn] * min(1, in_turn.qsize())]:
            run_all = partial(copy_context().run, self._run_all, queue, until)
            # A daemon thread does not delay the end of the program.
            threading.Thread(target=run_all, name="tool-call", daemon=True).start()
        return waited

    def _run_all(self, queue: SimpleQueue[tuple[ToolCall, _PendingCall]], until: float) -> None:
        with suppress(Empty):
            while True:
                self._fulfil(*queue.get_nowait(), until)

    def _fulfil(self, call: ToolCall, pending: _PendingCall, until: float) -> None:
        try:
            pending[0].set_result(self._made(call, pending[1], until))
        except BaseException as error:  # noqa: BLE001 - raised again where the result is waited for
            pending[0].set_exception(error)

    def _made(self, call: ToolCall, spending: Ledger, until: float) -> dict[str, Any]:
        left = until - monotonic()
        if left <= 0 and not self._is_exclusive(call):
            return self.overtime  # it was abandoned before it started
        with ledger(spending), deadline(left, clock=monotonic):
            return tool_result_or_error(lambda: as_stored(self.tools.call_tool(call.tool, call.arguments)))


def _charge_first_call(made: list[CallOutcome]) -> list[CallOutcome]:
    """Attribute a model request that several parallel calls shared to the first of them, in the order of the calls."""
    paid = Counter(item.request for one in made for item in one.spent if item.physical)
    settled = []
    for one in made:
        spent = []
        for item in one.spent:
            spent.append(replace(item, physical=paid[item.request] > 0))
            paid[item.request] -= 1
        settled.append(replace(one, spent=tuple(spent)))
    return settled

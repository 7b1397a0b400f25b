"""Execution of the tool calls of one reply: calls that only read run in parallel, calls that write run alone and in order.

Results do not depend on thread timing: they are returned in the order of the calls, and the recorded clock is read by the loop's
thread only.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from queue import SimpleQueue
from time import monotonic
from typing import Any

from controller.replies import ToolCall
from controller.toolsets import Toolset
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


@dataclass(frozen=True, kw_only=True)
class _PendingCall:
    """A call that was started. The ledger is kept here, so that what a hanging call has spent is known."""

    result: Future[dict[str, Any]]
    spending: Ledger


class CallExecutor:
    """Executes the calls of one episode. Must be closed; a call that hangs is abandoned and not waited for."""

    def __init__(
        self,
        tools: Toolset,
        clock: Clock,
        *,
        overtime: dict[str, Any],
        too_late: dict[str, Any],
        reading: frozenset[str] = frozenset(),
    ) -> None:
        self._tools = tools
        self._reading = reading  #: names of the system's own, undeclared calls that only read
        self._declared = {tool.name: tool for tool in tools.get_tools()}
        self._clock = clock
        self._overtime = overtime  #: the result of a call that timed out
        self.too_late = too_late  #: the result of a call that was not started
        self._workers = _DaemonThreads(MAX_PARALLEL)

    def execute(self, calls: Sequence[ToolCall], *, left: float) -> list[CallOutcome]:
        """Execute the calls and return their outcomes in the same order.

        After ``left`` seconds, calls that read are abandoned, no further call is started, and running calls make no more model
        requests.

        Raises:
            EpisodeFault: raised by a tool; the episode cannot continue.
        """
        # Whether a call is started is visible in the record, so it is decided by the recorded clock. Waiting for a thread uses the
        # machine's clock: in a replay calls are fast, and the recorded clock is not waited for.
        until = monotonic() + max(_SHORTEST_WAIT, left)
        began = last = self._clock.monotonic()
        made: list[CallOutcome] = []
        for together in self._batches(calls):
            is_late = left - (last - began) <= 0
            for waited in [None] * len(together) if is_late else self._start(together, until):
                one = self._wait_for(waited, until)
                now = self._clock.monotonic()
                made.append(replace(one, seconds=round(now - last, 6)))
                last = now
        return _charge_first_call(made)

    def _wait_for(self, call: _PendingCall | None, until: float) -> CallOutcome:
        if call is None:
            return CallOutcome(result=self.too_late, spent=(), seconds=0.0, ran=False)
        try:
            result = call.result.result(timeout=max(0.0, until - monotonic()))
        except TimeoutError:
            return CallOutcome(result=self._overtime, spent=call.spending.items, seconds=0.0, timed_out=True)
        return CallOutcome(result=result, spent=call.spending.items, seconds=0.0, timed_out=result is self._overtime)

    def close(self) -> None:
        """End the idle threads."""
        self._workers.close()

    def _batches(self, calls: Sequence[ToolCall]) -> Iterator[list[ToolCall]]:
        """Split the calls into runs of calls that only read, and single calls that write."""
        reading: list[ToolCall] = []
        for call in calls:
            if not self._is_exclusive(call):
                reading.append(call)
                continue
            if reading:
                yield reading
            yield [call]
            reading = []
        if reading:
            yield reading

    def _is_exclusive(self, call: ToolCall) -> bool:
        """Whether a call writes, or could write."""
        declared = self._declared.get(call.tool)
        return call.tool not in self._reading if declared is None else declared.writes

    def _start(self, calls: list[ToolCall], until: float) -> list[_PendingCall]:
        """Start the calls. One that writes runs in this thread: it must not go on after it was abandoned."""
        waited = [_PendingCall(result=Future(), spending=Ledger()) for _ in calls]
        in_turn: list[Callable[[], None]] = []
        for call, one in zip(calls, waited, strict=True):
            work = partial(_fulfil, one.result, partial(self._made, call, one.spending, until))
            if self._is_exclusive(call):
                work()
            elif call.tool in self._declared and self._declared[call.tool].in_turn:
                in_turn.append(work)
            else:
                self._workers.submit(work)
        if in_turn:
            self._workers.submit(partial(_run_in_order, in_turn))
        return waited

    def _made(self, call: ToolCall, spending: Ledger, until: float) -> dict[str, Any]:
        left = until - monotonic()
        if left <= 0 and not self._is_exclusive(call):
            return self._overtime  # it was abandoned before it started
        with ledger(spending), deadline(left, clock=monotonic):
            return tool_result_or_error(lambda: as_stored(self._tools.call_tool(call.tool, call.arguments)))


def _fulfil(future: Future[dict[str, Any]], work: Callable[[], dict[str, Any]]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - raised again where the result is waited for
        future.set_exception(error)


def _run_in_order(works: Sequence[Callable[[], None]]) -> None:
    for work in works:
        work()


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


class _DaemonThreads:
    """A pool of daemon threads, which do not delay the end of the program; each task runs in a copy of its context."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._idle = threading.Semaphore(0)  #: counts idle threads

    def submit(self, work: Callable[[], None]) -> None:
        is_served = self._idle.acquire(blocking=False)
        if not is_served and len(self._threads) < self._most:
            thread = threading.Thread(target=self._serve, name="tool-call", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._work.put(partial(copy_context().run, work))

    def close(self) -> None:
        for _ in self._threads:
            self._work.put(None)

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            work()
            self._idle.release()

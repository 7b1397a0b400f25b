"""Making the calls of a reply: those that only read side by side, those that write alone and in their turn.

What comes back does not depend on which thread was faster: results stand in the order of the calls, and the clock that is
recorded is read by the loop's own thread only.
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
from world_api.core.ambient.patience import patience
from world_api.core.ambient.spending import Ledger, Spent, ledger
from world_api.core.last_resort import as_stored, observed
from world_api.core.ports import Clock

SIDE_BY_SIDE = 8
#: Seconds for which the calls of a reply are waited for at least, all together, however little time the episode has left.
_SHORTEST_WAIT = 0.5


@dataclass(frozen=True, kw_only=True)
class Made:
    """What became of a call: its whole result, what it spent, and the seconds from the result before it to this one.

    ``given_up``: it had no end in time, and the result only says so. ``ran`` is False where there was no time to begin with it.
    """

    result: dict[str, Any]
    spent: tuple[Spent, ...]
    seconds: float
    given_up: bool = False
    ran: bool = True


@dataclass(frozen=True, kw_only=True)
class _UnderWay:
    """A call that was begun. The book is kept here, so that what a hanging call has spent is known."""

    result: Future[dict[str, Any]]
    book: Ledger


class Calling:
    """Makes the calls of one episode. To be closed; a call that hangs is left behind and not waited for."""

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
        self._reading = reading  #: of a system's own calls, which are not declared, those that only read
        self._declared = {tool.name: tool for tool in tools.get_tools()}
        self._clock = clock
        self._overtime = overtime  #: what stands in for the result of a call that was given up
        self.too_late = too_late  #: and of one that was not begun
        self._workers = _Workers(SIDE_BY_SIDE)

    def make(self, calls: Sequence[ToolCall], *, left: float) -> list[Made]:
        """The results of the calls, in their order.

        When ``left`` seconds are over, calls that read are given up, none is begun, and those under way ask no model any more.

        Raises:
            EpisodeFault: a tool's own; such an episode cannot go on.
        """
        # Whether a call is begun shows in the record, so the recorded clock says it. Whoever waits for a thread goes by the
        # machine's: in a replay nothing takes long, whatever the recorded clock says.
        until = monotonic() + max(_SHORTEST_WAIT, left)
        began = last = self._clock.monotonic()
        made: list[Made] = []
        for together in self._together(calls):
            is_late = left - (last - began) <= 0
            for waited in [None] * len(together) if is_late else self._started(together, until):
                one = self._awaited(waited, until)
                now = self._clock.monotonic()
                made.append(replace(one, seconds=round(now - last, 6)))
                last = now
        return _in_order_of_calls(made)

    def _awaited(self, call: _UnderWay | None, until: float) -> Made:
        if call is None:
            return Made(result=self.too_late, spent=(), seconds=0.0, ran=False)
        try:
            result = call.result.result(timeout=max(0.0, until - monotonic()))
        except TimeoutError:
            return Made(result=self._overtime, spent=call.book.items, seconds=0.0, given_up=True)
        return Made(result=result, spent=call.book.items, seconds=0.0, given_up=result is self._overtime)

    def close(self) -> None:
        """End the threads that have nothing to do."""
        self._workers.close()

    def _together(self, calls: Sequence[ToolCall]) -> Iterator[list[ToolCall]]:
        """Stretches of calls that only read, and single calls that write."""
        reading: list[ToolCall] = []
        for call in calls:
            if not self._goes_alone(call):
                reading.append(call)
                continue
            if reading:
                yield reading
            yield [call]
            reading = []
        if reading:
            yield reading

    def _goes_alone(self, call: ToolCall) -> bool:
        """Whether a call writes, or may."""
        declared = self._declared.get(call.tool)
        return call.tool not in self._reading if declared is None else declared.writes

    def _started(self, calls: list[ToolCall], until: float) -> list[_UnderWay]:
        """The calls under way. One that writes is made here and now: it must not go on after it was given up."""
        waited = [_UnderWay(result=Future(), book=Ledger()) for _ in calls]
        in_turn: list[Callable[[], None]] = []
        for call, one in zip(calls, waited, strict=True):
            work = partial(_fulfil, one.result, partial(self._made, call, one.book, until))
            if self._goes_alone(call):
                work()
            elif call.tool in self._declared and self._declared[call.tool].in_turn:
                in_turn.append(work)
            else:
                self._workers.submit(work)
        if in_turn:
            self._workers.submit(partial(_one_after_the_other, in_turn))
        return waited

    def _made(self, call: ToolCall, book: Ledger, until: float) -> dict[str, Any]:
        left = until - monotonic()
        if left <= 0 and not self._goes_alone(call):
            return self._overtime  # nobody waits for it any more
        with ledger(book), patience(left, now=monotonic):
            return observed(lambda: as_stored(self._tools.call_tool(call.tool, call.arguments)))


def _fulfil(future: Future[dict[str, Any]], work: Callable[[], dict[str, Any]]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - raised again where the result is waited for
        future.set_exception(error)


def _one_after_the_other(works: Sequence[Callable[[], None]]) -> None:
    for work in works:
        work()


def _in_order_of_calls(made: list[Made]) -> list[Made]:
    """Of calls that wanted the same of a model at the same time, the first is the one that was really paid for."""
    paid = Counter(item.request for one in made for item in one.spent if item.physical)
    settled = []
    for one in made:
        spent = []
        for item in one.spent:
            spent.append(replace(item, physical=paid[item.request] > 0))
            paid[item.request] -= 1
        settled.append(replace(one, spent=tuple(spent)))
    return settled


class _Workers:
    """A pool of threads that nobody waits for when the program ends; each piece of work runs in a copy of its context."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._idle = threading.Semaphore(0)  #: threads that have nothing to do

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

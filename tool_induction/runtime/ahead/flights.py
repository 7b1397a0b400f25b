"""Calls under way: each is made once, whoever wants it first, and no more of them at a time than is allowed.

Nobody waits here for anything but calls that are being made, and who makes a call waits for nothing but its turn; so
nobody can wait in a circle.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition, Event, Lock, Semaphore

from tool_induction.runtime.answers.asking import Answer
from tool_induction.runtime.budget import Meter


class Abandoned(Exception):
    """What was being run ahead is not wanted any more."""


class _Flight:
    def __init__(self) -> None:
        self.landed = Event()
        self.answer: Answer | None = None
        self.fault: BaseException | None = None

    def result(self) -> Answer:
        self.landed.wait()
        if self.fault is not None:
            raise self.fault
        assert self.answer is not None  # noqa: S101 - landed without a fault
        return self.answer


def _kept(answer: Answer | None) -> Answer:
    if answer is None:
        raise Abandoned
    return answer


class Flights:
    """The calls of one run that are being made, or were made ahead and have not been asked for.

    What lies here takes no more bytes than the run may still get: beyond, an answer is kept as its size, since the run will
    stop at it, and nothing more is made ahead.
    """

    def __init__(self, meter: Meter) -> None:
        self.halted = False
        self._meter = meter
        self._turns = Semaphore(meter.limits.concurrency)
        self._lock = Lock()
        self._over = Condition(self._lock)
        self._flights: dict[str, _Flight] = {}
        self._taken: set[str] = set()
        self._bytes = 0
        self._under_way = 0  #: calls that other threads than the run's are making

    @property
    def in_vain(self) -> int:
        """How many calls were made ahead that the run has not asked for."""
        return len(self._flights)

    @property
    def unwanted(self) -> bool:
        """Whether no call is to be made ahead: the run stopped, or has no time or room left for its answer."""
        return self.halted or bool(self._meter.exhausted) or self._bytes > self._meter.room or self._meter.is_late()

    def take(self, key: str, make: Callable[[], Answer]) -> Answer:
        """The answer to a call of the run itself: the one made ahead, or made now. To be ``closed`` once it counts.

        Raises:
            VideoWorldError: what the operation names.
        """
        while True:
            with self._lock:
                flight = self._flights.get(key)
                is_new = flight is None
                if flight is None:
                    flight = self._flights[key] = _Flight()
            if is_new:
                return self._made(flight, make)
            try:
                return flight.result()
            except Abandoned:
                continue  # whoever was to make it ahead left it; it is gone from here

    def closed(self, key: str) -> None:
        """The run has its answer: nobody makes that call ahead any more."""
        with self._lock:
            self._taken.add(key)
            flight = self._flights.pop(key, None)
            if flight is not None and flight.answer is not None:
                self._bytes -= flight.answer.size

    def made_ahead(self, key: str, remembered: Callable[[], Answer | None], make: Callable[[], Answer]) -> Answer:
        """The answer to a call that the run is going to make. What it has made by now is ``remembered``, or no more wanted.

        Raises:
            Abandoned: the run stopped or will stop at this answer, or has made that call.
            VideoWorldError: what the operation names.
        """
        if self.unwanted:
            raise Abandoned
        with self._lock:
            if key in self._taken:
                return _kept(remembered())
            if (known := remembered()) is not None:
                return known
            flight = self._flights.get(key)
            is_new = flight is None
            if flight is None:
                flight = self._flights[key] = _Flight()
        answer = self._made(flight, lambda: self._if_wanted(key, make)) if is_new else flight.result()
        if answer.size > self._meter.room:
            raise Abandoned
        return answer

    def settle(self) -> None:
        """Wait until no other thread makes a call; what is ``halted`` begins none."""
        with self._over:
            self._over.wait_for(lambda: not self._under_way)

    def _if_wanted(self, key: str, make: Callable[[], Answer]) -> Answer:
        with self._lock:
            if self.unwanted:
                self._flights.pop(key, None)
                raise Abandoned
            self._under_way += 1
        try:
            return make()
        finally:
            with self._over:
                self._under_way -= 1
                self._over.notify_all()

    def _made(self, flight: _Flight, make: Callable[[], Answer]) -> Answer:
        try:
            with self._turns:
                answer = make()
            if answer.size > self._meter.room:
                answer = Answer(result={}, size=answer.size)
            with self._lock:
                self._bytes += answer.size
                flight.answer = answer
        except BaseException as fault:
            flight.fault = fault
            raise
        finally:
            flight.landed.set()
        return answer

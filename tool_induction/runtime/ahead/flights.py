"""Calls under way: each is made once, whoever wants it first, and no more of them at a time than is allowed.

Nobody waits here for anything but calls that are being made, and who makes a call waits for nothing but its turn; so
nobody can wait in a circle.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Lock, Semaphore

from tool_induction.runtime.answers.asking import Answer


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
    """The calls of one run that are being made, or were made ahead and have not been asked for."""

    def __init__(self, most: int) -> None:
        self.halted = False
        self._turns = Semaphore(most)
        self._lock = Lock()
        self._flights: dict[str, _Flight] = {}
        self._taken: set[str] = set()

    def take(self, key: str, make: Callable[[], Answer]) -> Answer:
        """The answer to a call of the run itself: the one made ahead, or made now. To be ``closed`` once it counts.

        Raises:
            VideoWorldError: what the operation names.
        """
        with self._lock:
            flight = self._flights.get(key)
            is_new = flight is None
            if flight is None:
                flight = self._flights[key] = _Flight()
        return self._made(flight, make) if is_new else flight.result()

    def closed(self, key: str) -> None:
        """The run has its answer: nobody makes that call ahead any more."""
        with self._lock:
            self._taken.add(key)
            self._flights.pop(key, None)

    def made_ahead(self, key: str, remembered: Callable[[], Answer | None], make: Callable[[], Answer]) -> Answer:
        """The answer to a call that the run is going to make. What it has made by now is ``remembered``, or no more wanted.

        Raises:
            Abandoned: the run stopped, or has made that call.
            VideoWorldError: what the operation names.
        """
        with self._lock:
            if self.halted:
                raise Abandoned
            if key in self._taken:
                return _kept(remembered())
            if (known := remembered()) is not None:
                return known
            flight = self._flights.get(key)
            is_new = flight is None
            if flight is None:
                flight = self._flights[key] = _Flight()
        if not is_new:
            return flight.result()
        try:
            return self._made(flight, lambda: self._unless_halted(make))
        except Abandoned:
            with self._lock:
                self._flights.pop(key, None)
            raise

    def _unless_halted(self, make: Callable[[], Answer]) -> Answer:
        if self.halted:
            raise Abandoned
        return make()

    def _made(self, flight: _Flight, make: Callable[[], Answer]) -> Answer:
        try:
            with self._turns:
                flight.answer = make()
        except BaseException as fault:
            flight.fault = fault
            raise
        finally:
            flight.landed.set()
        return flight.answer

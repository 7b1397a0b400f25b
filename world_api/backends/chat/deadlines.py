"""Waiting for work at most so long.

An HTTP client's timeouts bound each read, so a server that sends a byte now and then is waited on for ever. Here the
work runs on a thread of its own, and the wait for it is what is bounded.

Whoever asks a model may have less time than the endpoint would be given; it says so around the request::

    with at_most(12.5):
        reply = model.complete(request)

and an adapter that can be bounded asks ``time_allowed``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
GivenUp = Callable[[], bool]

_allowed: ContextVar[float | None] = ContextVar("seconds_allowed", default=None)


@contextmanager
def at_most(seconds: float | None) -> Iterator[None]:
    """Requests made inside the block, in this thread, may take so many seconds each, all tries together; None: any."""
    token = _allowed.set(seconds)
    try:
        yield
    finally:
        _allowed.reset(token)


def time_allowed(otherwise: float) -> float:
    """Seconds that a request may take: what its endpoint gives it, or less where whoever asks has less."""
    seconds = _allowed.get()
    return otherwise if seconds is None else max(0.0, min(otherwise, seconds))


def within(seconds: float, work: Callable[[GivenUp], T]) -> T:
    """The result of the work, which is told by its argument whether anybody still waits for it.

    Raises:
        TimeoutError: it took longer; the work may go on unheard until it looks at its argument.
        Exception: the work's own.
    """
    done: Future[T] = Future()
    given_up = threading.Event()

    def run() -> None:
        try:
            done.set_result(work(given_up.is_set))
        except BaseException as error:  # noqa: BLE001 - raised again below, where it is waited for
            done.set_exception(error)

    threading.Thread(target=run, name="chat-attempt", daemon=True).start()
    try:
        return done.result(timeout=seconds)
    finally:
        given_up.set()

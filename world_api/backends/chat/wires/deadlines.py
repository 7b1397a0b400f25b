"""Waiting for work at most so long.

An HTTP client's timeouts bound each read, so a server that sends a byte now and then is waited on for ever. Here the
work runs on a thread of its own, and the wait for it is what is bounded.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")
GivenUp = Callable[[], bool]


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

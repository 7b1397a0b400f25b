"""Deadlines that reach nested requests through a context variable, as gRPC and trio have them.

A request to a model may be tried again for minutes; an episode with twenty seconds left does not want that::

    with deadline(20.0):
        reply = model.complete(request)

Threads see a deadline only if they run in a copy of the context (``contextvars.copy_context().run``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from world_api.core.faults import BackendFault


@dataclass(frozen=True, kw_only=True)
class _Deadline:
    """Seconds for each request; with a clock also the time on it after which nothing may be asked."""

    seconds: float
    until: float
    clock: Callable[[], float] | None
    outer: _Deadline | None

    def remaining(self) -> float:
        own = self.seconds if self.clock is None else min(self.seconds, self.until - self.clock())
        return own if self.outer is None else min(own, self.outer.remaining())

    def is_over(self) -> bool:
        own = self.clock is not None and self.clock() >= self.until
        return own or (self.outer is not None and self.outer.is_over())


_innermost: ContextVar[_Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def deadline(seconds: float, *, clock: Callable[[], float] | None = None) -> Iterator[None]:
    """Limit requests made inside the block.

    Without ``clock`` each request may take ``seconds``; with it, all of them together, counted from here on. An outer deadline is
    never extended.
    """
    until = math.inf if clock is None else clock() + seconds
    token = _innermost.set(_Deadline(seconds=seconds, until=until, clock=clock, outer=_innermost.get()))
    try:
        yield
    finally:
        _innermost.reset(token)


def remaining(default: float) -> float:
    """Seconds the next request may take: the innermost deadline that is left, at most ``default``.

    Raises:
        BackendFault: ``no_time_left``, if a deadline with a clock is over.
    """
    limit = _innermost.get()
    if limit is None:
        return default
    if limit.is_over():
        raise BackendFault("no_time_left", "the time for this work is over", hint="give more seconds")
    return min(default, limit.remaining())

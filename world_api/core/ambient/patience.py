"""How long whoever is asked may take, where whoever asks has less time than usual.

A request to a model may be tried again for minutes; an episode with twenty seconds left does not want that::

    with patience(20.0):
        reply = model.complete(request)

It reaches through whatever wraps the model, and into the requests that tools make. Work of many requests is given a clock as
well: all of them together then have so many seconds, and what is asked after that is refused, also where nobody waits for
the work any more. It says seconds and not a time of day, since the clock of whoever asks may be another. Threads know of it only where
they run in a copy of the context (``contextvars.copy_context().run``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from world_api.core.faults import BackendFault


@dataclass(frozen=True, kw_only=True)
class _Allowed:
    """Seconds for each request, and until when a clock allows any."""

    seconds: float
    until: float = math.inf
    now: Callable[[], float] | None = None
    around: _Allowed | None = None

    def left(self) -> float:
        own = self.seconds if self.now is None else min(self.seconds, self.until - self.now())
        return own if self.around is None else min(own, self.around.left())

    def is_over(self) -> bool:
        own = self.now is not None and self.now() >= self.until
        return own or (self.around is not None and self.around.is_over())


_allowed: ContextVar[_Allowed | None] = ContextVar("allowed_seconds", default=None)


@contextmanager
def patience(seconds: float, *, now: Callable[[], float] | None = None) -> Iterator[None]:
    """Requests made inside the block may take so many seconds each; never more than a block around it allows.

    With a clock (``now``, in seconds) all of them together may, counted from here on.
    """
    until = math.inf if now is None else now() + seconds
    token = _allowed.set(_Allowed(seconds=seconds, until=until, now=now, around=_allowed.get()))
    try:
        yield
    finally:
        _allowed.reset(token)


def at_most(seconds: float) -> float:
    """The seconds a request may take that would by itself be given so many.

    Raises:
        BackendFault: ``no_time_left``: the time of the whole work is over.
    """
    allowed = _allowed.get()
    if allowed is None:
        return seconds
    if allowed.is_over():
        raise BackendFault("no_time_left", "the time for this work is over", hint="give more seconds")
    return min(seconds, allowed.left())

"""How long whoever is asked may take, where whoever asks has less time than usual.

A request to a model may be tried again for minutes; an episode with twenty seconds left does not want that::

    with patience(20.0):
        reply = model.complete(request)

It reaches through whatever wraps the model, and into the requests that tools make, each of which may take that long. It
says seconds and not a time of day, since the clock of whoever asks may be another. Threads know of it only where they
run in a copy of the context (``contextvars.copy_context().run``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_allowed: ContextVar[float | None] = ContextVar("allowed_seconds", default=None)


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Requests made inside the block may take so many seconds each; never more than a block around it allows."""
    token = _allowed.set(at_most(seconds))
    try:
        yield
    finally:
        _allowed.reset(token)


def at_most(seconds: float) -> float:
    """The seconds a request may take that would by itself be given so many."""
    allowed = _allowed.get()
    return seconds if allowed is None else min(seconds, allowed)

"""Costs of calls, the ledger that collects charges of model requests, and deadlines of requests.

Code that calls a model charges the request; code that needs the cost opens a ledger around the work::

    with ledger() as book:
        result = run(session, "describe_segment", arguments)
    book.items  # the charges of that call

Ledgers nest, and a charge is added to the innermost one. A request to a model may be repeated for minutes; an episode
with twenty seconds left limits it::

    with deadline(20.0):
        reply = model.complete(request)

Ledgers and deadlines are context variables, as gRPC and trio have them: a thread sees them only if it runs in a copy of the
context (``contextvars.copy_context().run``).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from world_api.core.canonical import Record
from world_api.core.faults import BackendFault


@dataclass(frozen=True, kw_only=True)
class Cost:
    """A cost: calls of operations, calls of models, tokens of models, seconds. Costs can be added and multiplied."""

    calls: int = 0
    model_calls: int = 0
    tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(**{name: value + getattr(other, name) for name, value in vars(self).items()})

    def times(self, count: int) -> Cost:
        """Return the cost multiplied by ``count``."""
        return Cost(**{name: value * count for name, value in vars(self).items()})

    def record(self) -> dict[str, float]:
        """Return the cost as a JSON object."""
        return {**vars(self), "seconds": round(self.seconds, 6)}


Purpose = Literal["perception", "judge"]


@dataclass(frozen=True, kw_only=True)
class Spent(Record):
    """One request to a model, in tokens.

    ``request`` is the hash of the request: within one episode an equal request is paid only once. ``physical`` is False
    if the answer came from a cache; the tokens are then those of the original request. So both the cost of an episode
    with empty caches (logical) and the amount actually paid (physical) can be reported.
    """

    purpose: Purpose
    model: str
    request: str
    prompt: int
    completion: int
    cached: int = 0
    images: int = 0
    estimated: bool = False
    physical: bool = True


class Ledger:
    """Collects charges; threads may share it. Each charge is also added to ``onward``, another ledger, at once."""

    def __init__(self, *, onward: Ledger | None = None) -> None:
        self._onward = onward
        self._items: list[Spent] = []
        self._lock = threading.Lock()

    @property
    def items(self) -> tuple[Spent, ...]:
        """The charges, sorted by content and not by time, so that the order of threads has no effect."""
        with self._lock:
            return tuple(sorted(self._items, key=lambda item: (item.purpose, item.model, item.request, item.physical)))

    def add(self, item: Spent) -> None:
        """Add a charge to this ledger, and to the ledger ``onward`` if there is one."""
        with self._lock:
            self._items.append(item)
        if self._onward is not None:
            self._onward.add(item)


_open: ContextVar[Ledger | None] = ContextVar("open_ledger", default=None)


@contextmanager
def ledger(book: Ledger | None = None) -> Iterator[Ledger]:
    """Collect the charges made inside the block in ``book``, by default a new ledger, and yield it.

    Charges of other threads are included only if these run in a copy of this context.
    """
    book = book or Ledger()
    token = _open.set(book)
    try:
        yield book
    finally:
        _open.reset(token)


def ledger_beside() -> AbstractContextManager[Ledger]:
    """Open a new ledger whose charges are also added to the ledger that is open now, if there is one."""
    return ledger(Ledger(onward=_open.get()))


def charge(item: Spent) -> None:
    """Add a charge to the innermost open ledger, if there is one."""
    book = _open.get()
    if book is not None:
        book.add(item)


@dataclass(frozen=True, kw_only=True)
class _Deadline:
    """Seconds for each request; ``until`` is the time on ``clock`` by which all must end, infinite without a clock."""

    seconds: float
    until: float
    clock: Callable[[], float]
    outer: _Deadline | None

    def remaining(self) -> float:
        """Return the seconds for the next request, outer deadlines included; 0 or less if a deadline is over."""
        left = min(self.seconds, self.until - self.clock())
        return left if self.outer is None else min(left, self.outer.remaining())


_innermost: ContextVar[_Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def deadline(seconds: float, *, clock: Callable[[], float] | None = None) -> Iterator[None]:
    """Limit the time that requests made inside the block may take; ``remaining`` returns it.

    Without ``clock`` each request may take ``seconds``; with it, all of them together, counted from the start of the
    block. Of nested deadlines, the one that leaves least holds.
    """
    until = math.inf if clock is None else clock() + seconds
    inner = _Deadline(seconds=seconds, until=until, clock=clock or (lambda: 0.0), outer=_innermost.get())
    token = _innermost.set(inner)
    try:
        yield
    finally:
        _innermost.reset(token)


def remaining(default: float) -> float:
    """Return the seconds that the next request may take: the time that all open deadlines leave, at most ``default``.

    Raises BackendFault: ``no_time_left``, if a deadline with a clock is over.
    """
    limit = _innermost.get()
    left = default if limit is None else min(default, limit.remaining())
    if left <= 0 < default:
        raise BackendFault("no_time_left", "the time for this work is over", hint="give more seconds")
    return left

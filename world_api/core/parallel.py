"""An ordered parallel map on threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def ordered_map(
    function: Callable[[_Item], _Result], items: Iterable[_Item], *, width: int
) -> Generator[_Result, None, None]:
    """Apply a function to items on up to ``width`` threads and yield the results in the order of the items.

    Items are taken from the iterable as results are asked for, at most twice ``width`` ahead. Each call runs in a copy of the
    context of the thread that asks. Closing the iterator cancels what has not begun and waits for what has.

    Raises:
        Exception: what the function raised, in place of the result of that item; nothing further is begun.
    """
    pending: deque[Future[_Result]] = deque()
    with ThreadPoolExecutor(max_workers=width, thread_name_prefix="ordered-map") as pool:
        try:
            for item in items:
                pending.append(pool.submit(copy_context().run, function, item))
                if len(pending) == 2 * width:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()

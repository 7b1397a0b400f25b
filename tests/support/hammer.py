"""Many threads that do the same things at once, as restlessly as Python lets them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from random import Random
from threading import Barrier
from typing import TypeVar

Found = TypeVar("Found")


@contextmanager
def restless() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def hammered(acts: Sequence[Callable[[], Found]], *, threads: int = 8) -> list[list[Found]]:
    """Every thread does all acts, each in an order of its own, all beginning at once: what each found, in the acts' order."""
    start = Barrier(threads)

    def go(number: int) -> list[Found]:
        order = list(range(len(acts)))
        Random(number).shuffle(order)
        start.wait()
        found = {place: acts[place]() for place in order}
        return [found[place] for place in range(len(acts))]

    with restless(), ThreadPoolExecutor(threads) as pool:
        return list(pool.map(go, range(threads)))

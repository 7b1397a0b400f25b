"""Things with a time interval each, held as arrays sorted by start; one becomes an object when it is asked for.

A world of days has hundreds of thousands of lines and sightings. What an operation needs of them is found by binary
search, and only that becomes objects.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from world_api.core.spans import TimeSpan

Times = NDArray[np.float64]
Positions = NDArray[np.int64]
Item = TypeVar("Item")


class Items(Sequence[Item], Generic[Item]):
    """n things in order of their start.

    Args:
        starts: Start times in seconds, rising, shape (n,).
        ends: End times in seconds, shape (n,).
        make: Makes one thing from its position.
        rows: The row of its table that each begins with, shape (n,); by default its position.
    """

    def __init__(
        self, starts: Times, ends: Times, make: Callable[[int], Item], *, rows: Positions | None = None
    ) -> None:
        self.starts = starts
        self.ends = ends
        self.rows: Positions = np.arange(len(starts)) if rows is None else rows
        self._make = make

    @cached_property
    def max_ends(self) -> Times:
        """Running maximum of the ends, shape (n,), for binary search by end."""
        found: Times = np.maximum.accumulate(self.ends) if len(self.ends) else self.ends
        return found

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, position: int) -> Item: ...
    @overload
    def __getitem__(self, position: slice) -> list[Item]: ...
    def __getitem__(self, position: int | slice) -> Item | list[Item]:
        if isinstance(position, slice):
            return [self._make(i) for i in range(*position.indices(len(self)))]
        if not -len(self) <= position < len(self):
            raise IndexError(position)
        return self._make(position % len(self))

    def touching(self, span: TimeSpan) -> Positions:
        """Positions of the things that overlap a half-open span or begin in it, in order."""
        end = int(np.searchsorted(self.starts, span.end))
        first = min(
            end,
            int(np.searchsorted(self.max_ends, span.start, side="right")),
            int(np.searchsorted(self.starts, span.start)),
        )
        near = (self.ends[first:end] > span.start) | (self.starts[first:end] >= span.start)
        found: Positions = np.flatnonzero(near) + first
        return found

    def during(self, span: TimeSpan) -> list[Item]:
        """The things that share time with a half-open span, in order."""
        shared = (int(i) for i in self.touching(span) if self.ends[i] > span.start)
        return [self._make(i) for i in shared]


def spans(starts: Times, ends: Times) -> Items[TimeSpan]:
    """Bare time spans."""
    return Items(starts, ends, lambda i: TimeSpan(start=float(starts[i]), end=float(ends[i])))


def tile(boundaries: Times, whole: TimeSpan) -> Items[TimeSpan]:
    """The spans between boundaries; the whole if there are none (also for an empty visible part)."""
    inner = np.unique(boundaries)
    inner = inner[(inner > whole.start) & (inner < whole.end)]
    edges = np.concatenate([[whole.start], inner, [whole.end]])
    return spans(edges[:-1], edges[1:])


def shared_prefix(one: Items[Any], other: Items[Any], *more: tuple[NDArray[Any], NDArray[Any]]) -> tuple[int, float]:
    """Compare two sequences of items by start, end and ``more`` pairs of columns.

    Returns:
        How many of the first items are equal, and the earliest start of one that differs (infinite if none does).
    """
    count = min(len(one), len(other))
    differs = np.zeros(count, dtype=np.bool_)
    for own, others in ((one.starts, other.starts), (one.ends, other.ends), *more):
        differs |= own[:count] != others[:count]
    same = int(differs.argmax()) if differs.any() else count
    return same, min((float(items.starts[same]) for items in (one, other) if same < len(items)), default=math.inf)


def ranges(firsts: Positions, ends: Positions) -> Positions:
    """The positions of many half-open runs, one after the other."""
    lengths = ends - firsts
    total = int(lengths.sum())
    starts = np.repeat(firsts - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths) if total else firsts[:0]
    found: Positions = starts + np.arange(total)
    return found

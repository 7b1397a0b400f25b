"""Things with a stretch of time each, held as sorted arrays; one is put together when it is asked for.

A world of days has hundreds of thousands of lines and sightings. What an operation needs of them is found by binary
search, and only that becomes objects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from world_api.core.spans import TimeSpan
from world_api.world.once import made_once

Times = NDArray[np.float64]
Positions = NDArray[np.int64]
Item = TypeVar("Item")


class Items(Sequence[Item], Generic[Item]):
    """n things in order of their start. ``starts`` and ``ends`` (n, seconds); ``make`` puts one together by position.

    ``rows`` (n): the row of its table that each begins with, where it comes from one.
    """

    def __init__(
        self, starts: Times, ends: Times, make: Callable[[int], Item], *, rows: Positions | None = None
    ) -> None:
        self.starts = starts
        self.ends = ends
        self.rows = np.arange(len(starts)) if rows is None else rows
        self._make = make

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
        """Positions of what overlaps a half-open stretch or begins in it, in order."""
        end = int(np.searchsorted(self.starts, span.end))
        # Nothing before this reaches as far as the stretch.
        first = min(end, int(np.searchsorted(self._reach, span.start, side="right")))
        first = min(first, int(np.searchsorted(self.starts, span.start)))
        near = (self.ends[first:end] > span.start) | (self.starts[first:end] >= span.start)
        found: Positions = np.flatnonzero(near) + first
        return found

    def during(self, span: TimeSpan) -> list[Item]:
        """What shares time with a half-open stretch, in order."""
        shared = (int(i) for i in self.touching(span) if self.ends[i] > span.start)
        return [self._make(i) for i in shared]

    @made_once
    def _reach(self) -> Times:
        """How far everything up to each position reaches."""
        reach: Times = np.maximum.accumulate(self.ends) if len(self.ends) else self.ends
        return reach


def spans(starts: Times, ends: Times) -> Items[TimeSpan]:
    """Bare stretches."""
    return Items(starts, ends, lambda i: TimeSpan(start=float(starts[i]), end=float(ends[i])))


def tile(boundaries: Times, whole: TimeSpan) -> Items[TimeSpan]:
    """The stretches between boundaries; the whole where there are none (also for an empty visible part)."""
    inner = np.unique(boundaries)
    inner = inner[(inner > whole.start) & (inner < whole.end)]
    edges = np.concatenate([[whole.start], inner, [whole.end]])
    return spans(edges[:-1], edges[1:])


def ranges(firsts: Positions, ends: Positions) -> Positions:
    """The positions of many half-open runs, one after the other."""
    lengths = ends - firsts
    total = int(lengths.sum())
    starts = np.repeat(firsts - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths) if total else firsts[:0]
    found: Positions = starts + np.arange(total)
    return found

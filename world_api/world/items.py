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
Number = TypeVar("Number", np.float64, np.int64)


class Reach:
    """How far everything up to each of n positions reaches. ``like``: another, and how many of the first ends are its, too."""

    def __init__(self, ends: Times, *, like: tuple[Reach, int] | None = None) -> None:
        self._ends = ends
        self._like = like

    @made_once
    def times(self) -> Times:
        """The greatest end up to each position (n)."""
        other, same = self._like or (self, 0)
        known = other.times[:same] if same else self._ends[:0]
        if same == len(self._ends):
            return known
        rest = np.maximum.accumulate(np.append(known[-1:], self._ends[same:]))
        return np.concatenate([known, rest[1:]]) if same else rest


class Items(Sequence[Item], Generic[Item]):
    """n things in order of their start. ``starts`` and ``ends`` (n, seconds); ``make`` puts one together by position.

    ``rows`` (n): the row of its table that each begins with, where it comes from one. ``like``: the reach of others, and
    how many of the first of these are the first there, too.
    """

    def __init__(
        self,
        starts: Times,
        ends: Times,
        make: Callable[[int], Item],
        *,
        rows: Positions | None = None,
        like: tuple[Reach, int] | None = None,
    ) -> None:
        self.starts = starts
        self.ends = ends
        self._rows = rows
        self._make = make
        self.reach = Reach(ends, like=like)

    @made_once
    def rows(self) -> Positions:
        """The row of its table that each begins with; its own place where it comes from none."""
        return np.arange(len(self.starts)) if self._rows is None else self._rows

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
        first = min(end, int(np.searchsorted(self.reach.times, span.start, side="right")))
        first = min(first, int(np.searchsorted(self.starts, span.start)))
        near = (self.ends[first:end] > span.start) | (self.starts[first:end] >= span.start)
        found: Positions = np.flatnonzero(near) + first
        return found

    def during(self, span: TimeSpan) -> list[Item]:
        """What shares time with a half-open stretch, in order."""
        shared = (int(i) for i in self.touching(span) if self.ends[i] > span.start)
        return [self._make(i) for i in shared]


def spans(starts: Times, ends: Times, *, like: tuple[Reach, int] | None = None) -> Items[TimeSpan]:
    """Bare stretches."""
    return Items(starts, ends, lambda i: TimeSpan(start=float(starts[i]), end=float(ends[i])), like=like)


def tile(boundaries: Times, whole: TimeSpan) -> Items[TimeSpan]:
    """The stretches between boundaries; the whole where there are none (also for an empty visible part)."""
    inner = np.unique(boundaries)
    inner = inner[(inner > whole.start) & (inner < whole.end)]
    edges = np.concatenate([[whole.start], inner, [whole.end]])
    return spans(edges[:-1], edges[1:])


def extended(first: NDArray[Number], more: NDArray[Number]) -> NDArray[Number]:
    """One array after another, along the last axis; the first without a copy where there are no more."""
    return np.concatenate([first, more], axis=-1) if more.shape[-1] else first


class Chained:
    """Numbers in two arrays, one after the other, read by their positions without a copy of all of them."""

    def __init__(self, first: Positions, rest: Positions) -> None:
        self._first, self._rest = first, rest

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: Positions) -> Positions: ...
    def __getitem__(self, at: int | Positions) -> int | Positions:
        same = len(self._first)
        if not isinstance(at, np.ndarray):
            return int(self._first[at] if at < same else self._rest[at - same])
        early = at < same
        if early.all():
            found: Positions = self._first[at]
            return found
        found = np.empty(len(at), dtype=np.int64)
        found[early], found[~early] = self._first[at[early]], self._rest[at[~early] - same]
        return found

    def all(self) -> Positions:
        """All of them as one array."""
        return extended(self._first, self._rest)


def ranges(firsts: Positions, ends: Positions) -> Positions:
    """The positions of many half-open runs, one after the other."""
    lengths = ends - firsts
    total = int(lengths.sum())
    starts = np.repeat(firsts - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths) if total else firsts[:0]
    found: Positions = starts + np.arange(total)
    return found

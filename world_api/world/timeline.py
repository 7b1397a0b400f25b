"""Intervals of a video: arrays of them, scenes, spoken lines, captions, camera movements, and segments for searches.

A world of days has hundreds of thousands of lines and sightings. ``Items`` holds their times as arrays sorted by start;
an operation finds items by binary search, and only these become objects.

Segments are windows of at most ten seconds, cut at shots and at speech. Inside each shot, silences of a second or more
separate speech from the rest; consecutive lines are packed up to ten seconds, cut between lines; longer parts are cut
evenly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Generic, TypeVar, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from world_api.core.identifiers import scene_id
from world_api.core.spans import TimeSpan, merge_spans
from world_api.world.tables import one

Times = NDArray[np.float64]
Positions = NDArray[np.int64]
Item = TypeVar("Item")


class Items(Sequence[Item], Generic[Item]):
    """A sequence of n items with a time interval each, in order of start.

    Args:
        starts: Start times in seconds, rising, shape (n,).
        ends: End times in seconds, shape (n,).
        make: Creates the item at a position.
        rows: The row of its table that each item comes from, shape (n,); by default its position.
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
        """Return the positions of the items that overlap a half-open span or begin in it, in order."""
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
        """Return the items that overlap a half-open span, in order."""
        shared = (int(i) for i in self.touching(span) if self.ends[i] > span.start)
        return [self._make(i) for i in shared]


def spans(starts: Times, ends: Times) -> Items[TimeSpan]:
    """Return time spans as ``Items``, from their starts and ends in seconds, shape (n,) each."""
    return Items(starts, ends, lambda i: TimeSpan(start=float(starts[i]), end=float(ends[i])))


def tile(boundaries: Times, whole: TimeSpan) -> Items[TimeSpan]:
    """Split an interval at boundary times; return the parts in order, which fill ``whole`` without gaps.

    Boundaries at the ends of ``whole`` or outside it are ignored; equal ones count once. If none is left, the result is
    ``whole`` alone, also if ``whole`` has length 0 (a view in which nothing is visible yet).
    """
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
    """Return the integer ranges ``[first, end)``, concatenated."""
    lengths = ends - firsts
    total = int(lengths.sum())
    starts = np.repeat(firsts - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths) if total else firsts[:0]
    found: Positions = starts + np.arange(total)
    return found


@dataclass(frozen=True, kw_only=True)
class SceneInterval:
    """A scene: shots that belong together. ``ordinal`` is its number, from 0."""

    ordinal: int
    span: TimeSpan

    @property
    def scene_id(self) -> str:
        """The scene's id, made from ``ordinal``."""
        return scene_id(self.ordinal)


@dataclass(frozen=True, kw_only=True)
class TimedWord:
    """A recognised word of a spoken line."""

    span: TimeSpan
    text: str
    confidence: float


@dataclass(frozen=True, kw_only=True)
class Spoken:
    """A spoken line. ``source``: sidecar, embedded, recognised or truth; only recognised lines have ``words``."""

    span: TimeSpan
    text: str
    speaker: str
    confidence: float
    language: str
    source: str
    words: tuple[TimedWord, ...]


@dataclass(frozen=True, kw_only=True)
class Said:
    """A stored sentence or label for an interval (a caption or an action). ``subject``: a track's name or empty."""

    span: TimeSpan
    text: str
    subject: str
    confidence: float


#: Seconds before its time that a row covers, and the gap from which rows belong to two movements.
ROW_SECONDS, APART = 1.0, 1.7
#: Strength that a movement of a single row needs (picture widths per second).
SURE_AT_ONCE = 0.05


@dataclass(frozen=True, kw_only=True)
class CameraMovement:
    """A movement of the camera. ``kind`` is as in the table ``camera``: ``pan_left``, ``shake``, ..."""

    span: TimeSpan
    kind: str

    @property
    def label(self) -> str:
        """The movement in words: ``the camera pans left``."""
        verb, _, direction = self.kind.partition("_")
        return f"the camera {verb}s {direction}".rstrip()


def camera_movements(rows: pa.Table, shots: Items[TimeSpan]) -> Items[CameraMovement]:
    """Join neighbouring rows of ``camera`` with the same kind into movements, in time order; ``still`` is left out.

    A movement does not begin before its shot. One of a single row needs a strength of ``SURE_AT_ONCE``.
    """
    times, strengths = rows.column("time").to_numpy(), rows.column("strength").to_numpy().astype(np.float64)
    kinds = one(rows.column("kind")).dictionary_encode()
    kind = kinds.indices.to_numpy()
    words = kinds.dictionary.to_pylist()
    begins = np.ones(len(times), dtype=np.bool_)
    begins[1:] = (kind[1:] != kind[:-1]) | (np.diff(times) > APART)
    firsts = np.flatnonzero(begins)
    lasts = np.append(firsts[1:], len(times)) - 1
    counts = lasts - firsts + 1
    means = np.add.reduceat(strengths, firsts) / counts if len(firsts) else strengths
    moving = np.array([word != "still" for word in words], dtype=np.bool_)[kind[firsts]]
    shown = np.flatnonzero(moving & ((counts > 1) | (means >= SURE_AT_ONCE)))
    firsts, lasts = firsts[shown], lasts[shown]
    begun = shots.starts[np.maximum(0, np.searchsorted(shots.starts, times[firsts], side="right") - 1)]
    starts, ends = np.maximum(begun, times[firsts] - ROW_SECONDS), times[lasts]

    def make(i: int) -> CameraMovement:
        return CameraMovement(span=TimeSpan(start=float(starts[i]), end=float(ends[i])), kind=words[kind[firsts[i]]])

    return Items(starts, ends, make)


MAX_SECONDS = 10.0
SILENCE = 1.0
SHORTEST = 1.0


def segment(shots: Sequence[TimeSpan], lines: Sequence[TimeSpan]) -> list[TimeSpan]:
    """Cut shots, which tile the video, into segments for searches; ``lines`` are spoken lines in any order."""
    ordered = sorted(lines)
    found: list[TimeSpan] = []
    first = 0
    for shot in shots:
        while first < len(ordered) and ordered[first].end <= shot.start:
            first += 1
        inside = []
        at = first
        while at < len(ordered) and ordered[at].start < shot.end:
            if (part := ordered[at].clip(shot)) is not None:
                inside.append(part)
            at += 1
        found.extend(_segment_shot(shot, inside))
    return found


def _segment_shot(shot: TimeSpan, lines: Sequence[TimeSpan]) -> list[TimeSpan]:
    pieces: list[TimeSpan] = []
    at = shot.start
    for talk in merge_spans(lines, gap=SILENCE):
        if talk.start > at:
            pieces.extend(_even(TimeSpan(start=at, end=talk.start)))
        pieces.extend(_pack(talk, [line for line in lines if talk.start <= line.start < talk.end]))
        at = max(at, talk.end)
    if shot.end > at:
        pieces.extend(_even(TimeSpan(start=at, end=shot.end)))
    return _join_short(pieces)


def _pack(talk: TimeSpan, lines: Sequence[TimeSpan]) -> list[TimeSpan]:
    """Cut a run of speech between lines into pieces of at most ``MAX_SECONDS``; longer lines are cut evenly."""
    ends = sorted({line.start for line in lines if line.start > talk.start} | {talk.end})
    pieces: list[TimeSpan] = []
    start, last = talk.start, talk.start
    for end in ends:
        if end - start > MAX_SECONDS and last > start:
            pieces.extend(_even(TimeSpan(start=start, end=last)))
            start = last
        last = end
    return pieces + _even(TimeSpan(start=start, end=talk.end))


def _even(span: TimeSpan) -> list[TimeSpan]:
    if span.duration <= 0:
        return []
    count = max(1, math.ceil(span.duration / MAX_SECONDS - 1e-9))
    ends = [*(span.start + span.duration * i / count for i in range(count)), span.end]
    return [TimeSpan(start=a, end=b) for a, b in pairwise(ends)]


def _join_short(pieces: Sequence[TimeSpan]) -> list[TimeSpan]:
    joined: list[TimeSpan] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        short = last is not None and min(last.duration, piece.duration) < SHORTEST
        if last is not None and short and piece.end - last.start <= MAX_SECONDS:
            joined[-1] = TimeSpan(start=last.start, end=piece.end)
        else:
            joined.append(piece)
    return joined

"""Segments: windows of at most ten seconds, cut at shots and at speech.

The rule, inside each shot: silences of a second or more part speech from what is not speech; lines of speech that follow
one another are packed up to ten seconds, cut between lines; what is still longer is cut evenly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from world_api.core.spans import TimeSpan, merge_spans

MAX_SECONDS = 10.0
SILENCE = 1.0
SHORTEST = 1.0


def segment(shots: Sequence[TimeSpan], lines: Sequence[TimeSpan]) -> list[TimeSpan]:
    """Cut shots into segments. ``shots`` tile the video in order; ``lines`` are spoken lines in any order."""
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
    """Cut a run of speech between lines so that pieces stay under the limit."""
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


def talks(starts: NDArray[np.float64], ends: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Runs of speech without a silence between them, from lines in order of their start: from, to."""
    if len(starts) == 0:
        return starts, ends
    reach = np.maximum.accumulate(ends)
    firsts = np.flatnonzero(np.concatenate([[True], starts[1:] > reach[:-1] + SILENCE]))
    return starts[firsts], reach[np.append(firsts[1:], len(starts)) - 1]

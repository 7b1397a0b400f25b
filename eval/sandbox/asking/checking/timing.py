"""When somebody or something is seen, as frames: another way to the same times."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from eval.sandbox.asking.checking.reading import Unclear
from eval.sandbox.facts import Event, FilmFacts, Relation

PER_SECOND = 20
_NEAR = 0.15  #: seconds that two ways of counting may differ
_AT_BORDERLINE = 0.6

Frames = NDArray[np.bool_]


def frames_of(facts: FilmFacts, subject: str, place: str = "") -> Frames:
    """On which moments (so many a second) a subject is on screen, in one room where one is given."""
    seen = np.zeros(int(facts.duration * PER_SECOND) + 1, dtype=bool)
    for visit in facts.visits:
        if visit.subject == subject and place in ("", visit.place):
            seen[round(visit.start * PER_SECOND) : round(visit.end * PER_SECOND)] = True
    return seen


def during(facts: FilmFacts, relation: Relation) -> Frames:
    """The moments at which a relation holds."""
    held = np.zeros(int(facts.duration * PER_SECOND) + 1, dtype=bool)
    held[round(relation.start * PER_SECOND) : round(relation.end * PER_SECOND)] = True
    return held


def runs(frames: Frames) -> list[tuple[float, float]]:
    """The unbroken stretches, in seconds."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], frames, [False]]).astype(int)))
    return [(first / PER_SECOND, end / PER_SECOND) for first, end in zip(edges[::2], edges[1::2], strict=True)]


def is_seen(frames: Frames, start: float, end: float) -> bool:
    """Whether anything is seen in a stretch; what shows for a blink only, or only just outside, is unclear.

    Raises:
        Unclear: it is at a borderline.
    """

    def some(first: float, last: float) -> float:
        low = max(0, round(first * PER_SECOND))
        return float(frames[low : max(low, round(last * PER_SECOND))].sum()) / PER_SECOND

    inside, around = some(start, end), some(start - _AT_BORDERLINE, end + _AT_BORDERLINE)
    if (inside == 0) != (around == 0) or 0 < inside < _AT_BORDERLINE:
        raise Unclear("it is at a borderline")
    return inside > 0


def same_stretch(answer: object, start: float, end: float) -> bool:
    """Whether an answer is that stretch."""
    if not isinstance(answer, dict):
        return False
    return bool(abs(answer["start_time"] - start) <= _NEAR and abs(answer["end_time"] - end) <= _NEAR)


def holds_alone(event: Event, start: float, end: float) -> bool:
    """Whether an event lies in a stretch, with nothing of it outside."""
    return start - 1e-6 <= event.start and event.end <= end + 1e-6

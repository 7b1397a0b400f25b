"""Agreement of moments, stretches and lines: plain functions of plain data. Times in seconds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from world_api.core.lexicon import fold
from world_api.core.spans import TimeSpan, merge_spans


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Found against true: counts, and what follows from them. Where there is neither, all is right."""

    right: int
    found: int
    true: int

    @property
    def precision(self) -> float:
        """The share of what was found that is true."""
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """The share of what is true that was found."""
        return self.right / self.true if self.true else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        total = self.found + self.true
        return 2 * self.right / total if total else 1.0

    def __add__(self, other: Agreement) -> Agreement:
        """The agreement over both."""
        return Agreement(right=self.right + other.right, found=self.found + other.found, true=self.true + other.true)


def moments_agree(found: Iterable[float], true: Iterable[float], *, tolerance: float) -> Agreement:
    """Match moments one to one, the nearest pairs first, never farther apart than the tolerance."""
    found, true = sorted(found), sorted(true)
    pairs = sorted(
        (abs(one - other), i, j)
        for i, one in enumerate(found)
        for j, other in _near(true, one, tolerance)
        if abs(one - other) <= tolerance
    )
    used_found: set[int] = set()
    used_true: set[int] = set()
    for _, i, j in pairs:
        if i not in used_found and j not in used_true:
            used_found.add(i)
            used_true.add(j)
    return Agreement(right=len(used_found), found=len(found), true=len(true))


def _near(times: Sequence[float], time: float, tolerance: float) -> list[tuple[int, float]]:
    from bisect import bisect_left, bisect_right

    first, end = bisect_left(times, time - tolerance), bisect_right(times, time + tolerance)
    return [(place, times[place]) for place in range(first, end)]


def stretches_iou(some: Iterable[TimeSpan], others: Iterable[TimeSpan]) -> float:
    """Intersection over union of two sets of stretches, each taken as one set of moments; 0 for two empty ones."""
    first, second = merge_spans(some), merge_spans(others)
    shared = shared_seconds(first, second)
    union = sum(span.duration for span in first) + sum(span.duration for span in second) - shared
    return shared / union if union > 0 else 0.0


def shared_seconds(first: Sequence[TimeSpan], second: Sequence[TimeSpan]) -> float:
    """Seconds that two merged, ordered lists of stretches share; linear in their lengths."""
    shared, i, j = 0.0, 0, 0
    while i < len(first) and j < len(second):
        shared += first[i].overlap(second[j])
        if first[i].end <= second[j].end:
            i += 1
        else:
            j += 1
    return shared


def plain(text: str) -> str:
    """A text as it is compared: compatibility form, lower case, letters and figures only."""
    return "".join(sign for sign in fold(text) if sign.isalnum())

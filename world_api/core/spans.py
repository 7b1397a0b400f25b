"""Spans of video time, and boxes in the displayed frame.

Times are seconds as floats; zero is the first presented video frame. A span is half-open: ``[start, end)`` contains
``start`` and does not contain ``end``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

#: The code of a loss: a part of the video, with start and end, that was not decoded; in code a hole.
NOT_DECODED = "not_decoded"
#: Codes of losses that only say what happened; nothing of the video is missing.
DECODER_RESTARTED, SESSIONS_SET_ASIDE = "decoder_restarted", "sessions_set_aside"
#: Decimals to which times in results are rounded: a millisecond, finer than any frame.
TIME_DECIMALS = 3


def round_time(seconds: float) -> float:
    """Round a time to milliseconds."""
    return round(float(seconds), TIME_DECIMALS)


def known_time(seconds: float) -> float:
    """Round a time up to milliseconds: the time at which something became known, which no causal cut may show early."""
    steps = float(10**TIME_DECIMALS)
    # A millionth of a step is the noise of floating point, not time.
    return math.ceil(float(seconds) * steps - 1e-6) / steps


@dataclass(frozen=True, kw_only=True, order=True)
class TimeSpan:
    """A half-open interval ``[start, end)`` in seconds; ``start <= end``, both finite.

    Raises ValueError: if ``start`` or ``end`` is not finite, or ``end < start``.
    """

    start: float
    end: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.start) and math.isfinite(self.end)):
            raise ValueError("a time span needs finite ends")
        if self.end < self.start:
            raise ValueError(f"a time span runs forwards: {self.start} > {self.end}")

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return self.end - self.start

    @property
    def center(self) -> float:
        """Middle of the span in seconds."""
        return (self.start + self.end) / 2

    def contains(self, time: float) -> bool:
        """Whether the half-open span contains this time."""
        return self.start <= time < self.end

    def overlaps(self, other: TimeSpan) -> bool:
        """Whether the two spans share an interval of positive length."""
        return self.start < other.end and other.start < self.end

    def overlap(self, other: TimeSpan) -> float:
        """Return the length of the intersection in seconds; 0 if there is none."""
        return max(0.0, min(self.end, other.end) - max(self.start, other.start))

    def iou(self, other: TimeSpan) -> float:
        """Return intersection over union, 0 to 1; 0 for two empty spans."""
        shared = self.overlap(other)
        union = self.duration + other.duration - shared
        return shared / union if union > 0 else 0.0

    def clip(self, bounds: TimeSpan) -> TimeSpan | None:
        """Return the part inside ``bounds``; None if no part of positive length is inside."""
        if not self.overlaps(bounds):
            return None
        return TimeSpan(start=max(self.start, bounds.start), end=min(self.end, bounds.end))

    def clamp(self, bounds: TimeSpan) -> TimeSpan:
        """Return the part inside ``bounds``; if there is none, the empty span at the nearest end of ``bounds``."""
        start = min(max(self.start, bounds.start), bounds.end)
        return TimeSpan(start=start, end=max(start, min(self.end, bounds.end)))


def merge_spans(spans: Iterable[TimeSpan], *, gap: float = 0.0) -> list[TimeSpan]:
    """Join spans that overlap or are at most ``gap`` seconds apart; return them sorted by start."""
    merged: list[TimeSpan] = []
    for span in sorted(spans):
        if merged and span.start <= merged[-1].end + gap:
            last = merged[-1]
            merged[-1] = TimeSpan(start=last.start, end=max(last.end, span.end))
        else:
            merged.append(span)
    return merged


def spans_iou(some: Iterable[TimeSpan], others: Iterable[TimeSpan]) -> float:
    """Return the intersection over union of the times that two lists of intervals cover; 0 if both are empty."""
    first, second = merge_spans(some), merge_spans(others)
    shared = sum(one.overlap(other) for one in first for other in second)
    union = sum(span.duration for span in first) + sum(span.duration for span in second) - shared
    return shared / union if union > 0 else 0.0


def holes_in(losses: Iterable[tuple[str, float | None, float | None]]) -> list[TimeSpan]:
    """Return the intervals not decoded, merged, in time order. A loss: code, start, end (seconds; None: unknown, left out)."""
    return merge_spans(
        TimeSpan(start=start, end=end)
        for code, start, end in losses
        if code == NOT_DECODED and start is not None and end is not None
        if start < end  # a world from anywhere may say otherwise
    )


def parts_within(spans: Iterable[TimeSpan], bounds: TimeSpan) -> list[TimeSpan]:
    """Return the part of each span that is inside ``bounds``, in the given order and not merged; empty ones are left out."""
    return [part for span in spans if (part := span.clip(bounds)) is not None]


def without_spans(span: TimeSpan, holes: Iterable[TimeSpan]) -> list[TimeSpan]:
    """Return the parts of a span that no hole covers, in time order; ``holes``: apart from each other, in time order."""
    parts, start = [], span.start
    for hole in parts_within(holes, span):
        if hole.start > start:
            parts.append(TimeSpan(start=start, end=hole.start))
        start = hole.end
    return [*parts, TimeSpan(start=start, end=span.end)] if start < span.end else parts


@dataclass(frozen=True, kw_only=True)
class Box:
    """A rectangle ``[x1, y1, x2, y2]`` in pixels of the displayed (rotated) frame; the origin is at the top left."""

    x1: float
    y1: float
    x2: float
    y2: float

    @property
    def width(self) -> float:
        """Width in pixels; never negative."""
        return max(0.0, self.x2 - self.x1)

    @property
    def height(self) -> float:
        """Height in pixels; never negative."""
        return max(0.0, self.y2 - self.y1)

    @property
    def area(self) -> float:
        """Area in square pixels."""
        return self.width * self.height

    @property
    def center(self) -> tuple[float, float]:
        """``(x, y)`` of the middle, in pixels."""
        return (self.x1 + self.x2) / 2, (self.y1 + self.y2) / 2

    def scaled(self, across: float, down: float) -> Box:
        """Return the box in a picture of another size: x is multiplied by ``across``, y by ``down``."""
        return Box(x1=self.x1 * across, y1=self.y1 * down, x2=self.x2 * across, y2=self.y2 * down)

    def moved(self, right: float, down: float) -> Box:
        """Return the box shifted by ``right`` and ``down`` pixels."""
        return Box(x1=self.x1 + right, y1=self.y1 + down, x2=self.x2 + right, y2=self.y2 + down)

    def enlarged(self, share: float, down: float | None = None) -> Box:
        """Return the box with margins: ``share`` of its width on each side, ``down`` (or ``share``) of its height."""
        x, y = share * self.width, (share if down is None else down) * self.height
        return Box(x1=self.x1 - x, y1=self.y1 - y, x2=self.x2 + x, y2=self.y2 + y)

    def holds(self, point: tuple[float, float]) -> bool:
        """Whether a point (x, y) is in the box or on its edge."""
        return self.x1 <= point[0] <= self.x2 and self.y1 <= point[1] <= self.y2

    def common(self, other: Box) -> Box | None:
        """Return the intersection of two boxes; None if its area is zero."""
        x1, y1, x2, y2 = max(self.x1, other.x1), max(self.y1, other.y1), min(self.x2, other.x2), min(self.y2, other.y2)
        return Box(x1=x1, y1=y1, x2=x2, y2=y2) if x2 > x1 and y2 > y1 else None

    def common_area(self, other: Box) -> float:
        """Return the area of the intersection of two boxes, in square pixels; 0 if there is none."""
        width = min(self.x2, other.x2) - max(self.x1, other.x1)
        height = min(self.y2, other.y2) - max(self.y1, other.y1)
        return width * height if width > 0.0 and height > 0.0 else 0.0

    def iou(self, other: Box) -> float:
        """Return intersection over union, 0 to 1."""
        shared = self.common_area(other)
        return shared / (self.area + other.area - shared) if shared > 0.0 else 0.0

    def rounded(self) -> list[float]:
        """Return the JSON form: ``[x1, y1, x2, y2]``, rounded to a tenth of a pixel."""
        return [round(float(value), 1) for value in (self.x1, self.y1, self.x2, self.y2)]

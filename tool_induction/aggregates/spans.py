"""Aggregates over time: merging, clipping, joining, ordering."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice, pairwise

from tool_induction.aggregates.items import Item, evidence_of, goodness, rank_key, span_of, times, value_at, with_span
from tool_induction.language import limits
from tool_induction.language.evaluation import Json, as_text
from world_api.core.canonical import canonical
from world_api.core.faults import ToolFault
from world_api.core.spans import TimeSpan, merge_spans, round_time

_SLACK = 1e-6  #: seconds; arithmetic on times is not exact
_MOST_LOOKS = 2_000_000  #: comparisons of spans in one aggregate


def interval_span(interval: Mapping[str, Json]) -> TimeSpan:
    """The span of an interval parameter.

    Raises:
        ToolFault: ``bad_interval``.
    """
    start, end = interval.get("start_time"), interval.get("end_time")
    if not isinstance(start, int | float) or not isinstance(end, int | float) or end < start:
        raise ToolFault("bad_interval", f"an interval runs from {start} to {end}", hint="start_time must come first")
    return TimeSpan(start=start, end=end)


def filter_in_interval(items: Sequence[Item], interval: Mapping[str, Json]) -> list[Json]:
    """Items that share a stretch with the interval, or whose one moment lies in it."""
    bounds = interval_span(interval)
    return [item for item in items if (span := span_of(item)) and _touches(span, bounds)]


def _touches(span: TimeSpan, bounds: TimeSpan) -> bool:
    return span.overlaps(bounds) or (span.duration == 0 and bounds.contains(span.start))


def clamp(items: Sequence[Item], interval: Mapping[str, Json]) -> list[Json]:
    """Items cut to the interval; what lies outside is dropped."""
    bounds = interval_span(interval)
    kept: list[Json] = []
    for item in items:
        span = span_of(item)
        if span is None or not isinstance(item, dict) or not _touches(span, bounds):
            continue
        kept.append(with_span(item, span.clip(bounds) or span))
    return kept


def dedupe_overlaps(items: Sequence[Item], iou: float = 0.5) -> list[Json]:
    """Of items whose stretches overlap by at least ``iou`` only the better one, in input order."""
    near = _Near(span for item in items if (span := span_of(item)))
    kept: list[int] = []
    for place in sorted(range(len(items)), key=lambda place: rank_key(items[place], place)):
        span = span_of(items[place])
        if span is None:
            kept.append(place)
        elif not any(span == other or span.iou(other) >= max(iou, 1e-9) for other, _ in near.within(span, 0.0)):
            kept.append(place)
            near.add(span, place)
    return [items[place] for place in sorted(kept)]


class _Near:
    """Spans in order of their start, so that only those near another one are looked at."""

    def __init__(self, expected: Iterable[TimeSpan]) -> None:
        self._longest = max((span.duration for span in expected), default=0.0)
        self._spans: list[tuple[float, int, TimeSpan]] = []
        self._looks = 0

    def add(self, span: TimeSpan, place: int) -> None:
        """Add a span, under the place of its item."""
        insort(self._spans, (span.start, place, span))

    def within(self, span: TimeSpan, gap: float) -> Iterator[tuple[TimeSpan, int]]:
        """At least all spans no more than ``gap`` seconds away, each with its place.

        Raises:
            ToolFault: ``too_many_items``: everything is near everything, and there is too much of it.
        """
        first = bisect_left(self._spans, (span.start - gap - self._longest - _SLACK,))
        for start, place, other in islice(self._spans, first, None):
            if start > span.end + gap + _SLACK:
                return
            self._looks += 1
            if self._looks > _MOST_LOOKS:
                raise ToolFault(
                    "too_many_items",
                    f"comparing so many overlapping items takes more than {_MOST_LOOKS} comparisons",
                    hint="narrow the lists first, for instance with filter_in_interval or top_k",
                )
            yield other, place


def merge_intervals(items: Sequence[Item], gap: float = 0.0) -> list[Json]:
    """Stretches that overlap or lie at most ``gap`` seconds apart, joined; in time order, with their evidence."""
    timed = [(_rounded(span), item) for item in items if (span := span_of(item))]
    spans = merge_spans((span for span, _ in timed), gap=max(0.0, gap))
    starts = [span.start for span in spans]
    inside: list[list[Item]] = [[] for _ in spans]
    for own, item in timed:
        inside[bisect_right(starts, own.start) - 1].append(item)
    return [
        times(span) | {"duration": round_time(span.duration), "evidence": _in_time_order(evidence_of(members))}
        for span, members in zip(spans, inside, strict=True)
    ]


def _in_time_order(evidence: list[Json]) -> list[Json]:
    """Evidence by time, so that it does not depend on the order of the items that carried it."""
    return sorted(evidence, key=lambda piece: (_start(piece), canonical(piece)))


def _rounded(span: TimeSpan) -> TimeSpan:
    """The span as it is written down, so that merging what was merged changes nothing."""
    return TimeSpan(start=round_time(span.start), end=round_time(span.end))


def total_duration(items: Sequence[Item]) -> float:
    """Seconds covered by the items; what overlaps counts once."""
    spans = [_rounded(span) for item in items if (span := span_of(item))]
    return round_time(sum(span.duration for span in merge_spans(spans)))


def sample_times(interval: Mapping[str, Json], step: float, max_items: int) -> list[Json]:
    """Moments every ``step`` seconds from the start of the interval; if they are too many, evenly fewer."""
    bounds = interval_span(interval)
    if step <= 0 or not 1 <= max_items <= limits.MAX_SAMPLES:
        raise ToolFault(
            "bad_step",
            f"a step of {step} s, at most {max_items} moments",
            hint=f"both must be positive, and at most {limits.MAX_SAMPLES} moments can be asked for",
        )
    wanted = int(min(bounds.duration / step, 2.0 * max_items) + 1e-9) + 1
    if wanted > 1 and bounds.start + (wanted - 1) * step >= bounds.end:
        wanted -= 1
    if wanted > max_items:
        step, wanted = bounds.duration / max_items, max_items
    return [round_time(bounds.start + place * step) for place in range(wanted)]


def join_nearest_in_time(a: Sequence[Item], b: Sequence[Item], max_gap: float = 0.0) -> list[Json]:
    """For each item of ``a`` the nearest of ``b`` at most ``max_gap`` seconds away; without one it is left out."""
    joined: list[Json] = []
    others = [(span, place) for place, item in enumerate(b) if (span := span_of(item))]
    near = _Near(span for span, _ in others)
    for span, place in others:
        near.add(span, place)
    for item in a:
        own = span_of(item)
        if own is None:
            continue
        distances = [
            (max(0.0, other.start - own.end, own.start - other.end), abs(other.center - own.center), place)
            for other, place in near.within(own, max_gap)
        ]
        distance, _, place = min(distances, default=(float("inf"), 0.0, 0))
        if distance <= max_gap:
            pair: dict[str, Json] = {"a": item, "b": b[place], "dt": round_time(distance)}
            joined.append(pair | times(own) | {"evidence": evidence_of([item, b[place]])})
    return joined


def order_check(items: Sequence[Item], labels: Sequence[str] = ()) -> Json:
    """Whether the items start one after the other as they stand; null while one is missing, which are named."""
    names = [labels[place] if place < len(labels) else str(place + 1) for place in range(len(items))]
    spans = [span_of(item) for item in items]
    missing: list[Json] = [name for name, span in zip(names, spans, strict=True) if span is None]
    starts = [span.start for span in spans if span is not None]
    ordered = all(one < other for one, other in pairwise(starts))
    return {"ordered": None if missing else ordered, "missing": missing}


def ordered_pair(a: Sequence[Item], b: Sequence[Item]) -> Json:
    """The last ``a`` before the first ``b`` that follows one; null where no ``b`` follows an ``a``."""
    starts = [span.start for item in a if (span := span_of(item))]
    if not starts:
        return None
    following = [item for item in b if (span := span_of(item)) and span.start > min(starts)]
    if not following:
        return None
    later = min(following, key=lambda item: (_start(item), -goodness(item)))
    before = [item for item in a if span_of(item) is not None and _start(item) < _start(later)]
    earlier = max(before, key=lambda item: (_start(item), goodness(item)))
    return {"a": earlier, "b": later, "evidence": evidence_of([earlier, later])}


def _start(item: Item) -> float:
    span = span_of(item)
    return float("inf") if span is None else span.start


def concat_text(
    items: Sequence[Item],
    key: str | None = None,
    sep: str = "\n",
    max_chars: int = 2000,
    with_times: bool = False,
) -> str:
    """The texts of the items, joined; whole texts are left out, and counted, so that it has at most ``max_chars``."""
    lines: list[str] = []
    for item in items:
        text = as_text(value_at(item, key)).strip()
        span = span_of(item) if with_times else None
        if text:
            lines.append(text if span is None else f"[{span.start:.1f}-{span.end:.1f} s] {text}")
    lengths = list(accumulate(len(line) + len(sep) for line in lines))
    if not lines or lengths[-1] - len(sep) <= max_chars:
        return sep.join(lines)
    for kept in range(len(lines) - 1, 0, -1):
        more = f"(+{len(lines) - kept} more)"
        if lengths[kept - 1] + len(more) <= max_chars:
            return sep.join([*lines[:kept], more])
    return lines[0][: max(0, max_chars)]

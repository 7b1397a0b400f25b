"""The aggregates as functions of lists of items, and how they read values, times and evidence of an item.

All are deterministic and defined on the empty list. Ties are broken by confidence (else score), then by input order.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice, pairwise
from typing import TypeAlias, TypeGuard

from tool_induction import limits
from tool_induction.language.evaluation import Json, as_text, weight
from world_api.core.canonical import canonical_json
from world_api.core.faults import ToolFault
from world_api.core.spans import TimeSpan, merge_spans, round_time

Item: TypeAlias = Json
Record: TypeAlias = "dict[str, Json]"
_FLAT_RECORD = 200  #: largest weight of a piece of evidence: its values, and text by its length


def value_at(item: Item, key: str | None) -> Json:
    """Return the value under a key (``a.b`` for nested records), or None; without a key the item itself."""
    if key is None:
        return item
    value = item
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def number_at(item: Item, key: str | None) -> float | int | None:
    """Return the finite number under a key; None if there is none. A boolean is not a number."""
    return _number(value_at(item, key))


def _number(value: Json) -> float | int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if isinstance(value, int) or math.isfinite(value) else None


def span_of(item: Item) -> TimeSpan | None:
    """Return the span of an item in seconds, from its start to its end or of its one moment; None if it has no time."""
    if (moment := number_at(item, None)) is not None:
        return TimeSpan(start=moment, end=moment)
    if not isinstance(item, dict):
        return None
    start = _number(item.get("start_time"))
    if start is None:
        start = _number(item.get("timestamp"))
    if start is None:
        return None
    end = _number(item.get("end_time"))
    return TimeSpan(start=start, end=start if end is None or end < start else end)


def goodness(item: Item) -> float:
    """Return the confidence of an item, else its score; minus infinity if it has neither."""
    if isinstance(item, dict):
        for key in ("confidence", "score"):
            value = number_at(item, key)
            if value is not None:
                return float(value)
    return float("-inf")


def with_span(item: Record, span: TimeSpan) -> Record:
    """Return the item with the times of another span; a ``duration`` is changed only if the item has one."""
    moved = item | times(span)
    if "duration" in item:
        moved["duration"] = round_time(span.duration)
    return moved


def times(span: TimeSpan) -> Record:
    """Return ``start_time``, ``end_time`` and ``center_time`` of a span, in seconds, rounded to milliseconds."""
    return {
        "start_time": round_time(span.start),
        "end_time": round_time(span.end),
        "center_time": round_time(span.center),
    }


def is_evidence(item: Item) -> TypeGuard[Record]:
    """Whether an item is itself a piece of evidence: a small record with ``frame_time`` and ``source``."""
    return (
        isinstance(item, dict)
        and "frame_time" in item
        and "source" in item
        and weight(item, most=_FLAT_RECORD) <= _FLAT_RECORD
    )


def evidence_of(items: Sequence[Item], *, most: int | None = None) -> list[Json]:
    """Return the pieces of evidence that the items contain, or are, in order and without repetitions.

    ``most``: only so many pieces are read, repetitions included.
    """
    pieces = list(islice(_pieces(items), most))
    if len(pieces) < 2:
        return pieces
    found: dict[str, Json] = {}
    seen: dict[int, Json] = {}  # items that came from one call carry the very same pieces; each is written out once
    for piece in pieces:
        if id(piece) not in seen:
            seen[id(piece)] = piece
            found.setdefault(canonical_json(piece), piece)
    return list(found.values())


def _pieces(items: Sequence[Item]) -> Iterator[Json]:
    for item in items:
        if isinstance(item, list):
            yield from _pieces(item)
        elif is_evidence(item):
            yield item
        elif isinstance(item, dict) and isinstance(carried := item.get("evidence"), list):
            yield from _pieces(carried)


def rank_key(item: Item, place: int) -> tuple[float, int]:
    """Return a sort key that breaks ties: the item with the higher confidence or score first, then input order."""
    return (-goodness(item), place)


def _first_by(items: Sequence[Item], key: Callable[[Item], tuple[float, ...] | None]) -> Json:
    """Return the item with the smallest key. If all keys are None, it is the first item; without items None."""
    keyed = [(key(item), rank_key(item, place), place) for place, item in enumerate(items)]
    ranked = [(value, rank, place) for value, rank, place in keyed if value is not None]
    return items[min(ranked)[-1]] if ranked else first(items)


def pick_earliest(items: Sequence[Item]) -> Json:
    """The item that starts first, or null of none."""
    return _first_by(items, lambda item: (span.start,) if (span := span_of(item)) else None)


def pick_latest(items: Sequence[Item]) -> Json:
    """The item that ends last, or null of none."""
    return _first_by(items, lambda item: (-span.end,) if (span := span_of(item)) else None)


def pick_longest(items: Sequence[Item]) -> Json:
    """The item that lasts longest, or null of none."""
    # of equally long items the earliest; of items without times the best
    chosen = _first_by(items, lambda item: (-span.duration, span.start) if (span := span_of(item)) else None)
    return chosen if span_of(chosen) else _first_by(items, lambda item: ())


def pick_best(items: Sequence[Item], key: str | None = None) -> Json:
    """The item with the highest value under key (left out: confidence, else score), or null of none."""

    def rank(item: Item) -> tuple[float] | None:
        number = goodness(item) if key is None else number_at(item, key)
        return None if number is None or number == float("-inf") else (-number,)

    return _first_by(items, rank)


def first(items: Sequence[Item]) -> Json:
    """The first item, or null of none."""
    return items[0] if items else None


def nth(items: Sequence[Item], n: int) -> Json:
    """The item at n, from 0 or from the end where negative, or null."""
    return items[n] if -len(items) <= n < len(items) else None


def next_after(items: Sequence[Item], time: float) -> Json:
    """The first item that starts after a time, or null."""
    # an item that starts at the time is not its own successor
    return pick_earliest([item for item in items if (span := span_of(item)) and span.start > time])


def previous_before(items: Sequence[Item], time: float) -> Json:
    """The last item that started before a time and is over, or null."""
    return pick_latest([item for item in items if (span := span_of(item)) and span.start < time and span.end <= time])


def _sortable(value: Json) -> tuple[int, float, str] | None:
    """Return a sort key: numbers before texts, true and false as 1 and 0; None for any other value."""
    if isinstance(value, str):
        return (1, 0.0, value)
    number = float(value) if isinstance(value, bool) else number_at(value, None)
    return None if number is None else (0, float(number), "")


def sort_by(items: Sequence[Item], key: str | None = None, descending: bool = False) -> list[Json]:
    """The items in the order of key."""
    # stable; items without a value come last
    keyed = [(value, item) for item in items if (value := _sortable(value_at(item, key))) is not None]
    keyed.sort(key=lambda pair: -goodness(pair[1]))
    keyed.sort(key=lambda pair: pair[0], reverse=descending)
    return [*(item for _, item in keyed), *(item for item in items if _sortable(value_at(item, key)) is None)]


def top_k(items: Sequence[Item], k: int, key: str | None = None) -> list[Json]:
    """The first k items; with key, the k highest."""
    ordered = list(items) if key is None else sort_by(items, key, descending=True)
    return ordered[: max(0, k)]


def filter_by_score(
    items: Sequence[Item], min_score: float, key: str = "confidence", keep_null: bool = True
) -> list[Json]:
    """The items whose confidence is at least min_score; null passes unless keep_null is false."""
    values = ((item, number_at(item, key)) for item in items)
    return [item for item, value in values if (keep_null if value is None else value >= min_score)]


def _token(value: Json) -> str:
    """Return a value as a text to look it up by; 1 and 1.0 are one value, 1 and true are two."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _with_tokens(items: Sequence[Item], key: str | None) -> list[tuple[Item, str | None]]:
    """Return each item with the token of its value under ``key`` (None: of the item), or with None if it has no value."""
    values = ((item, value_at(item, key)) for item in items)
    return [(item, None if value is None else _token(value)) for item, value in values]


def _tokens(items: Sequence[Item], key: str | None) -> list[str]:
    return [token for _, token in _with_tokens(items, key) if token is not None]


def concat_lists(lists: Sequence[Sequence[Item]]) -> list[Json]:
    """The items of all lists, list after list."""
    return [item for one in lists for item in one]


def count(items: Sequence[Item]) -> int:
    """How many items there are."""
    return len(items)


def any_(flags: Sequence[bool]) -> bool:
    """Whether the condition holds for one item (left out: whether there is one)."""
    return any(flags)


def all_(flags: Sequence[bool]) -> bool:
    """Whether the condition holds for every item; true of none."""
    return all(flags)


def count_distinct(items: Sequence[Item], key: str | None = None) -> int:
    """How many different values there are, under key or of the items themselves."""
    # items without a value are not counted
    return len({*_tokens(items, key)})


def dedupe_by(items: Sequence[Item], key: str | None = None) -> list[Json]:
    """The first item of each value."""
    # items without a value are all kept
    seen: set[str] = set()
    kept: list[Json] = []
    for item, token in _with_tokens(items, key):
        if token is None or token not in seen:
            kept.append(item)
        seen |= {token} if token is not None else set()
    return kept


def intersect_by(a: Sequence[Item], b: Sequence[Item], key: str | None = None) -> list[Json]:
    """The items of a whose value occurs in b."""
    there = {*_tokens(b, key)}
    return [item for item, token in _with_tokens(a, key) if token in there]


def difference_by(a: Sequence[Item], b: Sequence[Item], key: str | None = None) -> list[Json]:
    """The items of a whose value does not occur in b."""
    there = {*_tokens(b, key)}
    return [item for item, token in _with_tokens(a, key) if token not in there]


def group_by(items: Sequence[Item], key: str) -> list[Json]:
    """A record {key, items} for each value, in order of first occurrence."""
    # null is a group of its own
    groups: dict[str | None, tuple[Json, list[Json]]] = {}
    for item, token in _with_tokens(items, key):
        groups.setdefault(token, (value_at(item, key), []))[1].append(item)
    return [{"key": value, "items": members} for value, members in groups.values()]


def _numbers(items: Sequence[Item], key: str | None) -> list[float | int]:
    return [number for item in items if (number := number_at(item, key)) is not None]


def sum_(items: Sequence[Item], key: str | None = None) -> float | int:
    """The sum of the values; 0 of none."""
    # a whole number if all values are
    numbers = _numbers(items, key)
    whole = [number for number in numbers if isinstance(number, int)]
    return sum(whole) if len(whole) == len(numbers) else math.fsum(numbers)


def avg(items: Sequence[Item], key: str | None = None) -> float | None:
    """The mean of the values, or null of none."""
    numbers = _numbers(items, key)
    return math.fsum(numbers) / len(numbers) if numbers else None


def min_(items: Sequence[Item], key: str | None = None) -> float | int | None:
    """The smallest value, or null of none."""
    return min(_numbers(items, key), default=None)


def max_(items: Sequence[Item], key: str | None = None) -> float | int | None:
    """The largest value, or null of none."""
    return max(_numbers(items, key), default=None)


def mode(items: Sequence[Item], key: str | None = None) -> Json:
    """The most frequent value, or null of none."""
    # of equally frequent values the first
    most = Counter(_tokens(items, key)).most_common(1)
    return (
        next(value_at(item, key) for item, token in _with_tokens(items, key) if token == most[0][0]) if most else None
    )


def collect_evidence(items: Sequence[Item]) -> list[Json]:
    """The evidence of any mix of items, each piece once."""
    return evidence_of(items)


_SLACK = 1e-6  #: seconds; arithmetic on times is not exact
_MOST_LOOKS = 2_000_000  #: comparisons of spans in one aggregate


def interval_span(interval: Mapping[str, Json]) -> TimeSpan:
    """Return the span of an interval parameter ``{start_time, end_time}`` (seconds).

    Raises:
        ToolFault: ``bad_interval``, if a bound is missing or the end is before the start.
    """
    start, end = interval.get("start_time"), interval.get("end_time")
    if not isinstance(start, int | float) or not isinstance(end, int | float) or end < start:
        raise ToolFault("bad_interval", f"an interval runs from {start} to {end}", hint="start_time must come first")
    return TimeSpan(start=start, end=end)


def filter_in_interval(items: Sequence[Item], interval: Mapping[str, Json]) -> list[Json]:
    """The items that overlap the interval."""
    # an item of one moment stays if that is in the interval
    bounds = interval_span(interval)
    return [item for item in items if (span := span_of(item)) and _touches(span, bounds)]


def _touches(span: TimeSpan, bounds: TimeSpan) -> bool:
    return span.overlaps(bounds) or (span.duration == 0 and bounds.contains(span.start))


def clamp(items: Sequence[Item], interval: Mapping[str, Json]) -> list[Json]:
    """The items that overlap the interval, cut to it."""
    bounds = interval_span(interval)
    kept: list[Json] = []
    for item in items:
        span = span_of(item)
        if span is None or not isinstance(item, dict) or not _touches(span, bounds):
            continue
        kept.append(with_span(item, span.clip(bounds) or span))
    return kept


def dedupe_overlaps(items: Sequence[Item], iou: float = 0.5) -> list[Json]:
    """Of items that overlap by iou (left out: 0.5) or more, the better one."""
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
    """Spans sorted by start, so that a span is compared only with those near it."""

    def __init__(self, expected: Iterable[TimeSpan]) -> None:
        self._longest = max((span.duration for span in expected), default=0.0)
        self._spans: list[tuple[float, int, TimeSpan]] = []
        self._looks = 0

    def add(self, span: TimeSpan, place: int) -> None:
        """Add the span of the item at index ``place``."""
        insort(self._spans, (span.start, place, span))

    def within(self, span: TimeSpan, gap: float) -> Iterator[tuple[TimeSpan, int]]:
        """Yield all spans at most ``gap`` seconds away, and possibly some more, each with the index of its item.

        Raises:
            ToolFault: ``too_many_items``, after two million comparisons.
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
    """Intervals with no more than gap seconds between them joined, with their evidence."""
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
    """Return evidence sorted by time, so that it does not depend on the order of the items."""
    return sorted(evidence, key=lambda piece: (_start(piece), canonical_json(piece)))


def _rounded(span: TimeSpan) -> TimeSpan:
    """Return the span with rounded times, as results have them, so that merging merged intervals changes nothing."""
    return TimeSpan(start=round_time(span.start), end=round_time(span.end))


def total_duration(items: Sequence[Item]) -> float:
    """The seconds covered, overlaps counted once."""
    spans = [_rounded(span) for item in items if (span := span_of(item))]
    return round_time(sum(span.duration for span in merge_spans(spans)))


def sample_times(interval: Mapping[str, Json], step: float, max_items: int) -> list[Json]:
    """Moments every step seconds of the interval, at most max_items and 2000."""
    # if they are too many, fewer at equal distances
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
    """{a, b, dt} for each a that has a b within max_gap seconds."""
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
    """{ordered, missing} of a list of items; ordered is null while one is missing; labels name the places."""
    names = [labels[place] if place < len(labels) else str(place + 1) for place in range(len(items))]
    spans = [span_of(item) for item in items]
    missing: list[Json] = [name for name, span in zip(names, spans, strict=True) if span is None]
    starts = [span.start for span in spans if span is not None]
    ordered = all(one < other for one, other in pairwise(starts))
    return {"ordered": None if missing else ordered, "missing": missing}


def ordered_pair(a: Sequence[Item], b: Sequence[Item]) -> Json:
    """{a, b}: the last a before the first b that follows one, or null."""
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
    items: Sequence[Item], key: str | None = None, sep: str = "\n", max_chars: int = 2000, with_times: bool = False
) -> str:
    """The texts joined by sep, at most max_chars; what does not fit is counted; with_times puts times before them."""
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

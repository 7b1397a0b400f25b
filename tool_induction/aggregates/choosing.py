"""Aggregates that choose one item, or some. Every tie: by key, then the better one, then input order."""

from __future__ import annotations

from collections.abc import Sequence

from tool_induction.aggregates.items import Item, goodness, number_at, rank_key, span_of, value_at
from tool_induction.language.evaluation import Json


def _ordered(items: Sequence[Item], keys: Sequence[float | None]) -> list[Item]:
    """Items by ascending key; those without a key come last, in input order."""
    places = [place for place, key in enumerate(keys) if key is not None]
    places.sort(key=lambda place: (keys[place], *rank_key(items[place], place)))
    rest = [place for place, key in enumerate(keys) if key is None]
    return [items[place] for place in (*places, *rest)]


def _one(ordered: Sequence[Item]) -> Json:
    return ordered[0] if ordered else None


def pick_earliest(items: Sequence[Item]) -> Json:
    """The item that starts first."""
    return _one(_ordered(items, [span.start if (span := span_of(item)) else None for item in items]))


def pick_latest(items: Sequence[Item]) -> Json:
    """The item that ends last."""
    return _one(_ordered(items, [-span.end if (span := span_of(item)) else None for item in items]))


def pick_longest(items: Sequence[Item]) -> Json:
    """The item that lasts longest; of equals the earliest."""
    spans = [span_of(item) for item in items]
    places = sorted(
        range(len(items)),
        key=lambda place: (
            (-span.duration, span.start) if (span := spans[place]) else (float("inf"), 0.0),
            rank_key(items[place], place),
        ),
    )
    return _one([items[place] for place in places])


def pick_best(items: Sequence[Item], key: str | None = None) -> Json:
    """The item with the highest value under ``key`` (left out: its confidence, else its score)."""
    if key is None:
        keys: list[float | None] = [None if (good := goodness(item)) == float("-inf") else -good for item in items]
    else:
        keys = [None if (number := number_at(item, key)) is None else -number for item in items]
    return _one(_ordered(items, keys))


def first(items: Sequence[Item]) -> Json:
    """The first item as the list stands."""
    return _one(items)


def nth(items: Sequence[Item], n: int) -> Json:
    """The item at place ``n``, counted from 0, or from the end where negative."""
    return items[n] if -len(items) <= n < len(items) else None


def next_after(items: Sequence[Item], time: float) -> Json:
    """The first item that starts after ``time``; so one that starts there is not its own successor."""
    return pick_earliest([item for item in items if (span := span_of(item)) and span.start > time])


def previous_before(items: Sequence[Item], time: float) -> Json:
    """The last item that started before ``time`` and was over by then."""
    return pick_latest([item for item in items if (span := span_of(item)) and span.start < time and span.end <= time])


def _sortable(value: Json) -> tuple[int, float, str] | None:
    """Numbers come before texts; true and false are 1 and 0."""
    if isinstance(value, str):
        return (1, 0.0, value)
    number = float(value) if isinstance(value, bool) else number_at(value, None)
    return None if number is None else (0, float(number), "")


def sort_by(items: Sequence[Item], key: str | None = None, descending: bool = False) -> list[Json]:
    """Items by the value under ``key``; those without one come last. Stable."""
    keyed = [(_sortable(value_at(item, key)), place) for place, item in enumerate(items)]
    having = [(value, place) for value, place in keyed if value is not None]
    by_tie = sorted(having, key=lambda pair: rank_key(items[pair[1]], pair[1]))
    by_tie.sort(key=lambda pair: pair[0], reverse=descending)
    rest = [place for value, place in keyed if value is None]
    return [items[place] for place in (*(place for _, place in by_tie), *rest)]


def top_k(items: Sequence[Item], k: int, key: str | None = None) -> list[Json]:
    """The first ``k`` items; with a key, those with the highest value under it."""
    ordered = list(items) if key is None else sort_by(items, key, descending=True)
    return ordered[: max(0, k)]


def filter_by_score(
    items: Sequence[Item], min_score: float, key: str = "confidence", keep_null: bool = True
) -> list[Json]:
    """Items whose confidence is at least ``min_score``; one that nobody calibrated passes unless told otherwise."""
    kept: list[Json] = []
    for item in items:
        value = number_at(item, key)
        if keep_null if value is None else value >= min_score:
            kept.append(item)
    return kept

"""Aggregates over keys: sets, groups, counts and numbers of items."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from tool_induction.aggregates.items import Item, evidence_of, number_at, value_at
from tool_induction.language.evaluation import Json


def _token(value: Json) -> str:
    """A value as something that can be looked up; 1 and 1.0 are one value, 1 and true are two."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _tokens(items: Sequence[Item], key: str | None) -> list[str | None]:
    return [None if (value := value_at(item, key)) is None else _token(value) for item in items]


def concat_lists(lists: Sequence[Sequence[Item]]) -> list[Json]:
    """The lists one after the other."""
    return [item for one in lists for item in one]


def count(items: Sequence[Item]) -> int:
    """How many items."""
    return len(items)


def any_(flags: Sequence[bool]) -> bool:
    """Whether one holds; false of none."""
    return any(flags)


def all_(flags: Sequence[bool]) -> bool:
    """Whether each holds; true of none."""
    return all(flags)


def count_distinct(items: Sequence[Item], key: str | None = None) -> int:
    """How many different values; items without one are not counted."""
    return len({token for token in _tokens(items, key) if token is not None})


def dedupe_by(items: Sequence[Item], key: str | None = None) -> list[Json]:
    """The first item of each value; items without one are all kept."""
    seen: set[str] = set()
    kept: list[Json] = []
    for item, token in zip(items, _tokens(items, key), strict=True):
        if token is None or token not in seen:
            kept.append(item)
        if token is not None:
            seen.add(token)
    return kept


def intersect_by(a: Sequence[Item], b: Sequence[Item], key: str | None = None) -> list[Json]:
    """Items of ``a`` whose value is also in ``b``."""
    there = {token for token in _tokens(b, key) if token is not None}
    return [item for item, token in zip(a, _tokens(a, key), strict=True) if token in there]


def difference_by(a: Sequence[Item], b: Sequence[Item], key: str | None = None) -> list[Json]:
    """Items of ``a`` whose value is not in ``b``."""
    there = {token for token in _tokens(b, key) if token is not None}
    return [item for item, token in zip(a, _tokens(a, key), strict=True) if token not in there]


def group_by(items: Sequence[Item], key: str) -> list[Json]:
    """``{key, items}`` for each value, in order of first appearance; null is a group of its own."""
    groups: dict[str | None, dict[str, Json]] = {}
    for item, token in zip(items, _tokens(items, key), strict=True):
        group = groups.setdefault(token, {"key": value_at(item, key), "items": []})
        members = group["items"]
        if isinstance(members, list):
            members.append(item)
    return [*groups.values()]


def _numbers(items: Sequence[Item], key: str | None) -> list[float | int]:
    return [number for item in items if (number := number_at(item, key)) is not None]


def sum_(items: Sequence[Item], key: str | None = None) -> float | int:
    """The sum of the numbers, whole where all of them are; 0 of none."""
    numbers = _numbers(items, key)
    whole = [number for number in numbers if isinstance(number, int)]
    return sum(whole) if len(whole) == len(numbers) else math.fsum(numbers)


def avg(items: Sequence[Item], key: str | None = None) -> float | None:
    """The mean of the numbers; null of none."""
    numbers = _numbers(items, key)
    return math.fsum(numbers) / len(numbers) if numbers else None


def min_(items: Sequence[Item], key: str | None = None) -> float | int | None:
    """The smallest number; null of none."""
    return min(_numbers(items, key), default=None)


def max_(items: Sequence[Item], key: str | None = None) -> float | int | None:
    """The largest number; null of none."""
    return max(_numbers(items, key), default=None)


def mode(items: Sequence[Item], key: str | None = None) -> Json:
    """The most frequent value, of equals the first seen; null of none."""
    counts: dict[str, int] = {}
    values: dict[str, Json] = {}
    for item, token in zip(items, _tokens(items, key), strict=True):
        if token is not None:
            counts[token] = counts.get(token, 0) + 1
            values.setdefault(token, value_at(item, key))
    return values[max(counts, key=lambda token: counts[token])] if counts else None


def collect_evidence(items: Sequence[Item]) -> list[Json]:
    """The evidence of any mix of items, in order, once each."""
    return evidence_of(items)

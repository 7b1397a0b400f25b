"""What aggregates see of an item: its value under a key, its span, how good it is, its evidence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TypeAlias, TypeGuard

from tool_induction.language.evaluation import Json
from tool_induction.language.weighing import weight
from world_api.core.canonical import canonical
from world_api.core.spans import TimeSpan, round_time

Item: TypeAlias = Json
Record: TypeAlias = "dict[str, Json]"
_FLAT_RECORD = 200  #: values (and text by the line) of one piece of evidence


def value_at(item: Item, key: str | None) -> Json:
    """The value under a key (``a.b`` reaches into records); the item itself where no key is given."""
    if key is None:
        return item
    value = item
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def number_at(item: Item, key: str | None) -> float | int | None:
    """The number under a key; None where there is none, or none that can be computed with."""
    return _number(value_at(item, key))


def _number(value: Json) -> float | int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if isinstance(value, int) or math.isfinite(value) else None


def span_of(item: Item) -> TimeSpan | None:
    """The stretch an item stands for: its start and end, or its one moment. None where it has none."""
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
    """How good an item is said to be: its confidence, else its score; nothing said is worst."""
    if isinstance(item, dict):
        for key in ("confidence", "score"):
            value = number_at(item, key)
            if value is not None:
                return float(value)
    return float("-inf")


def with_span(item: Record, span: TimeSpan) -> Record:
    """The item over another stretch; centre and duration follow."""
    moved = item | times(span)
    if "duration" in item:
        moved["duration"] = round_time(span.duration)
    return moved


def times(span: TimeSpan) -> Record:
    """The three times of a stretch, rounded."""
    return {
        "start_time": round_time(span.start),
        "end_time": round_time(span.end),
        "center_time": round_time(span.center),
    }


def is_evidence(item: Item) -> TypeGuard[Record]:
    """Whether an item is itself a piece of evidence: a flat record that names its frame and its source."""
    return (
        isinstance(item, dict)
        and "frame_time" in item
        and "source" in item
        and (_is_small(item) or weight(item, most=_FLAT_RECORD) <= _FLAT_RECORD)
    )


def _is_small(record: Record) -> bool:
    """Whether a record is within the bound for certain: nearly every piece of evidence is, and there are many."""
    return len(record) <= 16 and all(
        value is None or isinstance(value, int | float) or (isinstance(value, str) and len(value) <= 160)
        for value in record.values()
    )


def evidence_of(items: Sequence[Item], *, most: int | None = None) -> list[Json]:
    """The evidence the items carry, or are, in order and once each; of the first ``most`` pieces, if that is given."""
    pieces = list(islice(_pieces(items), most))
    if len(pieces) < 2:
        return pieces
    found: dict[str, Json] = {}
    seen: dict[int, Json] = {}  # items that came from one call carry the very same pieces; each is written out once
    for piece in pieces:
        if id(piece) not in seen:
            seen[id(piece)] = piece
            found.setdefault(canonical(piece), piece)
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
    """Ties are broken by what is said to be better, then by input order."""
    return (-goodness(item), place)

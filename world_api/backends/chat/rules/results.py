"""Reading tool results of any shape: stretches of time, sentences, numbers."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from world_api.backends.chat.marking import DATA
from world_api.core.canonical import parse_json
from world_api.core.spans import TimeSpan

_SENTENCES = ("caption", "answer", "summary", "snippet", "content", "brief_caption", "text")
#: What says how a result came about; its stretches are not found ones.
_ASIDE = frozenset(
    (
        "evidence",
        "cost",
        "calls",
        "warnings",
        "judged",
        "matched",
        "unmatched",
        "not_found",
        "not_judged",
        "not_examined",
    )
)


def read_result(content: Any) -> dict[str, Any]:
    """The result in a tool message; empty for a fault or for what is not a JSON object."""
    try:
        value = parse_json(content) if isinstance(content, str) else content
    except ValueError:
        return {}
    if not isinstance(value, dict) or "error" in value:
        return {}
    data = value.get(DATA, value)
    if not isinstance(data, dict) or set(data) == {"error"}:
        return {}
    return data if data.get("status") not in ("empty", "error") else {}


def spans_in(result: Any) -> list[TimeSpan]:
    """The stretches a result holds, in its order; those of an inner level come later, evidence last."""
    found = [span for node in _records(result) if (span := span_of(node)) is not None]
    if found or not isinstance(result, Mapping):
        return found
    return [span for node in _records(result.get("evidence")) if (span := span_of(node)) is not None]


def span_of(record: Mapping[str, Any]) -> TimeSpan | None:
    """The stretch that a record's ``start_time`` and ``end_time`` give, if they do."""
    start, end = record.get("start_time"), record.get("end_time")
    if not (is_number(start) and is_number(end)) or not 0 <= start <= end < 1e9:
        return None
    return TimeSpan(start=float(start), end=float(end))


def records_in(result: Any) -> list[Mapping[str, Any]]:
    """The records of the first list that a result holds."""
    for node in _records(result):
        for key, value in node.items():
            if key not in _ASIDE and isinstance(value, list) and value and isinstance(value[0], Mapping):
                return [item for item in value if isinstance(item, Mapping)]
    return []


def sentence_in(result: Any) -> str:
    """The first sentence a result holds under a name that sentences have; empty if there is none."""
    for node in _records(result):
        for key in _SENTENCES:
            value = node.get(key)
            if isinstance(value, str) and value.strip():
                return value.strip()
    return ""


def count_in(result: Any) -> int | None:
    """The first whole number a result holds under a name that counts have."""
    for node in _records(result):
        for key, value in node.items():
            named = any(word in key.lower() for word in ("count", "number", "total", "how_many"))
            if named and is_number(value) and float(value).is_integer():
                return int(value)
    return None


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a JSON value is a number (true and false are not)."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _records(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every record inside a value, outer ones first."""
    waiting = deque([value])
    while waiting:
        node = waiting.popleft()
        if isinstance(node, Mapping):
            yield node
            waiting.extend(item for key, item in node.items() if key not in _ASIDE)
        elif isinstance(node, list):
            waiting.extend(node)

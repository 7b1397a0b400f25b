"""The spans an answer cites, and whether a tool ever returned them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from world_api.core.spans import TimeSpan, round_time

#: A model that rounds to whole seconds still cites the span it was given.
ROUNDING_SECONDS = 0.5
_MOMENTS = ("timestamp", "frame_time", "time", "center_time", "first_time", "last_time")


@dataclass(frozen=True, kw_only=True)
class CitedSpan:
    """A span the answer cites, in seconds, and the ids of the calls that returned it; if none did, it is flagged."""

    start_time: float
    end_time: float
    returned_by: list[str]


def cite(spans: Sequence[TimeSpan], results: Iterable[tuple[str, Any]]) -> list[CitedSpan]:
    """Match the cited spans against what calls returned, given as (call id, result)."""
    if not spans:
        return []
    returned = [(call_id, span) for call_id, result in results for span in spans_in(result)]
    cited = []
    for span in spans:
        calls = dict.fromkeys(call_id for call_id, other in returned if _same(span, other))
        cited.append(
            CitedSpan(start_time=round_time(span.start), end_time=round_time(span.end), returned_by=list(calls))
        )
    return cited


def spans_in(value: Any) -> Iterator[TimeSpan]:
    """Every stretch and every moment that a result holds, at any depth."""
    if isinstance(value, Mapping):
        start, end = value.get("start_time"), value.get("end_time")
        if _is_time(start) and _is_time(end) and start <= end:
            yield TimeSpan(start=float(start), end=float(end))
        for key in _MOMENTS:
            moment = value.get(key)
            if _is_time(moment):
                yield TimeSpan(start=float(moment), end=float(moment))
        for item in value.values():
            yield from spans_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from spans_in(item)


def _same(left: TimeSpan, right: TimeSpan) -> bool:
    return abs(left.start - right.start) <= ROUNDING_SECONDS and abs(left.end - right.end) <= ROUNDING_SECONDS


def _is_time(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9

"""The spans an answer cites, and whether the model was ever given them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from world_api.core.spans import TimeSpan, round_time

#: A model that rounds to whole seconds still cites the span it was given.
ROUNDING_SECONDS = 0.5
#: Stands among the ids of calls for the digest in the first message.
DIGEST = "digest"
#: The last word of names under which moments stand (``frame_time``, ``told_until``), and words that name the ends of a stretch.
_MOMENT = frozenset({"time", "timestamp", "times", "timestamps", "moment", "at", "start", "end", "from", "until"})
_ENDS = {"start": "end", "first": "last", "from": "until"}
#: Texts that a tool writes, in which times in seconds stand: ``36.5 to 49.5 s``. All others quote the video or the model.
_TOLD = frozenset({"answer", "path_repr", "summary", "hint"})
_SECONDS = re.compile(r"(?<![\w.])(\d{1,8}(?:\.\d{1,3})?)(?: ?(?:-|–|to) ?(\d{1,8}(?:\.\d{1,3})?))? ?s\b", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class CitedSpan:
    """A span the answer cites, in seconds, and the ids of the calls that returned it, ``digest`` for the digest.

    If none did, it is flagged.
    """

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


def spans_in(value: Any, under: str = "") -> Iterator[TimeSpan]:
    """Every stretch and every moment that a result holds, at any depth, also as text that a tool wrote.

    A stretch is a pair of times in one record whose names differ in ``start`` and ``end``, ``first`` and ``last``, or ``from``
    and ``until``. ``under``: the name the value stands under; texts inside the ``outputs`` of a tool are its own.
    """
    if isinstance(value, Mapping):
        yield from _pairs(value)
        for key, item in value.items():
            yield from spans_in(item, under if under == "outputs" and isinstance(item, str) else str(key))
    elif isinstance(value, list):
        for item in value:
            yield from spans_in(item, under)
    elif isinstance(value, str):
        if under == "outputs" or under in _TOLD:
            yield from _spans_told(value)
    elif _is_time(value) and under.rpartition("_")[2] in _MOMENT:
        yield TimeSpan(start=float(value), end=float(value))


def _pairs(record: Mapping[str, Any]) -> Iterator[TimeSpan]:
    for key, start in record.items():
        words = str(key).split("_") if _is_time(start) else []
        for place, word in enumerate(words):
            if word in _ENDS:
                end = record.get("_".join([*words[:place], _ENDS[word], *words[place + 1 :]]))
                if _is_time(end) and start <= end:
                    yield TimeSpan(start=float(start), end=float(end))


def _spans_told(text: str) -> Iterator[TimeSpan]:
    for start, end in _SECONDS.findall(text):
        if float(start) <= float(end or start):
            yield TimeSpan(start=float(start), end=float(end or start))


def _same(left: TimeSpan, right: TimeSpan) -> bool:
    return abs(left.start - right.start) <= ROUNDING_SECONDS and abs(left.end - right.end) <= ROUNDING_SECONDS


def _is_time(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9

"""Which calls returned the time spans that an answer cites.

Whatever a model was given counts: intervals and moments of results, of the digest, and those that a tool's own texts
state. What the video says, or a model that looked at it, does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from world_api.core.canonical import is_finite_number
from world_api.core.spans import TimeSpan, round_time

#: Tolerance of citations: a model that rounds to whole seconds still cites the span that was returned.
ROUNDING_SECONDS = 0.5
#: The id of the digest in the first message, among the ids of calls.
DIGEST = "digest"
#: The last word of fields that hold moments (``frame_time``, ``told_until``), and words for the two ends of an interval.
_MOMENT = frozenset({"time", "timestamp", "times", "timestamps", "moment", "at", "start", "end", "from", "until"})
_ENDS = {"start": "end", "first": "last", "from": "until"}
#: Text fields written by code, with times in seconds: ``36.5 to 49.5 s``. Other texts repeat the video or a model. Quotations
#: are left out, and so are texts in a record whose evidence is a model's look at frames. What a tool's ``summary`` and
#: ``outputs`` repeat without quotes cannot be distinguished from the tool's own words.
_SECONDS_FIELDS = frozenset({"answer", "path_repr", "summary", "hint"})
_QUOTED = re.compile(r"""\"[^\"]*(?:\"|\Z)|“[^”]*(?:”|\Z)|「[^」]*(?:」|\Z)|(?<!\w)'(?:\\.|[^'\\])*(?:'|\Z)""")
_LOOK = "look"  #: the source of evidence by a model that looked at frames
_NUMBER = re.compile(r"(?<![\w.])\d{1,8}(?:\.\d+)?", re.ASCII)
_PRINTED = 0.06  #: largest difference in seconds between a time and its printed form
_SECONDS = re.compile(r"(?<![\w.])(\d{1,8}(?:\.\d{1,3})?)(?: ?(?:-|–|to) ?(\d{1,8}(?:\.\d{1,3})?))? ?s\b", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class CitedSpan:
    """A cited span (seconds); ``returned_by``: ids of the calls that returned it, or ``digest``; empty if unsupported."""

    start_time: float
    end_time: float
    returned_by: list[str]


def cite(spans: Sequence[TimeSpan], results: Iterable[tuple[str, Any, Any]]) -> list[CitedSpan]:
    """Match the cited spans against the spans that calls returned; ``results`` are (call id, result, arguments).

    Spans match if their starts and their ends differ by at most 0.5 s. An interval in a text is ignored if the
    arguments of the call contain both its ends: it only repeats the request.
    """
    if not spans:
        return []
    returned = [
        (call_id, span) for call_id, result, arguments in results for span in spans_in(result, arguments=arguments)
    ]
    cited = []
    for span in spans:
        calls = dict.fromkeys(
            call_id
            for call_id, other in returned
            if abs(span.start - other.start) <= ROUNDING_SECONDS and abs(span.end - other.end) <= ROUNDING_SECONDS
        )
        cited.append(
            CitedSpan(start_time=round_time(span.start), end_time=round_time(span.end), returned_by=list(calls))
        )
    return cited


def spans_in(result: Any, *, arguments: Any = None) -> Iterator[TimeSpan]:
    """Yield every interval and moment in a result, at any depth; a moment has equal start and end.

    An interval is a pair of times in one record whose names differ in ``start`` and ``end``, ``first`` and ``last``, or
    ``from`` and ``until``. Texts directly in the ``outputs`` of a tool and in fields such as ``summary`` are read,
    unless a vision model wrote them; a span in a text is left out if both its ends are among ``arguments``.
    """
    numbers = list(_numbers_in(arguments))
    for span, from_text in _spans_in(result, "", read_texts=True):
        if not (from_text and _is_among(span.start, numbers) and _is_among(span.end, numbers)):
            yield span


def _spans_in(value: Any, under: str, *, read_texts: bool) -> Iterator[tuple[TimeSpan, bool]]:
    """Yield the spans in the value of the field ``under``, each with whether it is from a text.

    Texts are read only if ``read_texts``.
    """
    if isinstance(value, Mapping):
        evidence = value.get("evidence")
        items = evidence if isinstance(evidence, list) else []
        # Texts beside evidence of a model that looked at frames are its own.
        read_texts = read_texts and not any(isinstance(one, Mapping) and one.get("source") == _LOOK for one in items)
        for span in _pairs(value):
            yield span, False
        for key, item in value.items():
            name = under if under == "outputs" and isinstance(item, str) else str(key)
            yield from _spans_in(item, name, read_texts=read_texts)
    elif isinstance(value, list):
        for item in value:
            yield from _spans_in(item, under, read_texts=read_texts)
    elif isinstance(value, str):
        if read_texts and (under == "outputs" or under in _SECONDS_FIELDS):
            for start, end in _SECONDS.findall(_QUOTED.sub('""', value)):
                if float(start) <= float(end or start):
                    yield TimeSpan(start=float(start), end=float(end or start)), True
    elif _is_time(value) and under.rpartition("_")[2] in _MOMENT:
        yield TimeSpan(start=float(value), end=float(value)), False


def _numbers_in(value: Any) -> Iterator[float]:
    """Yield the numbers in the arguments of a call, also those inside texts."""
    for _, leaf in leaves(value):
        if isinstance(leaf, str):
            yield from map(float, _NUMBER.findall(leaf))
        elif _is_time(leaf):
            yield float(leaf)


def leaves(value: Any, under: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (key, scalar) for the scalars of a JSON value in order; the key is the innermost around it, ``under`` if there is none."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves(item, str(key))
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item, under)
    else:
        yield under, value


def _is_among(time: float, numbers: Sequence[float]) -> bool:
    return any(abs(time - number) <= _PRINTED for number in numbers)


def _pairs(record: Mapping[str, Any]) -> Iterator[TimeSpan]:
    for key, start in record.items():
        words = str(key).split("_") if _is_time(start) else []
        for place, word in enumerate(words):
            if word in _ENDS:
                end = record.get("_".join([*words[:place], _ENDS[word], *words[place + 1 :]]))
                if _is_time(end) and start <= end:
                    yield TimeSpan(start=float(start), end=float(end))


def _is_time(value: Any) -> TypeGuard[float]:
    return is_finite_number(value) and 0 <= value < 1e9

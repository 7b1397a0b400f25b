"""The imagined film behind a schema world, with its moments and words, and the meaning of a call on it.

All choices depend on a seed alone; what a call refers to is read from the schema of its parameters.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from world_api.core.faults import OperationFault
from world_api.core.spans import TimeSpan
from world_api.operations import EVERY_OPERATION

VIDEO_ID = "film"
#: Words that are said and seen in the film by default.
WORDS = ("a red kettle", "two people talking", "the door opens", "a dog", "somebody writes", "rain on a window")
_SPACING = 10.0  #: seconds from one moment to the next
_MOMENTS = 200
#: seconds that moments of a crowded film last, at least and at most
_LENGTHS = ((0.2, 2.0), (2.0, 8.0), (2.0, 8.0), (8.0, 30.0), (30.0, 150.0))
_MAX_OVERLAP = 15  #: later moments that a moment of a crowded film may overlap
_WORD = 2**64 - 1


def draw(*parts: object) -> int:
    """Return a pseudo-random whole number that depends on the parts alone, on every machine."""
    text = "\x1f".join(map(repr, parts))
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def mixed(drawn: int, place: int) -> int:
    """Return another such number for each place (the finaliser of SplitMix64, Steele and others, 2014)."""
    number = (drawn + place * 0x9E3779B97F4A7C15) & _WORD
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _WORD
    return number ^ (number >> 31)


@lru_cache(maxsize=2 * _MOMENTS)
def _span(seed: int, place: int) -> TimeSpan:
    start = place * _SPACING + draw(seed, "start", place) % 30 / 10
    return TimeSpan(start=round(start, 3), end=round(start + 2 + draw(seed, "length", place) % 40 / 10, 3))


@lru_cache(maxsize=16 * _MOMENTS)
def _crowded_span(seed: int, place: int) -> TimeSpan:
    start = _span(seed, place).start
    shortest, longest = _LENGTHS[draw(seed, "kind of length", place) % len(_LENGTHS)]
    length = shortest + (longest - shortest) * (draw(seed, "length", place) % 1000) / 1000
    return TimeSpan(start=start, end=round(start + length, 3))


@dataclass(frozen=True, kw_only=True)
class Film:
    """A film of ``moments`` numbered intervals; ``ends`` is the end of it, or of its visible part, in seconds.

    The intervals last a few seconds and do not overlap. In a ``crowded`` film some are very short and some last minutes, neighbours
    overlap or touch, and one thing is reported more than once.
    """

    words: tuple[str, ...] = WORDS
    seed: int = 0
    moments: int = _MOMENTS
    ends: float = _MOMENTS * _SPACING
    crowded: bool = False

    def span(self, place: int) -> TimeSpan:
        """Return the interval of a moment, in seconds."""
        return _crowded_span(self.seed, place) if self.crowded else _span(self.seed, place)

    def place(self, time: float) -> int:
        """Return the number of the moment at, or before, a time."""
        return max(0, min(self.moments - 1, int(time // _SPACING)))

    def within(self, bounds: TimeSpan | None) -> list[int]:
        """Return the numbers of the moments that end before the film does and overlap ``bounds``."""
        first, last = (0, self.moments - 1) if bounds is None else (self.place(bounds.start), self.place(bounds.end))
        if self.crowded:
            first = max(0, first - _MAX_OVERLAP)
        spans = ((place, self.span(place)) for place in range(first, last + 1))
        return [place for place, span in spans if span.end <= self.ends and (bounds is None or span.overlaps(bounds))]

    def text(self, name: str, place: int, query: tuple[str, ...]) -> str:
        """Return the text of a field at a moment: sometimes exactly a word, else a sentence with one.

        The words of the query are used too, so that conditions on words hold for some moments and not for others.
        """
        words = tuple(dict.fromkeys((*query, *self.words)))
        word = words[(place + draw(self.seed, name) % 7) % len(words)]
        return word if place % 3 == 0 else f"{word}, as {name} of moment {place} has it"


_OWN_ID = re.compile(r"\w+-(\d{1,4})")
VIDEO = "video_id"
_AROUND = (1.0, 2.0)  #: seconds before and after a moment that an answer about it covers


@dataclass(frozen=True, kw_only=True)
class Question:
    """The meaning of a call: ``given`` are its arguments.

    ``about`` is the interval that the answer describes, ``confined`` one that it must stay in (a given moment is then ignored),
    ``most`` the largest number of entries, ``ids`` the things it is about, ``words`` the texts searched for.
    """

    given: Mapping[str, Any]
    about: TimeSpan | None = None
    confined: TimeSpan | None = None
    most: int | None = None
    ids: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


@lru_cache(maxsize=64)
def parameters_of(operation: str) -> dict[str, Any]:
    """Return the parameters' schema, cached."""
    return EVERY_OPERATION[operation].parameters_schema()


def resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return a schema without its reference and without null, and whether null is allowed."""
    if "$ref" in schema:
        inner, nullable = resolved(root.get("$defs", {}).get(str(schema["$ref"]).rsplit("/", 1)[-1], {}), root)
        return inner | {key: value for key, value in schema.items() if key == "default"}, nullable
    for word in ("anyOf", "oneOf"):
        if word in schema:
            parts = [part for part in schema[word] if part.get("type") != "null"]
            inner, nullable = resolved(parts[0], root) if parts else ({}, True)
            return inner, nullable or len(parts) < len(schema[word])
    return dict(schema), schema.get("type") == "null"


def understood(operation: str, arguments: Mapping[str, Any]) -> Question:
    """Return the meaning of a call.

    Raises:
        OperationFault: ``unknown_operation``, ``bad_arguments``, ``bad_time_range``.
    """
    if operation not in EVERY_OPERATION:
        raise OperationFault("unknown_operation", f"there is no operation {operation[:64]!r}")
    EVERY_OPERATION[operation].validate(arguments)
    schema = parameters_of(operation)
    required = set(schema.get("required", ()))
    times: dict[str, float] = {}
    about = confined = most = None
    ids: list[str] = []
    words: list[str] = []
    for name, given in arguments.items():
        part, _ = resolved(schema.get("properties", {}).get(name, {}), schema)
        if given is None or name == VIDEO:
            continue
        if part.get("x-type") == "Time":
            times[name] = float(given)
        elif part.get("x-type") == "Interval":
            span = _checked_span(given["start_time"], given["end_time"])
            about, confined = (span, confined) if name in required else (about, span)
        elif name.endswith(("_id", "_ids")):
            ids.extend(_texts(given))
        elif part.get("type") == "integer" and "maximum" in part:
            most = given if most is None else min(most, given)
        elif "enum" not in part:
            words.extend(_texts(given))
    return Question(
        given=arguments,
        about=_interval(times, confined) or about,
        confined=confined,
        most=most,
        ids=tuple(ids),
        words=tuple(words),
    )


def own_id(name: str, place: int) -> str:
    """Return the id in a field called ``name`` for a moment: ``entity_id`` of the third is ``entity-3``."""
    return f"{name.removesuffix('s').removesuffix('_id') or 'id'}-{place}"


def place_of(identifier: str) -> int | None:
    """Return the moment that an id was made for, or None for a foreign id."""
    found = _OWN_ID.fullmatch(identifier)
    return None if found is None else int(found.group(1))


def _interval(times: Mapping[str, float], confined: TimeSpan | None) -> TimeSpan | None:
    starts = [value for name, value in times.items() if name.startswith("start")]
    ends = [value for name, value in times.items() if name.startswith("end")]
    if starts and ends:
        return _checked_span(starts[0], ends[0])
    moment = next(iter(times.values()), None)
    return (
        None
        if moment is None or confined is not None
        else TimeSpan(start=max(0.0, moment - _AROUND[0]), end=moment + _AROUND[1])
    )


def _checked_span(start: float, end: float) -> TimeSpan:
    if end <= start:
        raise OperationFault(
            "bad_time_range", f"an interval from {start} to {end}", hint="end_time comes after start_time"
        )
    return TimeSpan(start=float(start), end=float(end))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value:
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)

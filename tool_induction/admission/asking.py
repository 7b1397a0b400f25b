"""What a call asks about: the stretch it means, the words, the ids; read off the parameters' schema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from world_api.core.faults import OperationFault
from world_api.core.spans import TimeSpan
from world_api.operations import EVERY_OPERATION

_OWN_ID = re.compile(r"\w+-(\d{1,4})")
VIDEO = "video_id"
_AROUND = (1.0, 2.0)  #: seconds before and after a moment that belong to it


@dataclass(frozen=True, kw_only=True)
class Question:
    """One call, understood.

    ``about`` is the stretch the answer must speak of, ``confined`` one it must keep to (a moment that was asked about
    then no longer matters), ``most`` how many entries may come, ``ids`` what it was asked of; ``given`` the arguments.
    """

    given: Mapping[str, Any]
    about: TimeSpan | None = None
    confined: TimeSpan | None = None
    most: int | None = None
    ids: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


@lru_cache(maxsize=64)
def parameters_of(operation: str) -> dict[str, Any]:
    """The parameters' schema, made once."""
    return EVERY_OPERATION[operation].parameters_schema()


def resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """A schema without its reference and without null; and whether null is allowed."""
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
    """What a call asks.

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
            span = _span(given["start_time"], given["end_time"])
            about, confined = (span, confined) if name in required else (about, span)
        elif name.endswith(("_id", "_ids")):
            ids.extend(_texts(given))
        elif part.get("type") == "integer" and "maximum" in part:
            most = given if most is None else min(most, given)
        elif "enum" not in part:
            words.extend(_texts(given))
    return Question(
        given=arguments,
        about=_asked_about(times, confined) or about,
        confined=confined,
        most=most,
        ids=tuple(ids),
        words=tuple(words),
    )


def own_id(name: str, place: int) -> str:
    """The id that a field called ``name`` holds for a moment: ``entity_id`` of the third is ``entity-3``."""
    return f"{name.removesuffix('s').removesuffix('_id') or 'id'}-{place}"


def place_of(identifier: str) -> int | None:
    """The moment an id was made for; None where it is none of ours."""
    found = _OWN_ID.fullmatch(identifier)
    return None if found is None else int(found.group(1))


def _asked_about(times: Mapping[str, float], confined: TimeSpan | None) -> TimeSpan | None:
    starts = [value for name, value in times.items() if name.startswith("start")]
    ends = [value for name, value in times.items() if name.startswith("end")]
    if starts and ends:
        return _span(starts[0], ends[0])
    moment = next(iter(times.values()), None)
    return (
        None
        if moment is None or confined is not None
        else TimeSpan(start=max(0.0, moment - _AROUND[0]), end=moment + _AROUND[1])
    )


def _span(start: float, end: float) -> TimeSpan:
    if end <= start:
        raise OperationFault(
            "bad_time_range", f"a stretch from {start} to {end}", hint="end_time comes after start_time"
        )
    return TimeSpan(start=float(start), end=float(end))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value:
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)

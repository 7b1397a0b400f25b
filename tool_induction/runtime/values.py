"""Checks of values that enter a run: finite JSON of limited size and of the required type.

For the compiler ``any`` fits every type, so values are checked again at run time before Python code computes with them.
"""

from __future__ import annotations

import json
import math
from functools import lru_cache
from typing import Any

from tool_induction import limits
from tool_induction.aggregates.functions import span_of, times
from tool_induction.language import types as ty
from tool_induction.language.evaluation import Json, kind
from world_api.core.spans import round_time

_NUMBER_SIZE = 6  #: bytes of a number, a truth value or null with its comma, on the average


@lru_cache(maxsize=256)
def validator_of(schema: str) -> Any:
    """Return the validator of a JSON Schema that is given as canonical JSON."""
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(schema))


class Unfit(ValueError):
    """A value does not fit its type; the message has the place inside the value and the reason."""


def check_json(value: object, *, most: int | None = None) -> int:
    """Check that a value is JSON that can be computed with and serialised; return its approximate size in bytes.

    The check ends early if the size exceeds ``most``.

    Raises:
        Unfit: a number that is not finite or too large, text that is not valid Unicode, a key that is no string,
            something nested too deep, or a Python object that is not JSON.
    """
    size = 0
    level = [value]
    for _ in range(limits.MAX_VALUE_DEPTH):
        below: list[object] = []
        for item in level:
            if isinstance(item, str):
                size += _text_size(item) + 3
            elif isinstance(item, float | int):
                if not -limits.MAX_NUMBER <= item <= limits.MAX_NUMBER:  # not a number compares false with everything
                    is_finite = isinstance(item, int) or math.isfinite(item)
                    raise Unfit(f"a number is {f'larger than {limits.MAX_NUMBER:g}' if is_finite else 'not finite'}")
                size += _NUMBER_SIZE
            elif isinstance(item, dict):
                size += _keys_size(item)
                below.extend(item.values())
            elif isinstance(item, list):
                size += 2
                below.extend(item)
            elif item is None:
                size += _NUMBER_SIZE
            else:
                raise Unfit(f"{type(item).__name__} is not a JSON value")
        if most is not None and size + len(below) > most:
            return size + len(below)
        if not below:
            return size
        level = below
    raise Unfit(f"it is nested more than {limits.MAX_VALUE_DEPTH} deep")


def _keys_size(record: dict[str, object]) -> int:
    try:
        keys = "".join(record)
    except TypeError:
        raise Unfit("a key is not a string") from None
    return _text_size(keys) + 4 * len(record) + 2


def _text_size(text: str) -> int:
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise Unfit("a text is not valid Unicode") from None


def fitted(value: Json, wanted: ty.Type, *, place: str = "") -> Json:
    """Return the value converted to a type: ``3.0`` becomes 3 for a whole number. Messages begin with ``place``.

    Raises:
        Unfit: the value is of another type.
    """
    match wanted:
        case ty.AnyType():
            return value
        case ty.OptionalType(item):
            return None if value is None else fitted(value, item, place=place)
        case ty.EnumType(values) if value in values:
            return value
        case ty.ScalarType(name):
            return _scalar(value, name, place)
        case ty.ListType() if isinstance(value, list):
            return [fitted(item, wanted.item, place=f"{place}[{index}]") for index, item in enumerate(value)]
        case ty.RecordType() if isinstance(value, dict):
            return _record(value, wanted, place)
    raise _unfit(value, ty.show(wanted), place)


def _record(value: dict[str, Json], wanted: ty.RecordType, place: str) -> Json:
    """Return a record with its fields fitted. An interval must have both ends; other records may lack fields."""
    is_interval = wanted.name == ty.INTERVAL.name
    fields = ty.INTERVAL.fields if is_interval else wanted.fields
    checked = {
        key: fitted(value.get(key), type_, place=f"{place}.{key}" if place else key)
        for key, type_ in fields
        if is_interval or key in value
    }
    return value | checked


def _scalar(value: Json, name: str, place: str) -> Json:
    if name in {"null", "bool", "string"}:
        right = {"null": value is None, "bool": isinstance(value, bool), "string": isinstance(value, str)}[name]
    elif isinstance(value, bool) or not isinstance(value, int | float):
        right = False
    elif name == "int" and float(value).is_integer():
        return int(value)
    else:
        right = name != "int"
    if not right:
        raise _unfit(value, "a whole number" if name == "int" else name, place)
    return value


def _unfit(value: Json, wanted: str, place: str) -> Unfit:
    shown = f"{value:g}" if isinstance(value, float) else kind(value)
    return Unfit(f"{place}{': ' if place else ''}{wanted} is wanted, found {shown}")


def completed(value: Json, type_: ty.Type) -> Json:
    """Return the value; if ``type_`` is Interval or a list of it, with the centre and duration of each interval added."""
    inner = ty.plain(type_)
    if isinstance(inner, ty.ListType) and isinstance(value, list):
        return [completed(item, inner.item) for item in value]
    if not isinstance(inner, ty.RecordType) or inner.name != ty.INTERVAL.name or not isinstance(value, dict):
        return value
    span = span_of(value)
    return value if span is None else times(span) | {"duration": round_time(span.duration)} | value

"""JSON: a strict reader, and a writer whose output is canonical (equal values, equal hashes) or keeps the order of keys."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal, TypeGuard

#: Greatest nesting of lists and objects of a stored value; a record that contains a deeper one could not be written.
MAX_LEVELS = 200

#: (sort keys, ASCII only) -> encoder. Creating one takes longer than encoding most values.
_ENCODERS = {
    (sort_keys, ascii_only): json.JSONEncoder(
        ensure_ascii=ascii_only, sort_keys=sort_keys, separators=(",", ":"), allow_nan=False
    )
    for sort_keys in (False, True)
    for ascii_only in (False, True)
}


def canonical_json(value: Any) -> str:
    """Return JSON with sorted keys and without spaces: equal values give equal text.

    Raises ValueError: a number is not finite; TypeError: a value has no JSON form.
    """
    return _dump(value, sort_keys=True)


def json_line(value: Any) -> str:
    """Return JSON on one line; keys keep their order, which matters to a model that reads them.

    Raises ValueError: a number is not finite; TypeError: a value has no JSON form.
    """
    return _dump(value, sort_keys=False)


def content_hash(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON of a value, in hexadecimal."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Record:
    """A dataclass with a JSON form: the object of its fields."""

    def record(self) -> dict[str, Any]:
        """Return the fields of the dataclass, nested ones too, as a JSON object."""
        return asdict(self)


class JsonObject(dict[str, Any]):
    """A parsed JSON object; ``repeated`` are the keys that its text repeats. The last value of such a key is kept."""

    repeated: tuple[str, ...] = ()


def parse_json(text: str, *, repeated: Literal["allow", "refuse", "note"] = "allow", finite: bool = True) -> Any:
    """Read JSON strictly: excessive nesting is an error, and so are NaN and Infinity unless ``finite`` is False.

    Args:
        text: The JSON text.
        repeated: Treatment of a repeated key of an object: ``allow`` keeps the last value, ``refuse`` raises, ``note``
            also keeps the last value and lists the key in ``repeated`` of the object, which is then a ``JsonObject``.
        finite: Whether NaN, Infinity and numbers beyond the range of a float are errors; if not, they are read as NaN
            and infinities, so that the caller can say where they are.

    Raises ValueError: the text is not such JSON; a ``json.JSONDecodeError`` has the position.
    """
    try:
        return json.loads(
            text,
            parse_constant=_refuse_constant if finite else None,
            parse_float=_finite_float if finite else None,
            parse_int=None if finite else _integer,
            object_pairs_hook=None if repeated == "allow" else partial(_object, refuse=repeated == "refuse"),
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None


def json_object(text: str | bytes) -> dict[str, Any] | None:
    """Return the JSON object that a text (or its bytes in UTF-8) consists of; None if it is anything else."""
    try:
        value = parse_json(text if isinstance(text, str) else text.decode())
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def is_finite_number(value: Any) -> TypeGuard[float]:
    """Whether a JSON value is a finite number; ``True`` and ``False`` are not numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf


def is_deep(value: Any, *, levels: int = MAX_LEVELS) -> bool:
    """Whether lists and objects are nested more than ``levels`` deep."""
    nodes = [value]
    for _ in range(levels + 1):
        nodes = [
            item
            for node in nodes
            if isinstance(node, dict | list)
            for item in (node.values() if isinstance(node, dict) else node)
        ]
        if not nodes:
            return False
    return True


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a JSON value with ``change`` applied to each text in it, keys included; tuples become lists."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list | tuple):
        return [map_texts(item, change) for item in value]
    if isinstance(value, dict):
        return {map_texts(key, change): map_texts(item, change) for key, item in value.items()}
    return value


def _dump(value: Any, *, sort_keys: bool) -> str:
    """Return JSON with readable Unicode; all ASCII if a text contains lone surrogates, which UTF-8 cannot encode."""
    text = _ENCODERS[sort_keys, False].encode(value)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _ENCODERS[sort_keys, True].encode(value)
    return text


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _integer(text: str) -> int | float:
    """Read a whole number; one with more digits than Python converts is infinite."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def _finite_float(text: str) -> float:
    """Read a number with a point or an exponent. Raises ValueError for one such as 1e999, for Python an infinity."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:32]} is beyond the range of a float")
    return value


def _object(pairs: list[tuple[str, Any]], *, refuse: bool) -> JsonObject:
    found = JsonObject(pairs)
    if len(found) < len(pairs):
        if refuse:
            raise ValueError("a key is given twice")
        counts = Counter(key for key, _ in pairs)
        found.repeated = tuple(sorted(key for key, count in counts.items() if count > 1))
    return found


def closed_object(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of an object that has exactly these properties, all of them required."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}

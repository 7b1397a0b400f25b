"""JSON: a strict reader, and a writer whose output is canonical (equal values, equal hashes) or keeps the order of keys."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from functools import partial
from typing import Any, Literal, TypeGuard

#: Nesting of lists and objects that a stored value may have; a record that holds a deeper one could not be written.
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
    """JSON with sorted keys and no spaces: equal values, equal text.

    Raises ValueError: a number is not finite, or a value is not JSON.
    """
    return _dump(value, sort_keys=True)


def json_line(value: Any) -> str:
    """JSON on one line with keys in the order of the value, in which a model reads them.

    Raises ValueError: a number is not finite, or a value is not JSON.
    """
    return _dump(value, sort_keys=False)


def content_hash(value: Any) -> str:
    """SHA-256 of the canonical JSON, in hexadecimal."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


class JsonObject(dict[str, Any]):
    """A parsed object and the keys that it repeated; of a repeated key the last value counts."""

    repeated: tuple[str, ...] = ()


def parse_json(text: str, *, repeated: Literal["allow", "refuse", "note"] = "allow", finite: bool = True) -> Any:
    """Read JSON strictly: no NaN, no Infinity, no runaway nesting.

    Args:
        text: The JSON text.
        repeated: What a repeated key of an object does: ``allow`` keeps the last value, ``refuse`` raises, ``note`` records
            it on the object, which is then a ``JsonObject``.
        finite: Whether a number beyond the range of a float is refused, not read as infinity.

    Raises ValueError: the text is not JSON; a ``json.JSONDecodeError`` says where.
    """
    try:
        return json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_float=_finite_float if finite else None,
            object_pairs_hook=None if repeated == "allow" else partial(_object, refuse=repeated == "refuse"),
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None


def is_finite_number(value: Any) -> TypeGuard[float]:
    """Whether a JSON value is a number: neither a truth value nor infinite."""
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


def _dump(value: Any, *, sort_keys: bool) -> str:
    """Readable in any language; text that is not Unicode (lone surrogates) is escaped, so that it encodes as UTF-8."""
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


def _finite_float(text: str) -> float:
    """A number with a point or an exponent; Python would read 1e999 as infinity, which no JSON can say."""
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
    """Return the JSON Schema of an object that has these properties and no others."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}

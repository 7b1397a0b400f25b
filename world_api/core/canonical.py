"""JSON: read strictly, and written canonically, so that equal values have equal hashes, or with keys in their own order."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

#: Lists and objects in one another: what is stored is not deeper, since a record that holds it could not be written.
MAX_LEVELS = 200

#: By whether keys are sorted, and whether all is written in ASCII. Making one takes longer than most values do.
_ENCODERS = {
    (sort_keys, ascii_only): json.JSONEncoder(
        ensure_ascii=ascii_only, sort_keys=sort_keys, separators=(",", ":"), allow_nan=False
    )
    for sort_keys in (False, True)
    for ascii_only in (False, True)
}


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values, equal text.

    Raises:
        ValueError: a number is not finite, or a value is not JSON.
    """
    return _dump(value, sort_keys=True)


def json_line(value: Any) -> str:
    """JSON on one line with keys in their own order, which is the order a model reads them in.

    Raises:
        ValueError: a number is not finite, or a value is not JSON.
    """
    return _dump(value, sort_keys=False)


def content_hash(value: Any) -> str:
    """SHA-256 of the canonical JSON, in hexadecimal."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


class JsonObject(dict[str, Any]):
    """An object as it was read, with the keys that stood in it more than once; of their values the last counts."""

    repeated: tuple[str, ...] = ()


def parse_json(text: str, *, repeated: Literal["allow", "refuse", "note"] = "allow", finite: bool = True) -> Any:
    """Read JSON strictly: no NaN, no Infinity, no runaway nesting.

    Args:
        text: The JSON text.
        repeated: Whether a key may stand twice in an object: the last value counts, it is an error, or it is noted on
            the objects, which are then ``JsonObject``.
        finite: Whether numbers beyond a float are refused, not read as infinity.

    Raises:
        ValueError: the text is not JSON; a ``json.JSONDecodeError`` says where.
    """
    pairs: dict[str, Callable[[list[tuple[str, Any]]], Any] | None] = {
        "allow": None, "refuse": _distinct, "note": _noted,
    }  # fmt: skip
    try:
        return json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_float=_finite_float if finite else None,
            object_pairs_hook=pairs[repeated],
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None


def is_deep(value: Any, *, levels: int = MAX_LEVELS) -> bool:
    """Whether lists and objects are nested in one another beyond so many levels."""
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


def _noted(pairs: list[tuple[str, Any]]) -> JsonObject:
    found = JsonObject(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        found.repeated = tuple(sorted(key for key, count in counts.items() if count > 1))
    return found


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is given twice")
    return found

"""Spelling JSON: canonically, so that equal values have equal hashes, and as lines that keep the order of keys."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

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


def parse_json(text: str) -> Any:
    """A JSON value, strictly: no NaN, no Infinity, no number beyond a float, no runaway nesting.

    Raises:
        ValueError: the text is not JSON.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite_float)
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
    raise ValueError(f"{name} is not JSON")


def _finite_float(text: str) -> float:
    """A number with a point or an exponent; Python would read 1e999 as infinity, which no JSON can say."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:32]} is beyond the range of a float")
    return value

"""One spelling of JSON, so that equal values are equal bytes."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces, readable in any language.

    Text that is not Unicode (lone surrogates) is written as escapes, so that the result always encodes as UTF-8.

    Raises:
        ValueError: a number is not finite, or a value is not JSON.
    """
    text = _dump(value, ascii_only=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return _dump(value, ascii_only=True)
    return text


def content_hash(value: Any) -> str:
    """SHA-256 of the canonical JSON, in hexadecimal."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def parse_json(text: str) -> Any:
    """A JSON value, strictly: no NaN, no Infinity, no runaway nesting.

    Raises:
        ValueError: the text is not JSON.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _dump(value: Any, *, ascii_only: bool) -> str:
    return json.dumps(value, ensure_ascii=ascii_only, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")

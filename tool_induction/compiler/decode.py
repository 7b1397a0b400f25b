"""From bytes to a JSON value that is safe to walk: bounded, without duplicate keys, finite, valid Unicode."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

from tool_induction.documents.credentials import holds_secret
from tool_induction.language import limits
from tool_induction.language.diagnostics import Findings, Path

_MISSING = object()


class _Pairs(dict[str, Any]):
    """A JSON object that remembers which keys stood there twice."""

    repeated: tuple[str, ...] = ()


def decode(source: str | bytes | object, findings: Findings) -> Any:
    """The document as a JSON value. Faults go to ``findings``; with errors there, the value is not to be used."""
    if isinstance(source, bytes):
        try:
            source = source.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            findings.add("E_JSON", (), f"the file is not UTF-8: byte {error.start} cannot be read")
            return None
    value = _from_text(source, findings) if isinstance(source, str) else source
    if value is _MISSING:
        return None
    if not isinstance(source, str) and not _fits(value, findings):
        return None
    _Walk(findings).check(value, (), depth=0)
    return value


def _fits(value: object, findings: Findings) -> bool:
    try:
        size = len(json.dumps(value))
    except (TypeError, ValueError, RecursionError) as error:
        findings.add("E_JSON", (), f"not a JSON value: {error}")
        return False
    if size > limits.MAX_DOCUMENT_BYTES:
        findings.add("E_SIZE", (), f"the document has {size} bytes, more than {limits.MAX_DOCUMENT_BYTES}")
    return size <= limits.MAX_DOCUMENT_BYTES


def _from_text(text: str, findings: Findings) -> Any:
    size = len(text) if len(text) > limits.MAX_DOCUMENT_BYTES else len(text.encode("utf-8", "surrogatepass"))
    if size > limits.MAX_DOCUMENT_BYTES:
        findings.add("E_SIZE", (), f"the document has more than {limits.MAX_DOCUMENT_BYTES} bytes")
        return _MISSING
    if _depth(text) > limits.MAX_JSON_DEPTH:
        findings.add("E_SIZE", (), f"the document is nested more than {limits.MAX_JSON_DEPTH} deep")
        return _MISSING
    try:
        return json.loads(text, object_pairs_hook=_pairs, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        findings.add(
            "E_JSON",
            (),
            f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}",
            found="" if holds_secret(text) else text[max(0, error.pos - 20) : error.pos + 20],
        )
    except ValueError as error:
        findings.add("E_JSON", (), f"not JSON: {error}")
    return _MISSING


def _depth(text: str) -> int:
    """How deep brackets nest outside strings; cheap, so that the parser never has to recurse."""
    depth = deepest = 0
    inside = escaped = False
    for character in text:
        if inside:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                inside = False
        elif character == '"':
            inside = True
        elif character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


def _pairs(pairs: list[tuple[str, Any]]) -> _Pairs:
    result = _Pairs(pairs)
    if len(result) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        result.repeated = tuple(sorted(key for key, count in counts.items() if count > 1))
    return result


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


class _Walk:
    """Looks at every value of a document once; stops where there are too many."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._parts = 0

    def check(self, value: Any, path: Path, *, depth: int) -> None:
        """Note what is no JSON value, and what is too deep or too much."""
        self._parts += 1
        if self._parts > limits.MAX_JSON_PARTS:
            if self._parts == limits.MAX_JSON_PARTS + 1:
                self._findings.add("E_SIZE", path, f"the document holds more than {limits.MAX_JSON_PARTS} values")
        elif depth > limits.MAX_JSON_DEPTH:
            self._findings.add("E_SIZE", path, f"the document is nested more than {limits.MAX_JSON_DEPTH} deep")
        elif isinstance(value, dict):
            self._members(value, path, depth)
        elif isinstance(value, list):
            for place, item in enumerate(value):
                self.check(item, (*path, place), depth=depth + 1)
        else:
            _check_scalar(value, path, self._findings)

    def _members(self, value: dict[Any, Any], path: Path, depth: int) -> None:
        for key in (key for key in getattr(value, "repeated", ()) if not holds_secret(key)):
            self._findings.add("E_JSON", (*path, key), f"the key {key!r} stands here more than once", found=key)
        for key, item in value.items():
            if not isinstance(key, str):
                self._findings.add("E_JSON", path, f"a key is not a string: {key!r}")
            elif not _is_unicode(key):
                self._findings.add("E_JSON", path, "a key is not valid Unicode")
            elif holds_secret(key):
                _secret(path, self._findings)
            else:
                self.check(item, (*path, key), depth=depth + 1)


def _check_scalar(value: Any, path: Path, findings: Findings) -> None:
    if isinstance(value, str):
        if not _is_unicode(value):
            findings.add("E_JSON", path, "the text is not valid Unicode")
        elif holds_secret(value):
            _secret(path, findings)
    elif isinstance(value, float) and not math.isfinite(value):
        findings.add("E_JSON", path, "the number is not finite")
    elif isinstance(value, int | float) and abs(value) > limits.MAX_NUMBER:
        findings.add("E_SIZE", path, f"the number is larger than {limits.MAX_NUMBER:g}")
    elif value is not None and not isinstance(value, bool | int | float):
        findings.add("E_JSON", path, f"not a JSON value: {type(value).__name__}")


def _secret(path: Path, findings: Findings) -> None:
    findings.add(
        "E_SECRET",
        path,
        "this looks like a key, a token or a password",
        suggestion="leave it out: no operation takes one; if it is real, it should be revoked",
    )


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)

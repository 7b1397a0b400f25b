"""From bytes to a JSON value that is safe to walk: bounded, without duplicate keys, finite, valid Unicode."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from tool_induction.documents.credentials import holds_secret
from tool_induction.language import limits
from tool_induction.language.diagnostics import Findings, Path
from world_api.core.canonical import JsonObject, parse_json
from world_api.core.identifiers import printable

_MISSING = object()
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)


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
        return parse_json(text, repeated="note", finite=False)
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
    brackets = _STRING.sub("", text)
    return max(accumulate((letter in "[{") - (letter in "]}") for letter in brackets), default=0)


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
        repeated = value.repeated if isinstance(value, JsonObject) else ()
        for key in (key for key in repeated if not holds_secret(key)):
            self._findings.add("E_JSON", (*path, key), f"the key {key!r} stands here more than once", found=key)
        for key, item in value.items():
            if not isinstance(key, str):
                self._findings.add("E_JSON", path, f"a key is not a string: {key!r}")
            elif printable(key) != key:
                self._findings.add("E_JSON", path, "a key is not valid Unicode")
            elif holds_secret(key):
                _secret(path, self._findings)
            else:
                self.check(item, (*path, key), depth=depth + 1)


def _check_scalar(value: Any, path: Path, findings: Findings) -> None:
    if isinstance(value, str):
        if printable(value) != value:
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


#: controls (tabs and line ends aside), and embeddings, overrides and isolates of bidirectional text
_INVISIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def check_visible(tool: Any, path: Path, findings: Findings) -> None:
    """Note each text of a tool that holds such a character."""
    for where, text in _texts(tool, path):
        found = _INVISIBLE.search(text)
        if found is not None:
            findings.add(
                "E_SHAPE",
                where,
                f"the text holds a character that is not seen: U+{ord(found[0]):04X}, at {found.start()}",
                found=ascii(text[max(0, found.start() - 20) : found.end() + 20])[1:-1],
                suggestion="leave it out",
            )


def _texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """All texts of a value with their places; a key stands at the place of the object it is in."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _texts(item, (*path, place))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield path, key
            yield from _texts(item, (*path, key))

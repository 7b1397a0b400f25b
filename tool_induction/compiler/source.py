"""Reads the text of a document: decodes it to a JSON value that is safe to traverse, masks secrets, locates JSON paths.

Texts that look like a key, a token or a password are refused: a document is logged, frozen, shown and sent to models,
and no operation needs a credential.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate, count
from typing import Any

from tool_induction import limits
from tool_induction.language.diagnostics import Findings, Path
from world_api.core.canonical import JsonObject, parse_json
from world_api.core.identifiers import columns, pictured, printable

_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)


def decode(source: str | bytes | object, findings: Findings) -> Any:
    """Return the document as a JSON value; if errors were added to ``findings``, the value must not be used."""
    if isinstance(source, bytes):
        try:
            source = source.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            findings.add("E_JSON", (), f"the file is not UTF-8: byte {error.start} cannot be read")
            return None
    before = findings.errors
    value = _from_text(source, findings) if isinstance(source, str) else _of_allowed_size(source, findings)
    if findings.errors > before:
        return None
    _check(value, (), findings, count(1))
    return value


def _of_allowed_size(value: object, findings: Findings) -> object:
    try:
        size = len(json.dumps(value))
        if size > limits.MAX_DOCUMENT_BYTES:
            findings.add("E_SIZE", (), f"the document has {size} bytes, more than {limits.MAX_DOCUMENT_BYTES}")
    except (TypeError, ValueError, RecursionError) as error:
        findings.add("E_JSON", (), f"not a JSON value: {error}")
    return value


def _from_text(text: str, findings: Findings) -> Any:
    size = len(text) if len(text) > limits.MAX_DOCUMENT_BYTES else len(text.encode("utf-8", "surrogatepass"))
    if size > limits.MAX_DOCUMENT_BYTES:
        findings.add("E_SIZE", (), f"the document has more than {limits.MAX_DOCUMENT_BYTES} bytes")
        return None
    # How deep brackets nest outside strings; checked before parsing, so that the parser never recurses too deep.
    depths = accumulate((letter in "[{") - (letter in "]}") for letter in _STRING.sub("", text))
    if max(depths, default=0) > limits.MAX_JSON_DEPTH:
        findings.add("E_SIZE", (), f"the document is nested more than {limits.MAX_JSON_DEPTH} deep")
        return None
    try:
        return parse_json(text, repeated="note", finite=False)
    except json.JSONDecodeError as error:
        found = "" if holds_secret(text) else text[max(0, error.pos - 20) : error.pos + 20]
        findings.add("E_JSON", (), f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}", found=found)
    except ValueError as error:
        findings.add("E_JSON", (), f"not JSON: {error}")
    return None


def _check(value: Any, path: Path, findings: Findings, parts: Iterator[int]) -> None:
    """Note values that are not JSON, nested too deep, too many, or look like secrets. ``parts`` counts the values."""
    number = next(parts)
    if number > limits.MAX_JSON_PARTS:
        if number == limits.MAX_JSON_PARTS + 1:
            findings.add("E_SIZE", path, f"the document holds more than {limits.MAX_JSON_PARTS} values")
    elif len(path) > limits.MAX_JSON_DEPTH:
        findings.add("E_SIZE", path, f"the document is nested more than {limits.MAX_JSON_DEPTH} deep")
    elif isinstance(value, dict):
        repeated = value.repeated if isinstance(value, JsonObject) else ()
        for key in (key for key in repeated if not holds_secret(key)):
            findings.add("E_JSON", (*path, key), f"the key {key!r} is here more than once", found=key)
        for key, item in value.items():
            if isinstance(key, str) and printable(key) == key and not holds_secret(key):
                _check(item, (*path, key), findings, parts)
            elif isinstance(key, str):
                _check_scalar(key, path, findings)
            else:
                findings.add("E_JSON", path, f"a key is not a string: {key!r}")
    elif isinstance(value, list):
        for place, item in enumerate(value):
            _check(item, (*path, place), findings, parts)
    else:
        _check_scalar(value, path, findings)


def _check_scalar(value: Any, path: Path, findings: Findings) -> None:
    if isinstance(value, str):
        if printable(value) != value:
            findings.add("E_JSON", path, "the text is not valid Unicode")
        elif holds_secret(value):
            message = "this looks like a key, a token or a password"
            suggestion = "leave it out: no operation takes one; if it is real, it should be revoked"
            findings.add("E_SECRET", path, message, suggestion=suggestion)
    elif isinstance(value, float) and not math.isfinite(value):
        message, suggestion = f"{json.dumps(value)} is not a JSON number", "write a finite number, or leave it out"
        findings.add("E_JSON", path, message, suggestion=suggestion)
    elif isinstance(value, int | float) and abs(value) > limits.MAX_NUMBER:
        findings.add("E_SIZE", path, f"the number is larger than {limits.MAX_NUMBER:g}")
    elif value is not None and not isinstance(value, bool | int | float):
        findings.add("E_JSON", path, f"not a JSON value: {type(value).__name__}")


#: controls (tabs and line ends aside), and marks, embeddings, overrides and isolates of bidirectional text
_INVISIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def check_visible(tool: Any, path: Path, findings: Findings) -> None:
    """Note each text of a tool that contains an invisible character."""
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
    """Yield all texts of a value, keys included, with their paths; a key has the path of its object."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _texts(item, (*path, place))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield path, key
            yield from _texts(item, (*path, key))


REDACTED = "[secret]"

#: formats that issuers made recognisable, and words before a secret; randomness is no criterion, as ids have it, too
_SHAPES = (
    r"\bsk-(?:[A-Za-z0-9]{1,20}-){0,4}[A-Za-z0-9_]{16,}",
    r"\b(?:gh[opsur]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}|glpat-[A-Za-z0-9_-]{16,}|hf_[A-Za-z0-9]{24,})",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{35}|\bxox[abeoprs]-[0-9A-Za-z-]{16,}",
    r"\beyJ[A-Za-z0-9_-]{8,600}\.eyJ[A-Za-z0-9_-]{8,600}\.[A-Za-z0-9_-]{8,}",
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----",
    r"\b(?:[Bb]earer|[Bb]asic) [A-Za-z0-9+/_.=-]{24,}",
    r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@]{0,80}:[^\s/@]{4,120}@",
    r"\b(?i:api[_-]?key|secret[_-]?key|access[_-]?token|auth[_-]?token|password)\W{1,4}[A-Za-z0-9+/_=-]{16,}",
)
_SECRET = re.compile("|".join(f"(?:{shape})" for shape in _SHAPES))
#: JSON escapes of printable ASCII characters
_ESCAPE = re.compile(r"\\(?:u00[2-7][0-9A-Fa-f]|/)")
#: shorter texts cannot contain a credential
_SHORTEST = 12


def holds_secret(text: str) -> bool:
    """Whether a text contains something that looks like a credential."""
    return len(text) >= _SHORTEST and _SECRET.search(text) is not None


def without_secrets(text: str) -> str:
    """Return the text with ``[secret]`` for everything that looks like a credential, for logs of model output."""
    return _SECRET.sub(REDACTED, text)


def masked(line: str) -> str:
    """Return a line with an asterisk for each character of a credential; JSON escapes of ASCII characters are decoded first."""
    readable = _ESCAPE.sub(lambda escaped: json.loads(f'"{escaped[0]}"'), line)
    return _SECRET.sub(lambda found: "*" * len(found[0]), readable)


_SPACE = " \t\r\n"
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, kw_only=True)
class Position:
    """A place in a text; ``line`` and ``column`` count from 1; ``text``: the whole line; ``length``: characters to mark."""

    line: int
    column: int
    text: str
    length: int = 1

    def caret(self, width: int = 110) -> str:
        """Return the line, cut to ``width`` characters, and below it a mark at the column; control characters are made visible."""
        start = max(0, self.column - 1 - width // 2) if len(self.text) > width else 0
        shown = self.text[start : start + width]
        before = self.column - 1 - start
        mark = "^" + "~" * (columns(shown[before : before + self.length]) - 1)
        return f"{pictured(shown)}\n{''.join(map(_blank, shown[:before]))}{mark}"


def _blank(letter: str) -> str:
    """Return white space as wide as a letter is on a terminal."""
    return letter if letter == "\t" else " " * columns(letter)


def locate_all(text: str, paths: Iterable[Path]) -> dict[Path, Position]:
    """Return the positions of many paths, found in one pass over the text; paths that do not exist are left out."""
    wanted = set(paths)
    above = {path[:length] for path in wanted for length in range(len(path))}
    spans: dict[Path, tuple[int, int]] = {}
    start = _skip(text, 0)
    if start < len(text):
        spans[()] = (start, start + 1)
    with suppress(ValueError, IndexError, RecursionError):  # no JSON from there on; the positions found before count
        _visit(text, start, (), above, spans)
    line_starts = [0, *(place + 1 for place, letter in enumerate(text) if letter == "\n")]
    return {path: _position(text, line_starts, *span) for path, span in spans.items() if path in wanted}


def _visit(text: str, place: int, path: Path, above: Container[Path], spans: dict[Path, tuple[int, int]]) -> int:
    """Record in ``spans`` the members of the value at ``place`` if its ``path`` is in ``above``, recursively; return its end."""
    opened = text[place]
    if path not in above or opened not in "{[":
        return _DECODER.raw_decode(text, place)[1]
    place, number = _skip(text, place + 1), 0
    while text[place] not in "}]":
        start, key = place, number
        if opened == "{":
            key, place = _DECODER.raw_decode(text, place)
            place = _skip(text, _skip(text, place) + 1)
        inner = (*path, key)
        end = _visit(text, place, inner, above, spans)
        spans[inner] = (start, end)  # of a repeated key, the last
        place = _skip(text, end)
        if text[place] == ",":
            place = _skip(text, place + 1)
        number += 1
    return place + 1


def _skip(text: str, place: int) -> int:
    """Return the next index that is not white space."""
    while place < len(text) and text[place] in _SPACE:
        place += 1
    return place


def _position(text: str, line_starts: Sequence[int], start: int, end: int) -> Position:
    line = bisect_right(line_starts, start)
    begins, stops = line_starts[line - 1], text.find("\n", start)
    stops = len(text) if stops < 0 else stops
    length = max(1, min(end, stops) - start)
    return Position(line=line, column=start - begins + 1, text=text[begins:stops].rstrip("\r"), length=length)


def at_line(text: str, line: int, column: int) -> Position | None:
    """Return the position of a line and column (from 1), as parsers report them; None if there is no such line."""
    lines = text.split("\n")
    return Position(line=line, column=column, text=lines[line - 1].rstrip("\r")) if 0 < line <= len(lines) else None

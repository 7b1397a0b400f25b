"""Where a JSON path stands in the text of a document, for people who look at the file."""

from __future__ import annotations

import json
from dataclasses import dataclass

from tool_induction.language.diagnostics import Path

_SPACE = " \t\r\n"


@dataclass(frozen=True, kw_only=True)
class Position:
    """A place in a text; ``line`` and ``column`` count from 1, ``text`` is the line."""

    line: int
    column: int
    text: str

    def caret(self, width: int = 110) -> str:
        """The line, cut to fit, and a mark under the place."""
        start = max(0, self.column - 1 - width // 2)
        shown = self.text[start : start + width]
        return f"{shown}\n{' ' * (self.column - 1 - start)}^"


def locate(text: str, path: Path) -> Position | None:
    """The position of the value at a path (for a key: of the key); None where it is not there."""
    place = _skip(text, 0)
    try:
        for part in path:
            found = _inside(text, place, part)
            if found is None:
                return None
            place, shown = found
        offset = shown if path else place
    except (ValueError, IndexError):
        return None
    line = text.count("\n", 0, offset) + 1
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    return Position(line=line, column=offset - start + 1, text=text[start : end if end >= 0 else len(text)])


def _inside(text: str, place: int, part: str | int) -> tuple[int, int] | None:
    """Where a member's value stands, and where to point (its key, or the item itself)."""
    decoder = json.JSONDecoder()
    opened = text[place]
    if opened not in "{[" or (opened == "{") != isinstance(part, str):
        return None
    place = _skip(text, place + 1)
    number = 0
    while text[place] not in "}]":
        shown, key = place, None
        if opened == "{":
            key, place = decoder.raw_decode(text, place)
            place = _skip(text, _skip(text, place) + 1)
        if part == (key if opened == "{" else number):
            return place, shown
        _, place = decoder.raw_decode(text, place)
        place = _skip(text, place)
        if text[place] == ",":
            place = _skip(text, place + 1)
        number += 1
    return None


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in _SPACE:
        place += 1
    return place

"""Where JSON paths stand in the text of a document, for people who look at the file."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

from tool_induction.language.diagnostics import Path
from world_api.core.identifiers import columns, pictured

_SPACE = " \t\r\n"


@dataclass(frozen=True, kw_only=True)
class Position:
    """A place in a text; ``line`` and ``column`` count from 1, ``text`` is the line, ``length`` how far it reaches in it."""

    line: int
    column: int
    text: str
    length: int = 1

    def caret(self, width: int = 110) -> str:
        """The line, cut to fit, and a mark under the place. Nothing in it steers a terminal."""
        start = max(0, self.column - 1 - width // 2) if len(self.text) > width else 0
        shown = self.text[start : start + width]
        before = self.column - 1 - start
        mark = "^" + "~" * (columns(shown[before : before + self.length]) - 1)
        return f"{pictured(shown)}\n{''.join(map(_blank, shown[:before]))}{mark}"


def _blank(letter: str) -> str:
    """White space as wide as a letter is on a terminal."""
    return letter if letter == "\t" else " " * columns(letter)


@dataclass(kw_only=True)
class _Wanted:
    """Paths as a tree: which members of a value are asked for, and whether it is itself."""

    path: Path | None = None
    inside: dict[str | int, _Wanted] = field(default_factory=dict)


def locate(text: str, path: Path) -> Position | None:
    """The position of the value at a path (for a member: with its key); None where it is not there."""
    return locate_all(text, [path]).get(path)


def locate_all(text: str, paths: Iterable[Path]) -> dict[Path, Position]:
    """The positions of many paths, the text being read once. Paths that are not there are left out."""
    wanted = _Wanted()
    for path in paths:
        node = wanted
        for part in path:
            node = node.inside.setdefault(part, _Wanted())
        node.path = path
    finder = _Finder(text)
    try:
        start = finder.skip(0)
        finder.found(wanted, start, start + 1)
        finder.visit(start, wanted)
    except (ValueError, IndexError, RecursionError):
        pass  # no JSON from here on; what was found until here was
    return finder.positions


def at_line(text: str, line: int, column: int) -> Position | None:
    """The position of a line and column, as a parser tells them."""
    lines = text.split("\n")
    return Position(line=line, column=column, text=lines[line - 1].rstrip("\r")) if 0 < line <= len(lines) else None


class _Finder:
    def __init__(self, text: str) -> None:
        self._text = text
        self._decoder = json.JSONDecoder()
        self._starts = [0, *(place + 1 for place, letter in enumerate(text) if letter == "\n")]
        self.positions: dict[Path, Position] = {}

    def skip(self, place: int) -> int:
        """The next place that is no white space."""
        while place < len(self._text) and self._text[place] in _SPACE:
            place += 1
        return place

    def visit(self, place: int, wanted: _Wanted) -> int:
        """Find what is wanted inside the value at a place; where the value ends."""
        opened = self._text[place]
        if not wanted.inside or opened not in "{[":
            return self._decoder.raw_decode(self._text, place)[1]
        place = self.skip(place + 1)
        number = 0
        while self._text[place] not in "}]":
            shown = place
            key: str | int = number
            if opened == "{":
                key, place = self._decoder.raw_decode(self._text, place)
                place = self.skip(self.skip(place) + 1)
            inner = wanted.inside.get(key)
            end = self.visit(place, inner or _Wanted())
            if inner is not None:
                self.found(inner, shown, end)
            place = self.skip(end)
            if self._text[place] == ",":
                place = self.skip(place + 1)
            number += 1
        return place + 1

    def found(self, wanted: _Wanted, start: int, end: int) -> None:
        """Note the position of a path that is asked for itself; of a key that stands twice, the last."""
        if wanted.path is None or start >= len(self._text):
            return
        line = bisect_right(self._starts, start)
        begins = self._starts[line - 1]
        stops = self._text.find("\n", start)
        stops = len(self._text) if stops < 0 else stops
        self.positions[wanted.path] = Position(
            line=line,
            column=start - begins + 1,
            text=self._text[begins:stops].rstrip("\r"),
            length=max(1, min(end, stops) - start),
        )

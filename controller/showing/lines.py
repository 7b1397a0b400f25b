"""Text of models, videos and servers as lines of a terminal: short, of a known width, and without anything that steers it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from world_api.core.canonical import canonical
from world_api.core.printable import clock_text, columns, pictured

WIDTH = 80
_MORE = "…"
_TEXT_COLUMNS = 32  #: of one text among arguments


def one_line(text: str) -> str:
    """The text on one line, with signs for what would steer a terminal."""
    return pictured(" ".join(text.split()))


def cut(text: str, width: int) -> str:
    """The text in at most so many columns; what is left out is marked."""
    if columns(text) <= width:
        return text
    kept, used = [], columns(_MORE)
    for letter in text:
        used += columns(letter)
        if used > width:
            break
        kept.append(letter)
    return "".join(kept).rstrip() + _MORE


def wrapped(text: str, width: int) -> Iterator[str]:
    """The lines of a text, broken between words where they are longer; of a word that is longer, within it."""
    for line in text.splitlines() or [""]:
        yield from _broken(pictured(line.rstrip().expandtabs(4)), width)


def _broken(line: str, width: int) -> Iterator[str]:
    rest = line
    while columns(rest) > width:
        end = _fitting(rest, width)
        space = rest.rfind(" ", 0, end + 1)
        at = space if space > 0 else end
        yield rest[:at].rstrip()
        rest = rest[at:].lstrip()
    yield rest


def _fitting(text: str, width: int) -> int:
    """How many characters take at most so many columns; one at least."""
    used = 0
    for place, letter in enumerate(text):
        used += columns(letter)
        if used > width:
            return max(1, place)
    return len(text)


def value_text(value: Any, width: int = _TEXT_COLUMNS) -> str:
    """A JSON value, short."""
    if isinstance(value, str):
        return f'"{cut(one_line(value), width)}"'
    if isinstance(value, float):
        return f"{value:g}" if abs(value) >= 1e6 or value == 0 else f"{round(value, 3):.10g}"
    if isinstance(value, Mapping) and {"start_time", "end_time"} <= value.keys():
        return span_text(value)
    return cut(one_line(canonical(value)), width)


def span_text(record: Mapping[str, Any]) -> str:
    """A stretch as clock times."""
    start, end = record.get("start_time"), record.get("end_time")
    if not isinstance(start, int | float) or not isinstance(end, int | float):
        return "?"
    return f"{clock_text(start)}-{clock_text(end)}"


def plural(number: int, noun: str) -> str:
    """A number of things."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")

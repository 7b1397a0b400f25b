"""A strict YAML reader: limited size, no repeated keys, no anchors, no tags, and a line number for every value.

Scalars follow the core schema of YAML 1.2: ``yes`` and ``1:30`` are texts, not a boolean and not a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from world_api.core.faults import ToolFault

MAX_BYTES = 200_000
MAX_DEPTH = 12
MAX_NODES = 20_000

Place = tuple[str | int, ...]
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,14})")
_DECIMAL = re.compile(r"[-+]?[0-9]{1,15}\.[0-9]{1,15}")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


@dataclass(kw_only=True)
class YamlText:
    """A document: its value, and the line (from 1) of each of its parts."""

    value: Any = None
    lines: dict[Place, int] = field(default_factory=dict)

    def line(self, place: Place) -> int:
        """Return the line of a part, or of the nearest part around it."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)


def read_yaml(content: bytes, name: str) -> YamlText:
    """Parse a document; ``name`` is the file's, for messages.

    Raises:
        ToolFault: ``bad_yaml``, with the line.
    """
    import yaml

    if len(content) > MAX_BYTES:
        raise _bad(name, None, f"it has more than {MAX_BYTES} bytes", "a domain is a page or two of text")
    try:
        reader = _Reader(yaml.parse(content.decode("utf-8-sig"), Loader=yaml.SafeLoader), name)
        return reader.document()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _bad(name, line, "it is not UTF-8", "save the file as UTF-8") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        problem = " ".join(str(getattr(error, "problem", None) or error).split())[:200]
        raise _bad(name, mark.line + 1 if mark else None, problem, "check indentation, quotes and colons") from None


class _Reader:
    """Builds a value from the events of the parser, and refuses what the reader does not take."""

    def __init__(self, events: Iterator[Any], name: str) -> None:
        self._events = events
        self._name = name
        self._count = 0
        self._text = YamlText()

    def document(self) -> YamlText:
        """Return the one document of the stream."""
        import yaml

        self._next()
        if isinstance(self._next(), yaml.StreamEndEvent):
            raise _bad(self._name, 1, "it is empty", "begin with one of the packaged domains")
        self._text.value = self._value(self._next(), ())
        self._next()
        if not isinstance(event := self._next(), yaml.StreamEndEvent):
            raise self._refused(event, "a second document begins", "keep one document in a file")
        return self._text

    def _next(self) -> Any:
        import yaml

        event = next(self._events)
        self._count += 1
        if self._count > MAX_NODES:
            raise self._refused(event, f"it has more than {MAX_NODES} parts", "a domain is a page or two of text")
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise self._refused(event, "anchors and aliases (& and *) are not read", "quote the text, or write it out")
        if (tag := getattr(event, "tag", None)) is not None:
            raise self._refused(event, f"the tag {tag[:40]!r} is not read", "leave the tag out, or quote the text")
        return event

    def _value(self, event: Any, place: Place) -> Any:
        import yaml

        self._text.lines[place] = _line(event)
        if isinstance(event, yaml.ScalarEvent):
            return _scalar(event.value) if event.style is None else event.value
        if len(place) >= MAX_DEPTH:
            raise self._refused(event, f"it is nested more than {MAX_DEPTH} deep", "a domain is nested four deep")
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Any] = []
            while not isinstance(item := self._next(), yaml.SequenceEndEvent):
                items.append(self._value(item, (*place, len(items))))
            return items
        found: dict[str, Any] = {}
        while not isinstance(item := self._next(), yaml.MappingEndEvent):
            if not isinstance(item, yaml.ScalarEvent):
                raise self._refused(item, "a key is not a word", "quote it if it holds { or [")
            key, line = str(item.value), _line(item)
            if key in found:
                first = self._text.lines[(*place, key)]
                what = f"the key {key[:60]!r} is here a second time (first on line {first})"
                raise self._refused(item, what, "keep one")
            found[key] = self._value(self._next(), (*place, key))
            self._text.lines[(*place, key)] = line
        return found

    def _refused(self, event: Any, message: str, hint: str) -> ToolFault:
        return _bad(self._name, _line(event), message, hint)


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _scalar(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text


def _bad(name: str, line: int | None, message: str, hint: str) -> ToolFault:
    where = f"{name}, line {line}" if line else name
    return ToolFault("bad_yaml", f"{where}: {message}", hint=hint)

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
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _bad(name, line, "it is not UTF-8", "save the file as UTF-8") from None
    try:
        _check_events(yaml.parse(text, Loader=yaml.SafeLoader), name)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(str(error.problem or error.context or "it cannot be read").split())
        raise _bad(name, mark.line + 1 if mark else None, problem, "check indentation, quotes and colons") from None
    except yaml.YAMLError as error:
        raise _bad(name, None, " ".join(str(error).split())[:200], "save the file as plain UTF-8 text") from None
    if root is None:
        raise _bad(name, 1, "it is empty", "begin with one of the packaged domains")
    found = YamlText()
    found.value = _built(root, (), found.lines, name)
    return found


def _check_events(events: Iterator[Any], name: str) -> None:
    """Check limits and forbidden parts on the event stream, before anything is built."""
    import yaml

    depth = 0
    for number, event in enumerate(events):
        line = event.start_mark.line + 1
        if number > MAX_NODES:
            raise _bad(name, line, f"it has more than {MAX_NODES} parts", "a domain is a page or two of text")
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise _bad(name, line, "anchors and aliases (& and *) are not read", "quote the text, or write it out")
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise _bad(name, line, f"the tag {str(tag)[:40]!r} is not read", "leave the tag out, or quote the text")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise _bad(name, line, f"it is nested more than {MAX_DEPTH} deep", "a domain is nested four deep")


def _built(node: Any, place: Place, lines: dict[Place, int], name: str) -> Any:
    import yaml

    lines[place] = node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        return [_built(item, (*place, number), lines, name) for number, item in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, place, lines, name)
    return _scalar(node.value) if node.style is None else node.value


def _mapping(node: Any, place: Place, lines: dict[Place, int], name: str) -> dict[str, Any]:
    import yaml

    found: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            raise _bad(name, line, "a key is not a word", "quote it if it holds { or [")
        key = str(key_node.value)
        if key in found:
            first = lines[(*place, key)]
            raise _bad(name, line, f"the key {key[:60]!r} is here a second time (first on line {first})", "keep one")
        found[key] = _built(value_node, (*place, key), lines, name)
        lines[(*place, key)] = line
    return found


def _scalar(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text


def _bad(name: str, line: int | None, message: str, hint: str) -> ToolFault:
    where = f"{name}, line {line}" if line else name
    return ToolFault("bad_yaml", f"{where}: {message}", hint=hint)

"""A strict YAML reader: limited size, no repeated keys, no anchors, no tags, and a line number for every value.

Scalars follow the core schema of YAML 1.2: ``yes`` and ``1:30`` are texts, not a boolean and not a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.resources import files
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
        """Return the line of a part, or of the innermost enclosing part that has one."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)


def read_yaml(content: bytes, name: str, *, if_empty: str | None = "write its first key") -> YamlText:
    """Parse a document; ``name`` is the file's name for messages.

    ``if_empty``: the hint of the fault of a document without a value; None: its value is None.

    Raises:
        ToolFault: ``bad_yaml``; the message contains the line.
    """
    import yaml

    if len(content) > MAX_BYTES:
        raise _bad(name, None, f"it has more than {MAX_BYTES} bytes", "such a file is a page or two of text")
    try:
        source = content.decode("utf-8-sig")
        _check_events(yaml.parse(source, Loader=yaml.SafeLoader), name)
        root = yaml.compose(source, Loader=yaml.SafeLoader)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _bad(name, line, "it is not UTF-8", "save the file as UTF-8") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        problem = " ".join(str(getattr(error, "problem", None) or error).split())[:200]
        raise _bad(name, mark.line + 1 if mark else None, problem, "check indentation, quotes and colons") from None
    text = YamlText()
    if root is not None:
        text.value = _value(root, (), text, name)
    elif if_empty is not None:
        raise _bad(name, 1, "it is empty", if_empty)
    return text


def packaged_yaml(package: str, name: str) -> Any:
    """Return the value of a YAML file of a package; ``package`` is the package's import name."""
    return read_yaml((files(package) / name).read_bytes(), name).value


def _check_events(events: Iterable[Any], name: str) -> None:
    """Refuse anchors, aliases, tags, and documents that are too large or nested too deep, before any value is built."""
    import yaml

    depth = 0
    for count, event in enumerate(events):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        is_shared = isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None
        tag = getattr(event, "tag", None)
        for is_refused, what, hint in (
            (count > MAX_NODES, f"it has more than {MAX_NODES} parts", "such a file is a page or two of text"),
            (is_shared, "anchors and aliases (& and *) are not read", "quote the text, or write it out"),
            (tag is not None, f"the tag {str(tag)[:40]!r} is not read", "leave the tag out, or quote the text"),
            (depth > MAX_DEPTH, f"it is nested more than {MAX_DEPTH} deep", "such a file is nested four deep"),
        ):
            if is_refused:
                raise _bad(name, _line(event), what, hint)


def _value(node: Any, place: Place, text: YamlText, name: str) -> Any:
    """Return the value of a node, and record the lines of its parts in ``text``."""
    import yaml

    text.lines.setdefault(place, _line(node))
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node.value) if node.style is None else node.value
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*place, number), text, name) for number, item in enumerate(node.value)]
    found: dict[str, Any] = {}
    for key, item in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _bad(name, _line(key), "a key is not a word", "quote it if it holds { or [")
        inner = (*place, str(key.value))
        if inner in text.lines:
            what = f"the key {key.value[:60]!r} is here a second time (first on line {text.lines[inner]})"
            raise _bad(name, _line(key), what, "keep one")
        text.lines[inner] = _line(key)
        found[key.value] = _value(item, inner, text, name)
    return found


def _line(part: Any) -> int:
    return int(part.start_mark.line) + 1


def _scalar(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text


def _bad(name: str, line: int | None, message: str, hint: str) -> ToolFault:
    where = f"{name}, line {line}" if line else name
    return ToolFault("bad_yaml", f"{where}: {message}", hint=hint)

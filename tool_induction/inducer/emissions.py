"""Tool documents in a model's reply.

A reply may be JSON, JSON in a fence, several blocks, or prose with JSON in it. Every JSON value in it is found by its
brackets and parsed as strictly as any document, without repairs. Text outside tools is kept as ``left_out``; a tool
that cannot be parsed, or that the reply ends in, is kept with the reason.

Reasoning that a server leaves in the reply (``<think> ... </think>``) contains drafts, not tools. If a tool is quoted
and later written again, the last version that can be parsed counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal

from tool_induction import limits
from tool_induction.compiler.source import decode
from tool_induction.language.diagnostics import Findings
from world_api.core.canonical import canonical_json

_MAX_TRIES = 2_000  #: brackets that are tried in one reply
_MAX_SCANNED = 4_000_000  #: characters that are scanned in one reply, over all brackets

_NAME = re.compile(r'"tool_name"\s*:\s*"((?:[^"\\]|\\.){0,200})"')
_HOLDS = re.compile(r'"tools"\s{0,40}:')  #: the one key that holds tools together
_MARK = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_FENCE = re.compile(r"```(?:json)?|\"tools\"\s{0,40}:")
_BRACKET = re.compile(r"[\[{]")
_TOOL_KEYS = ("tool_name", "steps")
_THOUGHT = "(?:think|thinking|thought|reasoning)"
#: only at the beginning of a line, which is never inside a JSON string
_REASONING = re.compile(rf"^[ \t]*<{_THOUGHT}>.*?(?:</{_THOUGHT}>|\Z)", re.MULTILINE | re.IGNORECASE | re.DOTALL)
_CLOSED = re.compile(rf"</{_THOUGHT}>", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class WrittenTool:
    """A tool as the model wrote it: its text, its position in the reply (in characters) and its JSON value.

    If it is not valid JSON, ``fault`` is the reason and ``value`` is None. ``cut_off``: the reply ends inside it.
    ``name`` may be empty.
    """

    name: str
    text: str
    start: int
    end: int
    value: Any = None
    fault: str = ""
    cut_off: bool = False


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A part of the reply that is not used as a tool.

    ``why`` is empty for text between tools, ``reasoning`` for the model's thinking, ``repeat`` for a tool of which
    another version is used. ``tools`` has the names of the tools inside this part.
    """

    start: int
    end: int
    text: str
    why: Literal["", "reasoning", "repeat"] = ""
    tools: tuple[str, ...] = ()

    @property
    def is_wrapping(self) -> bool:
        """Whether the part is only a code fence, brackets or the key ``tools`` around JSON."""
        return not _FENCE.sub("", self.text).strip(" \t\r\n,[]{}")


@dataclass(kw_only=True)
class WrittenTools:
    """The tools in a reply and its other parts, each in the order of the reply."""

    tools: list[WrittenTool] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    #: whether the whole reply, except for reasoning before it, is one JSON value
    is_pure: bool = False


def read_tools(reply: str) -> WrittenTools:
    """Return the tools in a reply: objects with ``tool_name`` or ``steps``, alone, in a list, or under ``tools``."""
    found = WrittenTools()
    if len(reply) > limits.MAX_DOCUMENT_BYTES:
        found.tools.append(
            _broken(reply, 0, len(reply), f"the reply has more than {limits.MAX_DOCUMENT_BYTES} characters")
        )
        return found
    scanner = _Scanner()
    thoughts = []
    for start, end in _reasoning(reply):
        drafts = tuple(item.name for item in scanner.tools(reply, start, end))
        thoughts.append(LeftOut(start=start, end=end, text=reply[start:end], why="reasoning", tools=drafts))
    at, tools = 0, []
    for start, end in [*((part.start, part.end) for part in thoughts), (len(reply), len(reply))]:
        tools.extend(scanner.tools(reply, at, start))
        at = end
    rest = reply[max((part.end for part in thoughts), default=0) :].strip()
    found.is_pure = rest[:1] in ("[", "{") and _end_of(rest, 0) == len(rest)
    found.tools, repeats = _without_repeats(reply, tools)
    aside = sorted([*thoughts, *repeats], key=lambda part: part.start)
    found.left_out = sorted([*aside, *_between(reply, found.tools, aside)], key=lambda part: part.start)
    return found


def _reasoning(reply: str) -> list[tuple[int, int]]:
    """Return (start, end) of each part that is reasoning, from an opening tag to the closing one.

    Without a closing tag the part ends with the reply. If the first opening tag is missing, it begins with the reply.
    """
    found: list[tuple[int, int]] = []
    closed, opened = _CLOSED.search(reply), _REASONING.search(reply)
    if closed is not None and (opened is None or closed.start() < opened.start()):
        # Some servers omit the opening tag. Inside a tool that can be parsed, a closing tag is text.
        tools = _Scanner().tools(reply, 0, len(reply))
        if any(item.value is not None and item.start < closed.start() < item.end for item in tools):
            return []
        found.append((0, closed.end()))
    return found + [part.span() for part in _REASONING.finditer(reply, found[-1][1] if found else 0)]


def _without_repeats(reply: str, tools: list[WrittenTool]) -> tuple[list[WrittenTool], list[LeftOut]]:
    """Return each tool once, and the repeats.

    Equal tools count as one. Of tools of one name in different places (quoted, then rewritten) the last that can be
    parsed counts. Different tools of one name in one list are all kept; the compiler then reports the name as a fault.
    """
    blocks = [0] if tools else []
    for one, other in pairwise(tools):
        blocks.append(blocks[-1] + (reply[one.end : other.start].strip(" \t\r\n,") != ""))
    chosen: dict[str, int] = {}  # by name: the block whose tools count
    for item, block in zip(tools, blocks, strict=True):
        if item.value is not None or item.name not in chosen:
            chosen[item.name] = block
    kept: list[WrittenTool] = []
    repeats: list[LeftOut] = []
    later: set[str] = set()
    for item, block in reversed(list(zip(tools, blocks, strict=True))):
        said = item.text if item.value is None else canonical_json(item.value)
        if said in later or (item.name and chosen[item.name] != block):
            repeats.append(LeftOut(start=item.start, end=item.end, text=item.text, why="repeat", tools=(item.name,)))
        else:
            later.add(said)
            kept.append(item)
    return kept[::-1], repeats[::-1]


def _between(reply: str, tools: list[WrittenTool], aside: list[LeftOut]) -> Iterator[LeftOut]:
    """Yield the text outside ``tools`` and ``aside``, except for the brackets that enclose the tools."""
    at = 0
    known = sorted([*((item.start, item.end) for item in tools), *((part.start, part.end) for part in aside)])
    for start, end in [*known, (len(reply), len(reply))]:
        text = reply[at:start]
        if _HOLDS.sub("", text, count=1).strip(" \t\r\n,[]{}"):
            yield LeftOut(start=at, end=start, text=text)
        at = end


class _Scanner:
    """Finds tools in parts of a reply, from bracket to bracket; the limits apply to all parts together."""

    def __init__(self) -> None:
        self._reply = ""
        self._tries = 0
        self._scanned = 0

    def tools(self, reply: str, start: int, end: int) -> list[WrittenTool]:
        """Return the tools in ``reply[start:end]``, with their positions in the whole reply."""
        self._reply = reply[start:end]
        return [replace(item, start=item.start + start, end=item.end + start) for item in self._walk()]

    def _walk(self) -> Iterator[WrittenTool]:
        at = 0
        while (bracket := _BRACKET.search(self._reply, at)) is not None:
            start = bracket.start()
            self._tries += 1
            if self._tries > _MAX_TRIES or self._scanned > _MAX_SCANNED:
                rest = self._reply[start:]
                if '"tool_name"' in rest:
                    yield _broken(
                        self._reply, start, len(self._reply), "the reply holds too many brackets to be read on"
                    )
                return
            end = _end_of(self._reply, start)
            self._scanned += (len(self._reply) if end is None else end) - start
            found = self._at(start, end)
            yield from found
            at = found[-1].end if found else end if end is not None and self._holds_no_tool(start, end) else start + 1

    def _holds_no_tool(self, start: int, end: int) -> bool:
        """Whether the reply from ``start`` to ``end`` is valid JSON without any key of a tool, and can be skipped as a whole."""
        text = self._reply[start:end]
        findings = Findings()
        decode(text, findings)
        return not findings.errors and not any(f'"{key}"' in text for key in _TOOL_KEYS)

    def _at(self, start: int, end: int | None) -> list[WrittenTool]:
        """Return the tools of the value that begins at a bracket; ``end`` is None if the bracket is not closed."""
        reply = self._reply
        if end is None:
            own = reply[start] == "{" and _own_name(reply, start, len(reply))
            torn = _broken(reply, start, len(reply), "the reply breaks off in it")
            return [replace(torn, cut_off=True)] if own else []
        findings = Findings()
        value = decode(reply[start:end], findings)
        if isinstance(value, dict) and any(key in value for key in _TOOL_KEYS):
            fault = "; ".join(item.message for item in findings.items if item.severity == "error")
            name = value["tool_name"] if isinstance(value.get("tool_name"), str) else ""
            kept = None if fault else value
            return [WrittenTool(name=name, text=reply[start:end], start=start, end=end, value=kept, fault=fault)]
        if value is None and reply[start] == "{" and _own_name(reply, start, end):
            return [_broken(reply, start, end, "; ".join(item.message for item in findings.items))]
        return []


def _broken(reply: str, start: int, end: int, fault: str) -> WrittenTool:
    text = reply[start:end]
    match = _NAME.search(text)
    return WrittenTool(name=match[1] if match else "", text=text, start=start, end=end, fault=fault)


def _own_name(reply: str, start: int, end: int) -> bool:
    """Whether the first ``tool_name`` after a brace is this object's own key, not one of an object inside it."""
    match = _NAME.search(reply, start, end)
    if match is None:
        return False
    return sum(1 if mark[0] in "[{" else -1 for mark in _brackets(reply, start, match.start())) == 1


def _end_of(text: str, start: int) -> int | None:
    """Return the position after the bracket that closes the one at ``start``, or None; strings are skipped."""
    depth = 0
    for mark in _brackets(text, start, len(text)):
        depth += 1 if mark[0] in "[{" else -1
        if depth == 0:
            return mark.end()
    return None


def _brackets(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """Return the brackets outside JSON strings; an unclosed string runs to the end."""
    return (mark for mark in _MARK.finditer(text, start, end) if mark[0][0] != '"')

"""Finding tool documents in what a model wrote.

A reply may be JSON, JSON in a fence, several blocks, or prose with JSON in it. Every JSON value in it is found by its brackets and
read as strictly as any document; nothing in it is changed. What is not part of a tool is kept as ``left_out``, and a tool that
cannot be read, or that breaks off, is kept as it stands with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from tool_induction.compiler.decode import decode
from tool_induction.documents.emission import document_from_emission
from tool_induction.language import limits
from tool_induction.language.diagnostics import Findings

MAX_TRIES = 2_000  #: brackets that are looked at in one reply
MAX_SCANNED = 8_000_000  #: characters that are looked at in one reply, over all brackets

_NAME = re.compile(r'"tool_name"\s*:\s*"((?:[^"\\]|\\.){0,200})"')
_HOLDS = re.compile(r'"tools"\s{0,40}:')  #: the one key that holds tools together
_MARK = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_FENCE = re.compile(r"```(?:json)?|\"tools\"\s{0,40}:")
_TOOL_KEYS = ("tool_name", "steps")


@dataclass(frozen=True, kw_only=True)
class WrittenTool:
    """A tool as it was written: where it stood in the reply (characters), and its value.

    ``fault`` says why it could not be read as JSON; then ``value`` is none. ``name`` may be empty.
    """

    name: str
    text: str
    start: int
    end: int
    value: Any = None
    fault: str = ""
    cut_off: bool = False
    converted: bool = False  #: the value is the document that the text, in the strict emission form, stands for


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A part of the reply that belongs to no tool."""

    start: int
    end: int
    text: str

    @property
    def is_wrapping(self) -> bool:
        """Whether it is no more than a fence around JSON, with the brackets in it."""
        return not _FENCE.sub("", self.text).strip(" \t\r\n,[]{}")


@dataclass(kw_only=True)
class WrittenTools:
    """What was found in a reply, in its order."""

    tools: list[WrittenTool] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    #: whether the whole reply is one JSON value
    is_pure: bool = False


def read_tools(reply: str, *, strict_form: bool = False) -> WrittenTools:
    """The tools in a reply; ``strict_form`` says that it was asked for in the strict emission form.

    Tools are objects with ``tool_name`` or ``steps``; they stand alone, in a list, or under ``tools``.
    """
    found = WrittenTools(is_pure=_is_pure(reply))
    if len(reply) > limits.MAX_DOCUMENT_BYTES:
        found.tools.append(
            _broken(reply, 0, len(reply), f"the reply has more than {limits.MAX_DOCUMENT_BYTES} characters")
        )
        return found
    found.tools = list(_Scanner(reply).tools())
    found.left_out = list(_between(reply, found.tools))
    if strict_form:
        found.tools = [_document(item) for item in found.tools]
    return found


def _document(item: WrittenTool) -> WrittenTool:
    if item.value is None:
        return item
    value = document_from_emission({"tools": [item.value]})["tools"][0]
    return item if value == item.value else replace(item, value=value, converted=True)


def _is_pure(reply: str) -> bool:
    text = reply.strip()
    if not text or text[0] not in "[{" or len(text) > limits.MAX_DOCUMENT_BYTES:
        return False
    return _end_of(text, 0) == len(text)


def _between(reply: str, tools: list[WrittenTool]) -> Iterator[LeftOut]:
    """What stands between the tools, but for what holds them together."""
    at = 0
    for start, end in [*((item.start, item.end) for item in tools), (len(reply), len(reply))]:
        text = reply[at:start]
        if _HOLDS.sub("", text, count=1).strip(" \t\r\n,[]{}"):
            yield LeftOut(start=at, end=start, text=text)
        at = end


class _Scanner:
    """Walks over a reply from bracket to bracket."""

    def __init__(self, reply: str) -> None:
        self._reply = reply
        self._tries = 0
        self._scanned = 0

    def tools(self) -> Iterator[WrittenTool]:
        at = 0
        while (start := self._next_bracket(at)) is not None:
            self._tries += 1
            if self._tries > MAX_TRIES or self._scanned > MAX_SCANNED:
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

    def _next_bracket(self, at: int) -> int | None:
        places = [place for mark in "[{" if (place := self._reply.find(mark, at)) >= 0]
        return min(places) if places else None

    def _holds_no_tool(self, start: int, end: int) -> bool:
        """Whether a value can be passed over; what may hold a tool is looked into."""
        text = self._reply[start:end]
        findings = Findings()
        decode(text, findings)
        return not findings.errors and not any(f'"{key}"' in text for key in _TOOL_KEYS)

    def _at(self, start: int, end: int | None) -> list[WrittenTool]:
        """The tools of the value that begins at a bracket; none where it is no tool and holds none."""
        reply = self._reply
        if end is None:
            own = reply[start] == "{" and _own_name(reply, start, len(reply))
            return [_cut_off(reply, start)] if own else []
        findings = Findings()
        value = decode(reply[start:end], findings)
        if isinstance(value, dict) and _is_tool(value):
            fault = "; ".join(item.message for item in findings.items if item.severity == "error")
            name = value.get("tool_name")
            return [
                WrittenTool(
                    name=name if isinstance(name, str) else "",
                    text=reply[start:end],
                    start=start,
                    end=end,
                    value=None if fault else value,
                    fault=fault,
                )
            ]
        if value is None and reply[start] == "{" and _own_name(reply, start, end):
            return [_broken(reply, start, end, "; ".join(item.message for item in findings.items))]
        return []


def _is_tool(value: dict[str, Any]) -> bool:
    return any(key in value for key in _TOOL_KEYS)


def _broken(reply: str, start: int, end: int, fault: str) -> WrittenTool:
    text = reply[start:end]
    return WrittenTool(name=_name_in(text), text=text, start=start, end=end, fault=fault)


def _cut_off(reply: str, start: int) -> WrittenTool:
    text = reply[start:]
    return WrittenTool(
        name=_name_in(text), text=text, start=start, end=len(reply), fault="the reply breaks off in it", cut_off=True
    )


def _name_in(text: str) -> str:
    match = _NAME.search(text)
    return match[1] if match else ""


def _own_name(reply: str, start: int, end: int) -> bool:
    """Whether the first ``tool_name`` after a brace is this object's own key, not one of an object inside it."""
    match = _NAME.search(reply, start, end)
    return match is not None and _depth(reply, start, match.start()) == 1


def _depth(text: str, start: int, end: int) -> int:
    """How many brackets are open at ``end``, from ``start`` on."""
    return sum(1 if mark[0] in "[{" else -1 for mark in _brackets(text, start, end))


def _end_of(text: str, start: int) -> int | None:
    """Where the bracket at ``start`` is closed (one past it), strings left aside; none where it never is."""
    depth = 0
    for mark in _brackets(text, start, len(text)):
        depth += 1 if mark[0] in "[{" else -1
        if depth == 0:
            return mark.end()
    return None


def _brackets(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """The brackets that stand outside JSON strings; a string that is not closed runs to the end."""
    return (mark for mark in _MARK.finditer(text, start, end) if mark[0][0] != '"')

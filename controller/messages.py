"""What a model sends: parsed replies, and the time spans that it cites.

Replies are not trusted: servers differ and models make mistakes. Each problem has a name, and the loop returns it to the
model; arguments are never repaired. Only a missing call id is filled in, because the protocol cannot answer a call
without one; this counts as a problem.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Literal, TypeGuard

from world_api.chat.messages import CARRIED, MAX_CALLS_IN_A_REPLY, call_position, first_message, text_of
from world_api.core.canonical import is_deep, is_finite_number, parse_json
from world_api.core.spans import TimeSpan, round_time

# --- replies --------------------------------------------------------------------------------------------------------

MAX_ARGUMENT_CHARACTERS = 100_000

Problem = Literal[
    "no_choices", "bad_message", "empty_reply", "call_in_text", "bad_call", "arguments_not_json",
    "arguments_not_object", "unknown_tool", "missing_call_id", "duplicate_call_id", "repeated_call", "too_many_calls",
    "bad_answer", "second_answer", "call_after_answer", "early_answer", "cut_reply", "untyped_answer", "asked_before", "bad_cursor",
]  # fmt: skip

_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_THOUGHT_FIELDS = ("reasoning_content", "reasoning")
_THOUGHT = re.compile(r"\s*<think(?:ing)?>(?P<thought>.*?)(?:</think(?:ing)?>|\Z)", re.DOTALL)
_Written = tuple[str, str, str]  #: id, tool and arguments of a call as received
_UNREADABLE: frozenset[Problem] = frozenset({"bad_call", "arguments_not_json", "arguments_not_object"})


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """A tool call in a reply. ``fault``: why it cannot run; ``note``: a problem in spite of which it can run.

    ``written`` are the arguments as the model wrote them. ``arguments`` is empty if they are not a JSON object.
    """

    id: str
    tool: str
    arguments: dict[str, Any]
    written: Any
    fault: Problem | None = None
    note: Problem | None = None

    def message(self) -> dict[str, Any]:
        """Return the call as the conversation repeats it.

        Servers parse the conversation, and some fail on a call that cannot be parsed. Such a call is repeated with a
        valid name and arguments; the observation that answers it quotes the original.
        """
        name = self.tool if _TOOL_NAME.fullmatch(self.tool) else "unknown_tool"
        readable = isinstance(self.written, str) and self.fault not in _UNREADABLE
        arguments = self.written if readable else "{}"
        return {"id": self.id, "type": "function", "function": {"name": name, "arguments": arguments}}


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A parsed reply: text, calls, and the problem with it as a whole, if any.

    ``thought`` is its reasoning text. ``carried`` is opaque data that the API requires back in the conversation.
    """

    content: str
    calls: tuple[ToolCall, ...]
    fault: Problem | None = None
    thought: str | None = None
    carried: Any = None

    def message(self) -> dict[str, Any]:
        """Return the assistant message for the conversation: text and calls, with missing ids filled in."""
        message: dict[str, Any] = {"role": "assistant", "content": self.content}
        if self.calls:
            message["content"] = self.content or None
            message["tool_calls"] = [call.message() for call in self.calls]
        if self.carried is not None:
            message[CARRIED] = self.carried
        return message


def read_reply(
    reply: Mapping[str, Any], *, tools: frozenset[str], round_number: int, used_ids: Set[str] = frozenset()
) -> Reply:
    """Parse a Chat Completions reply. ``tools``: names that may be called; ``used_ids``: ids of earlier calls."""
    choices, message = reply.get("choices"), first_message(reply)
    if message is None:
        has_choice = isinstance(choices, list) and choices
        return Reply(content="", calls=(), fault="bad_message" if has_choice else "no_choices")
    thought, content = _thought_apart(message)
    reader = _CallReader(tools=tools, round_number=round_number, used_ids=set(used_ids))
    calls = reader.read_all(message.get("tool_calls"))
    fault: Problem | None = None
    if not calls:
        fault = "empty_reply" if not content else "call_in_text" if call_position(content, tools) is not None else None
    return Reply(content=content, calls=calls, fault=fault, thought=thought or None, carried=message.get(CARRIED))


def _thought_apart(message: Mapping[str, Any]) -> tuple[str, str]:
    """Return the reasoning text of a message, and the text that is meant for the reader.

    Servers send the reasoning in a separate field or, without a parser for it, between tags before the text.
    """
    content = text_of(message).strip()
    texts = (text_of({"content": message.get(key)}).strip() for key in _THOUGHT_FIELDS)
    thought = next(filter(None, texts), "")
    match = _THOUGHT.match(content)
    if match is None:
        return thought, content
    return "\n".join(filter(None, (thought, match["thought"].strip()))), content[match.end() :].strip()


@dataclass(kw_only=True)
class _CallReader:
    """Reads the calls of one reply; each gets an id that is unique in the conversation."""

    tools: frozenset[str]
    round_number: int
    used_ids: set[str]
    seen: set[_Written] = field(default_factory=set)

    def read_all(self, raw_calls: Any) -> tuple[ToolCall, ...]:
        if not isinstance(raw_calls, list):
            return ()
        calls = [self._read(raw, position) for position, raw in enumerate(raw_calls[:MAX_CALLS_IN_A_REPLY])]
        if len(raw_calls) > MAX_CALLS_IN_A_REPLY:
            spare_id = self._spare_id(MAX_CALLS_IN_A_REPLY)
            calls.append(ToolCall(id=spare_id, tool="more_calls", arguments={}, written="{}", fault="too_many_calls"))
        return tuple(calls)

    def _read(self, raw: Any, position: int) -> ToolCall:
        function = raw.get("function") if isinstance(raw, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not function["name"]:
            return ToolCall(id=self._spare_id(position), tool="unnamed", arguments={}, written=raw, fault="bad_call")
        tool, written, given = function["name"], function.get("arguments"), raw.get("id")
        arguments, fault = _read_arguments(written)
        note: Problem | None = None
        if not isinstance(given, str) or not given or given in self.used_ids:
            note = "duplicate_call_id" if isinstance(given, str) and given else "missing_call_id"
            call_id = self._spare_id(position)
        else:
            call_id = given
            self.used_ids.add(given)
        # A call that cannot be parsed keeps that fault, also if its tool is unknown.
        fault = fault or ("unknown_tool" if tool not in self.tools else None)
        same = (str(given), tool, repr(written))
        if note == "duplicate_call_id" and same in self.seen:
            fault = fault or "repeated_call"
        self.seen.add(same)
        return ToolCall(id=call_id, tool=tool, arguments=arguments, written=written, fault=fault, note=note)

    def _spare_id(self, position: int) -> str:
        name = f"call_r{self.round_number}_{position}"
        names = itertools.chain([name], (f"{name}_{number}" for number in itertools.count(2)))
        spare = next(item for item in names if item not in self.used_ids)
        self.used_ids.add(spare)
        return spare


def _read_arguments(written: Any) -> tuple[dict[str, Any], Problem | None]:
    """Return the arguments as an object and None, or an empty object and the problem with them."""
    if written is None:
        return {}, "arguments_not_object"
    if not isinstance(written, str) or len(written) > MAX_ARGUMENT_CHARACTERS:
        return {}, "arguments_not_json"
    try:
        value = parse_json(written)
        json.dumps(value, ensure_ascii=False).encode()  # escapes can spell characters that are not Unicode text
    except ValueError:
        return {}, "arguments_not_json"
    if is_deep(value):
        return {}, "arguments_not_json"
    return (value, None) if isinstance(value, dict) else ({}, "arguments_not_object")


# --- cited time spans -----------------------------------------------------------------------------------------------

#: Tolerance of citations: a model that rounds to whole seconds still cites the span that was returned.
ROUNDING_SECONDS = 0.5
#: The id of the digest in the first message, among the ids of calls.
DIGEST = "digest"
#: The last word of fields that hold moments (``frame_time``, ``told_until``), and words for the two ends of an interval.
_MOMENT = frozenset({"time", "timestamp", "times", "timestamps", "moment", "at", "start", "end", "from", "until"})
_ENDS = {"start": "end", "first": "last", "from": "until"}
#: Text fields written by code, with times in seconds: ``36.5 to 49.5 s``. Other texts repeat the video or a model. Quotations
#: are left out, and so are texts in a record whose evidence is a model's look at frames. What a tool's ``summary`` and
#: ``outputs`` repeat without quotes cannot be distinguished from the tool's own words.
_SECONDS_FIELDS = frozenset({"answer", "path_repr", "summary", "hint"})
_QUOTED = re.compile(r"""\"[^\"]*(?:\"|\Z)|“[^”]*(?:”|\Z)|「[^」]*(?:」|\Z)|(?<!\w)'(?:\\.|[^'\\])*(?:'|\Z)""")
_LOOK = "look"  #: the source of evidence by a model that looked at frames
_NUMBER = re.compile(r"(?<![\w.])\d{1,8}(?:\.\d+)?", re.ASCII)
_PRINTED = 0.06  #: largest difference in seconds between a time and its printed form
_SECONDS = re.compile(r"(?<![\w.])(\d{1,8}(?:\.\d{1,3})?)(?: ?(?:-|–|to) ?(\d{1,8}(?:\.\d{1,3})?))? ?s\b", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class CitedSpan:
    """A cited span (seconds); ``returned_by``: ids of the calls that returned it, or ``digest``; empty if unsupported."""

    start_time: float
    end_time: float
    returned_by: list[str]


def cite(spans: Sequence[TimeSpan], results: Iterable[tuple[str, Any, Any]]) -> list[CitedSpan]:
    """Match the cited spans against the spans that calls returned; ``results`` are (call id, result, arguments).

    Spans match if their starts and their ends differ by at most 0.5 s. An interval in a text is ignored if the
    arguments of the call contain both its ends: it only repeats the request.
    """
    if not spans:
        return []
    returned = [
        (call_id, span) for call_id, result, arguments in results for span in spans_in(result, arguments=arguments)
    ]
    cited = []
    for span in spans:
        calls = dict.fromkeys(
            call_id
            for call_id, other in returned
            if abs(span.start - other.start) <= ROUNDING_SECONDS and abs(span.end - other.end) <= ROUNDING_SECONDS
        )
        cited.append(
            CitedSpan(start_time=round_time(span.start), end_time=round_time(span.end), returned_by=list(calls))
        )
    return cited


def spans_in(result: Any, *, arguments: Any = None) -> Iterator[TimeSpan]:
    """Yield every interval and moment in a result, at any depth; a moment has equal start and end.

    An interval is a pair of times in one record whose names differ in ``start`` and ``end``, ``first`` and ``last``, or
    ``from`` and ``until``. Texts directly in the ``outputs`` of a tool and in fields such as ``summary`` are read,
    unless a vision model wrote them; a span in a text is left out if both its ends are among ``arguments``.
    """
    numbers = list(_numbers_in(arguments))
    for span, from_text in _spans_in(result, "", read_texts=True):
        if not (from_text and _is_among(span.start, numbers) and _is_among(span.end, numbers)):
            yield span


def _spans_in(value: Any, under: str, *, read_texts: bool) -> Iterator[tuple[TimeSpan, bool]]:
    """Yield the spans in the value of the field ``under``, each with whether it is from a text.

    Texts are read only if ``read_texts``.
    """
    if isinstance(value, Mapping):
        evidence = value.get("evidence")
        items = evidence if isinstance(evidence, list) else []
        # Texts beside evidence of a model that looked at frames are its own.
        read_texts = read_texts and not any(isinstance(one, Mapping) and one.get("source") == _LOOK for one in items)
        for span in _pairs(value):
            yield span, False
        for key, item in value.items():
            name = under if under == "outputs" and isinstance(item, str) else str(key)
            yield from _spans_in(item, name, read_texts=read_texts)
    elif isinstance(value, list):
        for item in value:
            yield from _spans_in(item, under, read_texts=read_texts)
    elif isinstance(value, str):
        if read_texts and (under == "outputs" or under in _SECONDS_FIELDS):
            for start, end in _SECONDS.findall(_QUOTED.sub('""', value)):
                if float(start) <= float(end or start):
                    yield TimeSpan(start=float(start), end=float(end or start)), True
    elif _is_time(value) and under.rpartition("_")[2] in _MOMENT:
        yield TimeSpan(start=float(value), end=float(value)), False


def _numbers_in(value: Any) -> Iterator[float]:
    """Yield the numbers in the arguments of a call, also those inside texts."""
    for _, leaf in leaves(value):
        if isinstance(leaf, str):
            yield from map(float, _NUMBER.findall(leaf))
        elif _is_time(leaf):
            yield float(leaf)


def leaves(value: Any, under: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (key, scalar) for the scalars of a JSON value in order; the key is the innermost around it, ``under`` if there is none."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves(item, str(key))
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item, under)
    else:
        yield under, value


def _is_among(time: float, numbers: Sequence[float]) -> bool:
    return any(abs(time - number) <= _PRINTED for number in numbers)


def _pairs(record: Mapping[str, Any]) -> Iterator[TimeSpan]:
    for key, start in record.items():
        words = str(key).split("_") if _is_time(start) else []
        for place, word in enumerate(words):
            if word in _ENDS:
                end = record.get("_".join([*words[:place], _ENDS[word], *words[place + 1 :]]))
                if _is_time(end) and start <= end:
                    yield TimeSpan(start=float(start), end=float(end))


def _is_time(value: Any) -> TypeGuard[float]:
    return is_finite_number(value) and 0 <= value < 1e9

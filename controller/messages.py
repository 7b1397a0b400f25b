"""What a model sends and what it is shown: parsed replies, and tool results as observations.

Replies are not trusted: servers differ and models make mistakes. Each problem has a name, and the loop returns it to the
model; arguments are never repaired. Only a missing call id is filled in, because the protocol cannot answer a call
without one; this counts as a problem.

A tool result is shown in its lean form, shortened if it is long, and folded into a summary once it is old. Text from the video is
given to the model only as JSON inside ``data_from_video``: it may contain instructions, but it remains inside its field.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, Literal

from controller.citations import leaves, spans_in
from controller.lean import lean
from controller.prompts import Prompts
from world_api.chat.messages import CARRIED, DATA, call_position, data_line, first_message, text_of
from world_api.core.canonical import is_deep, parse_json
from world_api.core.faults import ErrorBody

# --- replies --------------------------------------------------------------------------------------------------------

MAX_ARGUMENT_CHARACTERS = 100_000
MAX_CALLS_IN_A_REPLY = 64

Problem = Literal[
    "no_choices", "bad_message", "empty_reply", "call_in_text", "bad_call", "arguments_not_json",
    "arguments_not_object", "unknown_tool", "missing_call_id", "duplicate_call_id", "repeated_call", "too_many_calls",
    "bad_answer", "second_answer", "call_after_answer", "early_answer", "cut_reply", "untyped_answer", "asked_before",
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


# --- observations ---------------------------------------------------------------------------------------------------

_SHORTEST_TEXT = 200  #: characters; texts are not cut below this
_MOST_EVIDENCE = 8  #: pieces that are shown; entries have times of their own
_LEAST_EVIDENCE = 3  #: pieces that a long result keeps
_WIDE = 16  #: entries; narrower objects are taken for records, which are not halved
_MAX_QUOTED = 300  #: characters
_BOOK_KEEPING = frozenset({"calls", "cost"})  #: the cost of an induced tool

# What the summary of a folded result contains at most.
_KEPT_SPANS, _KEPT_IDS, _KEPT_CHARACTERS = 6, 12, 160
_IDS = ("entity_id", "memory_id", "scene_id", "segment_id")
_SAYINGS = ("answer", "caption", "summary", "content", "brief_caption", "snippet", "text", "hint")


def call_slip(call: ToolCall, problem: Problem, prompts: Prompts) -> ErrorBody:
    """Return the message to the model about a malformed call, quoting unreadable arguments or an unknown tool."""
    quoted = {"arguments_not_json": call.written, "arguments_not_object": call.written, "unknown_tool": call.tool}
    detail = f"{quoted[problem]!r}" if problem in quoted else ""
    return prompts.notice(problem, detail if len(detail) <= _MAX_QUOTED else detail[:_MAX_QUOTED] + "...")


@dataclass(frozen=True, kw_only=True)
class Observation:
    """The result of a call. ``is_data``: a tool returned it; otherwise it is the loop's own text."""

    call: ToolCall
    result: dict[str, Any]
    is_data: bool
    notice: ErrorBody | None = None

    def message(self, prompts: Prompts, *, limit: int) -> dict[str, Any]:
        """Return the message that answers the call; a result longer than ``limit`` characters is shortened.

        At most the first 8 pieces of evidence are shown. If anything is left out, the message contains how much
        (``cut``).
        """
        kept = {key: value for key, value in self.result.items() if key not in _BOOK_KEEPING}
        whole = lean(kept, self.call.arguments) if self.is_data else kept
        evidence = _listed(whole)
        shown, cut = shorten(whole | ({"evidence": evidence[:_MOST_EVIDENCE]} if evidence else {}), limit)
        # Also for a fault of a tool: its message may quote the video, or a model that looked at it.
        body: dict[str, Any] = {DATA: shown} if self.is_data else dict(shown)
        if cut is not None:
            notice = prompts.notice("cut", f"{cut.shown}/{cut.size}")
            body["cut"] = {"note": notice["message"], "hint": notice["hint"]} | ({"of": cut.lists} if cut.lists else {})
        if (left := len(_listed(shown))) < len(evidence):
            lists = {} if cut is None else cut.lists
            body["cut"] = {**body.get("cut", {}), "of": {**lists, "evidence": f"{left}/{len(evidence)}"}}
        if self.notice is not None:
            body["notice"] = self.notice
        return self._answering(body)

    def folded(self, prompts: Prompts) -> dict[str, Any]:
        """Return the message that replaces the whole one if space is needed: arguments and a summary of the result."""
        return self._answering({DATA: {"folded": _gist(self.call, self.result)}, "notice": prompts.notice("folded")})

    def dropped(self, prompts: Prompts) -> dict[str, Any]:
        """Return the message that replaces the folded one if even more space is needed: only a notice."""
        return self._answering({"notice": prompts.notice("dropped")})

    def _answering(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": self.call.id, "content": data_line(body)}


def _listed(result: Mapping[str, Any]) -> list[Any]:
    """Return the evidence of a result; empty if it is not a list."""
    evidence = result.get("evidence")
    return evidence if isinstance(evidence, list) else []


def _gist(call: ToolCall, result: Mapping[str, Any]) -> dict[str, Any]:
    found = {key: value for key, value in result.items() if key not in _BOOK_KEEPING | {"evidence"}}
    spans = list(dict.fromkeys((span.start, span.end) for span in spans_in(found) if span.duration > 0))
    texts = [(key, leaf) for key, leaf in leaves(found) if isinstance(leaf, str)]
    ids = list(dict.fromkeys(text for key, text in texts if key in _IDS))
    says = next((text for wanted in _SAYINGS for key, text in texts if key == wanted), "")
    gist: dict[str, Any] = {
        "tool": call.tool,
        "asked": shorten(call.arguments, _MAX_QUOTED)[0],
        "items": _lengths(found),
        "spans": spans[:_KEPT_SPANS],
        "of_spans": len(spans),
        "ids": ids[:_KEPT_IDS],
        "of_ids": len(ids),
        "says": says if len(says) <= _KEPT_CHARACTERS else says[:_KEPT_CHARACTERS] + "...",
    }
    return {key: value for key, value in gist.items() if value or key == "tool"}


@dataclass(frozen=True, kw_only=True)
class Cut:
    """What was left out of a result.

    ``shown`` and ``size`` are characters of JSON after and before; ``lists`` gives ``shown/size`` in entries for each
    shortened list, by key.
    """

    shown: int
    size: int
    lists: dict[str, str]


def shorten(result: dict[str, Any], limit: int) -> tuple[dict[str, Any], Cut | None]:
    """Return a result in at most ``limit`` characters of JSON, and what was left out; None if nothing was.

    Evidence is shortened first; then the largest list or text is cut again and again, so that the structure and the
    first entries (the best, or the earliest) are kept. If that is not enough, wide objects are cut too, and finally
    only the fields that fit are kept.
    """
    size = len(data_line(result))
    if size <= limit:
        return result, None
    shown: dict[str, Any] = parse_json(data_line(result))
    evidence = shown.get("evidence")
    if isinstance(evidence, list):
        shown["evidence"] = evidence[:_LEAST_EVIDENCE]
    for weigh in (_list_or_text, _wide_object):
        while (over := len(data_line(shown)) - limit) > 0 and _cut_largest(shown, weigh, over):
            pass
    if len(data_line(shown)) > limit:
        shown = _what_fits(shown, limit)
    before, after = _lengths(result), _lengths(shown)
    lists = {key: f"{after.get(key, 0)}/{number}" for key, number in before.items() if after.get(key, 0) < number}
    return shown, Cut(shown=len(data_line(shown)), size=size, lists=lists if len(lists) <= _WIDE else {})


def _lengths(result: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of entries of each list in a result and in its ``outputs``, by key."""
    outputs = result.get("outputs")
    found = {**result, **(outputs if isinstance(outputs, dict) else {})}
    return {key: len(value) for key, value in found.items() if isinstance(value, list)}


def _what_fits(result: dict[str, Any], limit: int) -> dict[str, Any]:
    """Return the fields that fit into ``limit`` characters, in order; a longer value becomes "..." if that fits."""
    shown: dict[str, Any] = {}
    left = limit - len("{}")
    for key, value in result.items():
        for kept in (value, "..."):
            length = len(data_line({key: kept})) - len("{}") + len(",")
            if length <= left:
                shown[key] = kept
                left -= length
                break
    return shown


def _cut_largest(root: dict[str, Any], weigh: Callable[[Any], int], over: int) -> bool:
    """Shorten the value of the largest weight (in characters) by ``over``, at most by half; False if all weigh 0."""
    best: tuple[int, Any, Any] | None = None
    nodes: list[Any] = [root]
    while nodes:
        node = nodes.pop()
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            weight = weigh(value)
            if weight and (best is None or weight > best[0]):
                best = (weight, node, key)
            if isinstance(value, dict | list):
                nodes.append(value)
    if best is None:
        return False
    weight, holder, key = best
    value = holder[key]
    share = max(0.5, (weight - 1.05 * over) / weight)  # a little more, so that it is seldom done twice
    number = min(len(value) - 1, int(len(value) * share))
    if isinstance(value, str):
        holder[key] = value[: max(number - len("..."), 1)] + "..."
    else:
        holder[key] = dict(list(value.items())[:number]) if isinstance(value, dict) else value[:number]
    return True


def _list_or_text(value: Any) -> int:
    if isinstance(value, str):
        return len(value) if len(value) > _SHORTEST_TEXT else 0
    if isinstance(value, list) and len(value) > 1:
        return len(data_line(value))
    return 0


def _wide_object(value: Any) -> int:
    return len(data_line(value)) if isinstance(value, dict) and len(value) > _WIDE else 0

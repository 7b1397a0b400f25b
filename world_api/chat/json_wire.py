"""Tool calls for servers without tool calling: asked for as JSON, by ``response_format``, and read from the text of replies.

``JsonCalls`` takes and gives Chat Completions, as the other wires do, so that callers and records are the same. A request with
tools is sent without them: the system message lists them, calls and results of the conversation become text, and
``response_format`` gives the schema of a reply. If the server refuses that field, replies are read all the same.

A call is JSON that is the whole reply, that fills a code fence, or that ends the reply on lines of its own. What a model
thinks, between ``<think>`` and ``</think>``, is no call, nor is an object in the middle of a sentence or before more prose. A
thought may lack its first tag, which some templates write, or its last one; tags inside JSON are text.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from world_api.chat.messages import (
    MAX_CALLS_IN_A_REPLY,
    first_choice,
    first_message,
    json_objects,
    text_of,
    without_refused,
)
from world_api.core.canonical import canonical_json, closed_object, content_hash, json_object
from world_api.core.faults import BackendFault

Message = dict[str, Any]

_HOW = """How to call tools: reply with one JSON object, {"calls": [{"name": TOOL, "arguments": {...}}]}, and nothing after it. The
results come in the next message. The tools, with the JSON Schema of their arguments:"""
_FENCE = re.compile(r"```\w*\s*\Z")
_TAG = re.compile(r"<(?P<end>/?)think(?:ing)?>")
_NEAR = 80  #: characters before and after JSON that show what it is part of
_ALONE = re.compile(r"(?:\A|\n)[^\S\n]*\[?\s*\Z")
_FENCED = re.compile(r"(?:\A|\n)[^\S\n]*```\w*\s*\[?\s*\Z")
_FENCE_END = re.compile(r"\s*\]?\s*```")
_CLOSING = "] \t\r\n`"  #: after JSON that ends a reply; a server may cut off the end of a fence
_BETWEEN = re.compile(r"[\s,]*")


class _Sender(Protocol):
    """The model that requests are sent to."""

    name: str

    @property
    def requests(self) -> int: ...

    def complete(self, request: dict[str, Any]) -> dict[str, Any]: ...


class JsonCalls:
    """A model on Chat Completions that takes no tools; its calls are written and read as JSON."""

    wire_name = "json"

    def __init__(self, model: _Sender) -> None:
        self.name = model.name
        self._model = model
        self._takes_format = True

    @property
    def requests(self) -> int:
        """How many requests were sent, retries included."""
        return self._model.requests

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the reply, with the calls that its text contains as ``tool_calls``.

        Raises BackendFault: those of the model.
        """
        tools = request.get("tools") or []
        sent = {
            key: value for key, value in request.items() if key not in ("tools", "tool_choice", "parallel_tool_calls")
        }
        sent["messages"] = _as_text(request["messages"], tools)
        if not tools:
            return _with_calls(self._model.complete(sent), request)
        form = {"response_format": _response_format(tools)}
        try:
            reply = self._model.complete({**sent, **form} if self._takes_format else sent)
        except BackendFault as fault:
            if not self._takes_format or without_refused(form, fault) is None:
                raise
            self._takes_format = False
            reply = self._model.complete(sent)
        return _with_calls(reply, request)


def _response_format(tools: Sequence[Message]) -> Message:
    """Return the ``response_format`` of a reply with calls of these tools."""
    calls = []
    for function in (tool["function"] for tool in tools):
        name = {"type": "string", "enum": [function["name"]]}
        calls.append(closed_object({"name": name, "arguments": function["parameters"]}))
    schema = closed_object({"calls": {"type": "array", "minItems": 1, "items": {"anyOf": calls}}})
    return {"type": "json_schema", "json_schema": {"name": "calls", "schema": schema}}


def _as_text(messages: Sequence[Message], tools: Sequence[Message]) -> list[Message]:
    """Return the messages with calls and results of tools as texts; a system message at the start describes the tools."""
    plain: list[Message] = []
    names: dict[Any, Any] = {}  #: of the called tools, by the id of the call
    follows_result = False
    for message in messages:
        is_result = message.get("role") == "tool"
        if is_result:
            text = f"Result of {names.get(message.get('tool_call_id'), 'a call')}:\n{message.get('content')}"
            before = f"{plain.pop()['content']}\n\n" if follows_result else ""  # servers want the roles to alternate
            plain.append({"role": "user", "content": before + text})
        else:
            functions = [call["function"] for call in message.get("tool_calls") or ()]
            names |= {call.get("id"): call["function"]["name"] for call in message.get("tool_calls") or ()}
            kept = {key: value for key, value in message.items() if key != "tool_calls"}
            if functions:
                calls = [{"name": one["name"], "arguments": json_object(one["arguments"]) or {}} for one in functions]
                kept["content"] = "\n".join(filter(None, (text_of(message), canonical_json({"calls": calls}))))
            plain.append(kept)
        follows_result = is_result
    if not tools:
        return plain
    how = "\n".join([_HOW, *(canonical_json(tool["function"]) for tool in tools)])
    if plain and plain[0].get("role") == "system":
        return [{**plain[0], "content": f"{text_of(plain[0])}\n\n{how}"}, *plain[1:]]
    return [{"role": "system", "content": how}, *plain]


def _with_calls(reply: dict[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reply with the calls in its text as ``tool_calls``; what is written before them remains its content."""
    message = first_message(reply)
    if message is None or message.get("tool_calls"):
        return reply
    text = text_of(message)
    written = ((start, call) for start, value in _written(_without_thoughts(text)) for call in _calls_in(value))
    # One more than the loop runs, so that it says that there are too many.
    found = list(itertools.islice(written, MAX_CALLS_IN_A_REPLY + 1))
    if not found:
        return reply
    # The hash of the conversation distinguishes equal calls of different rounds.
    mark = content_hash(request["messages"])[:8]
    calls = [
        {"id": f"call_{mark}_{place}", "type": "function", "function": function}
        for place, (_, function) in enumerate(found)
    ]
    before = text[: found[0][0]]
    content = _FENCE.sub("", before).strip() or None
    choice = {**first_choice(reply), "message": {**message, "content": content, "tool_calls": calls}}
    if choice.get("finish_reason") == "stop":
        choice["finish_reason"] = "tool_calls"
    return {**reply, "choices": [choice, *reply["choices"][1:]]}


def _without_thoughts(text: str) -> str:
    """Return a text with an empty line in place of each character that the model only thought."""
    inside = [range(start, end) for start, end, _ in json_objects(text)]
    shown: list[range] = []
    begin, is_thought, place = 0, False, 0
    for tag in _TAG.finditer(text):
        while place < len(inside) and inside[place].stop <= tag.start():
            place += 1
        if place < len(inside) and tag.start() in inside[place]:
            continue
        if not tag["end"]:
            shown += [] if is_thought else [range(begin, tag.start())]
        elif not is_thought:
            shown = []  # the thought began before the text
        begin, is_thought = tag.end(), not tag["end"]
    shown += [] if is_thought else [range(begin, len(text))]
    parts, done = [], 0
    for part in shown:
        parts += ["\n" * (part.start - done), text[part.start : part.stop]]
        done = part.stop
    return "".join([*parts, "\n" * (len(text) - done)])


def _written(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield position and value of each object that may be a call: alone, in a code fence, or at the end on lines of its own."""
    runs: list[list[tuple[int, int, dict[str, Any]]]] = []
    for one in json_objects(text):
        if runs and _BETWEEN.fullmatch(text, runs[-1][-1][1], one[0]):
            runs[-1].append(one)
        else:
            runs.append([one])
    last = len(text.rstrip(_CLOSING))
    for run in runs:
        end = run[-1][1]
        is_call = bool(_FENCED.search(_before(text, run[0])) and _FENCE_END.match(text, end, end + _NEAR))
        for one in run:
            is_call = is_call or (end == last and _ALONE.search(_before(text, one)) is not None)
            if is_call:
                yield one[0], one[2]


def _before(text: str, one: tuple[int, int, Any]) -> str:
    return text[max(0, one[0] - _NEAR) : one[0]]


def _calls_in(value: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the calls in an object as ``function`` objects: those in its list of calls, or the call that it is itself."""
    listed = value.get("calls", value.get("tool_calls"))
    for item in listed if isinstance(listed, list) else [value]:
        inner = item.get("function", item) if isinstance(item, Mapping) else None
        given = inner.get("arguments", inner.get("parameters")) if isinstance(inner, Mapping) else None
        if isinstance(inner, Mapping) and isinstance(inner.get("name"), str) and given is not None:
            yield {"name": inner["name"], "arguments": given if isinstance(given, str) else canonical_json(given)}

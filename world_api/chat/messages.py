"""Messages in Chat Completions form: functions that build them, and functions that read replies of any content safely.

The text of a reply may also contain a tool call: servers leave it there if their parser for calls is off.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from world_api.core.canonical import canonical_json, is_deep, parse_json
from world_api.core.faults import BackendFault
from world_api.core.ports import ChatModel

#: Field of an assistant's message for data that its wire sends back unchanged when later requests repeat the message.
CARRIED = "carried"
PROJECT_FIELD = "videoworld"  #: field of a reply that this project adds; no server may set it
#: The markers of a call in families of open models. Inside a line a marker counts only before the name of a tool.
_MARK = re.compile(
    r"^[^\S\n]*(?:<tool_call>|<function=|\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_calls?_begin\|>)"
    r"|(?:<tool_call>|<function=|\[TOOL_CALLS\])\s*(?P<tool>[\w-]+)",
    re.MULTILINE,
)
_FENCE = re.compile(r"```\w*\s*\Z")
_OBJECT = re.compile(r"\{\s*\"")
_DECODER = json.JSONDecoder()
MOST_FAILURES = 200  #: failed attempts to read an object in a text; each may take time in proportion to its length


@dataclass(frozen=True, kw_only=True)
class Call:
    """A tool call in a reply. ``arguments`` is a JSON object, or raw text to imitate a faulty server."""

    tool: str
    arguments: dict[str, Any] | str
    id: str | None = None

    def record(self, position: int) -> dict[str, Any]:
        """Return the call as an entry of ``tool_calls``; without an id, ``position`` gives one."""
        arguments = self.arguments if isinstance(self.arguments, str) else canonical_json(self.arguments)
        return {
            "id": self.id if self.id is not None else f"call_{position}",
            "type": "function",
            "function": {"name": self.tool, "arguments": arguments},
        }


def completion(
    *,
    model: str,
    content: str | None = None,
    calls: Sequence[Call] = (),
    usage: tuple[int, int] | None = None,
) -> dict[str, Any]:
    """Build a Chat Completions response with one choice.

    ``usage`` is (prompt tokens, completion tokens); without it the response has no ``usage``, as from some servers.
    """
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = [call.record(position) for position, call in enumerate(calls)]
    reply: dict[str, Any] = {
        "object": "chat.completion",
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
    }
    if usage is not None:
        prompt, written = usage
        reply["usage"] = {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}
    return reply


def first_choice(reply: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first of a reply's ``choices``; an empty dict if there is none."""
    choices = reply.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


def first_message(reply: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the message of a reply's first choice; None if there is none."""
    message = first_choice(reply).get("message")
    return message if isinstance(message, dict) else None


def from_cache(reply: Mapping[str, Any]) -> bool:
    """Whether a reply was read from the request cache, so that nothing was sent and nothing was paid."""
    ours = reply.get(PROJECT_FIELD)
    return isinstance(ours, dict) and ours.get("from_cache") is True


def checked_reply(reply: Any) -> dict[str, Any]:
    """Return the reply unchanged.

    Raises BackendFault: ``bad_model_reply`` if it is not a JSON object, or nested too deeply to be stored.
    """
    try:
        canonical_json(reply)
        reason = "" if isinstance(reply, dict) else "it is not a JSON object"
        if is_deep(reply):
            reason = "it is nested too deeply"
    except (ValueError, TypeError, RecursionError) as error:
        reason = str(error)
    if reason:
        raise BackendFault("bad_model_reply", f"the model's reply is not JSON: {reason}", hint="use another model")
    checked: dict[str, Any] = reply
    return checked


def text_of(message: Mapping[str, Any], separator: str = "\n") -> str:
    """Return the text of a message; if the content is a list, the texts of its parts, joined by ``separator``."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = (part.get("text") for part in parts if isinstance(part, Mapping))
    return separator.join(text for text in texts if isinstance(text, str))


def call_position(text: str, tools: Set[str]) -> int | None:
    """Return the index of the character at which the first tool call, or the code fence around it, begins; else None.

    A call is a marker such as ``<tool_call>``, a JSON object with the name of one of ``tools`` and arguments, or a text
    that consists of an object with such a name.
    """
    marks = (mark.start() for mark in _MARK.finditer(text) if mark["tool"] is None or mark["tool"] in tools)
    written = (start for start, value in json_objects(text) if _is_call(value, tools))
    found = [start for start in (next(marks, None), next(written, None)) if start is not None]
    if found:
        before = text[: min(found)]
        fence = _FENCE.search(before)
        return fence.start() if fence else len(before)
    try:
        whole = parse_json(re.sub(r"^```(?:json)?|```$", "", text.strip()).strip())
    except ValueError:
        return None
    return 0 if isinstance(whole, Mapping) and _names_tool(whole, tools) else None


def json_objects(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield position (character index) and value of each outermost JSON object in a text.

    Reading ends after ``MOST_FAILURES`` failed attempts, so that a hostile text does not take quadratic time.
    """
    match, failures = _OBJECT.search(text), 0
    while match is not None and failures < MOST_FAILURES:
        start = match.start()
        end = start + 1
        try:
            _, end = _DECODER.raw_decode(text, start)
            yield start, parse_json(text[start:end])
        except json.JSONDecodeError as error:
            end, failures = max(start + 1, error.pos), failures + 1
        except (ValueError, RecursionError):  # not strict JSON: NaN, a number beyond a float, runaway nesting
            failures += 1
        match = _OBJECT.search(text, end)


def _is_call(value: Mapping[str, Any], tools: Set[str]) -> bool:
    inner = value.get("function")
    call = inner if isinstance(inner, Mapping) else value
    return _names_tool(call, tools) and ("arguments" in call or "parameters" in call)


def _names_tool(call: Mapping[str, Any], tools: Set[str]) -> bool:
    return isinstance(call.get("name"), str) and call["name"] in tools


#: The replacement of a setting that a server refuses: another name for the same setting, or None.
_REPLACEMENT = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": None,
    "temperature": None,
    "response_format": None,
}


class OptionalSettings:
    """Settings of requests. One that a server refuses by name is dropped or renamed. Threads may share an instance."""

    def __init__(self, **settings: Any) -> None:
        self.settings: dict[str, Any] = settings

    def complete(self, model: ChatModel, request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the request with the settings that were accepted, and the reply.

        Raises BackendFault: the model's, if it refuses none of the settings.
        """
        while True:
            settings = self.settings
            whole = {**request, **settings}
            try:
                return whole, model.complete(whole)
            except BackendFault as fault:
                remaining = without_refused(settings, fault)
                if remaining is None:
                    raise
                if self.settings is settings:  # no other thread was faster
                    self.settings = remaining


def without_refused(settings: dict[str, Any], fault: BackendFault) -> dict[str, Any] | None:
    """Return the settings after renaming or removing the one that the fault names; None if it names none of them."""
    named = next((name for name in _REPLACEMENT if name in fault.message and name in settings), None)
    if named is None or fault.code not in ("endpoint_refused_request", "endpoint_error"):
        return None
    remaining = {name: value for name, value in settings.items() if name != named}
    replacement = _REPLACEMENT[named]
    return remaining if replacement is None else {**remaining, replacement: settings[named]}

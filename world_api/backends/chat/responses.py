"""The Responses API behind the form of Chat Completions, without a state on the server: each request says all.

What a reasoning model needs to see again, and nobody else can read, travels under ``carried`` in the assistant's message: a
reasoning item must come back whole and right before the item it led to, under the ids they had. The message keeps the
text and the calls, which the loop may have changed; ``carried`` keeps all items of such a reply in order, the calls without
what the message says of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from world_api.backends.chat.completions import CARRIED
from world_api.backends.chat.transport import Answering, NotAReply, said_error
from world_api.core.canonical import canonical_json
from world_api.core.faults import BackendFault

if TYPE_CHECKING:
    from openai import OpenAI

#: Without it, what a model thought is lost between the rounds of an episode, since the server stores nothing.
_ENCRYPTED = "reasoning.encrypted_content"
#: The status under which a failure would be known had the request failed at once.
_STATUSES = {"server_error": 500, "rate_limit_exceeded": 429, "vector_store_timeout": 504}
_SYSTEM = ("system", "developer")
_CALL, _MESSAGE, _REASONING = "function_call", "message", "reasoning"
_OPAQUE = frozenset({_REASONING, "compaction"})
_SAID_BY_THE_MESSAGE = frozenset({"call_id", "name", "arguments"})


class ResponsesWire:
    """``POST /responses``. Servers whose models do not reason may refuse to send what they thought; then it is not wanted."""

    name = "responses"

    def __init__(self) -> None:
        self._wants_thoughts = True

    def send(self, client: OpenAI, request: dict[str, Any], *, seconds: float) -> AbstractContextManager[Answering]:
        """Send the request, translated.

        Raises:
            BackendFault: ``endpoint_refused_request``: the API has no place for a part of it.
        """
        body = request_body(request)
        if self._wants_thoughts:
            body["include"] = list(dict.fromkeys([*body.get("include", []), _ENCRYPTED]))
        rest = {key: value for key, value in body.items() if key not in ("model", "input")}
        return client.responses.with_streaming_response.create(
            model=body["model"], input=body["input"], store=False, extra_body=rest, timeout=seconds
        )

    def read(self, answer: dict[str, Any]) -> dict[str, Any]:
        """The answer as a Chat Completions reply.

        Raises:
            NotAReply: it failed, is not finished, or has no list of output items.
        """
        return reply_of(answer)

    def adapt(self, refusal: str) -> bool:
        """Do without what the model thought, where the server says that it cannot be had."""
        refused = "encrypted" in refusal.lower() or "include" in refusal.lower().split()
        self._wants_thoughts = self._wants_thoughts and not refused
        return refused


def request_body(request: Mapping[str, Any]) -> dict[str, Any]:
    """The body of ``POST /responses``.

    The system's messages at the start become the instructions. A ``seed`` is left out, since the API has none; ``n`` is
    always 1. What has the same name on both sides, or is known to the caller and not to this module, goes through untouched.

    Raises:
        BackendFault: ``endpoint_refused_request``: the API has no place for a part of it.
    """
    body: dict[str, Any] = {}
    for key, value in request.items():
        if key in _RENAMED:
            name, translate = _RENAMED[key]
            part = translate(value)
            body[name] = {**body.get(name, {}), **part} if isinstance(part, dict) else part
        elif key not in _LEFT_OUT:
            body[key] = value
    messages = list(request["messages"])
    leading = 0
    while leading < len(messages) and messages[leading].get("role") in _SYSTEM:
        leading += 1
    if leading:
        body["instructions"] = "\n\n".join(_words(message.get("content")) for message in messages[:leading])
    body["input"] = [item for message in messages[leading:] for item in _items(message)]
    return body


def _items(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    role = message.get("role")
    content = message.get("content")
    if role == "assistant":
        yield from assistant_items(message)
    elif role == "tool":
        yield {"type": "function_call_output", "call_id": message.get("tool_call_id"), "output": _content(content)}
    else:
        # What is said by the system in the midst of a conversation keeps its place.
        yield {"type": "message", "role": "developer" if role in _SYSTEM else role, "content": _content(content)}


def _content(content: Any) -> Any:
    """Text stays text; the parts of a content get the names they have here."""
    if isinstance(content, list):
        return [_part(part) for part in content]
    return content if isinstance(content, str) else "" if content is None else canonical_json(content)


def _part(part: Any) -> dict[str, Any]:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "text":
        return {"type": "input_text", "text": part["text"]}
    if kind == "image_url":
        image = part["image_url"]
        image = {"url": image} if isinstance(image, str) else image
        return {"type": "input_image", "image_url": image["url"], "detail": image.get("detail", "auto")}
    raise BackendFault(
        "endpoint_refused_request",
        f"the Responses API is sent no part of type {kind!r}",
        hint="use the Chat Completions API for it",
    )


def _words(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if isinstance(part, dict) and part.get("type") == "text")
    return content if isinstance(content, str) else ""


def _tools(tools: Any) -> list[Any]:
    return [_tool(tool) for tool in tools]


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A function, one level up. ``strict`` is always said: left out it would be on here, and off there."""
    if tool.get("type") != "function" or not isinstance(tool.get("function"), dict):
        return dict(tool)
    function = {"parameters": {"type": "object", "properties": {}}, **tool["function"]}
    return {"type": "function", **function, "strict": bool(function.get("strict"))}


def _tool_choice(choice: Any) -> Any:
    if not isinstance(choice, dict):
        return choice
    if choice.get("type") == "function":
        return {"type": "function", "name": choice["function"]["name"]}
    allowed = choice.get("allowed_tools")
    if choice.get("type") == "allowed_tools" and isinstance(allowed, dict):
        names = [{"type": "function", "name": tool["function"]["name"]} for tool in allowed["tools"]]
        return {"type": "allowed_tools", "mode": allowed["mode"], "tools": names}
    return choice


def _format(wanted: Mapping[str, Any]) -> dict[str, Any]:
    if wanted.get("type") == "json_schema":
        return {"format": {"type": "json_schema", **wanted["json_schema"]}}
    return {"format": dict(wanted)}


def _unchanged(value: Any) -> Any:
    return value


#: What has another name, or another form, on this side.
_RENAMED: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "max_tokens": ("max_output_tokens", _unchanged),
    "max_completion_tokens": ("max_output_tokens", _unchanged),
    "tools": ("tools", _tools),
    "tool_choice": ("tool_choice", _tool_choice),
    "response_format": ("text", _format),
    "verbosity": ("text", lambda value: {"verbosity": value}),
    "reasoning_effort": ("reasoning", lambda value: {"effort": value}),
}
_LEFT_OUT = frozenset({"messages", "seed", "n", "store"})


def reply_of(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The reply in Chat Completions form: one choice, usage, and the reasoning items under ``carried``.

    Items of unknown types are passed over.

    Raises:
        NotAReply: it failed, is not finished, or has no list of output items.
    """
    _check_finished(answer)
    output = answer.get("output")
    if not isinstance(output, list):
        raise NotAReply("it has no list of output items")
    items = [item for item in output if isinstance(item, dict) and isinstance(item.get("type"), str)]
    message = _message(items)
    reply: dict[str, Any] = {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": _finish_reason(answer, message)}],
    }
    for ours, theirs in {"id": "id", "model": "model", "created": "created_at", "service_tier": "service_tier"}.items():
        if answer.get(theirs) is not None:
            reply[ours] = answer[theirs]
    if isinstance(answer.get("usage"), dict):
        reply["usage"] = _usage(answer["usage"])
    return reply


def _check_finished(answer: Mapping[str, Any]) -> None:
    status = answer.get("status")
    error = said_error(dict(answer))
    if error is not None:
        known = error.status or _STATUSES.get(error.code or "") or (400 if status == "failed" else None)
        raise NotAReply(str(error), status=known, code=error.code)
    if status not in (None, "completed", "incomplete"):
        raise NotAReply(f"its status is {str(status)[:40]!r}")


def _message(items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    said = [item for item in items if item["type"] == "message"]
    refusals = [_refusal(item) for item in said]
    calls = [_tool_call(item) for item in items if item["type"] == "function_call"]
    thoughts = [thought for item in items if item["type"] == "reasoning" and (thought := _thought(item))]
    carried = to_carry(items)
    words = "\n\n".join(
        text for item, refusal in zip(said, refusals, strict=True) if (text := message_text(item)) and not refusal
    )
    message: dict[str, Any] = {"role": "assistant", "content": words or None}
    if any(refusals):
        message["refusal"] = "\n\n".join(filter(None, refusals))
    if thoughts:
        message["reasoning_content"] = "\n\n".join(thoughts)
    if calls:
        message["tool_calls"] = calls
    if carried:
        message[CARRIED] = carried
    return message


def _tool_call(item: Mapping[str, Any]) -> dict[str, Any]:
    """The call as it came; what is missing or wrong with it is named where replies are read."""
    call_id = item.get("call_id")
    call = {"type": "function", "function": {"name": item.get("name"), "arguments": item.get("arguments")}}
    return call if call_id is None else {"id": call_id, **call}


def _refusal(item: Mapping[str, Any]) -> str:
    parts = item.get("content")
    texts = [part.get("refusal") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return "".join(text for text in texts if isinstance(text, str))


def _thought(item: Mapping[str, Any]) -> str:
    """What a reasoning item says openly: its text, else the summary of it."""
    for key in ("content", "summary"):
        parts = item.get(key)
        texts = [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
        told = "\n".join(text for text in texts if isinstance(text, str) and text)
        if told:
            return told
    return ""


def _finish_reason(answer: Mapping[str, Any], message: Mapping[str, Any]) -> str:
    details = answer.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    if answer.get("status") == "incomplete" or reason is not None:
        return "content_filter" if reason == "content_filter" else "length"
    return "tool_calls" if "tool_calls" in message else "stop"


def _usage(counted: Mapping[str, Any]) -> dict[str, Any]:
    """The counts under their other names; those that are missing stay missing."""
    usage = {
        "prompt_tokens": counted.get("input_tokens"),
        "completion_tokens": counted.get("output_tokens"),
        "total_tokens": counted.get("total_tokens"),
        "prompt_tokens_details": counted.get("input_tokens_details"),
        "completion_tokens_details": counted.get("output_tokens_details"),
    }
    return {key: value for key, value in usage.items() if value is not None}


def to_carry(output: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The items to send back with the message; none where the message says all there is."""
    kept = [item for item in output if item["type"] in (_CALL, _MESSAGE) or _is_usable(item)]
    if not any(item["type"] in _OPAQUE or "phase" in item for item in kept):
        return []
    return [
        {key: value for key, value in item.items() if item["type"] != _CALL or key not in _SAID_BY_THE_MESSAGE}
        for item in kept
    ]


def assistant_items(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The items that an assistant's message was, those it carries at their places."""
    calls = [call for call in message.get("tool_calls") or () if isinstance(call, dict)]
    text = _string(message.get("content")) or _string(message.get("refusal"))
    carried = message.get(CARRIED)
    kept = [item for item in carried if isinstance(item, dict)] if isinstance(carried, list) else []
    said = "\n\n".join(message_text(item) for item in kept if item.get("type") == _MESSAGE)
    places: list[dict[str, Any]] = []
    for item in kept:
        if item.get("type") == _MESSAGE:
            if said.strip() == text.strip():
                places.append(item)
        elif item.get("type") == _CALL:
            if calls:
                places.append({**item, **_call_item(calls.pop(0))})
        else:
            places.append(item)
    if text and said.strip() != text.strip():
        yield {"type": _MESSAGE, "role": "assistant", "content": text}
    for place, item in enumerate(places):
        following = places[place + 1 :]
        if item.get("type") != _REASONING or any(later.get("type") in (_CALL, _MESSAGE) for later in following):
            yield item
    for call in calls:
        yield _call_item(call)


def message_text(item: Mapping[str, Any]) -> str:
    """The words of a message item; it may be written as plain text."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(
        _string(part.get("text")) or _string(part.get("refusal")) for part in parts if isinstance(part, dict)
    )


def _is_usable(item: Mapping[str, Any]) -> bool:
    """Whether an opaque item can be read by the server again, which has stored nothing under its id."""
    sealed, told = item.get("encrypted_content"), item.get("content")
    readable = (isinstance(sealed, str) and sealed) or (isinstance(told, list) and told)
    return item["type"] in _OPAQUE and bool(readable)


def _call_item(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    arguments = function.get("arguments")
    return {
        "type": _CALL,
        "call_id": call.get("id"),
        "name": function.get("name"),
        "arguments": arguments if isinstance(arguments, str) else canonical_json(arguments),
    }


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""

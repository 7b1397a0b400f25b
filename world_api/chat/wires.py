"""The two APIs of chat endpoints, both behind requests and replies in Chat Completions form.

Chat Completions: requests and replies are passed on unchanged. Servers of reasoning models add fields to a message and
to its calls (``reasoning_content``, ``extra_content`` with a signature of the reasoning, ...), and some refuse a
history without them. Callers keep only text and calls, so the wire moves the other fields to ``carried`` and, in later
requests, back to their places.

Responses: translated, without state on the server; each request contains the whole conversation. A reasoning item must
be sent back whole, directly before the item that followed it, with the ids that both had. The message keeps text and
calls, which the loop may have changed; ``carried`` keeps all items of such a reply in order, of calls only the fields
that the message does not contain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from world_api.chat.messages import CARRIED, first_message
from world_api.chat.transport import NotAReply, Sending, ServerAnswer, error_in
from world_api.core.canonical import canonical_json, is_deep
from world_api.core.faults import BackendFault

if TYPE_CHECKING:
    from openai import OpenAI

WireName = Literal["chat", "responses", "json"]  #: json: Chat Completions with calls as JSON (``json_wire``)
MOST_CARRIED = 1_000_000  #: characters of a field; a longer one is dropped whole, since half of one is useless
_MOST_LEVELS = 32
#: Known fields of a message (its own ones and those without use in a request), of a call, and of a call's function.
_MESSAGE_FIELDS = frozenset({"role", "content", "tool_calls", "refusal", "annotations", "audio", "function_call"})
_CALL_FIELDS = frozenset({"id", "type", "function", "index"})
_FUNCTION_FIELDS = frozenset({"name", "arguments"})
#: How servers report that a field is not allowed, and how they report it without naming the field.
_UNWANTED = re.compile(
    r"extra|unsupported|not? (?:be )?(?:support|permit|allow|accept|expect|recogni|includ)|n't support|unknown|unexpected|unrecogni|"
    r"additional propert|forbid|remove|invalid",
    re.IGNORECASE,
)
_UNNAMED = re.compile(
    r"extra_forbidden|(?:extra|additional|unknown|unexpected|unrecogni[sz]ed|unsupported) (?:input|field|key|propert|arg)",
    re.IGNORECASE,
)
_NOT_THERE = frozenset({404, 405, 501})
#: Without it the reasoning of a model is lost between the rounds of an episode, since the server stores nothing.
_ENCRYPTED = "reasoning.encrypted_content"
#: HTTP status of a failure that is reported with status 200.
_STATUSES = {"server_error": 500, "rate_limit_exceeded": 429, "vector_store_timeout": 504}
_SYSTEM = ("system", "developer")
_CALL, _MESSAGE, _REASONING = "function_call", "message", "reasoning"
_OPAQUE = frozenset({_REASONING, "compaction"})
_CALL_FIELDS_OF_MESSAGE = frozenset({"call_id", "name", "arguments"})


class ChatWire(Protocol):
    """One API of a server. ``request`` and what ``read`` returns are in Chat Completions form."""

    name: str

    def send(self, client: OpenAI, request: dict[str, Any], *, seconds: float) -> Sending:
        """Return a context manager that sends the request and yields the response, to be read inside; ``seconds``: timeout of a read.

        Raises BackendFault: ``endpoint_refused_request``: the API cannot express a part of it.
        """

    def read(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return a response's body as a whole Chat Completions reply. Raises NotAReply: the body contains no reply."""

    def adapt(self, refusal: str) -> bool:
        """Omit from later requests what the server's message ``refusal`` rejects; return whether to try again."""


def wire_named(name: WireName) -> ChatWire:
    """Return a new adapter to an API, for one model on one endpoint; it remembers what its server refuses."""
    return ResponsesWire() if name == "responses" else ChatCompletionsWire()


def points_to_other_api(answer: ServerAnswer) -> bool:
    """Whether a refusal means that the other API is needed: this one does not exist, or the refusal names Responses."""
    return answer.status in _NOT_THERE or (answer.status != 200 and "responses" in answer.message.lower())


class ChatCompletionsWire:
    """``POST /chat/completions``. Fields that the server added to replies are sent back, except those that it refused."""

    name = "chat"

    def __init__(self) -> None:
        self._sent: frozenset[str] = frozenset()  #: added fields that were sent back so far
        self._refused: frozenset[str] = frozenset()

    def send(self, client: OpenAI, request: dict[str, Any], *, seconds: float) -> Sending:
        """Send the request; fields that the server had added to a message, kept in ``carried``, are put back into it."""
        rest = {key: value for key, value in request.items() if key not in ("model", "messages")}
        return client.chat.completions.with_streaming_response.create(
            model=request["model"],
            messages=[self._with_carried(message) for message in request["messages"]],
            extra_body=rest,
            timeout=seconds,
        )

    def read(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return the body; fields that the server added to the message are moved to the message's field ``carried``.

        Raises NotAReply: the body reports an error, or has no list of choices.
        """
        if not isinstance(answer.get("choices"), list):
            raise error_in(answer) or NotAReply("it has no list of choices")
        message = first_message(answer)
        if message is None:
            return answer
        own = {key: value for key, value in message.items() if key != CARRIED}
        carried = _fields_to_carry(message)
        first = {**answer["choices"][0], "message": {**own, CARRIED: carried} if carried else own}
        return {**answer, "choices": [first, *answer["choices"][1:]]}

    def adapt(self, refusal: str) -> bool:
        """Omit from later requests the added fields that ``refusal`` rejects by name; return whether to repeat the request.

        All are omitted if it rejects unknown fields without naming one, or if it names a new field after an earlier refusal.
        """
        named = {name for name in self._sent if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", refusal)}
        if (named and self._refused and not named <= self._refused) or (not named and _UNNAMED.search(refusal)):
            named = set(self._sent)
        if not named or not _UNWANTED.search(refusal):
            return False
        self._refused |= named
        return True

    def _with_carried(self, message: Any) -> Any:
        """Return an assistant's message with its carried fields in their places; those of another wire are dropped."""
        if not isinstance(message, dict) or CARRIED not in message:
            return message
        own = {key: value for key, value in message.items() if key != CARRIED}
        carried = message[CARRIED]
        if not isinstance(carried, dict):
            return own
        calls, added = own.get("tool_calls"), carried.get("calls")
        if isinstance(calls, list) and isinstance(added, list):
            whole = [self._call(call, extras) for call, extras in zip(calls, added, strict=False)]
            own["tool_calls"] = [*whole, *calls[len(whole) :]]
        return {**self._accepted(carried.get("message")), **own}

    def _call(self, call: Any, extras: Any) -> Any:
        if not isinstance(call, dict) or not isinstance(extras, dict):
            return call
        function = call.get("function")
        if isinstance(function, dict):
            function = {**self._accepted(extras.get("function")), **function}
        return {**self._accepted(extras.get("call")), **call, "function": function}

    def _accepted(self, extras: Any) -> dict[str, Any]:
        if not isinstance(extras, dict):
            return {}
        accepted = {key: value for key, value in extras.items() if key not in self._refused}
        self._sent |= accepted.keys()
        return accepted


def _fields_to_carry(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that a server added to a message as ``message``, and to its calls, in their order, as ``calls``.

    A part without such fields is omitted.
    """
    added = []
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        parts = {"call": _added(call, _CALL_FIELDS), "function": _added(function, _FUNCTION_FIELDS)}
        added.append({name: fields for name, fields in parts.items() if fields})
    whole = {"calls": added if any(added) else [], "message": _added(message, _MESSAGE_FIELDS)}
    return {name: fields for name, fields in whole.items() if fields}


def _added(holder: Any, known: frozenset[str]) -> dict[str, Any]:
    """Return the non-empty fields of an object that are not ``known`` and neither too long nor nested too deeply."""
    fields = holder.items() if isinstance(holder, dict) else ()
    added = {key: value for key, value in fields if key not in known and value}
    return {
        key: value
        for key, value in added.items()
        if not is_deep(value, levels=_MOST_LEVELS) and len(canonical_json(value)) < MOST_CARRIED
    }


class ResponsesWire:
    """``POST /responses``. If a server refuses to include reasoning items, they are no longer requested."""

    name = "responses"

    def __init__(self) -> None:
        self._include_reasoning = True

    def send(self, client: OpenAI, request: dict[str, Any], *, seconds: float) -> Sending:
        """Send the request, translated.

        Raises BackendFault: ``endpoint_refused_request``: the API cannot express a part of it.
        """
        body = _request_body(request)
        if self._include_reasoning:
            body["include"] = list(dict.fromkeys([*body.get("include", []), _ENCRYPTED]))
        rest = {key: value for key, value in body.items() if key not in ("model", "input")}
        return client.responses.with_streaming_response.create(
            model=body["model"], input=body["input"], store=False, extra_body=rest, timeout=seconds
        )

    def read(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return a response as a Chat Completions reply: one choice, usage, the items to send back under ``carried``.

        Items of unknown types are ignored. Raises NotAReply: it failed, is not finished, or has no list of output items.
        """
        status, output = answer.get("status"), answer.get("output")
        error = error_in(answer)
        if error is not None:
            known = error.status or _STATUSES.get(error.code or "") or (400 if status == "failed" else None)
            raise NotAReply(str(error), status=known, code=error.code)
        if status not in (None, "completed", "incomplete"):
            raise NotAReply(f"its status is {str(status)[:40]!r}")
        if not isinstance(output, list):
            raise NotAReply("it has no list of output items")
        message = _message([item for item in output if isinstance(item, dict) and isinstance(item.get("type"), str)])
        reply: dict[str, Any] = {
            "object": "chat.completion",
            "choices": [{"index": 0, "message": message, "finish_reason": _finish_reason(answer, message)}],
        }
        names = {"id": "id", "model": "model", "created": "created_at", "service_tier": "service_tier"}
        reply |= {ours: answer[theirs] for ours, theirs in names.items() if answer.get(theirs) is not None}
        if isinstance(answer.get("usage"), dict):
            counts = {ours: answer["usage"].get(theirs) for ours, theirs in _USAGE.items()}
            reply["usage"] = {name: count for name, count in counts.items() if count is not None}
        return reply

    def adapt(self, refusal: str) -> bool:
        """Request no reasoning items from now on if the server refuses to include them; return whether it does."""
        refused = "encrypted" in refusal.lower() or "include" in refusal.lower().split()
        self._include_reasoning = self._include_reasoning and not refused
        return refused


_USAGE = {
    "prompt_tokens": "input_tokens",
    "completion_tokens": "output_tokens",
    "total_tokens": "total_tokens",
    "prompt_tokens_details": "input_tokens_details",
    "completion_tokens_details": "output_tokens_details",
}


def _request_body(request: Mapping[str, Any]) -> dict[str, Any]:
    """Translate a request into the body of ``POST /responses``.

    System messages at the start become ``instructions``. ``seed``, ``n`` and ``store`` are omitted. Fields of the
    same name in both APIs, and unknown ones, are copied unchanged.

    Raises BackendFault: ``endpoint_refused_request``: the API cannot express a part of it.
    """
    body: dict[str, Any] = {}
    for key, value in request.items():
        match key:
            case "messages" | "seed" | "n" | "store":
                pass
            case "max_tokens" | "max_completion_tokens":
                body["max_output_tokens"] = value
            case "tools":
                body["tools"] = [_tool(tool) for tool in value]
            case "tool_choice" if isinstance(value, dict) and value.get("type") == "function":
                body["tool_choice"] = {"type": "function", "name": value["function"]["name"]}
            case "response_format" if value.get("type") == "json_schema":
                body["text"] = {"format": {"type": "json_schema", **value["json_schema"]}}
            case "response_format":
                body["text"] = {"format": dict(value)}
            case "reasoning_effort":
                body["reasoning"] = {"effort": value}
            case _:
                body[key] = value
    messages = list(request["messages"])
    leading = 0
    while leading < len(messages) and messages[leading].get("role") in _SYSTEM:
        leading += 1
    if leading:
        body["instructions"] = "\n\n".join(_texts(message.get("content")) for message in messages[:leading])
    body["input"] = [item for message in messages[leading:] for item in _items(message)]
    return body


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a function tool in the flat form of the Responses API; other tools unchanged.

    ``strict`` is always set: its default is true in this API and false in Chat Completions.
    """
    if tool.get("type") != "function" or not isinstance(tool.get("function"), dict):
        return dict(tool)
    function = {"parameters": {"type": "object", "properties": {}}, **tool["function"]}
    return {"type": "function", **function, "strict": bool(function.get("strict"))}


def _items(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    role, content = message.get("role"), message.get("content")
    if role == "assistant":
        yield from _assistant_items(message)
        return
    if isinstance(content, list):
        content = [_part(part) for part in content]
    elif not isinstance(content, str):
        content = "" if content is None else canonical_json(content)
    if role == "tool":
        yield {"type": "function_call_output", "call_id": message.get("tool_call_id"), "output": content}
    else:
        yield {"type": _MESSAGE, "role": "developer" if role in _SYSTEM else role, "content": content}


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
        f"the Responses API takes no part of type {kind!r}",
        hint="use the Chat Completions API for it",
    )


def _assistant_items(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield an assistant's message as items of the Responses API, the carried items in their original order."""
    calls = [call for call in message.get("tool_calls") or () if isinstance(call, dict)]
    text = _string(message.get("content")) or _string(message.get("refusal"))
    carried = message.get(CARRIED)
    kept = [item for item in carried if isinstance(item, dict)] if isinstance(carried, list) else []
    carried_text = "\n\n".join(_item_text(item) for item in kept if item.get("type") == _MESSAGE)
    unchanged = carried_text.strip() == text.strip()
    items: list[dict[str, Any]] = []
    for item in kept:
        if item.get("type") == _CALL:
            items += [{**item, **_call_item(calls.pop(0))}] if calls else []
        elif item.get("type") != _MESSAGE or unchanged:
            items.append(item)
    if text and not unchanged:
        yield {"type": _MESSAGE, "role": "assistant", "content": text}
    for position, item in enumerate(items):
        following = items[position + 1 :]
        if item.get("type") != _REASONING or any(later.get("type") in (_CALL, _MESSAGE) for later in following):
            yield item
    for call in calls:
        yield _call_item(call)


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


def _message(items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the output items of a response as one assistant's message in Chat Completions form."""
    said = [item for item in items if item["type"] == _MESSAGE]
    refusals = [text for item in said if (text := _texts(item.get("content"), "refusal", separator=""))]
    content = [text for item in said if not _texts(item.get("content"), "refusal") and (text := _item_text(item))]
    reasoning = [text for item in items if item["type"] == _REASONING and (text := _reasoning(item))]
    message: dict[str, Any] = {"role": "assistant", "content": "\n\n".join(content) or None}
    if refusals:
        message["refusal"] = "\n\n".join(refusals)
    if reasoning:
        message["reasoning_content"] = "\n\n".join(reasoning)
    if calls := [_tool_call(item) for item in items if item["type"] == _CALL]:
        message["tool_calls"] = calls
    if carried := _items_to_carry(items):
        message[CARRIED] = carried
    return message


def _reasoning(item: Mapping[str, Any]) -> str:
    """Return the text of a reasoning item, else its summary; empty if it has neither."""
    parts = (item.get("content"), item.get("summary"))
    return next((text for part in parts if isinstance(part, list) and (text := _texts(part))), "")


def _tool_call(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call item as an entry of ``tool_calls``. It is not checked here: readers of replies check it."""
    call = {"type": "function", "function": {"name": item.get("name"), "arguments": item.get("arguments")}}
    return call if item.get("call_id") is None else {"id": item["call_id"], **call}


def _items_to_carry(output: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the items to send back with the message; empty if the message alone contains everything."""
    kept = [item for item in output if item["type"] in (_CALL, _MESSAGE) or _is_readable(item)]
    if not any(item["type"] in _OPAQUE or "phase" in item for item in kept):
        return []
    return [
        {key: value for key, value in item.items() if item["type"] != _CALL or key not in _CALL_FIELDS_OF_MESSAGE}
        for item in kept
    ]


def _is_readable(item: Mapping[str, Any]) -> bool:
    """Whether an item is reasoning or a compaction and contains its content, plain or encrypted, so that it can be sent back."""
    content = item.get("content")
    readable = _string(item.get("encrypted_content")) or (isinstance(content, list) and content)
    return item["type"] in _OPAQUE and bool(readable)


def _finish_reason(answer: Mapping[str, Any], message: Mapping[str, Any]) -> str:
    details = answer.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    if answer.get("status") == "incomplete" or reason is not None:
        return "content_filter" if reason == "content_filter" else "length"
    return "tool_calls" if "tool_calls" in message else "stop"


def _item_text(item: Mapping[str, Any]) -> str:
    """Return the text of a message item, refusals included; its content is plain text or a list of parts."""
    content = item.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = (_string(part.get("text")) or _string(part.get("refusal")) for part in parts if isinstance(part, dict))
    return "".join(texts)


def _texts(content: Any, key: str = "text", *, separator: str = "\n") -> str:
    """Return the text of a message's content: plain text, or the fields ``key`` of a list of parts, joined."""
    if isinstance(content, list):
        return separator.join(filter(None, (_string(part.get(key)) for part in content if isinstance(part, dict))))
    return content if isinstance(content, str) and key == "text" else ""


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""

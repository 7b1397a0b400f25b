"""What travels along unread: the items of a reply that only the server that sent them understands, and their places.

A reasoning item must come back whole and right before the item it led to, under the ids they had. The message keeps the
text and the calls, which the loop may have changed; ``carried`` keeps all items of such a reply in order, the calls without
what the message says of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from world_api.backends.chat.completions import CARRIED
from world_api.core.canonical import canonical

_CALL, _MESSAGE, _REASONING = "function_call", "message", "reasoning"
_OPAQUE = frozenset({_REASONING, "compaction"})
_SAID_BY_THE_MESSAGE = frozenset({"call_id", "name", "arguments"})


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
    text = _text(message.get("content")) or _text(message.get("refusal"))
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
                places.append({**item, **_call(calls.pop(0))})
        else:
            places.append(item)
    if text and said.strip() != text.strip():
        yield {"type": _MESSAGE, "role": "assistant", "content": text}
    for place, item in enumerate(places):
        following = places[place + 1 :]
        if item.get("type") != _REASONING or any(later.get("type") in (_CALL, _MESSAGE) for later in following):
            yield item
    for call in calls:
        yield _call(call)


def message_text(item: Mapping[str, Any]) -> str:
    """The words of a message item; it may be written as plain text."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(_text(part.get("text")) or _text(part.get("refusal")) for part in parts if isinstance(part, dict))


def _is_usable(item: Mapping[str, Any]) -> bool:
    """Whether an opaque item can be read by the server again, which has stored nothing under its id."""
    sealed, told = item.get("encrypted_content"), item.get("content")
    readable = (isinstance(sealed, str) and sealed) or (isinstance(told, list) and told)
    return item["type"] in _OPAQUE and bool(readable)


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    arguments = function.get("arguments")
    return {
        "type": _CALL,
        "call_id": call.get("id"),
        "name": function.get("name"),
        "arguments": arguments if isinstance(arguments, str) else canonical(arguments),
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""

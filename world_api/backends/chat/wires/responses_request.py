"""A Chat Completions request as the Responses API takes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from world_api.backends.chat.wires.carrying import assistant_items
from world_api.core.canonical import canonical
from world_api.core.faults import BackendFault

_SYSTEM = ("system", "developer")


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
        body["instructions"] = "\n\n".join(_text(message.get("content")) for message in messages[:leading])
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
    return content if isinstance(content, str) else "" if content is None else canonical(content)


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


def _text(content: Any) -> str:
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


def _same(value: Any) -> Any:
    return value


#: What has another name, or another form, on this side.
_RENAMED: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "max_tokens": ("max_output_tokens", _same),
    "max_completion_tokens": ("max_output_tokens", _same),
    "tools": ("tools", _tools),
    "tool_choice": ("tool_choice", _tool_choice),
    "response_format": ("text", _format),
    "verbosity": ("text", lambda value: {"verbosity": value}),
    "reasoning_effort": ("reasoning", lambda value: {"effort": value}),
}
_LEFT_OUT = frozenset({"messages", "seed", "n", "store"})

"""Replies in Chat Completions form: built for the models that live in this process, and read without trusting them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from world_api.core.canonical import canonical, is_deep
from world_api.core.faults import BackendFault

#: Where a reply's message holds what its wire must get back unread; the assistant's message of later requests repeats it.
CARRIED = "carried"


@dataclass(frozen=True, kw_only=True)
class Call:
    """A tool call that a reply makes. ``arguments`` is a JSON object, or raw text to play a faulty server."""

    tool: str
    arguments: dict[str, Any] | str
    id: str | None = None


def completion(
    *,
    model: str,
    content: str | None = None,
    calls: Sequence[Call] = (),
    usage: tuple[int, int] | None = None,
) -> dict[str, Any]:
    """A Chat Completions response with one choice.

    ``usage`` is (prompt tokens, completion tokens); without it the reply carries none, as some servers do.
    """
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = [_tool_call(call, position) for position, call in enumerate(calls)]
    reply: dict[str, Any] = {
        "object": "chat.completion",
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
    }
    if usage is not None:
        prompt, written = usage
        reply["usage"] = {
            "prompt_tokens": prompt,
            "completion_tokens": written,
            "total_tokens": prompt + written,
        }
    return reply


def first_choice(reply: Mapping[str, Any]) -> dict[str, Any]:
    """The first choice of a reply; empty where there is none."""
    choices = reply.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


def first_message(reply: Mapping[str, Any]) -> dict[str, Any] | None:
    """The message of the first choice of a reply; None where there is none."""
    message = first_choice(reply).get("message")
    return message if isinstance(message, dict) else None


def checked_reply(reply: Any) -> dict[str, Any]:
    """The reply, if it can be sent back and stored. A model behind the port may be anybody's.

    Raises:
        BackendFault: ``bad_model_reply``.
    """
    try:
        canonical(reply)
        reason = "" if isinstance(reply, dict) else "it is not a JSON object"
        if is_deep(reply):
            reason = "it is nested too deeply"
    except (ValueError, TypeError, RecursionError) as error:
        reason = str(error)
    if reason:
        raise BackendFault("bad_model_reply", f"the model's reply is not JSON: {reason}", hint="use another model")
    checked: dict[str, Any] = reply
    return checked


def _tool_call(call: Call, position: int) -> dict[str, Any]:
    arguments = call.arguments if isinstance(call.arguments, str) else canonical(call.arguments)
    return {
        "id": call.id if call.id is not None else f"call_{position}",
        "type": "function",
        "function": {"name": call.tool, "arguments": arguments},
    }

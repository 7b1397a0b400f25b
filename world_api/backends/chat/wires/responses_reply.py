"""An answer of the Responses API as a Chat Completions reply. Nothing in it is trusted to be there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from world_api.backends.chat.completions import CARRIED
from world_api.backends.chat.wires.carrying import message_text, to_carry
from world_api.backends.chat.wires.port import NotAReply, said_error

#: The status under which a failure would be known had the request failed at once.
_STATUSES = {"server_error": 500, "rate_limit_exceeded": 429, "vector_store_timeout": 504}


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

"""What servers refuse of a history that they are sent: rules of real templates, and of models that think.

Each rule is given the body of a request, over either API, and says what is wrong with it; None where nothing is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Json = dict[str, Any]
Rule = Callable[[Json], str | None]
_PLAIN = frozenset({"role", "content", "tool_calls", "tool_call_id", "name"})
_PLAIN_CALL = frozenset({"id", "type", "function"})


def takes_turns(body: Json) -> str | None:
    """The templates' rules: turns alternate, none is empty, each call is answered exactly once before the next turn."""
    turns = list(_turns(body))
    while turns and turns[0]["role"] in ("system", "developer"):
        turns.pop(0)
    waiting: list[Any] = []
    speaker = "assistant"
    for turn in turns:
        role = turn["role"]
        if role == "tool":
            if turn["id"] not in waiting:
                return f"Message has tool role, but there was no previous assistant message with a tool call {turn['id']!r}"
            waiting.remove(turn["id"])
            continue
        if waiting and not (role == "assistant" and turn["joined"]):
            return f"An assistant message with tool_calls must be followed by tool messages; unanswered: {waiting}"
        if role not in ("user", "assistant"):
            return f"{role} messages stand at the beginning only"
        if role == "assistant" and turn["calls"]:
            waiting += turn["calls"]
            if len(set(waiting)) < len(waiting) or not all(isinstance(one, str) and one for one in waiting):
                return f"ids of calls must be distinct texts: {waiting}"
            continue
        if not turn["says"]:
            return f"{role} message must not be empty"
        if role == speaker and not turn["joined"]:
            return "Conversation roles must alternate user/assistant/user/assistant/..."
        speaker = role
    return f"unanswered calls at the end: {waiting}" if waiting else None


def repeats_thoughts(body: Json) -> str | None:
    """DeepSeek's rule in thinking mode: a turn that called comes back with its ``reasoning_content``."""
    for place, message in enumerate(body.get("messages", ())):
        if message.get("tool_calls") and not message.get("reasoning_content"):
            return f"Missing `reasoning_content` field in the assistant message at message index {place}"
    return None


def repeats_signatures(body: Json) -> str | None:
    """Gemini's rule: the first call of each turn comes back with the signature of the thought that led to it."""
    for message in body.get("messages", ()):
        calls = message.get("tool_calls") or [None]
        google = (calls[0] or {}).get("extra_content", {}).get("google", {})
        if calls[0] is not None and not google.get("thought_signature"):
            return (
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to "
                f"work correctly. Additional data, function call `{calls[0]['function']['name']}`"
            )
    return None


def names_unknown_fields(body: Json) -> str | None:
    """A strict gateway's rule: no field that the API does not describe; the field is named."""
    found = next(_unknown(body), None)
    return found and f"{found}: property '{found}' is unsupported"


def refuses_unknown_fields(body: Json) -> str | None:
    """The same, in words that name no field."""
    return "Extra inputs are not permitted" if next(_unknown(body), None) else None


RULES: dict[str, Rule] = {
    "thoughts": repeats_thoughts,
    "signatures": repeats_signatures,
    "named_fields": names_unknown_fields,
    "no_extras": refuses_unknown_fields,
}


def _turns(body: Json) -> Iterator[Json]:
    """What was said, whichever API it was sent to; ``joined`` is a part of the turn before it."""
    if "messages" in body:
        for message in body["messages"]:
            calls = [call["id"] for call in message.get("tool_calls") or ()]
            says = bool(message.get("content"))
            yield {
                "role": message["role"],
                "id": message.get("tool_call_id"),
                "calls": calls,
                "says": says,
                "joined": False,
            }
        return
    before = None
    for item in body.get("input", ()):
        kind = item.get("type", "message")
        calls = [item["call_id"]] if kind == "function_call" else []
        role = {"function_call": "assistant", "function_call_output": "tool"}.get(kind) or item.get("role")
        if kind == "reasoning":
            continue
        says = bool(item.get("content"))
        yield {
            **{"role": role, "id": item.get("call_id"), "calls": calls, "says": says},
            "joined": role == before == "assistant",
        }
        before = role


def _unknown(body: Json) -> Iterator[str]:
    for place, message in enumerate(body.get("messages", ())):
        yield from (f"messages.{place}.{key}" for key in message if key not in _PLAIN)
        for at, call in enumerate(message.get("tool_calls") or ()):
            yield from (f"messages.{place}.tool_calls.{at}.{key}" for key in call if key not in _PLAIN_CALL)

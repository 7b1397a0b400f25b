"""An episode's conversation in Inspect's words.

Source: the models of ``inspect_ai.model`` (``ChatMessage``, ``ToolCall``), which a log holds as JSON. An episode's messages are Chat
Completions JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.episode import Episode
from world_api.core.canonical import json_line, parse_json

Record = dict[str, Any]


def messages_of(episode: Episode, sample: str) -> list[Record]:
    """The messages, with ids that follow from the sample; the model's thoughts stand before what it said."""
    names: dict[str, str] = {}
    failed = {call.id for call in episode.calls if call.failed}
    thoughts = _thoughts(episode)
    found = []
    for number, message in enumerate(episode.messages):
        role = message.get("role")
        base = {"id": f"{sample[:16]}-{number:04d}", "role": role}
        if role == "assistant":
            record = {**base, **_assistant(message, thoughts.get(number), names), "model": episode.model}
            record["source"] = "generate"
        elif role == "tool":
            record = {**base, **_tool(message, names, failed)}
        else:
            # What the loop itself says is told by the user, as the model gets it.
            record = {**base, "role": role if role == "system" else "user", "content": text_of(message.get("content"))}
            record["source"] = "input"
        found.append(record)
    return found


def _thoughts(episode: Episode) -> dict[int, str]:
    """What the model thought, by the number of the message it came with: that of its calls, or the last one it wrote."""
    rounds = {item.number: item.thought for item in episode.rounds if item.thought}
    round_of = {call.id: call.round for call in episode.calls}
    found: dict[int, str] = {}
    last = None
    for number, message in enumerate(episode.messages):
        if message.get("role") != "assistant":
            continue
        last = number
        ids = [str(call.get("id")) for call in message.get("tool_calls") or () if isinstance(call, Mapping)]
        thought = next((rounds.pop(round_of[own], None) for own in ids if own in round_of), None)
        if thought:
            found[number] = thought
    if last is not None and last not in found and episode.rounds and episode.rounds[-1].number in rounds:
        found[last] = rounds[episode.rounds[-1].number] or ""
    return found


def text_of(content: object) -> str:
    """The words of a message's content; a picture is named and not shown, since logs do not hold it."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(_part(item) for item in content if isinstance(item, Mapping))


def _part(part: Mapping[str, Any]) -> str:
    if isinstance(part.get("text"), str):
        return str(part["text"])
    picture = part.get("image_url", part)
    url = picture.get("url", "") if isinstance(picture, Mapping) else picture
    return f"[picture {str(url)[:80]}]"


def _assistant(message: Mapping[str, Any], thought: str | None, names: dict[str, str]) -> Record:
    words = text_of(message.get("content"))
    content: str | list[Record] = words
    if thought:
        content = [{"type": "reasoning", "reasoning": thought}]
        content += [{"type": "text", "text": words}] if words else []
    calls = [_call(item, names) for item in message.get("tool_calls") or () if isinstance(item, Mapping)]
    return {"content": content, **({"tool_calls": calls} if calls else {})}


def _call(call: Mapping[str, Any], names: dict[str, str]) -> Record:
    function = call.get("function")
    function = function if isinstance(function, Mapping) else {}
    own, name = str(call.get("id") or ""), str(function.get("name") or "")
    names[own] = name
    written = function.get("arguments")
    record: Record = {"id": own, "function": name, "type": "function", "arguments": {}}
    try:
        value = parse_json(written) if isinstance(written, str) else written
    except ValueError as error:
        return {**record, "arguments": {"written": str(written)}, "parse_error": str(error)[:200]}
    if not isinstance(value, dict):
        return {**record, "arguments": {"written": json_line(value)}, "parse_error": "it is not a JSON object"}
    return {**record, "arguments": value}


def _tool(message: Mapping[str, Any], names: Mapping[str, str], failed: set[str]) -> Record:
    own = str(message.get("tool_call_id") or "")
    words = text_of(message.get("content"))
    record: Record = {"content": words, "tool_call_id": own, "function": names.get(own, "")}
    if own in failed:
        record["error"] = {"type": "unknown", "message": words[:500]}
    return record

"""What a probe asks, as the port of models says it, and what it reads of a reply, whichever wire it went over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from world_api.backends.chat.completions import CARRIED, first_message
from world_api.backends.chat.usage import Usage, usage_of
from world_api.backends.chat.wires.port import NotAReply, Wire
from world_api.backends.chat.wires.transport import Heard

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A function tool of a probe."""

    name: str
    description: str
    parameters: Json
    strict: bool = False


@dataclass(frozen=True, kw_only=True)
class HeardCall:
    """A call as it came: nothing of it is trusted to be of the type it should have."""

    id: Any
    name: Any
    arguments: Any


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question of a probe, before it is put into the words of a wire.

    ``choice`` is ``none`` or the name of the tool that must be called; ``image`` a data URL; ``schema`` what the answer is to
    keep to; ``one_call`` forbids several calls at once.
    """

    words: str
    tools: Sequence[Tool] = ()
    choice: str | None = None
    one_call: bool = False
    schema: Json | None = None
    image: str | None = None


@dataclass(frozen=True, kw_only=True)
class Spoken:
    """A reply: its words, its calls, its tokens if they were counted, and what its wire wants back unread."""

    text: str
    calls: tuple[HeardCall, ...]
    usage: Usage | None
    carried: Any = None


def request_for(model: str, asked: Asked) -> Json:
    """A request, as the port of models takes it."""
    content: Any = asked.words
    if asked.image is not None:
        content = [
            {"type": "text", "text": asked.words},
            {"type": "image_url", "image_url": {"url": asked.image}},
        ]
    body: Json = {"model": model, "messages": [{"role": "user", "content": content}]}
    if asked.tools:
        body["tools"] = [{"type": "function", "function": _function(tool)} for tool in asked.tools]
    if asked.choice is not None:
        named = {"type": "function", "function": {"name": asked.choice}}
        body["tool_choice"] = asked.choice if asked.choice == "none" else named
    if asked.one_call:
        body["parallel_tool_calls"] = False
    if asked.schema is not None:
        form = {"name": "answer", "schema": asked.schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    return body


def follow_up(request: Json, spoken: Spoken, result: str) -> Json:
    """The same, with the calls and this result of each in the history; its content is null, as servers send it."""
    ids = [call.id for call in spoken.calls]
    # What came without an id of its own gets one, as the loop gives it.
    distinct = all(isinstance(one, str) and one for one in ids) and len(set(ids)) == len(ids)
    made = [
        {
            "id": call.id if distinct else f"call_{place}",
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for place, call in enumerate(spoken.calls)
    ]
    said: list[Json] = [{"role": "assistant", "content": None, "tool_calls": made, CARRIED: spoken.carried}]
    said += [{"role": "tool", "tool_call_id": call["id"], "content": result} for call in made]
    return {**request, "messages": [*request["messages"], *said]}


def spoken_on(wire: Wire, heard: Heard) -> Spoken | None:
    """The reply that was heard; None where it was none on this wire."""
    if not heard.answered or heard.body is None:
        return None
    try:
        reply = wire.read(heard.body)
    except NotAReply:
        return None
    message = first_message(reply)
    if message is None:
        return None
    text, calls = message.get("content"), message.get("tool_calls")
    return Spoken(
        text=text if isinstance(text, str) else "",
        calls=tuple(map(_call, calls)) if isinstance(calls, list) else (),
        usage=_counted(reply),
        carried=message.get(CARRIED),
    )


def _function(tool: Tool) -> Json:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {**function, "strict": True} if tool.strict else function


def _call(raw: Any) -> HeardCall:
    raw = raw if isinstance(raw, dict) else {}
    function = raw.get("function")
    function = function if isinstance(function, dict) else {}
    return HeardCall(id=raw.get("id"), name=function.get("name"), arguments=function.get("arguments"))


def _counted(reply: Json) -> Usage | None:
    counted = usage_of({}, reply)
    return None if counted.estimated else counted

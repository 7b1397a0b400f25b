"""The two wires as a probe speaks them: how to ask, and where in a reply the calls, the words and the tokens stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from world_api.backends.chat.probing.asking import Route
from world_api.backends.chat.usage import Usage, is_count
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


class Speech(Protocol):
    """One wire."""

    route: Route

    def request(self, model: str, asked: Asked) -> Json:
        """The body of a request."""
        ...

    def follow_up(self, request: Json, reply: Json, result: str) -> Json:
        """The request that repeats the conversation and answers each of the reply's calls with this result."""
        ...

    def read(self, reply: Json) -> Spoken | None:
        """What a reply says; None where it is no reply on this wire."""
        ...


@dataclass(frozen=True, kw_only=True)
class Spoken:
    """A reply: its words, its calls, its tokens if they were counted."""

    text: str
    calls: tuple[HeardCall, ...]
    usage: Usage | None


class ChatSpeech:
    """Chat Completions."""

    route: Route = "chat"

    def request(self, model: str, asked: Asked) -> Json:
        """The body of a request."""
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

    def follow_up(self, request: Json, reply: Json, result: str) -> Json:
        """The same, with the call and its result in the history; its content is null, as servers send it."""
        spoken = self.read(reply)
        made = [
            {"id": str(call.id), "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in (spoken.calls if spoken else ())
        ]
        said: list[Json] = [{"role": "assistant", "content": None, "tool_calls": made}]
        said += [{"role": "tool", "tool_call_id": call["id"], "content": result} for call in made]
        return {**request, "messages": [*request["messages"], *said]}

    def read(self, reply: Json) -> Spoken | None:
        """What the first choice says."""
        choices = reply.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        message = first.get("message") if isinstance(first, dict) else None
        if not isinstance(message, dict):
            return None
        text, calls = message.get("content"), message.get("tool_calls")
        return Spoken(
            text=text if isinstance(text, str) else "",
            calls=tuple(map(_chat_call, calls)) if isinstance(calls, list) else (),
            usage=_counted(reply, "prompt_tokens", "completion_tokens"),
        )


class ResponsesSpeech:
    """Responses. Nothing is left with the server: each request holds the whole conversation."""

    route: Route = "responses"

    def request(self, model: str, asked: Asked) -> Json:
        """The body of a request."""
        content: Any = asked.words
        if asked.image is not None:
            content = [
                {"type": "input_text", "text": asked.words},
                {"type": "input_image", "image_url": asked.image},
            ]
        body: Json = {"model": model, "input": [{"role": "user", "content": content}], "store": False}
        if asked.tools:
            body["tools"] = [{"type": "function", **_function(tool)} for tool in asked.tools]
        if asked.choice is not None:
            named = {"type": "function", "name": asked.choice}
            body["tool_choice"] = asked.choice if asked.choice == "none" else named
        if asked.one_call:
            body["parallel_tool_calls"] = False
        if asked.schema is not None:
            form = {"type": "json_schema", "name": "answer", "schema": asked.schema, "strict": True}
            body["text"] = {"format": form}
        return body

    def follow_up(self, request: Json, reply: Json, result: str) -> Json:
        """The same, with the calls and their results as further items."""
        said: list[Json] = []
        for item in _items(reply):
            if item.get("type") == "function_call":
                kept = {key: item.get(key) for key in ("type", "call_id", "name", "arguments")}
                said += [kept, {"type": "function_call_output", "call_id": item.get("call_id"), "output": result}]
        return {**request, "input": [*request["input"], *said]}

    def read(self, reply: Json) -> Spoken | None:
        """What the items of the output say."""
        if not isinstance(reply.get("output"), list):
            return None
        calls, texts = [], []
        for item in _items(reply):
            if item.get("type") == "function_call":
                calls.append(HeardCall(id=item.get("call_id"), name=item.get("name"), arguments=item.get("arguments")))
            parts = item.get("content")
            for part in parts if isinstance(parts, list) else ():
                if isinstance(part, dict) and isinstance(part.get("text"), str) and item.get("type") == "message":
                    texts.append(part["text"])
        return Spoken(text="\n".join(texts), calls=tuple(calls), usage=_counted(reply, "input_tokens", "output_tokens"))


CHAT: Speech = ChatSpeech()
RESPONSES: Speech = ResponsesSpeech()


def spoken_in(speech: Speech, heard: Heard) -> Spoken | None:
    """The reply that was heard; None where it was none."""
    return speech.read(heard.body) if heard.answered and heard.body is not None else None


def _function(tool: Tool) -> Json:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {**function, "strict": True} if tool.strict else function


def _chat_call(raw: Any) -> HeardCall:
    raw = raw if isinstance(raw, dict) else {}
    function = raw.get("function")
    function = function if isinstance(function, dict) else {}
    return HeardCall(id=raw.get("id"), name=function.get("name"), arguments=function.get("arguments"))


def _items(reply: Json) -> list[Json]:
    return [item for item in reply["output"] if isinstance(item, dict)]


def _counted(reply: Json, prompt: str, completion: str) -> Usage | None:
    usage = reply.get("usage")
    read, written = (usage.get(prompt), usage.get(completion)) if isinstance(usage, dict) else (None, None)
    return Usage(prompt=read, completion=written) if is_count(read) and is_count(written) else None

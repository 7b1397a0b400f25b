"""Messages in Chat Completions form: built for models in this process, read without trust, and counted.

A tool call may also stand in the text of a reply, where servers leave it when their parser for calls is off.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, TypeGuard

from world_api.core.canonical import canonical_json, is_deep, parse_json
from world_api.core.faults import BackendFault
from world_api.core.ports import ChatModel

#: Where a reply's message holds what its wire must get back unread; the assistant's message of later requests repeats it.
CARRIED = "carried"
#: What an image is taken for where nobody counts: 85 tokens and 170 for each of four tiles, which is what one of 1024 x 1024
#: pixels cost at high detail on the first OpenAI models that took images, and 85 at low detail. Others count otherwise.
IMAGE_TOKENS = 765
LOW_DETAIL_IMAGE_TOKENS = 85
_IMAGES = frozenset({"image_url", "input_image"})
_DEEPEST_IMAGE = 6  #: a part of the content of a message of a request, and a little more
#: How families of open models mark a call. In the middle of a sentence a mark alone is no call, with a tool's name it is.
_MARK = re.compile(
    r"^[^\S\n]*(?:<tool_call>|<function=|\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_calls?_begin\|>)"
    r"|(?:<tool_call>|<function=|\[TOOL_CALLS\])\s*(?P<tool>[\w-]+)",
    re.MULTILINE,
)
_FENCE = re.compile(r"```\w*\s*\Z")
_OBJECT = re.compile(r"\{\s*\"")
_DECODER = json.JSONDecoder()
#: Texts that begin like an object and are none are read this often; each time the text so far may be counted through.
MOST_FAILURES = 200


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
        canonical_json(reply)
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
    arguments = call.arguments if isinstance(call.arguments, str) else canonical_json(call.arguments)
    return {
        "id": call.id if call.id is not None else f"call_{position}",
        "type": "function",
        "function": {"name": call.tool, "arguments": arguments},
    }


def text_of(message: Mapping[str, Any], separator: str = "\n") -> str:
    """The words of a message; its content may be a list of parts."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = (part.get("text") for part in parts if isinstance(part, Mapping))
    return separator.join(text for text in texts if isinstance(text, str))


def call_position(text: str, tools: Set[str]) -> int | None:
    """Where the first tool call in the text begins, its code fence included; None if the text holds no call.

    A call is a mark of one, a JSON object with the name of a tool and arguments, or a text that is nothing but an object with
    the name of a tool.
    """
    marks = (mark.start() for mark in _MARK.finditer(text) if mark["tool"] is None or mark["tool"] in tools)
    written = (start for start, value in json_objects(text) if _is_call(value, tools))
    found = [start for start in (next(marks, None), next(written, None)) if start is not None]
    if found:
        before = text[: min(found)]
        fence = _FENCE.search(before)
        return fence.start() if fence else len(before)
    try:
        whole = parse_json(re.sub(r"^```(?:json)?|```$", "", text.strip()).strip())
    except ValueError:
        return None
    return 0 if isinstance(whole, Mapping) and _called_name(whole) in tools else None


def json_objects(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects that stand in a text, each with its position; none inside another.

    After ``MOST_FAILURES`` beginnings that are no object, what follows is not read: a failure costs as much as the text is
    long, so that hostile text would take quadratic time.
    """
    match, failures = _OBJECT.search(text), 0
    while match is not None and failures < MOST_FAILURES:
        start = match.start()
        end = start + 1
        try:
            _, end = _DECODER.raw_decode(text, start)
            yield start, parse_json(text[start:end])
        except json.JSONDecodeError as error:
            end, failures = max(start + 1, error.pos), failures + 1
        except (ValueError, RecursionError):  # JSON, but not strictly: NaN, a number beyond a float, runaway nesting
            failures += 1
        match = _OBJECT.search(text, end)


def _is_call(value: Mapping[str, Any], tools: Set[str]) -> bool:
    inner = value.get("function")
    call = inner if isinstance(inner, Mapping) else value
    return _called_name(call) in tools and ("arguments" in call or "parameters" in call)


def _called_name(call: Mapping[str, Any]) -> str:
    name = call.get("name")
    return name if isinstance(name, str) else ""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Tokens of one request. ``estimated`` where the server did not count them.

    ``cached`` are those of the prompt that the server had kept from an earlier request, ``reasoning`` those of the completion
    that nobody reads; both count all the same.
    """

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    reasoning: int = 0
    estimated: bool = False

    @property
    def total(self) -> int:
        """Prompt and completion together."""
        return self.prompt + self.completion

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            prompt=self.prompt + other.prompt,
            completion=self.completion + other.completion,
            cached=self.cached + other.cached,
            reasoning=self.reasoning + other.reasoning,
            estimated=self.estimated or other.estimated,
        )

    def record(self) -> dict[str, int | bool]:
        """The wire form."""
        counts = {"prompt": self.prompt, "completion": self.completion, "cached": self.cached}
        return {**counts, "reasoning": self.reasoning, "estimated": self.estimated}


def usage_of(request: dict[str, Any], reply: dict[str, Any]) -> Usage:
    """The tokens of an exchange: the server's count, else an estimate that says so."""
    counted = reply.get("usage")
    if isinstance(counted, dict):
        prompt, completion = counted.get("prompt_tokens"), counted.get("completion_tokens")
        if is_count(prompt) and is_count(completion):
            return Usage(
                prompt=prompt,
                completion=completion,
                cached=_cached(counted, most=prompt),
                reasoning=_part(counted.get("completion_tokens_details"), "reasoning_tokens", most=completion),
            )
    return Usage(
        prompt=estimate_tokens([request.get("messages"), request.get("tools")]),
        completion=estimate_tokens(reply.get("choices")),
        estimated=True,
    )


def estimate_tokens(value: Any) -> int:
    """About how many tokens a JSON value is: four ASCII characters make one, and so does any other character.

    Images count as so many each, however many characters they are spelt with.
    """
    words, images = _without_images(value)
    text = canonical_json(words)
    plain = len(text.encode("ascii", "ignore"))
    return plain // 4 + (len(text) - plain) + images


def _without_images(value: Any, depth: int = 0) -> tuple[Any, int]:
    """The value with the images of its messages taken out, and their tokens."""
    if depth > _DEEPEST_IMAGE:
        return value, 0
    if isinstance(value, dict):
        image = value.get("image_url")
        if image is not None and value.get("type") in _IMAGES:
            detail = image.get("detail") if isinstance(image, dict) else value.get("detail")
            return None, LOW_DETAIL_IMAGE_TOKENS if detail == "low" else IMAGE_TOKENS
        parts = {key: _without_images(part, depth + 1) for key, part in value.items()}
        return {key: part for key, (part, _) in parts.items()}, sum(images for _, images in parts.values())
    if isinstance(value, list):
        items = [_without_images(item, depth + 1) for item in value]
        return [item for item, _ in items], sum(images for _, images in items)
    return value, 0


def _cached(counted: Mapping[str, Any], *, most: int) -> int:
    """What of the prompt was kept, wherever a server says it: OpenAI's place, DeepSeek's, Moonshot's."""
    places = (
        (counted.get("prompt_tokens_details"), "cached_tokens"),
        (counted, "prompt_cache_hit_tokens"),
        (counted, "cached_tokens"),
    )
    return max(_part(told, name, most=most) for told, name in places)


def _part(told: Any, name: str, *, most: int) -> int:
    """A count that is a part of another one; what is no count is none, and no part is more than the whole."""
    part = told.get(name) if isinstance(told, dict) else None
    return min(part, most) if is_count(part) else 0


def is_count(value: Any) -> TypeGuard[int]:
    """Whether a value can be a number of tokens."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


#: What takes the place of a setting that is refused by name: the same under another name, or nothing.
_INSTEAD = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": None,
    "temperature": None,
    "response_format": None,
}


class OptionalSettings:
    """Settings of requests that are left out from the moment the server refuses them by name. Threads may share it."""

    def __init__(self, **settings: Any) -> None:
        self.settings: dict[str, Any] = settings

    def complete(self, model: ChatModel, request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The request as it was answered, and the reply.

        Raises:
            BackendFault: what the model names, once there is no setting left to do without.
        """
        while True:
            settings = self.settings
            whole = {**request, **settings}
            try:
                return whole, model.complete(whole)
            except BackendFault as fault:
                remaining = without_refused(settings, fault)
                if remaining is None:
                    raise
                if self.settings is settings:  # no other thread was faster
                    self.settings = remaining


def without_refused(settings: dict[str, Any], fault: BackendFault) -> dict[str, Any] | None:
    """The settings without the one that a fault names, or with its other name; None where it names none of them."""
    if fault.code not in ("endpoint_refused_request", "endpoint_error"):
        return None
    named = next((name for name in _INSTEAD if name in fault.message and name in settings), None)
    if named is None:
        return None
    remaining = {name: value for name, value in settings.items() if name != named}
    instead = _INSTEAD[named]
    return remaining if instead is None else {**remaining, instead: settings[named]}

"""The Chat Completions API: requests and replies are sent and taken as they are, with what only their server understands.

Servers of models that think add fields to a message and to its calls (``reasoning_content``, ``extra_content`` with a signature of the
thought, ...), and some refuse a history without them. Whoever speaks through the port keeps words and calls alone, so this wire
puts the rest under ``carried`` and back in its places.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from world_api.backends.chat.completions import CARRIED, first_message
from world_api.backends.chat.transport import Answering, Heard, NotAReply, said_error
from world_api.core.canonical import canonical_json, is_deep

if TYPE_CHECKING:
    from openai import OpenAI

MOST_CARRIED = 1_000_000  #: characters of a field; a longer one is left out whole, since half of one is no use
_MOST_LEVELS = 32
#: What the message says itself, and what belongs to a reply alone.
_OF_A_MESSAGE = frozenset({"role", "content", "tool_calls", "refusal", "annotations", "audio", "function_call"})
_OF_A_CALL = frozenset({"id", "type", "function", "index"})
_OF_A_FUNCTION = frozenset({"name", "arguments"})
#: How servers say that a field is one too many, and how they say so without naming it.
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


def points_to_responses(heard: Heard) -> bool:
    """Whether a refusal says that the Responses API is worth a try: there is no Chat Completions here, or it says to go there."""
    return heard.status in _NOT_THERE or (heard.status != 200 and "responses" in heard.told.lower())


class ChatCompletionsWire:
    """``POST /chat/completions``. It learns which added fields its server does not take back."""

    name = "chat"

    def __init__(self) -> None:
        self._sent: frozenset[str] = frozenset()  #: added fields that went back so far
        self._refused: frozenset[str] = frozenset()

    def send(self, client: OpenAI, request: dict[str, Any], *, seconds: float) -> AbstractContextManager[Answering]:
        """Send the request untouched, with what its messages carry in its places."""
        rest = {key: value for key, value in request.items() if key not in ("model", "messages")}
        return client.chat.completions.with_streaming_response.create(
            model=request["model"],
            messages=[self._with_carried(message) for message in request["messages"]],
            extra_body=rest,
            timeout=seconds,
        )

    def read(self, answer: dict[str, Any]) -> dict[str, Any]:
        """The answer, with what is to come back with its message under ``carried``.

        Raises:
            NotAReply: it reports an error, or has no list of choices: it must not be taken, paid for and kept as something
                that the model said.
        """
        if not isinstance(answer.get("choices"), list):
            raise said_error(answer) or NotAReply("it has no list of choices")
        message = first_message(answer)
        if message is None:
            return answer
        said = {key: value for key, value in message.items() if key != CARRIED}
        carried = _to_carry(message)
        first = {**answer["choices"][0], "message": {**said, CARRIED: carried} if carried else said}
        return {**answer, "choices": [first, *answer["choices"][1:]]}

    def adapt(self, refusal: str) -> bool:
        """Leave out of the history what the server does not take there: the added fields it names.

        All are left out where it names none, or names another one after the first.
        """
        named = {name for name in self._sent if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", refusal)}
        if (named and self._refused and not named <= self._refused) or (not named and _UNNAMED.search(refusal)):
            named = set(self._sent)
        if not named or not _UNWANTED.search(refusal):
            return False
        self._refused |= named
        return True

    def _with_carried(self, message: Any) -> Any:
        """An assistant's message as the server sent it; what another wire put there means nothing to this one."""
        if not isinstance(message, dict) or CARRIED not in message:
            return message
        said = {key: value for key, value in message.items() if key != CARRIED}
        carried = message[CARRIED]
        if not isinstance(carried, dict):
            return said
        calls, added = said.get("tool_calls"), carried.get("calls")
        if isinstance(calls, list) and isinstance(added, list):
            whole = [self._call(call, extras) for call, extras in zip(calls, added, strict=False)]
            said["tool_calls"] = [*whole, *calls[len(whole) :]]
        return {**self._wanted(carried.get("message")), **said}

    def _call(self, call: Any, extras: Any) -> Any:
        if not isinstance(call, dict) or not isinstance(extras, dict):
            return call
        function = call.get("function")
        if isinstance(function, dict):
            function = {**self._wanted(extras.get("function")), **function}
        return {**self._wanted(extras.get("call")), **call, "function": function}

    def _wanted(self, extras: Any) -> dict[str, Any]:
        if not isinstance(extras, dict):
            return {}
        wanted = {key: value for key, value in extras.items() if key not in self._refused}
        self._sent |= wanted.keys()
        return wanted


def _to_carry(message: Mapping[str, Any]) -> dict[str, Any]:
    """The added fields of a message, and of its calls by their places."""
    calls = message.get("tool_calls")
    added = [_of_call(call) for call in calls] if isinstance(calls, list) else []
    carried = {"calls": added if any(added) else [], "message": _added(message, _OF_A_MESSAGE)}
    return {key: value for key, value in carried.items() if value}


def _of_call(call: Any) -> dict[str, Any]:
    if not isinstance(call, dict):
        return {}
    extras = {"call": _added(call, _OF_A_CALL), "function": _added(call.get("function"), _OF_A_FUNCTION)}
    return {key: value for key, value in extras.items() if value}


def _added(holder: Any, known: frozenset[str]) -> dict[str, Any]:
    """The fields that are not known ones, say something, and are neither too long nor too deep."""
    fields = holder.items() if isinstance(holder, dict) else ()
    said = {
        key: value for key, value in fields if key not in known and value and not is_deep(value, levels=_MOST_LEVELS)
    }
    return {key: value for key, value in said.items() if len(canonical_json(value)) < MOST_CARRIED}

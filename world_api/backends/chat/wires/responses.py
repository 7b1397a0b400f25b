"""The Responses API, without a state on the server: each request says all, and nothing is stored there.

What a reasoning model needs to see again, and nobody else can read, travels under ``carried`` in the assistant's message.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from world_api.backends.chat.wires.port import Answering
from world_api.backends.chat.wires.responses_reply import reply_of
from world_api.backends.chat.wires.responses_request import request_body

if TYPE_CHECKING:
    from openai import OpenAI

#: Without it, what a model thought is lost between the rounds of an episode, since the server stores nothing.
_ENCRYPTED = "reasoning.encrypted_content"


class ResponsesWire:
    """``POST /responses``. Servers whose models do not reason may refuse to send what they thought; then it is not wanted."""

    name = "responses"

    def __init__(self) -> None:
        self._wants_thoughts = True

    def send(self, client: OpenAI, request: dict[str, Any], *, seconds: float) -> AbstractContextManager[Answering]:
        """Send the request, translated.

        Raises:
            BackendFault: ``endpoint_refused_request``: the API has no place for a part of it.
        """
        body = request_body(request)
        if self._wants_thoughts:
            body["include"] = list(dict.fromkeys([*body.get("include", []), _ENCRYPTED]))
        rest = {key: value for key, value in body.items() if key not in ("model", "input")}
        return client.responses.with_streaming_response.create(
            model=body["model"], input=body["input"], store=False, extra_body=rest, timeout=seconds
        )

    def read(self, answer: dict[str, Any]) -> dict[str, Any]:
        """The answer as a Chat Completions reply.

        Raises:
            NotAReply: it failed, is not finished, or has no list of output items.
        """
        return reply_of(answer)

    def adapt(self, refusal: str) -> bool:
        """Do without what the model thought, where the server says that it cannot be had."""
        refused = "encrypted" in refusal.lower() or "include" in refusal.lower().split()
        self._wants_thoughts = self._wants_thoughts and not refused
        return refused

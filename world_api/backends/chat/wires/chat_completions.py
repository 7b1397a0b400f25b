"""The Chat Completions API: requests and replies are sent and taken as they are."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from world_api.backends.chat.wires.port import Answering, NotAReply, said_error
from world_api.backends.chat.wires.transport import Heard

if TYPE_CHECKING:
    from openai import OpenAI

#: Where an assistant's message holds what another wire must get back unread; it means nothing to this one.
CARRIED = "carried"


_NOT_THERE = frozenset({404, 405, 501})


def points_to_responses(heard: Heard) -> bool:
    """Whether a refusal says that the Responses API is worth a try: there is no Chat Completions here, or it says to go there."""
    return heard.status in _NOT_THERE or (heard.status != 200 and "responses" in heard.told.lower())


class ChatCompletionsWire:
    """``POST /chat/completions``."""

    name = "chat"

    def send(self, client: OpenAI, request: dict[str, Any], *, seconds: float) -> AbstractContextManager[Answering]:
        """Send the request untouched, less what only another wire can read."""
        rest = {key: value for key, value in request.items() if key not in ("model", "messages")}
        return client.chat.completions.with_streaming_response.create(
            model=request["model"],
            messages=[_without_carried(message) for message in request["messages"]],
            extra_body=rest,
            timeout=seconds,
        )

    def read(self, answer: dict[str, Any]) -> dict[str, Any]:
        """The answer itself.

        Raises:
            NotAReply: it reports an error, or has no list of choices: it must not be taken, paid for and kept as something
                that the model said.
        """
        if isinstance(answer.get("choices"), list):
            return answer
        raise said_error(answer) or NotAReply("it has no list of choices")

    def adapt(self, refusal: str) -> bool:
        """Never: what is sent is what was asked for."""
        return False


def _without_carried(message: Any) -> Any:
    if not isinstance(message, dict) or CARRIED not in message:
        return message
    return {key: value for key, value in message.items() if key != CARRIED}

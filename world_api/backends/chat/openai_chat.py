"""Any OpenAI-compatible chat server, through the ``openai`` client.

Replies are taken from the raw JSON the server sent, not from the client's models of it, so that what is recorded is what
was said. Which API is spoken is the wire's business; tries and waits are the transport's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from world_api.backends.chat.endpoint import Endpoint, not_an_answer, refused
from world_api.backends.chat.wires.chat_completions import ChatCompletionsWire
from world_api.backends.chat.wires.port import NotAReply, Wire
from world_api.backends.chat.wires.transport import Failure, Heard, Transport
from world_api.backends.chat.wires.waiting import passes
from world_api.core.ports import Clock

_OURS = "videoworld"  #: the part of a reply that this project adds; no server may speak in it


class OpenAIChatModel:
    """A model on an endpoint. ``name`` is the model's name as the server knows it; ``chance`` is the transport's."""

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        *,
        clock: Clock,
        sleep: Callable[[float], None],
        chance: Callable[[], float] = lambda: 0.0,
        wire: Wire | None = None,
    ) -> None:
        self.name = model
        self._endpoint = endpoint
        self._wire = ChatCompletionsWire() if wire is None else wire
        self._transport = Transport(endpoint, clock=clock, sleep=sleep, chance=chance)

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """One reply, after as many tries as there is patience for; it ends within that time, whatever comes.

        Raises:
            BackendFault: ``endpoint_unreachable``, ``endpoint_refused_key``, ``endpoint_unknown_model``,
                ``endpoint_rate_limited``, ``endpoint_refused_request``, ``endpoint_error``.
        """
        return self._transport.exchange(
            lambda client, seconds: self._wire.send(client, request, seconds=seconds), self._understand
        )

    def _understand(self, heard: Heard) -> dict[str, Any] | Failure:
        if heard.status != 200:
            return self._refusal(heard)
        if heard.body is None:
            return Failure(fault=not_an_answer(self._endpoint, heard.told), passing=heard.garbled)
        try:
            reply = self._wire.read(heard.body)
        except NotAReply as error:
            return self._no_reply(error)
        return {key: value for key, value in reply.items() if key != _OURS}

    def _refusal(self, heard: Heard) -> Failure:
        return Failure(
            fault=refused(self._endpoint, self.name, status=heard.status, message=heard.told, code=heard.code),
            passing=passes(heard.status, heard.code),
            retry_after=heard.retry_after,
            adapted=heard.status in (400, 422) and self._wire.adapt(heard.told),
        )

    def _no_reply(self, error: NotAReply) -> Failure:
        if error.status is None:
            return Failure(fault=not_an_answer(self._endpoint, str(error)[:500]))
        return self._refusal(Heard(status=error.status, body=None, told=str(error), code=error.code))

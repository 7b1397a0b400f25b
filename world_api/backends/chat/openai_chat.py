"""Any OpenAI-compatible chat server, through the ``openai`` client.

Replies are taken from the raw JSON the server sent, not from the client's models of it, so that what is recorded is what
was said. Which API is spoken is the wire's business; tries and waits are the transport's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal

from world_api.backends.chat.chat_completions import ChatCompletionsWire, points_to_responses
from world_api.backends.chat.endpoint import Endpoint, not_an_answer, refused
from world_api.backends.chat.responses import ResponsesWire
from world_api.backends.chat.transport import Answering, Failure, Heard, NotAReply, Transport, Wire, passes
from world_api.core.ports import Clock

if TYPE_CHECKING:
    from openai import OpenAI

_OURS = "videoworld"  #: the part of a reply that this project adds; no server may speak in it
WireName = Literal["chat", "responses"]


def wire_named(name: WireName) -> Wire:
    """A wire for one model on one endpoint; it learns what its server refuses."""
    return ChatCompletionsWire() if name == "chat" else ResponsesWire()


class OpenAIChatModel:
    """A model on an endpoint. ``name`` is the model's name as the server knows it; ``chance`` is the transport's.

    ``elsewhere`` is asked for another wire when the server says that the model cannot be asked on this one; it is spoken
    from then on.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        *,
        clock: Clock,
        sleep: Callable[[float], None],
        chance: Callable[[], float] = lambda: 0.0,
        wire: Wire | None = None,
        elsewhere: Callable[[], Wire | None] = lambda: None,
    ) -> None:
        self.name = model
        self._endpoint = endpoint
        self._wire = ChatCompletionsWire() if wire is None else wire
        self._elsewhere = elsewhere
        self._choosing = threading.Lock()
        self._transport = Transport(endpoint, clock=clock, sleep=sleep, chance=chance)

    @property
    def spoken(self) -> str:
        """The name of the wire that is spoken now."""
        return self._wire.name

    @property
    def requests(self) -> int:
        """How many were sent, attempts and all."""
        return self._transport.requests

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """One reply, after as many tries as there is patience for; it ends within that time, whatever comes.

        Raises:
            BackendFault: ``endpoint_unreachable``, ``endpoint_refused_key``, ``endpoint_unknown_model``,
                ``endpoint_rate_limited``, ``endpoint_refused_request``, ``endpoint_error``.
        """
        wire = self._wire

        def send(client: OpenAI, seconds: float) -> AbstractContextManager[Answering]:
            nonlocal wire
            wire = self._wire  # another thread may have found a better one
            return wire.send(client, request, seconds=seconds)

        return self._transport.exchange(send, lambda heard: self._understand(heard, wire))

    def _understand(self, heard: Heard, wire: Wire) -> dict[str, Any] | Failure:
        if heard.status != 200:
            return self._refusal(heard, wire)
        if heard.body is None:
            return Failure(fault=not_an_answer(self._endpoint, heard.told), passing=heard.garbled)
        try:
            reply = wire.read(heard.body)
        except NotAReply as error:
            if error.status is None:
                return Failure(fault=not_an_answer(self._endpoint, str(error)[:500]))
            return self._refusal(Heard(status=error.status, body=None, told=str(error)[:500], code=error.code), wire)
        return {key: value for key, value in reply.items() if key != _OURS}

    def _refusal(self, heard: Heard, wire: Wire) -> Failure:
        fault = refused(self._endpoint, self.name, status=heard.status, message=heard.told, code=heard.code)
        if fault.code != "endpoint_unknown_model" and points_to_responses(heard):
            adapted = self._goes_elsewhere(wire)
        else:
            adapted = heard.status in (400, 422) and wire.adapt(heard.told)
        return Failure(
            fault=fault, passing=passes(heard.status, heard.code), retry_after=heard.retry_after, adapted=adapted
        )

    def _goes_elsewhere(self, refused_on: Wire) -> bool:
        """Whether the model can be asked on another wire than this one, found by whichever thread came first."""
        with self._choosing:
            if self._wire is refused_on:
                found = self._elsewhere()
                self._elsewhere = lambda: None  # asked once
                if found is not None and found.name != refused_on.name:
                    self._wire = found
            return self._wire is not refused_on

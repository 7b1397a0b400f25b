"""Putting one small request to a server and hearing whatever comes back, refusals too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from world_api.backends.chat.endpoint import Endpoint, not_an_answer, refused
from world_api.backends.chat.wires.port import Wire
from world_api.backends.chat.wires.transport import Failure, Heard, Send, Transport
from world_api.backends.chat.wires.waiting import passes
from world_api.core.faults import BackendFault
from world_api.core.ports import Clock

_MOST_ADAPTATIONS = 2  #: then what is heard is the finding


class Asker:
    """Asks one endpoint. Failures that pass are waited out within the endpoint's patience."""

    def __init__(self, endpoint: Endpoint, *, clock: Clock, sleep: Callable[[float], None]) -> None:
        self._endpoint = endpoint
        self._transport = Transport(endpoint, clock=clock, sleep=sleep)

    @property
    def requests(self) -> int:
        """How many were sent, tries and all."""
        return self._transport.requests

    def ask(self, wire: Wire, request: dict[str, Any]) -> Heard:
        """What the server says to a request of a chat, sent over this wire.

        Raises:
            BackendFault: ``endpoint_unreachable``, ``endpoint_refused_key``, ``endpoint_rate_limited``,
                ``endpoint_error`` where it fails again and again: nothing can be learnt from that.
        """
        return self._hear(
            lambda client, seconds: wire.send(client, request, seconds=seconds), str(request["model"]), wire.adapt
        )

    def embed(self, body: dict[str, Any]) -> Heard:
        """What the server says to a request for embeddings.

        Raises:
            BackendFault: as ``ask``.
        """
        return self._hear(
            lambda client, seconds: client.embeddings.with_streaming_response.create(**body, timeout=seconds),
            str(body["model"]),
            lambda _: False,
        )

    def models(self) -> Heard:
        """What the server says of its models; it is asked again only where nothing was heard.

        Raises:
            BackendFault: ``endpoint_unreachable``.
        """
        return self._transport.exchange(
            lambda client, seconds: client.models.with_streaming_response.list(timeout=seconds), lambda heard: heard
        )

    def fault(self, heard: Heard, model: str) -> BackendFault:
        """The named fault for what was heard."""
        if heard.status == 200:
            return not_an_answer(self._endpoint, heard.told or "it is not what was asked for")
        return refused(self._endpoint, model, status=heard.status, message=heard.told, code=heard.code)

    def _hear(self, send: Send, model: str, adapt: Callable[[str], bool]) -> Heard:
        """What was heard, unless it may pass, or the key is refused, which ends all asking."""
        adapted = 0

        def understand(heard: Heard) -> Heard | Failure:
            nonlocal adapted
            if heard.status == 200:
                return heard
            fault = self.fault(heard, model)
            passing = passes(heard.status, heard.code)
            if adapted < _MOST_ADAPTATIONS and heard.status in (400, 422) and adapt(heard.told):
                adapted += 1
                return Failure(fault=fault, adapted=True)
            if passing or fault.code in ("endpoint_refused_key", "endpoint_rate_limited"):
                return Failure(fault=fault, passing=passing, retry_after=heard.retry_after)
            return heard

        return self._transport.exchange(send, understand)

"""Putting one small request to a server and hearing whatever comes back, refusals too."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from world_api.backends.chat.endpoint import Endpoint, not_an_answer, refused
from world_api.backends.chat.wires.transport import Failure, Heard, Send, Transport
from world_api.backends.chat.wires.waiting import passes
from world_api.core.faults import BackendFault
from world_api.core.ports import Clock

if TYPE_CHECKING:
    from openai import OpenAI

Route = Literal["chat", "responses", "embeddings"]


class Asker:
    """Asks one endpoint. Failures that pass are waited out within the endpoint's patience."""

    def __init__(self, endpoint: Endpoint, *, clock: Clock, sleep: Callable[[float], None]) -> None:
        self._endpoint = endpoint
        self._transport = Transport(endpoint, clock=clock, sleep=sleep)

    @property
    def requests(self) -> int:
        """How many were sent, tries and all."""
        return self._transport.requests

    def ask(self, route: Route, body: dict[str, Any]) -> Heard:
        """What the server says to this.

        Raises:
            BackendFault: ``endpoint_unreachable``, ``endpoint_refused_key``, ``endpoint_rate_limited``,
                ``endpoint_error`` where it fails again and again: nothing can be learnt from that.
        """
        return self._transport.exchange(_sending(route, body), lambda heard: self._known(heard, body))

    def fault(self, heard: Heard, body: dict[str, Any]) -> BackendFault:
        """The named fault for what was heard."""
        if heard.status == 200:
            return not_an_answer(self._endpoint, heard.told or "it is not what was asked for")
        model = str(body.get("model"))
        return refused(self._endpoint, model, status=heard.status, message=heard.told, code=heard.code)

    def _known(self, heard: Heard, body: dict[str, Any]) -> Heard | Failure:
        """What was heard, unless it may pass, or the key is refused, which ends all asking."""
        if heard.status == 200:
            return heard
        fault = self.fault(heard, body)
        passing = passes(heard.status, heard.code)
        if passing or fault.code in ("endpoint_refused_key", "endpoint_rate_limited"):
            return Failure(fault=fault, passing=passing, retry_after=heard.retry_after)
        return heard


def _sending(route: Route, body: dict[str, Any]) -> Send:
    def create(client: OpenAI) -> Any:
        return {
            "chat": client.chat.completions.with_streaming_response.create,
            "responses": client.responses.with_streaming_response.create,
            "embeddings": client.embeddings.with_streaming_response.create,
        }[route]

    return lambda client, seconds: create(client)(**body, timeout=seconds)

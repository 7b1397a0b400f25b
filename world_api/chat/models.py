"""Chat models by name: any OpenAI-compatible server through the ``openai`` client, and the rule-based one.

Replies are read from the raw JSON of the server, not from the client's objects, so that recordings hold what was sent.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from world_api.chat.json_wire import JsonCalls
from world_api.chat.messages import PROJECT_FIELD
from world_api.chat.rule_based import RULE_BASED, RuleBasedChatModel
from world_api.chat.transport import Endpoint, Failure, NotAReply, ServerAnswer, Transport
from world_api.chat.wires import ChatCompletionsWire, ChatWire, ResponsesWire, WireName, points_to_other_api, wire_named
from world_api.core.faults import BackendFault
from world_api.core.ports import ChatModel, Clock, WireChoice
from world_api.installation import cache_folder


class OpenAIChatModel:
    """A model on an endpoint.

    Args:
        endpoint: The server.
        model: The model's name on the server.
        clock: Measures deadlines.
        sleep: Waits a number of seconds, between attempts.
        chance: Returns random numbers from 0 to 1 that lengthen the waits.
        wire: The API to use; Chat Completions by default.
        other: The API to switch to if the server reports that the model cannot be used over the first one.
        on_switch: Called with the first API's refusal once the other API has answered.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        *,
        clock: Clock,
        sleep: Callable[[float], None],
        chance: Callable[[], float] = lambda: 0.0,
        wire: ChatWire | None = None,
        other: ChatWire | None = None,
        on_switch: Callable[[BackendFault], None] = lambda refusal: None,
    ) -> None:
        self.name = model
        self._endpoint = endpoint
        self._wires = (wire or ChatCompletionsWire(), other)
        self._on_switch = on_switch
        self._transport = Transport(endpoint, clock=clock, sleep=sleep, chance=chance)

    @property
    def wire_name(self) -> str:
        """The name of the API in use: ``chat`` or ``responses``."""
        return self._wires[0].name

    @property
    def requests(self) -> int:
        """How many requests were sent, retries included."""
        return self._transport.requests

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return one reply, after retries within the endpoint's total timeout.

        Raises BackendFault: ``endpoint_unreachable``, ``endpoint_refused_key``, ``endpoint_unknown_model``,
        ``endpoint_rate_limited``, ``endpoint_refused_request``, ``endpoint_error``.
        """
        wire, other = self._wires
        try:
            return self._exchange(wire, request)
        except BackendFault as refusal:
            if other is None or not isinstance(refusal, _OtherApiFault):
                raise
            try:
                reply = self._exchange(other, request)
            except BackendFault as fault:
                if fault.code in ("endpoint_error", "endpoint_refused_request"):
                    raise refusal from None
                raise
            if self._wires[0] is wire:
                self._wires = (other, wire)
                self._on_switch(refusal)
            return reply

    def _exchange(self, wire: ChatWire, request: dict[str, Any]) -> dict[str, Any]:
        return self._transport.exchange(
            lambda client, seconds: wire.send(client, request, seconds=seconds),
            lambda answer: self._understand(answer, wire),
        )

    def _understand(self, answer: ServerAnswer, wire: ChatWire) -> dict[str, Any]:
        if answer.status == 200 and answer.body is None:
            raise Failure(self._endpoint.not_a_reply(answer.message), transient=answer.garbled)
        if answer.body is not None:
            try:
                reply = wire.read(answer.body)
                return {key: value for key, value in reply.items() if key != PROJECT_FIELD}
            except NotAReply as error:
                message = str(error)[:500]
                if error.status is None:
                    raise Failure(self._endpoint.not_a_reply(message)) from None
                answer = ServerAnswer(status=error.status, body=None, message=message, code=error.code)
        fault = self._endpoint.refused(self.name, answer)
        adapted = False
        if fault.code != "endpoint_unknown_model" and points_to_other_api(answer):
            fault = _OtherApiFault(fault.code, fault.message, hint=fault.hint)
        else:
            adapted = answer.status in (400, 422) and wire.adapt(answer.message)
        raise Failure(fault, transient=answer.is_transient, retry_after=answer.retry_after, adapted=adapted)


class _OtherApiFault(BackendFault):
    """A refusal that points to the server's other API."""


def chat_model(
    name: str | None,
    *,
    clock: Clock,
    environment: Mapping[str, str],
    wire: WireChoice = "auto",
    cache: Path | str | None = None,
) -> ChatModel:
    """Return the model of that name on the configured endpoint; the rule-based one if ``name`` is None or its name.

    An endpoint is used only if a model is named, not because a key is set in the environment. ``cache`` is a folder of
    stored replies; equal requests are answered from it.

    Raises BackendFault: ``bad_model_name``, ``endpoint_not_configured``, ``endpoint_bad_url``, ``endpoint_refused_key``,
    ``cache_not_writable``.
    """
    if name is None:
        sys.stderr.write("no --model given: the rule-based model answers, which sends nothing anywhere\n")
    if name is None or name == RULE_BASED:
        return RuleBasedChatModel()
    try:
        return endpoint_model(name, clock=clock, environment=environment, wire=wire, cache=cache)
    except BackendFault as fault:
        if fault.code == "endpoint_not_configured":
            fault.hint += f", or use --model {RULE_BASED}"
        raise


def endpoint_model(
    name: str,
    *,
    clock: Clock,
    environment: Mapping[str, str],
    timeout: float | None = None,
    wire: WireChoice | ChatWire = "auto",
    cache: Path | str | None = None,
) -> ChatModel:
    """Return the model of that name on the endpoint that the environment configures.

    Args:
        name: The model's name on the endpoint.
        clock: Measures deadlines.
        environment: Holds ``OPENAI_BASE_URL``, ``OPENAI_API_KEY`` and the variables of ``cache_folder``.
        timeout: Seconds for one attempt; all attempts together may take twice as long. None for the defaults.
        wire: The API to use, by name or as a ``ChatWire``; ``auto``: the one that worked earlier or that a probe found, at first
            Chat Completions.
        cache: A folder of stored replies; equal requests to this endpoint are answered from it.

    Raises BackendFault: ``bad_model_name``, ``endpoint_not_configured``, ``endpoint_bad_url``, ``endpoint_refused_key``,
    ``cache_not_writable``.
    """
    from world_api.chat.capabilities import keep_finding, read_finding
    from world_api.chat.recording import CachingChatModel

    if not name.strip():
        raise BackendFault(
            "bad_model_name", "the model's name is empty", hint="give --model the name of a model, or leave it out"
        )
    endpoint = Endpoint.from_environment(environment)
    if timeout is not None:
        endpoint = replace(endpoint, timeout=timeout, total_timeout=2 * timeout)
    endpoint.check_url()
    connect = partial(OpenAIChatModel, endpoint, name, clock=clock, sleep=time.sleep, chance=random.random)
    findings = cache_folder(environment, home=Path.home())
    known = read_finding(findings, endpoint, name)
    if wire == "json" or (wire == "auto" and known.wire == "json"):
        model: OpenAIChatModel | JsonCalls = JsonCalls(connect(wire=ChatCompletionsWire()))
    elif wire == "auto":
        wires: list[ChatWire] = [ChatCompletionsWire(), ResponsesWire()]
        if known.wire == "responses":
            wires.reverse()

        def keep_switch(refusal: BackendFault) -> None:
            keep_finding(findings, endpoint, name, replace(known, wire=cast(WireName, wires[1].name)))

        model = connect(wire=wires[0], other=wires[1], on_switch=keep_switch)
    else:
        model = connect(wire=wire_named(wire) if isinstance(wire, str) else wire)
    if cache is None:
        return model
    return CachingChatModel(model, cache, at=lambda: f"{model.wire_name} {endpoint.address}")


def images_and_window(name: str | None, *, environment: Mapping[str, str]) -> tuple[bool | None, int | None]:
    """Return whether a model on the configured endpoint accepts images, and its context window in tokens.

    Both are what an earlier probe found; None if it is not known, or there is no ``name``.
    """
    if name is None or name == RULE_BASED:
        return None, None
    from world_api.chat.capabilities import read_finding

    folder, endpoint = cache_folder(environment, home=Path.home()), Endpoint.from_environment(environment)
    known = read_finding(folder, endpoint, name)
    return known.can("images"), known.window

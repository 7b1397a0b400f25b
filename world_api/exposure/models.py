"""The chat models that commands are given by name."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from world_api.core.faults import BackendFault
from world_api.exposure.cli import note

if TYPE_CHECKING:
    from world_api.backends.chat.endpoint import Endpoint
    from world_api.backends.chat.openai_chat import OpenAIChatModel
    from world_api.backends.chat.probing import Capabilities
    from world_api.core.ports import ChatModel, Clock

#: The API that is spoken: ``auto`` is Chat Completions until the server says that the model wants the other one.
WireChoice = Literal["auto", "chat", "responses"]


def chat_model(
    name: str | None,
    *,
    clock: Clock,
    environment: Mapping[str, str],
    wire: WireChoice = "auto",
    cache: Path | None = None,
) -> ChatModel:
    """The model that was named, on the configured endpoint; the rule-based one where none was.

    An endpoint is used only when a model is named, never because a key happens to be set. ``cache`` is a folder of replies:
    what was asked of this endpoint before is answered from there.

    Raises:
        BackendFault: ``bad_model_name``, ``endpoint_not_configured``, ``endpoint_bad_url``, ``endpoint_refused_key``,
            ``cache_not_writable``.
    """
    from world_api.backends.chat.rule_based import RULE_BASED, RuleBasedChatModel

    if name is None or name == RULE_BASED:
        if name is None:
            note("no --model given: the rule-based model answers, which sends nothing anywhere")
        return RuleBasedChatModel()
    try:
        return endpoint_model(name, clock=clock, environment=environment, wire=wire, cache=cache)
    except BackendFault as fault:
        if fault.code == "endpoint_not_configured":
            fault.hint += f", or use --model {RULE_BASED}"
        raise


def takes_images(name: str | None, *, environment: Mapping[str, str]) -> bool | None:
    """Whether a model on the configured endpoint does, as a probe found out earlier; None where nobody asked."""
    known = _known(name, environment)
    return known.images if known is not None else None


def window_of(name: str | None, *, environment: Mapping[str, str]) -> int | None:
    """The context window of a model on the configured endpoint, in tokens, as its server told a probe earlier."""
    known = _known(name, environment)
    return known.window if known is not None else None


def _known(name: str | None, environment: Mapping[str, str]) -> Capabilities | None:
    from world_api.backends.chat.endpoint import Endpoint
    from world_api.backends.chat.probing import cache_folder, read_finding
    from world_api.backends.chat.rule_based import RULE_BASED

    if name is None or name == RULE_BASED:
        return None
    return read_finding(cache_folder(environment, home=Path.home()), Endpoint.from_environment(environment), name)


def endpoint_model(
    name: str,
    *,
    clock: Clock,
    environment: Mapping[str, str],
    timeout: float | None = None,
    wire: WireChoice = "auto",
    cache: Path | None = None,
) -> ChatModel:
    """The model of that name on the endpoint that the environment configures.

    ``timeout`` (seconds) bounds one attempt where a longer or shorter time than usual is wanted; all attempts together
    may take twice as long. ``cache`` is a folder of replies.

    Raises:
        BackendFault: ``bad_model_name``, ``endpoint_not_configured``, ``endpoint_bad_url``, ``endpoint_refused_key``,
            ``cache_not_writable``.
    """
    from world_api.backends.chat.caching import CachingChatModel
    from world_api.backends.chat.endpoint import Endpoint

    if not name.strip():
        raise BackendFault(
            "bad_model_name", "the model's name is empty", hint="give --model the name of a model, or leave it out"
        )
    endpoint = Endpoint.from_environment(environment)
    if timeout is not None:
        endpoint = replace(endpoint, timeout=timeout, patience=2 * timeout)
    model = _model(endpoint, name, wire, clock=clock, environment=environment)
    if cache is None:
        return model
    return CachingChatModel(model, cache, at=lambda: f"{model.spoken} {endpoint.address}")


def _model(
    endpoint: Endpoint, name: str, wire: WireChoice, *, clock: Clock, environment: Mapping[str, str]
) -> OpenAIChatModel:
    """The model on the wire that was chosen; else on the one that was found to be right earlier, or turns out to be."""
    from world_api.backends.chat.openai_chat import OpenAIChatModel, wire_named
    from world_api.backends.chat.probing import cache_folder, capabilities_of, read_finding
    from world_api.backends.chat.transport import Wire

    if wire != "auto":
        return OpenAIChatModel(
            endpoint, name, clock=clock, sleep=time.sleep, chance=random.random, wire=wire_named(wire)
        )
    endpoint.check_url()
    findings = cache_folder(environment, home=Path.home())
    known = read_finding(findings, endpoint, name)

    def elsewhere() -> Wire:
        found = capabilities_of(endpoint, name, cache=findings, clock=clock, sleep=time.sleep, again=True)
        return wire_named(found.wire or "chat")

    return OpenAIChatModel(
        endpoint,
        name,
        clock=clock,
        sleep=time.sleep,
        chance=random.random,
        wire=wire_named((known and known.wire) or "chat"),
        elsewhere=elsewhere,
    )

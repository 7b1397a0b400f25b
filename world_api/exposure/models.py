"""The chat models that commands are given by name."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from world_api.core.faults import BackendFault
from world_api.exposure.cli import note

if TYPE_CHECKING:
    from world_api.core.ports import ChatModel, Clock


def chat_model(name: str | None, *, clock: Clock, environment: Mapping[str, str]) -> ChatModel:
    """The model that was named, on the configured endpoint; the rule-based one where none was.

    An endpoint is used only when a model is named, never because a key happens to be set.

    Raises:
        BackendFault: ``endpoint_not_configured``, ``endpoint_bad_url``, ``endpoint_refused_key``.
    """
    from world_api.backends.chat.rule_based import RULE_BASED, RuleBasedChatModel

    if name is None or name == RULE_BASED:
        if name is None:
            note("no --model given: the rule-based model answers, which sends nothing anywhere")
        return RuleBasedChatModel()
    try:
        return endpoint_model(name, clock=clock, environment=environment)
    except BackendFault as fault:
        if fault.code == "endpoint_not_configured":
            fault.hint += f", or use --model {RULE_BASED}"
        raise


def endpoint_model(
    name: str, *, clock: Clock, environment: Mapping[str, str], timeout: float | None = None
) -> ChatModel:
    """The model of that name on the endpoint that the environment configures.

    ``timeout`` (seconds) bounds one attempt where a longer or shorter time than usual is wanted; all attempts together
    may take twice as long.

    Raises:
        BackendFault: ``endpoint_not_configured``, ``endpoint_bad_url``, ``endpoint_refused_key``.
    """
    from world_api.backends.chat.endpoint import Endpoint
    from world_api.backends.chat.openai_chat import OpenAIChatModel

    endpoint = Endpoint.from_environment(environment)
    if timeout is not None:
        endpoint = replace(endpoint, timeout=timeout, patience=2 * timeout)
    return OpenAIChatModel(endpoint, name, clock=clock, sleep=time.sleep, chance=random.random)

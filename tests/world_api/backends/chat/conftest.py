"""Models on the loopback server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.chat_server import KEY
from world_api.backends.chat.endpoint import Endpoint
from world_api.backends.chat.openai_chat import OpenAIChatModel

_OF_THE_MODEL = ("chance", "wire", "elsewhere")


@pytest.fixture
def waits() -> list[float]:
    """The seconds the model slept, in order."""
    return []


@pytest.fixture
def connect(chat_server: Any, stepping_clock: Any, waits: list[float]) -> Callable[..., OpenAIChatModel]:
    """Makes a model on the loopback server; sleeping only moves the clock. Settings are the model's or the endpoint's."""

    def make(**settings: Any) -> OpenAIChatModel:
        clock = stepping_clock()

        def sleep(seconds: float) -> None:
            waits.append(seconds)
            clock.sleep(seconds)

        for_model = {name: settings.pop(name) for name in _OF_THE_MODEL if name in settings}
        endpoint = Endpoint(**{"base_url": chat_server.url, "api_key": KEY, **settings})
        return OpenAIChatModel(endpoint, "m", clock=clock, sleep=sleep, **for_model)

    return make

"""A model that looks, through the real client, at an endpoint on the loopback."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.chat_server import SteppingClock
from tests.support.vision_server import VisionServer
from world_api.chat import ChatWire, Endpoint, OpenAIChatModel
from world_api.core import LookRequest, LookTask, Picture, TimeSpan
from world_api.perception import EndpointVision


@pytest.fixture
def chat_to(vision_server: VisionServer) -> Callable[..., OpenAIChatModel]:
    """Makes a chat model on the endpoint, which is patient and does not really wait."""
    clock = SteppingClock()

    def make(*, wire: ChatWire | None = None, key: str = "not-a-real-key") -> OpenAIChatModel:
        endpoint = Endpoint(base_url=vision_server.url, api_key=key)
        return OpenAIChatModel(endpoint, "eye-1", clock=clock, sleep=clock.sleep, wire=wire)

    return make


@pytest.fixture
def eye(chat_to: Callable[..., OpenAIChatModel]) -> EndpointVision:
    """A model that looks."""
    return EndpointVision(chat_to())


def filled(colour: tuple[int, int, int], *, width: int = 640, height: int = 360) -> np.ndarray:
    """A picture of one colour (BGR)."""
    return np.full((height, width, 3), colour, np.uint8)


@pytest.fixture
def looking() -> Callable[..., LookRequest]:
    """Makes a request about a red and a blue picture."""

    def make(task: LookTask = "caption", **more: str) -> LookRequest:
        pictures = (
            Picture(time=2.0, image=filled((60, 60, 200))),
            Picture(time=4.0, image=filled((190, 90, 50))),
        )
        return LookRequest(
            task=task, span=TimeSpan(start=1.0, end=5.0), pictures=pictures, request="a" * 32, **more
        )  # fmt: skip

    return make

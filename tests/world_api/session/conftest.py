"""Sessions with a model that looks, on the numbered film and at an endpoint on the loopback."""

from __future__ import annotations

import contextvars
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.numbered_film import number_in
from tests.support.vision_server import VisionServer, nearest_name
from world_api import SystemClock
from world_api.api import open_session
from world_api.chat import Endpoint, OpenAIChatModel
from world_api.perception import EmbeddingsWire, EndpointEmbedder, EndpointVision
from world_api.session import FrameChoice, Session, Vision, VisionConfig

Open = Callable[..., Session]


def tells_numbers(body: dict[str, Any], pictures: list[Any]) -> dict[str, Any]:
    """What a model would say that reads the numbers and knows the colours."""
    told = "; ".join(f"frame {number_in(picture)} is {nearest_name(picture[30:])}" for picture in pictures)
    actions = [{"label": told, "confidence": None}]
    return {"caption": told, "answer": told, "confidence": 0.5, "uncertain": "", "actions": actions}


def numbers_sent(server: VisionServer) -> list[list[int]]:
    """The numbers of the frames of each request so far."""
    from tests.support.vision_server import pictures_of

    return [[number_in(picture) for picture in pictures_of(body)] for body in server.requests]


@pytest.fixture
def make_eyes(vision_server: VisionServer) -> Callable[..., VisionConfig]:
    """Makes a choice of a model that looks."""
    vision_server.say = tells_numbers

    def make(
        *, model: str = "eye-1", frames: int = 6, embeds: bool = False, at_once: int = 8, looks: int | None = None
    ) -> VisionConfig:
        clock = SystemClock()
        endpoint = Endpoint(base_url=vision_server.url, api_key="not-a-real-key", retries=0, timeout=30.0)

        def chat(name: str, wire: Any = None) -> OpenAIChatModel:
            return OpenAIChatModel(endpoint, name, clock=clock, sleep=lambda seconds: None, wire=wire)

        return VisionConfig(
            vision=EndpointVision(chat(model)),
            embedder=EndpointEmbedder(chat("emb", EmbeddingsWire())) if embeds else None,
            choice=FrameChoice(most=frames),
            at_once=at_once,
            most_looks=looks,
            host=endpoint.host,
        )

    return make


@pytest.fixture
def open_film(film_store: Path, make_eyes: Callable[..., VisionConfig]) -> Open:
    """Opens sessions on the numbered film whose model looks."""

    def opened(*, as_of: float | None = None, eyes: VisionConfig | None = None, store: Path = film_store) -> Session:
        return open_session(store, "film", as_of=as_of, name=None, seeing=eyes or make_eyes())

    return opened


def kept_files(store: Path) -> list[Path]:
    """The looks that are kept in a store."""
    return sorted(path for path in (store / ".on-demand").rglob("*.json") if _is_look(path))


def _is_look(path: Path) -> bool:
    try:
        return "frame_times" in json.loads(path.read_bytes())
    except ValueError:
        return False


def seeing_of(session: Session) -> Vision:
    assert session.backends.seeing is not None
    return session.backends.seeing


def together(work: Callable[[int], Any], count: int) -> list[Any]:
    """Results of some threads that begin together, each in a copy of the context."""
    ready, results = threading.Barrier(count), [None] * count

    def run(number: int) -> None:
        ready.wait()
        results[number] = work(number)

    threads = [
        threading.Thread(target=contextvars.copy_context().run, args=(run, number)) for number in range(count)
    ]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results

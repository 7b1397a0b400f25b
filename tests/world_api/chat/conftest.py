"""Models on the loopback server, and answers of its Responses API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.chat_server import KEY
from world_api.chat import Endpoint, OpenAIChatModel, ResponsesWire

_OF_THE_MODEL = ("chance", "wire")


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


Json = dict[str, Any]


class Items:
    """The items that an answer's output is made of, as OpenAI's servers send them."""

    @staticmethod
    def message(text: str, **more: Any) -> Json:
        part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
        return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part], **more}

    @staticmethod
    def refusal(text: str) -> Json:
        part = {"type": "refusal", "refusal": text}
        return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}

    @staticmethod
    def call(name: str, arguments: Any, call_id: str | None = "call_1", **more: Any) -> Json:
        item = {"type": "function_call", "id": "fc_1", "name": name, "arguments": arguments, "status": "completed"}
        return {**item, "call_id": call_id, **more}

    @staticmethod
    def reasoning(item_id: str = "rs_1", *, summary: str = "", **more: Any) -> Json:
        told = [{"type": "summary_text", "text": summary}] if summary else []
        return {"type": "reasoning", "id": item_id, "summary": told, "encrypted_content": f"gAAAA-{item_id}", **more}

    @staticmethod
    def answer(*items: Any, **more: Any) -> Json:
        usage = {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 60},
            "output_tokens": 30,
            "output_tokens_details": {"reasoning_tokens": 20},
            "total_tokens": 130,
        }
        body = {"id": "resp_1", "object": "response", "created_at": 1_700_000_000, "model": "m-2026"}
        return {**body, "status": "completed", "error": None, "output": list(items), "usage": usage, **more}


@pytest.fixture
def items() -> type[Items]:
    """Makes output items and answers."""
    return Items


@pytest.fixture
def ask(chat_server: Any, connect: Any) -> Callable[..., Json]:
    """Sends a request over the Responses wire and gives the reply; the server answers with what is given."""

    def made(*answers: Any, request: Json | None = None, **settings: Any) -> Json:
        chat_server.play(*answers)
        asked = request or {"model": "m", "messages": [{"role": "user", "content": "anybody?"}]}
        reply: Json = connect(wire=ResponsesWire(), **settings).complete(asked)
        return reply

    return made

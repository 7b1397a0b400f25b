"""What every chat model keeps, whatever stands behind it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.scripted import ScriptedChatModel
from world_api.chat import (
    CachingChatModel,
    Endpoint,
    Exchange,
    OpenAIChatModel,
    RecordingChatModel,
    ReplayChatModel,
    ResponsesWire,
    RuleBasedChatModel,
    completion,
)
from world_api.core import ChatModel, EpisodeFault

REQUEST: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "Video: v\nQuestion: when?"}],
    "tools": [{"type": "function", "function": {"name": "t", "description": "", "parameters": {"type": "object"}}}],
}
REPLY = completion(model="m", content="now", usage=(3, 1))

MODELS = ["scripted", "rule_based", "openai", "responses", "recording", "replay", "caching", "cached"]


@pytest.fixture
def make(chat_server: Any, stepping_clock: Any, tmp_path: Path) -> Callable[[str], ChatModel]:
    """Makes a model by name, ready to answer the request once."""
    message = {"type": "message", "content": [{"type": "output_text", "text": "now"}]}
    chat_server.respond(lambda asked: {"output": [message]} if asked.path.endswith("/responses") else REPLY)

    def cached() -> ChatModel:
        CachingChatModel(ScriptedChatModel([REPLY]), tmp_path).complete(REQUEST)
        return CachingChatModel(ScriptedChatModel([]), tmp_path)

    def made(name: str) -> ChatModel:
        clock = stepping_clock()
        endpoint = Endpoint(base_url=chat_server.url, api_key="k")
        exchange = Exchange(request=REQUEST, reply=REPLY, fault=None, seconds=0.0)
        models: dict[str, Callable[[], ChatModel]] = {
            "scripted": lambda: ScriptedChatModel([REPLY]),
            "rule_based": RuleBasedChatModel,
            "openai": lambda: OpenAIChatModel(endpoint, "m", clock=clock, sleep=clock.sleep),
            "responses": lambda: OpenAIChatModel(endpoint, "m", clock=clock, sleep=clock.sleep, wire=ResponsesWire()),
            "caching": lambda: CachingChatModel(ScriptedChatModel([REPLY]), tmp_path),
            "cached": cached,
            "recording": lambda: RecordingChatModel(ScriptedChatModel([REPLY]), clock=clock, keep=lambda _: None),
            "replay": lambda: ReplayChatModel([exchange], name="m"),
        }
        return models[name]()

    return made


@pytest.mark.parametrize("name", MODELS)
def test_a_reply_is_json_with_a_message(make: Callable[[str], ChatModel], name: str) -> None:
    reply = make(name).complete(REQUEST)
    assert json.loads(json.dumps(reply, allow_nan=False)) == reply
    assert reply["choices"][0]["message"]["role"] == "assistant"


@pytest.mark.parametrize("name", MODELS)
def test_the_request_is_left_as_it_was(make: Callable[[str], ChatModel], name: str) -> None:
    request = copy.deepcopy(REQUEST)
    make(name).complete(request)
    assert request == REQUEST


@pytest.mark.parametrize("name", MODELS)
def test_a_model_says_its_name(make: Callable[[str], ChatModel], name: str) -> None:
    assert make(name).name


def test_a_script_that_has_ended_says_so() -> None:
    with pytest.raises(EpisodeFault, match="script_ended"):
        ScriptedChatModel([]).complete(REQUEST)

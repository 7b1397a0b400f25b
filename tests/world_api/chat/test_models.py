"""The chat models that commands are given by name: on which wire, and from which cache."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.chat_server import KEY, Answer, Received
from tests.support.model_server import Manners
from world_api import SystemClock
from world_api.chat import chat_model, completion, from_cache
from world_api.core import BackendFault

TOOL = {"type": "function", "function": {"name": "look_up_city", "description": "", "parameters": {"type": "object"}}}
REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Paris?"}], "tools": [TOOL]}


@pytest.fixture
def made(chat_server: Any, tmp_path: Path) -> Any:
    """Makes models on the loopback server."""

    def make(**settings: Any) -> Any:
        environment = {
            "OPENAI_BASE_URL": chat_server.url,
            "OPENAI_API_KEY": KEY,
            "VIDEOWORLD_CACHE": str(tmp_path / "findings"),
        }
        return chat_model("m", clock=SystemClock(), environment=environment, **settings)

    return make


def paths(chat_server: Any) -> list[str]:
    return [received.path.removeprefix("/v1/") for received in chat_server.received]


def called(reply: dict[str, Any]) -> list[str]:
    return [call["function"]["name"] for call in reply["choices"][0]["message"]["tool_calls"]]


def test_a_server_that_speaks_chat_completions_is_asked_nothing_else(chat_server: Any, made: Any) -> None:
    chat_server.respond(Manners(responses=True))
    assert called(made().complete(REQUEST)) == ["look_up_city"]
    assert paths(chat_server) == ["chat/completions"]


@pytest.mark.parametrize("manners", [Manners(chat=False, responses=True), Manners("points_elsewhere", responses=True)])
def test_where_the_server_points_elsewhere_the_other_wire_is_found_and_remembered(
    chat_server: Any, made: Any, manners: Manners
) -> None:
    chat_server.respond(manners)
    model = made()
    assert called(model.complete(REQUEST)) == ["look_up_city"]
    asked = len(chat_server.received)
    assert called(model.complete(REQUEST)) == ["look_up_city"]
    assert called(made().complete(REQUEST)) == ["look_up_city"]
    assert paths(chat_server)[asked:] == ["responses", "responses"]


def test_a_server_that_has_changed_its_wire_is_found_again(chat_server: Any, made: Any) -> None:
    chat_server.respond(Manners(chat=False, responses=True))
    made().complete(REQUEST)
    chat_server.respond(Manners(chat=True, responses=False))
    for _ in range(2):
        assert called(made().complete(REQUEST)) == ["look_up_city"]
    assert paths(chat_server)[-1] == "chat/completions"


def test_many_at_once_find_the_other_wire_together(chat_server: Any, made: Any) -> None:
    chat_server.respond(Manners(chat=False, responses=True))
    model, start = made(), threading.Barrier(8)

    def ask(_: int) -> list[str]:
        start.wait(20)
        return called(model.complete(REQUEST))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == [["look_up_city"]] * 8
    assert paths(chat_server).count("responses") == 8
    assert paths(chat_server).count("chat/completions") <= 8


def test_a_wire_that_was_chosen_is_spoken(chat_server: Any, made: Any) -> None:
    chat_server.respond(Manners(chat=True, responses=True))
    made(wire="responses").complete(REQUEST)
    assert paths(chat_server) == ["responses"]
    chat_server.respond(Manners(chat=False, responses=True))
    with pytest.raises(BackendFault, match="endpoint_error"):
        made(wire="chat").complete(REQUEST)
    assert paths(chat_server)[1:] == ["chat/completions"]


def test_a_server_without_either_wire_is_named(chat_server: Any, made: Any) -> None:
    chat_server.respond(Manners(chat=False, responses=False))
    with pytest.raises(BackendFault, match="OPENAI_BASE_URL") as caught:
        made().complete(REQUEST)
    assert caught.value.code == "endpoint_error"


def test_a_model_that_is_not_there_is_not_looked_for_elsewhere(chat_server: Any, made: Any) -> None:
    chat_server.play(chat_server.refusal(404, "The model `m` does not exist", code="model_not_found"))
    with pytest.raises(BackendFault, match="endpoint_unknown_model"):
        made().complete(REQUEST)
    assert len(chat_server.received) == 1


def test_a_folder_of_replies_serves_the_next_run_without_a_server(chat_server: Any, made: Any, tmp_path: Path) -> None:
    chat_server.play(completion(model="m", content="yes", usage=(10, 1)))
    folder = tmp_path / "replies"
    first = made(cache=folder).complete(REQUEST)

    def nobody(_: Received) -> Answer:
        raise AssertionError("asked again")

    chat_server.respond(nobody)
    again = made(cache=folder).complete(REQUEST)
    assert (from_cache(first), from_cache(again)) == (False, True)
    assert again["choices"] == first["choices"]
    text = b"".join(path.read_bytes() for path in folder.rglob("*.json"))
    assert KEY.encode() not in text


def test_without_a_folder_every_request_is_made(chat_server: Any, made: Any) -> None:
    chat_server.play(completion(model="m", content="yes"))
    for _ in range(2):
        assert not from_cache(made().complete(REQUEST))
    assert len(chat_server.received) == 2

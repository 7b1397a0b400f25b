"""How the model is asked: seed, temperature, modes, and what happens where a server refuses one of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tool_induction.inducer import Settings
from world_api.core import BackendFault

Induce = Callable[..., Any]


def test_the_seed_is_sent_and_what_is_not_set_is_left_to_the_server(run: Induce, tools: Any) -> None:
    request = run([tools.searching()], settings=Settings(seed=4)).model.requests[0]
    assert request["seed"] == 4
    assert {"temperature", "max_tokens", "response_format"} & request.keys() == set()


def test_temperature_and_length_are_sent_where_given(run: Induce, tools: Any) -> None:
    request = run([tools.searching()], settings=Settings(temperature=0.7, max_tokens=9000)).model.requests[0]
    assert (request["temperature"], request["max_tokens"]) == (0.7, 9000)


def test_structured_mode_sends_the_languages_schema(run: Induce, tools: Any) -> None:
    reply = tools.said(json.dumps({"tools": [tools.searching(), tools.counting()]}))
    done = run(reply, settings=Settings(mode="structured"))
    sent = done.model.requests[0]["response_format"]["json_schema"]
    assert (sent["strict"], list(sent["schema"]["properties"])) == (False, ["tools"])
    assert set(done.statuses.values()) == {"admitted"}
    assert done.problems == []


def test_a_server_that_refuses_the_schema_is_asked_in_plain_mode_and_it_is_told(run: Induce, tools: Any) -> None:
    no = BackendFault("endpoint_refused_request", "host answered 400: bad request")
    done = run(no, [tools.searching(), tools.counting()], settings=Settings(mode="structured"))
    assert [item[1] for item in done.problems] == ["structured_refused"]
    assert done.result.rounds[0].answer.mode == done.requester.mode == "plain"
    systems = [request["messages"][0]["content"] for request in done.model.requests]
    assert '{"tools": [...]} that holds the tools' in systems[0]
    assert "```json block" in systems[1]


def test_a_server_that_ignores_the_schema_is_told(run: Induce, tools: Any) -> None:
    done = run([tools.searching(), tools.counting()], settings=Settings(mode="structured"))
    assert done.problems == [(0, "structured_ignored", "")]
    assert set(done.statuses.values()) == {"admitted"}


@pytest.mark.parametrize(
    ("told", "gone", "left"),
    [
        (
            "Unsupported value: 'temperature' does not support 0.5 with this model",
            "temperature",
            {"seed", "max_tokens"},
        ),
        ("unknown field: seed", "seed", {"temperature", "max_tokens"}),
        (
            "'max_tokens' is not supported, use 'max_completion_tokens'",
            "max_tokens",
            {"seed", "max_completion_tokens"},
        ),
    ],
)
def test_a_setting_that_the_server_refuses_is_left_out_and_told(
    run: Induce, tools: Any, told: str, gone: str, left: set[str]
) -> None:
    settings = Settings(temperature=0.5, max_tokens=100)
    no = BackendFault(
        "endpoint_unknown_model" if "not" in told else "endpoint_refused_request", f"host answered 400: {told}"
    )
    done = run(no, [tools.searching(), tools.counting()], settings=settings)
    assert [item[1] for item in done.problems] == ["setting_refused"]
    last = done.model.requests[-1]
    assert gone not in last
    assert left <= last.keys()


def test_a_refusal_that_names_no_setting_is_the_end(run: Induce) -> None:
    with pytest.raises(BackendFault, match="too long"):
        run(BackendFault("endpoint_refused_request", "host answered 400: the prompt is too long"))


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("endpoint_error", "host answered 503: structured output is overloaded"),
        ("endpoint_error", "host answered with something that is not a chat completion"),
        ("endpoint_unreachable", "no whole answer"),
        ("endpoint_unknown_model", "host answered 404: model m does not exist"),
    ],
)
def test_a_server_that_fails_does_not_change_how_the_model_is_asked(run: Induce, code: str, told: str) -> None:
    with pytest.raises(BackendFault) as caught:
        run(BackendFault(code, told), settings=Settings(mode="structured"))
    assert (caught.value.code, caught.value.message) == (code, told)

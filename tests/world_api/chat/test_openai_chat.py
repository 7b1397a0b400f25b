"""The real client against a server on the loopback."""

from __future__ import annotations

import socket
from dataclasses import replace
from typing import Any

import pytest

from tests.support.chat_server import KEY
from world_api.chat import Call, Endpoint, OpenAIChatModel, completion
from world_api.core import BackendFault

REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "在吗? anybody?"}]}
GOOD = completion(model="m", content="yes", usage=(10, 1))


def test_a_reply_comes_back_as_the_server_sent_it(chat_server: Any, connect: Any) -> None:
    reply = completion(model="m", calls=[Call(tool="look", arguments={"time": 3})]) | {"extra": {"kept": [1, None]}}
    chat_server.play(reply)
    assert connect().complete(REQUEST) == reply


def test_the_request_is_sent_unchanged_and_with_the_key(chat_server: Any, connect: Any) -> None:
    tools = [{"type": "function", "function": {"name": "look", "description": "", "parameters": {"type": "object"}}}]
    chat_server.play(GOOD)
    connect().complete({**REQUEST, "tools": tools})
    received = chat_server.received[0]
    assert received.body == {**REQUEST, "tools": tools}
    assert received.path == "/v1/chat/completions"
    assert received.headers["authorization"] == f"Bearer {KEY}"


def test_a_refused_key_is_named_once_and_never_repeated(chat_server: Any, connect: Any, waits: list[float]) -> None:
    chat_server.play(chat_server.refusal(401, f"Incorrect API key provided: {KEY}", code="invalid_api_key"))
    with pytest.raises(BackendFault) as caught:
        connect().complete(REQUEST)
    assert caught.value.code == "endpoint_refused_key"
    assert KEY not in str(caught.value)
    assert "OPENAI_API_KEY" in caught.value.hint
    assert (len(chat_server.received), waits) == (1, [])


def test_the_key_is_in_no_representation() -> None:
    assert KEY not in repr(Endpoint(base_url="http://127.0.0.1/v1", api_key=KEY))


def test_a_server_that_repeats_the_key_in_a_reply_is_blotted_out(chat_server: Any, connect: Any) -> None:
    chat_server.play(completion(model="m", content=f"your key is {KEY}"))
    assert connect().complete(REQUEST)["choices"][0]["message"]["content"] == "your key is [key]"


@pytest.mark.parametrize(
    "spelt", ["sk-a/key/seen", "sk-a\\/key\\/seen", "\\u0073k-a/key/seen", "sk-\\u0061/key\\/seen"]
)
def test_the_key_is_found_however_json_spells_it(chat_server: Any, connect: Any, spelt: str) -> None:
    body = f'{{"choices": [{{"message": {{"content": "it is {spelt}", "{spelt}": [1]}}}}]}}'
    chat_server.play(chat_server.raw(body.encode()))
    message = connect(api_key="sk-a/key/seen").complete(REQUEST)["choices"][0]["message"]
    assert message == {"content": "it is [key]", "[key]": [1], "carried": {"message": {"[key]": [1]}}}


def test_the_key_in_the_arguments_of_a_call_is_blotted_out(chat_server: Any, connect: Any) -> None:
    written = '{"query": "sk-a\\/key\\/seen"}'
    chat_server.play(completion(model="m", calls=[Call(tool="look", arguments=written)]))
    [call] = connect(api_key="sk-a/key/seen").complete(REQUEST)["choices"][0]["message"]["tool_calls"]
    assert call["function"]["arguments"] == '{"query": "[key]"}'


@pytest.mark.parametrize("status", [200, 401, 500])
def test_the_key_is_in_no_fault_however_it_is_spelt(chat_server: Any, connect: Any, status: int) -> None:
    for body in (
        b'{"error": {"message": "sk-a\\/key\\/seen"}}',
        b'no JSON: "sk-a\\/key\\/seen"',
        b'no JSON: "sk-a\\u002fkey\\u002Fse\\u0065n"',
        b"no JSON: sk-a%2Fkey%2fseen",
        b"no JSON: " + b"x" * 55 + b"sk-a/key/seen",
    ):
        chat_server.play(replace(chat_server.raw(body), status=status))
        with pytest.raises(BackendFault) as caught:
            connect(api_key="sk-a/key/seen", retries=0).complete(REQUEST)
        assert "seen" not in str(caught.value)
        assert "sk-a" not in str(caught.value)


def test_nobody_listening_is_unreachable_after_some_tries(connect: Any, waits: list[float]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with pytest.raises(BackendFault) as caught:
        connect(base_url=f"http://user:{KEY}@127.0.0.1:{port}/v1").complete(REQUEST)
    assert caught.value.code == "endpoint_unreachable"
    assert f"127.0.0.1:{port}" in caught.value.message
    assert KEY not in str(caught.value)
    assert waits == [0.5, 1.0, 2.0, 4.0]


def test_a_rate_limit_waits_as_long_as_the_server_says(chat_server: Any, connect: Any, waits: list[float]) -> None:
    chat_server.play(chat_server.refusal(429, "slow down", Retry_After="7"), GOOD)
    assert connect().complete(REQUEST) == GOOD
    assert waits == [7.0]


def test_a_rate_limit_may_name_a_date(chat_server: Any, connect: Any, waits: list[float]) -> None:
    chat_server.play(chat_server.refusal(429, "slow down", Retry_After="Thu, 01 Jan 2026 00:00:11 GMT"), GOOD)
    assert connect().complete(REQUEST) == GOOD
    assert waits == [11.0]


def test_a_wait_beyond_the_patience_is_not_begun(chat_server: Any, connect: Any, waits: list[float]) -> None:
    chat_server.play(chat_server.refusal(429, "slow down", Retry_After="3600"))
    with pytest.raises(BackendFault, match="endpoint_rate_limited"):
        connect(total_timeout=60.0).complete(REQUEST)
    assert waits == []


def test_a_spent_account_is_not_asked_again(chat_server: Any, connect: Any) -> None:
    chat_server.play(chat_server.refusal(429, "You exceeded your current quota", code="insufficient_quota"))
    with pytest.raises(BackendFault, match="endpoint_rate_limited"):
        connect().complete(REQUEST)
    assert len(chat_server.received) == 1


def test_a_server_error_is_tried_again(chat_server: Any, connect: Any, waits: list[float]) -> None:
    chat_server.play(chat_server.refusal(500, "oops"), chat_server.refusal(503, "busy"), GOOD)
    assert connect().complete(REQUEST) == GOOD
    assert waits == [0.5, 1.0]


def test_waits_are_spread_by_chance_and_never_shorter_than_asked(
    chat_server: Any, connect: Any, waits: list[float]
) -> None:
    chat_server.play(chat_server.refusal(500, "oops"), chat_server.refusal(429, "slow", Retry_After="8"), GOOD)
    chances = iter([1.0, 0.5])
    assert connect(chance=lambda: next(chances)).complete(REQUEST) == GOOD
    assert waits == [0.625, 9.0]


def test_a_server_that_keeps_failing_is_an_error_by_name(chat_server: Any, connect: Any) -> None:
    chat_server.play(chat_server.refusal(500, "oops"))
    with pytest.raises(BackendFault) as caught:
        connect(retries=2).complete(REQUEST)
    assert caught.value.code == "endpoint_error"
    assert "oops" in caught.value.message
    assert len(chat_server.received) == 3


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (404, "The model `m` does not exist", "model_not_found"),
        (404, "model 'm' not found", None),
        (400, "The model m is not supported", None),
    ],
)
def test_an_unknown_model_is_named(chat_server: Any, connect: Any, status: int, message: str, code: str | None) -> None:
    chat_server.play(chat_server.refusal(status, message, code=code))
    with pytest.raises(BackendFault) as caught:
        connect().complete(REQUEST)
    assert caught.value.code == "endpoint_unknown_model"
    assert "--model" in caught.value.hint


def test_a_wrong_path_points_at_the_base_url(chat_server: Any, connect: Any) -> None:
    chat_server.play(chat_server.refusal(404, "Not Found"))
    with pytest.raises(BackendFault, match="OPENAI_BASE_URL") as caught:
        connect().complete(REQUEST)
    assert caught.value.code == "endpoint_error"


def test_a_reply_cut_in_the_middle_is_asked_for_again(chat_server: Any, connect: Any, waits: list[float]) -> None:
    chat_server.play(chat_server.cut(GOOD), GOOD)
    assert connect().complete(REQUEST) == GOOD
    assert waits == [0.5]


def test_a_server_that_always_breaks_off_is_unreachable(chat_server: Any, connect: Any) -> None:
    chat_server.play(chat_server.cut(GOOD))
    with pytest.raises(BackendFault, match="endpoint_unreachable"):
        connect(retries=1).complete(REQUEST)


def test_a_server_that_does_not_answer_in_time_is_unreachable(chat_server: Any, connect: Any) -> None:
    chat_server.play(chat_server.hanging())
    with pytest.raises(BackendFault, match="endpoint_unreachable"):
        connect(timeout=0.05, retries=0).complete(REQUEST)


@pytest.mark.parametrize(
    "body",
    [
        b"<html>It works!</html>",
        b"[1]",
        b"",
        b'{"error": {"message": "no"}}',
        b"{nan",
        b'{"choices": [], "logprobs": 1e999}',
    ],
)
def test_what_is_no_chat_completion_is_an_error_by_name(chat_server: Any, connect: Any, body: bytes) -> None:
    chat_server.play(chat_server.raw(body))
    with pytest.raises(BackendFault, match="endpoint_error"):
        connect(retries=0).complete(REQUEST)


def test_text_that_is_not_unicode_is_replaced(chat_server: Any, connect: Any) -> None:
    chat_server.play(chat_server.raw(b'{"choices": [{"message": {"content": "a\\ud800b"}}]}'))
    content = connect().complete(REQUEST)["choices"][0]["message"]["content"]
    assert content == "a?b"


def test_a_request_that_cannot_be_written_is_a_fault(chat_server: Any, connect: Any) -> None:
    chat_server.play(GOOD)
    with pytest.raises(BackendFault):
        connect().complete({"model": "m", "messages": [{"role": "user", "content": "\ud800"}]})
    assert chat_server.received == []


def test_a_server_that_drips_its_reply_is_not_waited_on(chat_server: Any, connect: Any) -> None:
    chat_server.play(chat_server.dripping(GOOD))
    with pytest.raises(BackendFault, match="endpoint_unreachable"):
        connect(timeout=0.2, retries=0).complete(REQUEST)


def test_a_server_that_drips_an_error_is_not_waited_on(chat_server: Any, connect: Any) -> None:
    refusal = chat_server.refusal(401, "no" * 50)
    chat_server.play(replace(refusal, drips=True))
    with pytest.raises(BackendFault, match="endpoint_unreachable"):
        connect(timeout=0.2, retries=0).complete(REQUEST)


def test_patience_bounds_an_attempt_too(chat_server: Any, connect: Any) -> None:
    chat_server.play(chat_server.dripping(GOOD))
    with pytest.raises(BackendFault, match="endpoint_unreachable"):
        connect(timeout=60.0, total_timeout=0.2, retries=0).complete(REQUEST)


def test_after_an_attempt_that_was_given_up_the_next_one_counts(chat_server: Any, connect: Any) -> None:
    chat_server.play(chat_server.dripping(GOOD), GOOD)
    assert connect(timeout=1.0, retries=1).complete(REQUEST) == GOOD


def test_a_reply_beyond_all_measure_is_refused(chat_server: Any, connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("world_api.chat.transport.MAX_REPLY_BYTES", 1_000)
    chat_server.play(completion(model="m", content="x" * 1_000))
    with pytest.raises(BackendFault, match="1000 bytes"):
        connect().complete(REQUEST)
    assert len(chat_server.received) == 1


@pytest.mark.parametrize("url", ["not a url", "ftp://host/v1", "http://[::1", "http://host:99999/v1", "http:///v1"])
def test_an_address_that_is_none_is_refused(url: str, stepping_clock: Any) -> None:
    with pytest.raises(BackendFault, match="endpoint_bad_url"):
        OpenAIChatModel(Endpoint(base_url=url, api_key=KEY), "m", clock=stepping_clock(), sleep=lambda _: None)


def test_an_endpoint_without_address_and_key_is_not_configured() -> None:
    with pytest.raises(BackendFault, match="endpoint_not_configured"):
        Endpoint.from_environment({})


def test_a_key_that_cannot_be_sent_is_refused_without_showing_it() -> None:
    with pytest.raises(BackendFault, match="endpoint_refused_key") as caught:
        Endpoint.from_environment({"OPENAI_API_KEY": "sk-secret\nsk-two"})
    assert "secret" not in str(caught.value)


def test_a_server_of_ones_own_needs_no_key() -> None:
    endpoint = Endpoint.from_environment({"OPENAI_BASE_URL": "http://127.0.0.1:8000/v1"})
    assert endpoint.api_key
    assert endpoint.without_key(f"{endpoint.api_key} stays") == f"{endpoint.api_key} stays"


@pytest.mark.parametrize("body", [{}, {"hello": 1}, {"choices": None}, {"choices": {"0": "yes"}}])
def test_json_without_choices_is_no_reply(chat_server: Any, connect: Any, waits: list[float], body: Any) -> None:
    chat_server.play(body)
    with pytest.raises(BackendFault) as caught:
        connect().complete(REQUEST)
    assert caught.value.code == "endpoint_error"
    assert "choices" in caught.value.message
    assert (len(chat_server.received), waits) == (1, [])

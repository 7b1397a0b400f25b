"""How long a server is waited for, and who decides."""

from __future__ import annotations

import math
from typing import Any

import pytest

from world_api.chat import completion
from world_api.core import BackendFault, deadline

REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "anybody?"}]}
GOOD = completion(model="m", content="yes", usage=(10, 1))


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry_after_ms": "1500"}, 1.5),
        ({"retry_after_ms": "1500", "Retry_After": "9"}, 1.5),
        ({"retry_after_ms": "soon", "Retry_After": "9"}, 9.0),
        ({"Retry_After": "0.25"}, 0.25),
        ({"Retry_After": "Thu, 01 Jan 2026 00:00:11 GMT"}, 11.0),
        # What says nothing, or nothing that can be waited for, leaves it to the client.
        ({"Retry_After": "0"}, 0.5),
        ({"Retry_After": "-3"}, 0.5),
        ({"Retry_After": "inf"}, 0.5),
        ({"Retry_After": "nan"}, 0.5),
        ({"Retry_After": "soon"}, 0.5),
        ({"Retry_After": "Thu, 01 Jan 2015 00:00:11 GMT"}, 0.5),
    ],
)
def test_the_server_is_waited_for_as_it_asks(
    chat_server: Any, connect: Any, waits: list[float], headers: dict[str, str], wait: float
) -> None:
    chat_server.play(chat_server.refusal(429, "slow down", **headers), GOOD)
    assert connect().complete(REQUEST) == GOOD
    assert waits == [wait]


def test_a_wait_beyond_the_time_left_is_not_begun_and_is_named(
    chat_server: Any, connect: Any, waits: list[float]
) -> None:
    chat_server.play(chat_server.refusal(503, "busy"), chat_server.refusal(429, "slow down", Retry_After="3600"))
    with pytest.raises(BackendFault) as caught:
        connect(total_timeout=60.0).complete(REQUEST)
    assert caught.value.code == "endpoint_rate_limited"
    assert "it asks to wait 3600 s, and 59.5 s are left" in caught.value.message
    assert "3600 s" in caught.value.hint
    assert waits == [0.5]


def test_chance_does_not_make_a_wait_too_long_that_is_not(chat_server: Any, connect: Any, waits: list[float]) -> None:
    chat_server.play(chat_server.refusal(429, "slow down", Retry_After="8"), GOOD)
    assert connect(total_timeout=9.0, chance=lambda: 1.0).complete(REQUEST) == GOOD
    assert waits == [8.0]


def test_whoever_has_less_time_waits_less(chat_server: Any, connect: Any, waits: list[float]) -> None:
    chat_server.play(chat_server.refusal(500, "oops"))
    model = connect(total_timeout=300.0, retries=100)
    with deadline(20.0), pytest.raises(BackendFault, match="oops"):
        model.complete(REQUEST)
    assert sum(waits) < 20.0
    chat_server.play(chat_server.refusal(429, "slow down", Retry_After="30"))
    with deadline(20.0), pytest.raises(BackendFault, match="it asks to wait 30 s, and 20 s are left"):
        model.complete(REQUEST)


def test_whoever_has_less_time_is_not_kept_by_a_silent_server(chat_server: Any, connect: Any) -> None:
    chat_server.play(chat_server.hanging())
    model = connect(retries=0)
    with deadline(0.5), pytest.raises(BackendFault, match=r"no whole answer in 0\.5 s"):
        model.complete(REQUEST)


def test_waits_of_the_client_grow_and_have_an_end(chat_server: Any, connect: Any, waits: list[float]) -> None:
    chat_server.play(chat_server.refusal(500, "oops"))
    with pytest.raises(BackendFault):
        connect(retries=9, total_timeout=math.inf).complete(REQUEST)
    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]


@pytest.mark.parametrize("code", [429, 503])
def test_an_error_that_comes_with_status_200_counts_as_what_it_is(
    chat_server: Any, connect: Any, waits: list[float], code: int
) -> None:
    chat_server.play({"error": {"code": code, "message": "upstream is busy"}}, GOOD)
    assert connect().complete(REQUEST) == GOOD
    assert waits == [0.5]


def test_a_refusal_that_comes_with_status_200_is_not_asked_again(chat_server: Any, connect: Any) -> None:
    chat_server.play({"error": {"code": 401, "message": "no credentials"}})
    with pytest.raises(BackendFault, match="endpoint_refused_key"):
        connect().complete(REQUEST)
    assert len(chat_server.received) == 1


def test_a_reply_that_is_nested_beyond_reason_is_named(chat_server: Any, connect: Any) -> None:
    depth = 5_000
    chat_server.play(chat_server.raw(b'{"choices": ' + b"[" * depth + b"]" * depth + b"}"))
    with pytest.raises(BackendFault, match="endpoint_error"):
        connect(retries=0).complete(REQUEST)


def test_no_server_speaks_in_our_name(chat_server: Any, connect: Any) -> None:
    chat_server.play(GOOD | {"videoworld": {"from_cache": True}})
    assert connect().complete(REQUEST) == GOOD


def test_what_another_wire_wants_back_is_not_sent(chat_server: Any, connect: Any) -> None:
    message = {"role": "assistant", "content": "hm", "carried": [{"type": "reasoning", "id": "rs_1"}]}
    chat_server.play(GOOD)
    connect().complete({"model": "m", "messages": [message], "top_k": 5})
    assert chat_server.received[0].body == {
        "model": "m",
        "messages": [{"role": "assistant", "content": "hm"}],
        "top_k": 5,
    }
    assert "carried" in message

"""Fields that servers add to messages and calls: they go back where they came from, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.histories import names_unknown_fields, repeats_signatures, repeats_thoughts
from world_api.chat import Call, ChatCompletionsWire, completion
from world_api.core import BackendFault

SIGNED = {"google": {"thought_signature": "c2lnbmVk"}}


def thinking(**added: Any) -> dict[str, Any]:
    reply = completion(
        model="m", calls=[Call(tool="look", arguments={"at": 1}), Call(tool="look", arguments="{", id="c")]
    )
    reply["choices"][0]["message"] |= added
    return reply


def follow_up(reply: dict[str, Any]) -> dict[str, Any]:
    """What the port's caller sends next: words, calls under ids of its own, and what is carried."""
    message = reply["choices"][0]["message"]
    calls = [
        {"id": f"r{place}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        for place, _ in enumerate(message["tool_calls"])
    ]
    said = {"role": "assistant", "content": None, "tool_calls": calls}
    if "carried" in message:
        said["carried"] = message["carried"]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "{}"} for call in calls]
    return {"model": "m", "messages": [{"role": "user", "content": "Look."}, said, *results]}


def test_what_was_added_goes_back_to_its_places(chat_server: Any, connect: Any) -> None:
    reply = thinking(reasoning_content="Hm.", reasoning_details=[{"data": "x"}])
    first, second = reply["choices"][0]["message"]["tool_calls"]
    first["extra_content"], second["function"]["thought"] = SIGNED, "t"
    chat_server.play(reply)
    model = connect()
    request = follow_up(model.complete({"model": "m", "messages": [{"role": "user", "content": "Look."}]}))
    before = repr(request)
    model.complete(request)
    sent = chat_server.received[1].body["messages"][1]
    assert (sent["reasoning_content"], sent["reasoning_details"]) == ("Hm.", [{"data": "x"}])
    assert sent["tool_calls"] == [
        {"id": "r0", "type": "function", "function": {"name": "look", "arguments": "{}"}, "extra_content": SIGNED},
        {"id": "r1", "type": "function", "function": {"name": "look", "arguments": "{}", "thought": "t"}},
    ]
    assert "carried" not in sent
    assert repr(request) == before


def test_what_says_nothing_or_belongs_to_replies_alone_stays_behind() -> None:
    reply = thinking(refusal=None, annotations=[], audio=None, function_call=None, reasoning_content="", prefix=False)
    for place, call in enumerate(reply["choices"][0]["message"]["tool_calls"]):
        call["index"] = place
    assert ChatCompletionsWire().read(reply) == reply


def test_a_field_that_is_too_long_is_left_out_whole_and_signatures_are_kept() -> None:
    reply = thinking(reasoning="a" * 1_000_000, note="short")
    reply["choices"][0]["message"]["tool_calls"][0]["extra_content"] = SIGNED
    carried = ChatCompletionsWire().read(reply)["choices"][0]["message"]["carried"]
    assert carried == {"calls": [{"call": {"extra_content": SIGNED}}, {}], "message": {"note": "short"}}


def test_what_is_nested_beyond_reason_is_left_out() -> None:
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    assert "carried" not in ChatCompletionsWire().read(thinking(deep=deep))["choices"][0]["message"]


@pytest.mark.parametrize(
    ("rule", "added"),
    [(repeats_thoughts, {"reasoning_content": "Hm."}), (repeats_signatures, {})],
)
def test_what_a_server_wants_back_is_never_left_out_because_it_complains(
    chat_server: Any, connect: Any, rule: Any, added: dict[str, Any]
) -> None:
    reply = thinking(**added, other="x")
    chat_server.play(reply)
    model = connect(retries=0)
    request = follow_up(model.complete({"model": "m", "messages": [{"role": "user", "content": "Look."}]}))
    chat_server.rules = (rule,)
    if rule is repeats_signatures:
        with pytest.raises(BackendFault, match="thought_signature"):
            model.complete(request)
        assert len(chat_server.received) == 2
    else:
        model.complete(request)
    assert chat_server.received[-1].body["messages"][1]["other"] == "x"


def test_what_is_refused_by_name_is_left_out_from_then_on_and_the_rest_stays(chat_server: Any, connect: Any) -> None:
    reply = thinking(reasoning_content="Hm.", other="x")
    chat_server.play(reply)
    model = connect(retries=0)
    request = follow_up(model.complete({"model": "m", "messages": [{"role": "user", "content": "Look."}]}))
    refusal = "messages.1.assistant.reasoning_content: property 'reasoning_content' is unsupported"
    chat_server.rules = (lambda body: refusal if "reasoning_content" in body["messages"][1] else None,)
    model.complete(request)
    model.complete(request)
    sent = [received.body["messages"][1] for received in chat_server.received[1:]]
    assert ["reasoning_content" in message for message in sent] == [True, False, False]
    assert all(message["other"] == "x" for message in sent)


def test_all_is_left_out_where_one_refusal_follows_the_other(chat_server: Any, connect: Any) -> None:
    reply = thinking(one="1", two="2", three="3")
    chat_server.play(reply)
    model = connect(retries=0)
    request = follow_up(model.complete({"model": "m", "messages": [{"role": "user", "content": "Look."}]}))
    chat_server.rules = (names_unknown_fields,)
    model.complete(request)
    assert len(chat_server.received) == 4


@pytest.mark.parametrize("carried", [None, 7, "x", [], {}, {"calls": 3, "message": 4}, {"calls": [None, {"call": 5}]}])
def test_what_is_carried_and_was_not_ours_does_no_harm(chat_server: Any, connect: Any, carried: Any) -> None:
    chat_server.play(completion(model="m", content="yes"))
    request = follow_up(thinking())
    plain = [dict(message) for message in request["messages"]]
    request["messages"][1]["carried"] = carried
    connect().complete(request)
    assert chat_server.received[0].body["messages"] == plain

"""What only the server can read goes back to it whole and in its place."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from world_api.chat import ResponsesWire

Json = dict[str, Any]


def message_of(answer: Json) -> Json:
    found: Json = ResponsesWire().read(answer)["choices"][0]["message"]
    return found


def repeated(message: Json, **changes: Any) -> list[Json]:
    """The items that go back for a message, of which the loop may have changed something."""
    create = SimpleNamespace(create=lambda **body: body)
    client = SimpleNamespace(responses=SimpleNamespace(with_streaming_response=create))
    request = {"model": "m", "messages": [{**message, **changes}]}
    sent: Any = ResponsesWire().send(client, request, seconds=1.0)  # type: ignore[arg-type]  # a fake client
    found: list[Json] = sent["input"]
    return found


def kinds(sent: list[Json]) -> list[str]:
    return [item["type"] for item in sent]


def test_a_reply_goes_back_as_it_came(items: Any) -> None:
    output = [
        items.reasoning("rs_1"),
        items.message("I look.", phase="commentary"),
        items.call("look", '{"time": 3}'),
        items.reasoning("rs_2"),
        items.call("look", '{"time": 4}', "call_2", id="fc_2"),
    ]
    assert repeated(message_of(items.answer(*output))) == output


def test_a_whole_conversation_over_the_wire(chat_server: Any, connect: Any, items: Any) -> None:
    thought, call = items.reasoning(), items.call("look", '{"time": 3}')
    chat_server.play(items.answer(thought, call), items.answer(items.message("A car.")))
    model = connect(wire=ResponsesWire())
    messages: list[Json] = [{"role": "user", "content": "What?"}]
    message = model.complete({"model": "m", "messages": messages})["choices"][0]["message"]
    messages += [message, {"role": "tool", "tool_call_id": "call_1", "content": "a car"}]
    model.complete({"model": "m", "messages": messages})
    assert chat_server.received[1].body["input"][1:] == [
        thought,
        call,
        {"type": "function_call_output", "call_id": "call_1", "output": "a car"},
    ]


def test_nothing_is_carried_where_the_message_says_all(items: Any) -> None:
    message = message_of(items.answer(items.message("I look."), items.call("look", "{}")))
    assert "carried" not in message


@pytest.mark.parametrize("unreadable", [{}, {"encrypted_content": None}, {"encrypted_content": ""}])
def test_thoughts_that_the_server_could_not_read_again_are_not_sent(items: Any, unreadable: Json) -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], **unreadable}
    message = message_of(items.answer(thought, items.call("look", "{}")))
    assert "carried" not in message
    assert kinds(repeated(message)) == ["function_call"]


def test_open_thoughts_go_back_too(items: Any) -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]}
    message = message_of(items.answer(thought, items.call("look", "{}")))
    assert repeated(message)[0] == thought


def test_calls_whose_ids_and_arguments_were_changed_go_back_changed(items: Any) -> None:
    message = message_of(items.answer(items.reasoning(), items.call("look", None, None)))
    call = {"id": "call_r1_0", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    thought, sent = repeated(message, tool_calls=[call])
    assert thought["type"] == "reasoning"
    assert (sent["call_id"], sent["arguments"], sent["id"]) == ("call_r1_0", "{}", "fc_1")


def test_calls_that_were_added_come_last_and_thoughts_of_dropped_ones_go(items: Any) -> None:
    output = [
        items.reasoning("rs_1"),
        items.call("look", "{}"),
        items.reasoning("rs_2"),
        items.call("see", "{}", "call_2"),
    ]
    message = message_of(items.answer(*output))
    one, two = message["tool_calls"]
    three = {"id": "call_3", "type": "function", "function": {"name": "more", "arguments": "{}"}}
    assert kinds(repeated(message, tool_calls=[one])) == ["reasoning", "function_call"]
    sent = repeated(message, tool_calls=[one, two, three])
    assert [item.get("call_id") for item in sent] == [None, "call_1", None, "call_2", "call_3"]


def test_words_that_were_trimmed_are_the_same_words_and_others_are_not(items: Any) -> None:
    message = message_of(items.answer(items.reasoning(), items.message(" Red. ")))
    assert kinds(repeated(message, content="Red.")) == ["reasoning", "message"]
    assert repeated(message, content="Red.")[1]["id"] == "msg_1"
    changed = repeated(message, content="Blue.")
    assert changed == [{"type": "message", "role": "assistant", "content": "Blue."}]


@pytest.mark.parametrize("carried", [None, "text", 7, [None, 3, "x"], [{}], [{"type": 3}], {"type": "reasoning"}])
def test_what_is_carried_and_was_not_ours_does_no_harm(carried: Any) -> None:
    sent = repeated({"role": "assistant", "content": "Red.", "carried": carried})
    assert {"type": "message", "role": "assistant", "content": "Red."} in sent


def test_a_thought_without_what_it_led_to_is_not_sent(items: Any) -> None:
    message = message_of(items.answer(items.reasoning(), status="incomplete"))
    assert repeated(message) == []

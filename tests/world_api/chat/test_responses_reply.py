"""What a Responses server says, as a Chat Completions reply, through the real client; oddities and all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from world_api.chat import NotAReply, ResponsesWire, usage_of
from world_api.core import BackendFault

Json = dict[str, Any]


def first(reply: Json) -> Json:
    [choice] = reply["choices"]
    found: Json = choice
    return found


def test_words(ask: Any, items: Any) -> None:
    reply = ask(items.answer(items.message("A red car.")))
    assert first(reply) == {
        "index": 0,
        "message": {"role": "assistant", "content": "A red car."},
        "finish_reason": "stop",
    }
    assert (reply["object"], reply["id"], reply["model"]) == ("chat.completion", "resp_1", "m-2026")


def test_calls(ask: Any, items: Any) -> None:
    calls = [items.call("look", '{"time": 3}'), items.call("look", '{"time": 4}', "call_2")]
    choice = first(ask(items.answer(items.message("I look."), *calls)))
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"] == {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"time": 3}'}},
            {"id": "call_2", "type": "function", "function": {"name": "look", "arguments": '{"time": 4}'}},
        ],
    }


def test_tokens_are_counted_under_the_names_of_the_other_side(ask: Any, items: Any) -> None:
    usage = usage_of({}, ask(items.answer(items.message("yes"))))
    assert (usage.prompt, usage.cached, usage.completion, usage.reasoning) == (100, 60, 30, 20)
    assert not usage.estimated


def test_without_a_count_nothing_is_made_up(ask: Any, items: Any) -> None:
    for usage in (None, {}, {"input_tokens": None, "output_tokens": 5}):
        found = usage_of({"messages": []}, ask(items.answer(items.message("yes"), usage=usage)))
        assert found.estimated


@pytest.mark.parametrize(
    ("reason", "becomes"), [("max_output_tokens", "length"), ("content_filter", "content_filter"), (None, "length")]
)
def test_a_reply_that_was_cut_says_so(ask: Any, items: Any, reason: str | None, becomes: str) -> None:
    details = None if reason is None else {"reason": reason}
    answer = items.answer(items.message("A red"), status="incomplete", incomplete_details=details)
    assert first(ask(answer))["finish_reason"] == becomes


def test_all_tokens_may_go_into_reasoning(ask: Any, items: Any) -> None:
    answer = items.answer(items.reasoning(), status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    choice = first(ask(answer))
    assert (choice["message"]["content"], choice["finish_reason"]) == (None, "length")


def test_a_refusal_alone_is_a_refusal(ask: Any, items: Any) -> None:
    message = first(ask(items.answer(items.refusal("I cannot help with that."))))["message"]
    assert message == {"role": "assistant", "content": None, "refusal": "I cannot help with that."}


def test_what_the_model_thought_is_told_where_the_server_tells_it(ask: Any, items: Any) -> None:
    summarised = items.reasoning(summary="The car is red.")
    open_text = items.reasoning("rs_2", content=[{"type": "reasoning_text", "text": "So it is."}])
    message = first(ask(items.answer(summarised, open_text, items.message("Red."))))["message"]
    assert message["reasoning_content"] == "The car is red.\n\nSo it is."


@pytest.mark.parametrize("arguments", [None, {"time": 3}, "", "{", 7])
def test_arguments_come_as_they_were_written(ask: Any, items: Any, arguments: Any) -> None:
    [call] = first(ask(items.answer(items.call("look", arguments))))["message"]["tool_calls"]
    assert call["function"] == {"name": "look", "arguments": arguments}


def test_a_call_without_an_id_is_not_given_one_here(ask: Any, items: Any) -> None:
    for answer in (items.answer(items.call("look", "{}", None)), items.answer({"type": "function_call"})):
        [call] = first(ask(answer))["message"]["tool_calls"]
        assert "id" not in call


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "item_of_a_year_to_come", "content": [{"text": "?"}]},
        {"type": None},
        {},
        "text",
        None,
        7,
        {"type": "message"},
        {"type": "message", "content": None},
        {"type": "message", "content": [None, 3, {"type": "output_text"}, {"type": "output_text", "text": None}]},
        {"type": "reasoning"},
        {"type": "reasoning", "summary": [None, {"text": 3}], "content": "no list"},
    ],
)
def test_items_that_say_nothing_are_passed_over(ask: Any, items: Any, odd: Any) -> None:
    message = first(ask(items.answer(odd, items.message("yes"))))["message"]
    assert message == {"role": "assistant", "content": "yes"}


def test_plain_text_for_content_is_taken(ask: Any, items: Any) -> None:
    item = {"type": "message", "role": "assistant", "content": "yes"}
    assert first(ask(items.answer(item)))["message"]["content"] == "yes"


def test_an_empty_output_is_an_empty_message(ask: Any, items: Any) -> None:
    choice = first(ask(items.answer()))
    assert (choice["message"], choice["finish_reason"]) == ({"role": "assistant", "content": None}, "stop")


def test_a_bare_answer_is_enough(ask: Any, items: Any) -> None:
    reply = ask({"output": [{"type": "message", "content": [{"type": "output_text", "text": "yes"}]}]})
    assert reply.keys() == {"object", "choices"}


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        ({"status": "failed", "error": {"code": "invalid_prompt", "message": "no"}}, "endpoint_refused_request", "no"),
        ({"status": "failed", "error": {"code": "server_error", "message": "oops"}}, "endpoint_error", "oops"),
        (
            {"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "slow"}},
            "endpoint_rate_limited",
            "slow",
        ),
        ({"error": {"message": "gone wrong"}}, "endpoint_error", "gone wrong"),
        ({"error": "gone wrong"}, "endpoint_error", "gone wrong"),
        ({"status": "failed", "output": []}, "endpoint_error", "failed"),
        ({"status": "in_progress", "output": []}, "endpoint_error", "in_progress"),
        ({"status": "queued"}, "endpoint_error", "queued"),
        ({"status": "cancelled", "output": []}, "endpoint_error", "cancelled"),
        ({"status": 7, "output": []}, "endpoint_error", "7"),
        ({}, "endpoint_error", "output"),
        ({"output": None}, "endpoint_error", "output"),
        ({"output": "yes"}, "endpoint_error", "output"),
        ({"choices": [{"message": {"content": "yes"}}]}, "endpoint_error", "output"),
    ],
)
def test_what_is_no_reply_is_an_error_by_name(ask: Any, answer: Json, code: str, said: str) -> None:
    with pytest.raises(BackendFault) as caught:
        ask(answer, retries=0)
    assert caught.value.code == code
    assert said in caught.value.message


def test_a_failure_of_the_server_is_tried_again(ask: Any, items: Any, waits: list[float]) -> None:
    failed = {"status": "failed", "error": {"code": "server_error", "message": "oops"}, "output": []}
    assert first(ask(failed, items.answer(items.message("yes"))))["message"]["content"] == "yes"
    assert waits == [0.5]


def test_the_transport_is_the_same(chat_server: Any, ask: Any, items: Any, waits: list[float]) -> None:
    good = items.answer(items.message("your key is sk-a-key-that-nobody-may-see"))
    cut = chat_server.cut(good)
    reply = ask(chat_server.refusal(429, "slow down", Retry_After="7"), cut, chat_server.raw(b"<html>"), good)
    assert first(reply)["message"]["content"] == "your key is [key]"
    assert waits == [7.0, 1.0, 2.0]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_ITEM = st.fixed_dictionaries(
    {"type": st.sampled_from(["message", "function_call", "reasoning", "compaction", "else"])},
    optional=dict.fromkeys(("id", "call_id", "name", "arguments", "content", "summary", "encrypted_content"), _JSON),
)


@given(
    st.fixed_dictionaries(
        {"output": st.lists(_ITEM | _JSON, max_size=4) | _JSON},
        optional=dict.fromkeys(("status", "error", "usage", "incomplete_details", "model", "id"), _JSON),
    )
)
def test_any_json_is_a_reply_or_is_named_as_none(answer: Json) -> None:
    try:
        message = first(ResponsesWire().read(answer))["message"]
    except NotAReply:
        return
    assert message["role"] == "assistant"
    assert message["content"] is None or isinstance(message["content"], str)

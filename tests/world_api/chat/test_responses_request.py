"""What is sent over the Responses API for a request in Chat Completions form, through the real client."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from world_api.core import BackendFault

Json = dict[str, Any]
SCHEMA = {"type": "object", "properties": {"time": {"type": "number"}}, "required": ["time"]}
LOOK: Json = {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": SCHEMA}}


@pytest.fixture
def sent(chat_server: Any, ask: Any, items: Any) -> Any:
    """The body that a request becomes."""

    def body(request: Json) -> Json:
        asked = {"model": "m", "messages": [], **request}
        before = copy.deepcopy(asked)
        ask(items.answer(items.message("yes")), request=asked)
        assert asked == before
        [received] = chat_server.received
        assert received.path == "/v1/responses"
        found: Json = received.body
        return found

    return body


def user(content: Any) -> Json:
    return {"role": "user", "content": content}


def called(*calls: tuple[str, Any], content: str | None = None, **more: Any) -> Json:
    made = [
        {"id": call_id, "type": "function", "function": {"name": "look", "arguments": arguments}}
        for call_id, arguments in calls
    ]
    return {"role": "assistant", "content": content, "tool_calls": made, **more}


def test_a_request_says_all_and_leaves_nothing_behind(sent: Any) -> None:
    body = sent({"messages": [{"role": "system", "content": "Be brief."}, user("What is seen?")]})
    assert body == {
        "model": "m",
        "instructions": "Be brief.",
        "input": [{"type": "message", "role": "user", "content": "What is seen?"}],
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }


def test_the_systems_words_at_the_start_are_instructions_and_later_ones_keep_their_place(sent: Any) -> None:
    system = [
        {"role": "system", "content": "One."},
        {"role": "developer", "content": [{"type": "text", "text": "Two."}]},
    ]
    body = sent({"messages": [*system, user("Three?"), {"role": "system", "content": "Four."}]})
    assert body["instructions"] == "One.\n\nTwo."
    assert [(item["role"], item["content"]) for item in body["input"]] == [("user", "Three?"), ("developer", "Four.")]


def test_calls_and_their_results_become_items_in_order(sent: Any) -> None:
    body = sent(
        {
            "messages": [
                user("When?"),
                called(("call_1", '{"time": 3}'), ("call_2", '{"time": 4}'), content="I look."),
                {"role": "tool", "tool_call_id": "call_1", "content": '{"seen": "a car"}'},
                {"role": "tool", "tool_call_id": "call_2", "content": "nothing"},
                {"role": "assistant", "content": "At 3 s."},
                user("Sure?"),
            ]
        }
    )
    assert body["input"][1:] == [
        {"type": "message", "role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": '{"time": 3}'},
        {"type": "function_call", "call_id": "call_2", "name": "look", "arguments": '{"time": 4}'},
        {"type": "function_call_output", "call_id": "call_1", "output": '{"seen": "a car"}'},
        {"type": "function_call_output", "call_id": "call_2", "output": "nothing"},
        {"type": "message", "role": "assistant", "content": "At 3 s."},
        {"type": "message", "role": "user", "content": "Sure?"},
    ]


def test_pictures_go_along_in_questions_and_in_results(sent: Any) -> None:
    text, picture = {"type": "text", "text": "This?"}, "data:image/png;base64,AAAA"
    parts = [text, {"type": "image_url", "image_url": {"url": picture, "detail": "low"}}]
    result = {
        "role": "tool",
        "tool_call_id": "call_1",
        "content": [{"type": "image_url", "image_url": {"url": picture}}],
    }
    body = sent({"messages": [user(parts), called(("call_1", "{}")), result]})
    assert body["input"][0]["content"] == [
        {"type": "input_text", "text": "This?"},
        {"type": "input_image", "image_url": picture, "detail": "low"},
    ]
    assert body["input"][2]["output"] == [{"type": "input_image", "image_url": picture, "detail": "auto"}]


def test_a_part_that_the_api_does_not_know_is_refused_and_nothing_is_sent(
    chat_server: Any, ask: Any, items: Any
) -> None:
    part = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
    with pytest.raises(BackendFault) as caught:
        ask(items.answer(), request={"model": "m", "messages": [user([part])]})
    assert caught.value.code == "endpoint_refused_request"
    assert "input_audio" in caught.value.message
    assert chat_server.received == []


def test_tools_are_flat_and_say_whether_they_are_strict(sent: Any) -> None:
    strict = {"type": "function", "function": {**LOOK["function"], "name": "see", "strict": True}}
    bare = {"type": "function", "function": {"name": "now"}}
    body = sent({"tools": [LOOK, strict, bare]})
    look = {"type": "function", "name": "look", "description": "Look.", "parameters": SCHEMA, "strict": False}
    assert body["tools"][:2] == [look, {**look, "name": "see", "strict": True}]
    assert body["tools"][2]["parameters"] == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("choice", "becomes"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ({"type": "function", "function": {"name": "look"}}, {"type": "function", "name": "look"}),
    ],
)
def test_the_choice_of_a_tool(sent: Any, choice: Any, becomes: Any) -> None:
    assert sent({"tools": [LOOK], "tool_choice": choice})["tool_choice"] == becomes


def test_settings_have_the_names_of_this_side(sent: Any) -> None:
    form = {"name": "answer", "schema": SCHEMA, "strict": True}
    body = sent(
        {
            "max_tokens": 400,
            "temperature": 0,
            "top_p": 0.5,
            "seed": 7,
            "n": 1,
            "parallel_tool_calls": False,
            "reasoning_effort": "low",
            "response_format": {"type": "json_schema", "json_schema": form},
            "service_tier": "flex",
            "store": True,
        }
    )
    expected = {
        "max_output_tokens": 400,
        "temperature": 0,
        "top_p": 0.5,
        "parallel_tool_calls": False,
        "reasoning": {"effort": "low"},
        "text": {"format": {"type": "json_schema", **form}},
        "service_tier": "flex",
        "store": False,
    }
    assert {key: body.get(key) for key in expected} == expected
    assert body.keys() == expected.keys() | {"model", "input", "include"}


def test_json_mode_and_the_newer_name_of_the_bound(sent: Any) -> None:
    body = sent({"response_format": {"type": "json_object"}, "max_completion_tokens": 50})
    assert body["text"] == {"format": {"type": "json_object"}}
    assert body["max_output_tokens"] == 50


def test_a_server_without_reasoning_is_asked_without_it_from_then_on(
    chat_server: Any, connect: Any, items: Any, waits: list[float]
) -> None:
    from world_api.chat import ResponsesWire

    refusal = chat_server.refusal(400, "Encrypted content is not supported with this model.")
    chat_server.play(refusal, items.answer(items.message("yes")))
    model = connect(wire=ResponsesWire(), retries=0)
    request = {"model": "m", "messages": [user("anybody?")]}
    for _ in range(2):
        assert model.complete(request)["choices"][0]["message"]["content"] == "yes"
    assert ["include" in received.body for received in chat_server.received] == [True, False, False]
    assert waits == []


def test_a_server_that_goes_on_refusing_is_believed(chat_server: Any, ask: Any) -> None:
    with pytest.raises(BackendFault, match="endpoint_refused_request"):
        ask(chat_server.refusal(400, "Encrypted content is not supported with this model."), retries=0)
    assert len(chat_server.received) <= 3

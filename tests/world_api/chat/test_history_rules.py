"""The rules that the tests' servers keep to: a history that breaks one is refused, so that each can fail."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.histories import takes_turns

Json = dict[str, Any]
SYSTEM: Json = {"role": "system", "content": "Answer."}
USER: Json = {"role": "user", "content": "Where?"}
SAID: Json = {"role": "assistant", "content": "There."}


def called(*ids: Any) -> Json:
    calls = [{"id": one, "type": "function", "function": {"name": "look", "arguments": "{}"}} for one in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: str) -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": "{}"}


@pytest.mark.parametrize(
    "messages",
    [
        [USER],
        [SYSTEM, USER],
        [USER, SAID, USER],
        [SYSTEM, USER, called("a", "b"), result("b"), result("a")],
        [USER, called("a"), result("a"), called("b"), result("b"), SAID, USER],
    ],
)
def test_what_takes_turns_is_taken(messages: list[Json]) -> None:
    assert takes_turns({"messages": messages}) is None


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([USER, USER], "alternate"),
        ([SAID, USER], "alternate"),
        ([USER, called("a"), result("a"), USER], "alternate"),
        ([USER, SAID, SAID], "alternate"),
        ([USER, {"role": "assistant", "content": ""}, USER], "empty"),
        ([{"role": "user", "content": ""}], "empty"),
        ([USER, called("a")], "unanswered"),
        ([USER, called("a", "b"), result("a"), SAID], "unanswered"),
        ([USER, called("a"), result("a"), result("a")], "no previous"),
        ([USER, called("a"), result("b")], "no previous"),
        ([USER, called("a", "a"), result("a")], "distinct"),
        ([USER, called(""), result("")], "distinct"),
        ([USER, SYSTEM], "beginning"),
    ],
)
def test_what_does_not_is_refused(messages: list[Json], words: str) -> None:
    assert words in str(takes_turns({"messages": messages}))


def test_the_same_holds_of_the_items_of_the_other_api() -> None:
    asked = {"type": "message", "role": "user", "content": "Where?"}
    calls = [{"type": "function_call", "call_id": one, "name": "look", "arguments": "{}"} for one in ("a", "b")]
    results = [{"type": "function_call_output", "call_id": one, "output": "{}"} for one in ("a", "b")]
    words = {"type": "message", "role": "assistant", "content": "I look."}
    assert takes_turns({"input": [asked, {"type": "reasoning"}, words, *calls, *results]}) is None
    assert "alternate" in str(takes_turns({"input": [asked, asked]}))
    assert "unanswered" in str(takes_turns({"input": [asked, *calls, results[0], words]}))

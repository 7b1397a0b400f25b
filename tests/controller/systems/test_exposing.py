"""Which of operations and tools ``hier`` offers, and when operations can be called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from controller.episode_tools import FallbackTools
from tests.support.scripted import ScriptedChatModel
from tests.support.scripted_judge import ScriptedJudge
from tests.support.systems import FOUND
from tool_induction import ToolDeclaration, load_library
from world_api.chat import Call, completion
from world_api.operations import OPERATIONS

SEARCH = Call(tool="search_segments_by_text", arguments={"video_id": "made", "query": "folder", "top_k": 3}, id="s1")
IN_RED = Call(tool=FOUND, arguments={"video_id": "made", "person_query": "person in red"}, id="t1")
NOBODY = Call(tool=FOUND, arguments={"video_id": "made", "person_query": "person in orange"}, id="t1")
ANSWER = Call(tool="submit_answer", arguments={"answer": "yes", "spans": []}, id="end")


def says(*calls: Call) -> dict[str, Any]:
    return completion(model="scripted", calls=list(calls))


def again(call: Call, call_id: str) -> Call:
    return Call(tool=call.tool, arguments=call.arguments, id=call_id)


def names(request: dict[str, Any]) -> set[str]:
    return {tool["function"]["name"] for tool in request["tools"]}


@pytest.mark.parametrize(
    ("exposure", "operations"), [("all", set(OPERATIONS)), ("tools", set()), ("tools_first", set(OPERATIONS))]
)
def test_each_exposure_offers_what_it_says(play: Any, exposure: str, operations: set[str]) -> None:
    request = play("hier", options={"exposure": exposure}).requests[0]
    assert names(request) == operations | set(load_library("hand_A").tools) | {"read_more", "submit_answer"}


def codes(played: Any) -> list[str | None]:
    return [call.result.get("error", {}).get("code") for call in played.episode.calls if call.tool == SEARCH.tool]


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        ([[SEARCH]], ["operation_not_open"]),
        ([[IN_RED], [SEARCH]], ["operation_not_open"]),
        ([[NOBODY], [SEARCH]], [None]),
        ([[IN_RED], [again(IN_RED, "t2")], [again(IN_RED, "t3")], [SEARCH]], [None]),
        ([[SEARCH, NOBODY]], ["operation_not_open"]),
        ([[NOBODY, SEARCH]], [None]),
    ],
    ids=[
        "at first",
        "after a find",
        "after nothing was found",
        "after three",
        "before its sibling",
        "after its sibling",
    ],
)
def test_operations_are_a_fallback(play: Any, replies: list[list[Call]], expected: list[str | None]) -> None:
    script = ScriptedChatModel([*(says(*calls) for calls in replies), says(ANSWER)])
    assert codes(play("hier", options={"exposure": "tools_first"}, model=script)) == expected


def test_the_number_of_tools_before_the_fallback_can_be_chosen(play: Any) -> None:
    script = ScriptedChatModel([says(IN_RED), says(SEARCH), says(ANSWER)])
    assert codes(play("hier", options={"exposure": "tools_first", "patience": 1}, model=script)) == [None]


@pytest.mark.parametrize(
    "result",
    [{"status": "error"}, {"status": "empty"}, {"status": "budget_exhausted"}, {"error": {"code": "internal_fault"}}],
    ids=str,
)
def test_a_tool_that_fails_opens_the_operations(result: dict[str, Any]) -> None:
    tools = FallbackTools(Answering("tool", result), Answering("operation", {}), after=9)
    assert "error" in tools.call_tool("operation", {})
    tools.call_tool("tool", {})
    assert tools.call_tool("operation", {}) == {}


@pytest.mark.parametrize("code", ["bad_arguments", "unknown_tool", "no_judge", "wrong_video"])
def test_a_call_that_is_itself_wrong_neither_opens_them_nor_counts(code: str) -> None:
    tools = FallbackTools(Answering("tool", {"error": {"code": code}}), Answering("operation", {}), after=2)
    for _ in range(3):
        tools.call_tool("tool", {})
        assert tools.call_tool("operation", {})["error"]["code"] == "operation_not_open"


def test_malformed_calls_of_a_library_do_not_open_the_operations(play: Any) -> None:
    wrong = Call(tool=FOUND, arguments={"video_id": "made", "colour": "red"}, id="t0")
    elsewhere = Call(tool=FOUND, arguments={**IN_RED.arguments, "video_id": "another"}, id="t9")
    script = ScriptedChatModel(
        [says(wrong), says(elsewhere), says(again(SEARCH, "s0")), says(NOBODY), says(SEARCH), says(ANSWER)]
    )
    played = play("hier", options={"exposure": "tools_first", "patience": 2}, model=script)
    told = [call.result.get("error", {}).get("code") for call in played.episode.calls if call.tool == FOUND]
    assert told == ["bad_arguments", "wrong_video", None]
    assert codes(played) == ["operation_not_open", None]


@pytest.mark.parametrize("exposure", ["all", "tools", "tools_first"])
def test_judging_is_open_in_every_exposure_where_it_is_on(play: Any, exposure: str) -> None:
    asked = {"question": "Is it red?", "answers": ["yes", "no"], "items": ["a red coat"]}
    script = ScriptedChatModel([says(Call(tool="judge_items", arguments=asked, id="j1")), says(ANSWER)])
    played = play("hier", options={"exposure": exposure}, model=script, judge=ScriptedJudge(["yes"]))
    [call] = [call for call in played.episode.calls if call.tool == "judge_items"]
    assert call.result["judged"] == [{"item": "a red coat", "answer": "yes"}]


def test_judging_does_not_open_the_operations(play: Any) -> None:
    asked = {"question": "Is it red?", "answers": ["yes", "no"], "items": ["a red coat"]}
    script = ScriptedChatModel([says(Call(tool="judge_items", arguments=asked, id="j1")), says(SEARCH), says(ANSWER)])
    options = {"exposure": "tools_first", "patience": 1}
    played = play("hier", options=options, model=script, judge=ScriptedJudge(["yes"]))
    assert codes(played) == ["operation_not_open"]


def test_calls_are_made_in_their_order_since_that_decides() -> None:
    tools = FallbackTools(Answering("tool", {}), Answering("operation", {}), after=1)
    assert all(tool.writes for tool in tools.get_tools())


class Answering:
    """A toolset of one tool and one result."""

    def __init__(self, name: str, result: dict[str, Any]) -> None:
        self._name = name
        self._result = result

    def get_tools(self) -> Sequence[ToolDeclaration]:
        return [ToolDeclaration(name=self._name, description="", parameters={})]

    def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return self._result

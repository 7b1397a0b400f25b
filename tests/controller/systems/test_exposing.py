"""Which of operations and tools ``hier`` offers, and when operations can be called."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from controller.episode import CallRecord
from controller.episode_tools import CALL_OPERATION, DESCRIBE_OPERATION, operation_called, operations_hidden
from tests.support.scripted import ScriptedChatModel
from tests.support.scripted_judge import ScriptedJudge
from tests.support.systems import FOUND
from tool_induction import load_library
from world_api.chat import Call, completion
from world_api.operations import EVERY_OPERATION, OPERATIONS

SEARCHED = {"query": "folder", "top_k": 3}
SEARCH = Call(tool="search_segments_by_text", arguments=SEARCHED, id="s1")
IN_RED = Call(tool=FOUND, arguments={"person_query": "person in red"}, id="t1")
NOBODY = Call(tool=FOUND, arguments={"person_query": "person in orange"}, id="t1")
ANSWER = Call(tool="submit_answer", arguments={"answer": "yes", "spans": []}, id="end")
LIBRARY = set(load_library("hand_A").tools)


def says(*calls: Call) -> dict[str, Any]:
    return completion(model="scripted", calls=list(calls))


def again(call: Call, call_id: str) -> Call:
    return Call(tool=call.tool, arguments=call.arguments, id=call_id)


def names(request: dict[str, Any]) -> set[str]:
    return {tool["function"]["name"] for tool in request["tools"]}


@pytest.mark.parametrize(
    ("exposure", "operations"),
    [
        ("all", set(OPERATIONS)),
        ("tools", set()),
        ("tools-first", set()),
        ("tools_first", set()),
        ("on-demand", {DESCRIBE_OPERATION, CALL_OPERATION}),
    ],
)
def test_each_exposure_offers_what_it_says(play: Any, exposure: str, operations: set[str]) -> None:
    request = play("hier", options={"exposure": exposure}).requests[0]
    assert names(request) == operations | LIBRARY | {"read_more", "submit_answer"}


def test_the_name_of_an_exposure_is_recorded_as_it_is_written_today(play: Any) -> None:
    episode = play("hier", options={"exposure": "tools_first"}).episode
    assert episode.task.settings["exposure"] == "tools-first"


# --- tools first ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("replies", "opened"),
    [
        ([[IN_RED]], False),
        ([[NOBODY]], True),
        ([[IN_RED], [again(IN_RED, "t2")]], False),
        ([[IN_RED], [again(IN_RED, "t2")], [again(IN_RED, "t3")]], True),
        ([[IN_RED, again(IN_RED, "t2"), again(IN_RED, "t3")]], True),
    ],
    ids=["after a find", "after nothing was found", "after two", "after three", "after three at once"],
)
def test_operations_are_declared_once_the_tools_did_not_help(
    play: Any, replies: list[list[Call]], opened: bool
) -> None:
    script = ScriptedChatModel([*(says(*calls) for calls in replies), says(SEARCH), says(ANSWER)])
    played = play("hier", options={"exposure": "tools-first"}, model=script)
    later = played.requests[len(replies)]
    assert names(later) == LIBRARY | {"read_more", "submit_answer"} | (set(OPERATIONS) if opened else set())
    [search] = [call for call in played.episode.calls if call.tool == SEARCH.tool]
    assert (search.ran, search.problem) == ((True, None) if opened else (False, "unknown_tool"))
    assert [tool["function"]["name"] for tool in played.episode.tools] == [
        *LIBRARY_ORDER,
        *OPERATIONS,
        "read_more",
        "submit_answer",
    ]


LIBRARY_ORDER = list(load_library("hand_A").tools)


def test_an_operation_called_beside_the_tool_that_opens_them_does_not_run(play: Any) -> None:
    script = ScriptedChatModel([says(NOBODY, SEARCH), says(again(SEARCH, "s2")), says(ANSWER)])
    played = play("hier", options={"exposure": "tools-first"}, model=script)
    assert [call.ran for call in played.episode.calls if call.tool == SEARCH.tool] == [False, True]


def test_the_number_of_tools_before_the_operations_can_be_chosen(play: Any) -> None:
    script = ScriptedChatModel([says(IN_RED), says(SEARCH), says(ANSWER)])
    played = play("hier", options={"exposure": "tools-first", "patience": 1}, model=script)
    assert [call.ran for call in played.episode.calls] == [True, True, False]


def called(tool: str, result: dict[str, Any], *, ran: bool = True) -> CallRecord:
    return CallRecord(
        id="c", round=1, tool=tool, written="{}", arguments={}, result=result, inner_calls=[], ran=ran, problem=None, note=None
    )  # fmt: skip


@pytest.mark.parametrize(
    "result",
    [
        {"status": "error"},
        {"status": "empty"},
        {"status": "partial", "evidence": []},
        {"status": "budget_exhausted"},
        {"error": {"code": "internal_fault"}},
    ],
    ids=str,
)
def test_a_tool_that_fails_or_shows_nothing_opens_the_operations(result: dict[str, Any]) -> None:
    assert set(operations_hidden([], after=9)) == set(EVERY_OPERATION)
    assert operations_hidden([called("find", result)], after=9) == ()


def test_a_tool_that_shows_what_may_be_meant_does_not_open_them() -> None:
    assert operations_hidden([called("find", {"status": "partial", "evidence": ["e1"]})], after=2)


@pytest.mark.parametrize("code", ["bad_arguments", "unknown_tool", "no_judge", "wrong_video"])
def test_a_call_that_is_itself_wrong_neither_opens_them_nor_counts(code: str) -> None:
    wrong = [called("find", {"error": {"code": code}})] * 3
    assert operations_hidden(wrong, after=2)
    assert operations_hidden([called("find", {"status": "empty"}, ran=False)], after=2)


def test_malformed_calls_of_a_library_do_not_open_the_operations(play: Any) -> None:
    wrong = Call(tool=FOUND, arguments={"colour": "red"}, id="t0")
    elsewhere = Call(tool=FOUND, arguments={**IN_RED.arguments, "video_id": "another"}, id="t9")  # type: ignore[dict-item]
    script = ScriptedChatModel(
        [says(wrong), says(elsewhere), says(again(SEARCH, "s0")), says(NOBODY), says(SEARCH), says(ANSWER)]
    )
    played = play("hier", options={"exposure": "tools-first", "patience": 2}, model=script)
    found = [call.result.get("error", {}).get("code") for call in played.episode.calls if call.tool == FOUND]
    assert found == ["bad_arguments", "wrong_video", None]
    assert [call.ran for call in played.episode.calls if call.tool == SEARCH.tool] == [False, True]


@pytest.mark.parametrize("exposure", ["all", "tools", "tools-first", "on-demand"])
def test_judging_is_open_in_every_exposure_where_it_is_on(play: Any, exposure: str) -> None:
    asked = {"question": "Is it red?", "answers": ["yes", "no"], "items": ["a red coat"]}
    script = ScriptedChatModel([says(Call(tool="judge_items", arguments=asked, id="j1")), says(ANSWER)])
    played = play("hier", options={"exposure": exposure}, model=script, judge=ScriptedJudge(["yes"]))
    [call] = [call for call in played.episode.calls if call.tool == "judge_items"]
    assert call.result["judged"] == [{"item": "a red coat", "answer": "yes"}]


def test_judging_does_not_open_the_operations(play: Any) -> None:
    asked = {"question": "Is it red?", "answers": ["yes", "no"], "items": ["a red coat"]}
    script = ScriptedChatModel([says(Call(tool="judge_items", arguments=asked, id="j1")), says(SEARCH), says(ANSWER)])
    options = {"exposure": "tools-first", "patience": 1}
    played = play("hier", options=options, model=script, judge=ScriptedJudge(["yes"]))
    assert [call.ran for call in played.episode.calls if call.tool == SEARCH.tool] == [False]


# --- on demand ------------------------------------------------------------------------------------------------------


def on_demand(call_id: str, **arguments: Any) -> Call:
    return Call(tool=CALL_OPERATION, arguments=arguments, id=call_id)


DESCRIBE = Call(tool=DESCRIBE_OPERATION, arguments={"name": SEARCH.tool}, id="d1")


def results(request: dict[str, Any]) -> list[dict[str, Any]]:
    return [json.loads(message["content"]) for message in request["messages"] if message["role"] == "tool"]


def test_an_operation_is_described_as_it_would_be_declared_and_then_called(play: Any) -> None:
    call = on_demand("s1", name=SEARCH.tool, arguments=SEARCHED)
    script = ScriptedChatModel([says(DESCRIBE), says(call), says(ANSWER)])
    played = play("hier", options={"exposure": "on-demand"}, model=script)
    flat = play("flat").requests[0]["tools"]
    [declared] = [tool["function"] for tool in flat if tool["function"]["name"] == SEARCH.tool]
    described, found = (result["data_from_video"] for result in results(played.requests[-1]))
    assert described["parameters"] == declared["parameters"]
    assert described["description"].startswith(declared["description"])
    assert "folder" in found["moments"][0]["said"]


def test_a_call_on_demand_is_recorded_as_the_call_of_the_operation_and_repeated_as_it_was_written(play: Any) -> None:
    call = on_demand("s1", name=SEARCH.tool, arguments=SEARCHED)
    script = ScriptedChatModel([says(call), says(ANSWER)])
    played = play("hier", options={"exposure": "on-demand"}, model=script)
    kept = played.episode.calls[0]
    assert (kept.tool, kept.arguments, kept.ran) == (SEARCH.tool, SEARCHED, True)
    [repeated] = played.requests[-1]["messages"][2]["tool_calls"]
    assert repeated["function"]["name"] == CALL_OPERATION


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"name": "fly", "arguments": {}}, "unknown_operation"),
        ({"name": FOUND, "arguments": {}}, "unknown_operation"),
        ({"name": SEARCH.tool, "arguments": "folder"}, "bad_arguments"),
        ({"name": SEARCH.tool}, "bad_arguments"),
        ({"name": SEARCH.tool, "arguments": {"query": "folder"}}, "bad_arguments"),
        ({"name": SEARCH.tool, "arguments": {**SEARCHED, "video_id": "another"}}, "wrong_video"),
        ({}, "unknown_operation"),
    ],
)
def test_a_wrong_call_on_demand_says_what_is_wrong(play: Any, arguments: dict[str, Any], code: str) -> None:
    script = ScriptedChatModel([says(on_demand("s1", **arguments)), says(ANSWER)])
    played = play("hier", options={"exposure": "on-demand"}, model=script)
    assert played.episode.calls[0].result["error"]["code"] == code


def test_only_the_exposure_on_demand_reads_a_call_as_another(play: Any) -> None:
    assert operation_called(CALL_OPERATION, {"name": "list_scenes", "arguments": {}}, []) is None
    script = ScriptedChatModel([says(on_demand("s1", name="list_scenes", arguments={})), says(ANSWER)])
    played = play("hier", options={"exposure": "tools"}, model=script)
    assert (played.episode.calls[0].tool, played.episode.calls[0].problem) == (CALL_OPERATION, "unknown_tool")


def test_the_declarations_of_on_demand_are_the_same_in_every_request(play: Any) -> None:
    """So the prefix of requests is stable, and a server's prompt cache can be used."""
    replies = [says(DESCRIBE), says(on_demand("s1", name=SEARCH.tool, arguments=SEARCHED)), says(NOBODY), says(ANSWER)]
    requests = play("hier", options={"exposure": "on-demand"}, model=ScriptedChatModel(replies)).requests
    assert len(requests) == 4
    for earlier, later in itertools.pairwise(requests):
        assert later["tools"] == earlier["tools"]
        assert later["messages"][: len(earlier["messages"])] == earlier["messages"]


# --- the calls name no video ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("video", [{}, {"video_id": "made"}])
@pytest.mark.parametrize("call", [SEARCH, IN_RED], ids=lambda call: call.tool)
def test_a_call_need_not_name_the_video_and_may(play: Any, call: Call, video: dict[str, str]) -> None:
    given = Call(tool=call.tool, arguments={**call.arguments, **video}, id="c1")  # type: ignore[dict-item]
    played = play("hier", model=ScriptedChatModel([says(given), says(ANSWER)]))
    assert "error" not in played.episode.calls[0].result
    assert "video_id" not in json.dumps(played.requests[0]["tools"])

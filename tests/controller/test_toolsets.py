"""Toolsets: the operations on a real session, and what wraps them."""

from __future__ import annotations

from typing import Any

import pytest

from controller.answers import SUBMIT_ANSWER, Question
from controller.episode import Library
from controller.episode_tools import AtomicTools, CombinedTools, JudgedItems, OneVideo
from controller.systems import flat, hier
from tool_induction import load_library
from tool_induction.language import RESERVED_TOOL_NAMES
from world_api.chat import RuleBasedChatModel
from world_api.core import EpisodeFault, ToolFault
from world_api.operations import OPERATIONS


def test_all_operations_are_offered_with_schemas_any_server_reads(open_made: Any) -> None:
    tools = AtomicTools(open_made()).get_tools()
    assert [tool.name for tool in tools] == list(OPERATIONS)
    assert all("$ref" not in str(tool.parameters) and "x-type" not in str(tool.parameters) for tool in tools)


def test_an_operation_runs_on_the_session(open_made: Any) -> None:
    result = AtomicTools(open_made()).call_tool("get_video_metadata", {"video_id": "made"})
    assert result["duration"] == 60.0


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("get_video_metadata", {}, "bad_arguments"),
        ("get_video_metadata", {"video_id": 3}, "bad_arguments"),
        ("describe_segment", {"video_id": "made", "start_time": 9, "end_time": 3}, "bad_time_range"),
        ("describe_segment", {"video_id": "made", "start_time": 900, "end_time": 903}, "time_out_of_range"),
        ("fly", {}, "unknown_operation"),
    ],
)
def test_a_fault_of_an_operation_is_an_observation(open_made: Any, name: str, arguments: Any, code: str) -> None:
    result = AtomicTools(open_made()).call_tool(name, arguments)
    assert result["error"]["code"] == code
    assert result["error"]["hint"]


def test_what_an_episode_writes_another_session_does_not_see(open_made: Any) -> None:
    first, second = AtomicTools(open_made()), AtomicTools(open_made())
    time_range = {"start_time": 1.0, "end_time": 2.0}
    first.call_tool("write_memory", {"video_id": "made", "level": "event", "time_range": time_range, "content": "rain"})
    asked = {"video_id": "made", "level": "event", "query": "rain", "top_k": 3}
    assert len(first.call_tool("read_memory", asked)["memories"]) == 1
    assert second.call_tool("read_memory", asked)["memories"] == []


def test_a_call_about_another_video_does_not_run(fake_tools: Any) -> None:
    tools = fake_tools()
    confined = OneVideo(tools, "made")
    assert confined.call_tool("find", {"video_id": "other"})["error"]["code"] == "wrong_video"
    assert confined.call_tool("find", {"video_id": ["made"]})["error"]["code"] == "wrong_video"
    assert tools.called == []
    confined.call_tool("find", {"video_id": "made"})
    assert tools.called == [("find", {"video_id": "made"})]


def test_combined_toolsets_call_the_one_that_offers_the_tool(fake_tools: Any, open_made: Any) -> None:
    combined = CombinedTools([fake_tools(), AtomicTools(open_made())])
    assert [tool.name for tool in combined.get_tools()][:3] == ["find", "fail", "list_scenes"]
    assert "candidates" in combined.call_tool("find", {})
    assert "duration" in combined.call_tool("get_video_metadata", {"video_id": "made"})
    assert combined.call_tool("fly", {})["error"]["code"] == "unknown_tool"


def test_two_tools_of_one_name_are_refused(fake_tools: Any) -> None:
    with pytest.raises(ToolFault, match="duplicate_tool"):
        CombinedTools([fake_tools(), fake_tools()])


def test_hier_without_a_library_is_refused(stepping_clock: Any) -> None:
    with pytest.raises(EpisodeFault, match="no_library"):
        hier(model=RuleBasedChatModel(), clock=stepping_clock())


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("When does the person in red first appear?", 32.0, 38.0),
        ("穿红衣服的人第一次出现时在做什么？", 32.0, 38.0),
        ("What is said about the blue folder?", 22.0, 25.0),
    ],
)
def test_the_whole_chain_answers_with_evidence(
    open_made: Any, stepping_clock: Any, question: str, start: float, end: float
) -> None:
    episode = flat(model=RuleBasedChatModel(), clock=stepping_clock()).answer(Question(text=question), open_made())
    assert episode.outcome == "submitted"
    assert [(span.start_time, span.end_time) for span in episode.spans] == [(start, end)]
    assert all(span.returned_by for span in episode.spans)


def test_a_library_is_offered_first_and_its_inner_operations_are_recorded(open_made: Any, stepping_clock: Any) -> None:
    library = load_library("hand_A")
    system = hier(model=RuleBasedChatModel(), clock=stepping_clock(), library=library)
    names = [tool.name for tool in system.setup(Question(text="?"), open_made()).make_tools().get_tools()]
    assert names == [*library.tools, *OPERATIONS]
    episode = system.answer(Question(text="When does the person in red first appear?"), open_made())
    assert episode.task.library == Library(name="hand_A", hash=library.hash)
    first = episode.tool_calls[0]
    assert first.tool in library.tools
    assert {call["name"] for call in first.inner_calls} <= set(OPERATIONS)
    assert len(first.inner_calls) == first.result["calls"]["logical"]
    assert [(span.start_time, span.end_time) for span in episode.spans] == [(32.0, 38.0)]


def test_the_question_of_the_design_goes_its_way(open_made: Any, stepping_clock: Any) -> None:
    system = hier(model=RuleBasedChatModel(), clock=stepping_clock(), library=load_library("hand_A"))
    session = open_made()
    episode = system.answer(Question(text="穿红衣服的男子第一次出现时在做什么？"), session)
    assert [call.tool for call in episode.tool_calls] == ["locate_first_appearance", "describe_segment", "write_memory"]
    assert [memory.span.start for memory in session.memories("event")] == [32.0]
    assert episode.answer is not None
    assert episode.answer.startswith("[rule-based]")


def test_behind_a_causal_cut_nothing_later_is_found(open_made: Any, stepping_clock: Any) -> None:
    session = open_made(as_of=30.0)
    episode = flat(model=RuleBasedChatModel(), clock=stepping_clock()).answer(
        Question(text="When does a person in red appear?", as_of=30.0), session
    )
    assert episode.task.question.as_of == 30.0
    assert all(span.end_time <= 30.0 for span in episode.spans)


def test_what_the_controller_offers_of_its_own_is_no_name_for_a_tool() -> None:
    assert {SUBMIT_ANSWER, JudgedItems.name} <= RESERVED_TOOL_NAMES


@pytest.mark.parametrize(("asked", "opened"), [(None, 30.0), (30.0, None), (20.0, 30.0)])
def test_a_question_of_another_moment_than_the_session_is_refused(
    open_made: Any, stepping_clock: Any, asked: float | None, opened: float | None
) -> None:
    system = flat(model=RuleBasedChatModel(), clock=stepping_clock())
    with pytest.raises(EpisodeFault, match="as_of_mismatch"):
        system.answer(Question(text="When?", as_of=asked), open_made(as_of=opened))


def test_writing_tools_are_marked_and_no_other(open_made: Any) -> None:
    writing = {tool.name for tool in AtomicTools(open_made()).get_tools() if tool.writes}
    assert writing == {"register_entity", "write_memory", "merge_events"}


def test_calls_need_not_name_the_one_video(open_made: Any) -> None:
    tools = OneVideo(AtomicTools(open_made()), "made")
    assert not any("video_id" in str(tool.parameters) for tool in tools.get_tools())
    for arguments in ({}, {"video_id": "made"}):
        assert tools.call_tool("get_video_metadata", arguments)["duration"] == 60.0
    assert tools.call_tool("get_video_metadata", {"video_id": "other"})["error"]["code"] == "wrong_video"


def test_a_fault_of_a_call_lists_no_parameter_that_the_model_is_not_shown(open_made: Any, stepping_clock: Any) -> None:
    library = load_library("hand_A")
    system = hier(model=RuleBasedChatModel(), clock=stepping_clock(), library=library)
    tools = system.setup(Question(text="?"), open_made()).make_tools()
    declared = tools.get_tools()
    assert len(declared) > len(OPERATIONS)
    for tool in declared:
        fault = tools.call_tool(tool.name, {"nonsense": 1})["error"]
        assert fault["code"] == "bad_arguments"
        assert "video_id" not in str(fault), tool.name
        assert all(name in fault["hint"] for name in tool.parameters["properties"]), tool.name

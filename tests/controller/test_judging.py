"""Where judging is switched on, every system has it: as steps of tools, and as an operation of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from controller.answers import Question
from controller.display import summary_record, summary_text
from controller.episode import Budget
from controller.episode_tools import JudgedItems
from controller.records import Journal, answer_recorded, replay_recorded
from controller.systems import SystemContext, flat, hier
from tests.support.scripted import ScriptedChatModel
from tests.support.scripted_judge import ScriptedJudge
from tool_induction import ToolLibrary, compile_document, limits
from tool_induction.judge import JUDGEMENT
from world_api.chat import Call, completion
from world_api.operations import OPERATIONS

ASKED = {"question": "Is it about a folder?", "answers": ["yes", "no"], "items": ["a blue folder", "a garden"]}
DOCUMENT = {
    "tool_name": "judge_lines",
    "description": "Lines that a judge takes for being about a topic. Use for topics. Not for exact words.",
    "inputs": {"video_id": "string", "topic": "string"},
    "outputs": {"count": {"type": "int", "from": "{{ kept | length }}"},
                "evidence": {"type": "list<Evidence>", "from": "{{ proof }}"}},
    "steps": [
        {"type": "call_world_api", "api": "search_segments_by_text", "save_as": "hits",
         "params": {"video_id": "{{video_id}}", "query": "{{topic}}", "top_k": 3}},
        {"type": "judge", "inputs": "hits", "question": "Is it about {{topic}}?", "answers": ["yes", "no"],
         "max_items": 3, "save_as": "judged"},
        {"type": "filter", "inputs": "judged", "where": "{{ item.answer == 'yes' }}", "save_as": "kept"},
        {"type": "aggregate", "operation": "collect_evidence", "inputs": ["kept"], "save_as": "proof"},
    ],
}  # fmt: skip


def library() -> ToolLibrary:
    return ToolLibrary(name="judging", hash="0" * 64, tools=compile_document(DOCUMENT, allow_judge=True).require())


def test_flat_and_hier_are_offered_the_same_function(open_made: Any, stepping_clock: Any) -> None:
    judge, session, clock = ScriptedJudge([]), open_made(), stepping_clock()
    model = ScriptedChatModel([])
    alone = [
        tool.name
        for tool in flat(model=model, clock=clock, judge=judge)
        .setup(Question(text="?"), session)
        .make_tools()
        .get_tools()
    ]
    both = [
        tool.name
        for tool in hier(model=model, clock=clock, library=library(), judge=judge)
        .setup(Question(text="?"), session)
        .make_tools()
        .get_tools()
    ]
    assert alone == [*OPERATIONS, "judge_items"]
    assert both == ["judge_lines", *alone]
    assert "judge_items" not in [
        tool.name for tool in flat(model=model, clock=clock).setup(Question(text="?"), session).make_tools().get_tools()
    ]


def test_items_are_judged_at_the_price_of_a_judge_step() -> None:
    tools = JudgedItems(ScriptedJudge(["yes", "No."]))
    [declared] = tools.get_tools()
    result = tools.call_tool("judge_items", ASKED)
    assert result["judged"] == [{"item": "a blue folder", "answer": "yes"}, {"item": "a garden", "answer": "no"}]
    assert result["cost"]["model_calls"] == 2
    assert str(result["cost"]["tokens"] // 2) in declared.description
    assert "scripted" in declared.description


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"items": []}, "bad_arguments"),
        ({"items": ["x"] * 101}, "bad_arguments"),
        ({"answers": ["yes"]}, "bad_arguments"),
        ({"more": 1}, "bad_arguments"),
        ({"answers": ["sure", "never"]}, "bad_judgement"),
    ],
)
def test_a_wrong_call_is_an_observation(changes: Any, code: str) -> None:
    result = JudgedItems(ScriptedJudge(["yes", "no"])).call_tool("judge_items", ASKED | changes)
    assert result["error"]["code"] == code


def test_a_model_may_have_as_many_items_judged_at_once_as_a_tool() -> None:
    result = JudgedItems(ScriptedJudge(["yes"] * 100)).call_tool("judge_items", ASKED | {"items": ["x"] * 100})
    assert len(result["judged"]) == limits.MAX_JUDGED_ITEMS == 100


def test_what_a_tool_had_judged_is_not_judged_again_for_the_model(open_made: Any, stepping_clock: Any) -> None:
    judge = ScriptedJudge(["yes"] * 3)
    tools = (
        hier(model=ScriptedChatModel([]), clock=stepping_clock(), library=library(), judge=judge)
        .setup(Question(text="?"), open_made())
        .make_tools()
    )
    tools.call_tool("judge_lines", {"video_id": "made", "topic": "folder"})
    asked = list(judge.questions)
    items = list(dict.fromkeys(item for _, _, item in asked))
    again = {"question": asked[0][0], "answers": list(asked[0][1]), "items": items}

    result = tools.call_tool("judge_items", again)

    assert [row["answer"] for row in result["judged"]] == ["yes"] * len(items)
    assert judge.questions == asked
    assert result["cost"]["model_calls"] == len(items)


@pytest.mark.parametrize("tool", ["judge_lines", "judge_items"])
def test_what_judging_costs_counts_against_the_tokens_of_an_episode(
    open_made: Any, stepping_clock: Any, tool: str
) -> None:
    arguments = ASKED if tool == "judge_items" else {"video_id": "made", "topic": "folder"}
    replies = [
        completion(model="m", calls=[Call(tool=tool, arguments=arguments, id="c1")], usage=(10, 5)),
        completion(model="m", content="It is blue.", usage=(10, 5)),
    ]

    def outcome(tokens: int) -> tuple[str, str | None]:
        system = hier(model=ScriptedChatModel(replies, name="m"), clock=stepping_clock(), library=library(),
                      judge=ScriptedJudge(["yes"] * 3), budget=Budget(tokens=tokens))  # fmt: skip
        episode = system.answer(Question(text="Is there a folder?"), open_made())
        cost = episode.tool_calls[0].result["cost"]["tokens"]
        assert cost >= JUDGEMENT.tokens
        assert summary_record(episode)["judging_tokens"] == cost
        assert f"judging   {cost} tokens at most" in summary_text(episode)
        return episode.outcome, episode.reason

    assert outcome(JUDGEMENT.tokens) == ("forced", "tokens")
    assert outcome(100_000) == ("prose", None)


def test_an_episode_with_judgements_replays_without_a_judge(
    open_made: Any, stepping_clock: Any, tmp_path: Path
) -> None:
    calls = [
        Call(tool="judge_lines", arguments={"video_id": "made", "topic": "folder"}, id="c1"),
        Call(tool="judge_items", arguments=ASKED, id="c2"),
        Call(tool="submit_answer", arguments={"answer": "yes", "spans": []}, id="c3"),
    ]
    model = ScriptedChatModel([completion(model="m", calls=[call], usage=(10, 5)) for call in calls], name="m")
    judge, journal = ScriptedJudge(["yes"] * 3 + ["yes", "no"]), Journal(tmp_path / "records")

    episode, name = answer_recorded(
        Question(text="Is there a folder?"),
        open_made(),
        system="hier",
        context=SystemContext(model=model, clock=stepping_clock(), library=library(), judge=judge),
        journal=journal,
    )

    assert episode.tool_calls[0].result["outputs"]["count"] == episode.tool_calls[0].result["cost"]["model_calls"] > 0
    assert episode.tool_calls[1].result["judged"][1]["answer"] in ("yes", "no")
    assert replay_recorded(journal, name).identical

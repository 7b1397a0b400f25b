"""Throw-away tools: compiled, run at once, forgotten; and pipelines, which begin with one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controller.episode import Budget
from tests.support.scripted import ScriptedChatModel
from tests.support.scripted_judge import ScriptedJudge
from tests.support.systems import DOCUMENT, data_in, text_of
from world_api.chat import Call, completion

GIVEN = {"video_id": "made", "words": "folder"}
FAULTY = json.loads(json.dumps(DOCUMENT).replace("search_segments_by_text", "search_segments_by_words"))


def compose(document: Any = DOCUMENT, arguments: Any = GIVEN, call_id: str = "c1") -> dict[str, Any]:
    given = {"document": document, "arguments": arguments}
    return completion(model="scripted", calls=[Call(tool="compose_tool", arguments=given, id=call_id)])


def ends(call_id: str = "end") -> dict[str, Any]:
    answer = {"answer": "In the room.", "spans": []}
    return completion(model="scripted", calls=[Call(tool="submit_answer", arguments=answer, id=call_id)])


def results(played: Any) -> list[dict[str, Any]]:
    return [call.result for call in played.episode.calls if call.tool == "compose_tool"]


def test_a_document_is_run_at_once_and_its_operations_are_recorded_inside_it(play: Any) -> None:
    played = play("flat+compose", model=ScriptedChatModel([compose(), ends()]))
    [call] = [call for call in played.episode.calls if call.tool == "compose_tool"]
    assert call.result["status"] == "ok"
    assert "blue folder" in str(call.result["outputs"])
    assert [inner["name"] for inner in call.inner_calls] == ["search_segments_by_text"]
    assert "blue folder" in str(data_in(played.requests[1]))


def test_a_document_as_json_text_is_taken_too(play: Any) -> None:
    played = play("flat+compose", model=ScriptedChatModel([compose(json.dumps(DOCUMENT)), ends()]))
    assert results(played)[0]["status"] == "ok"


def test_faults_come_back_with_their_place_and_what_would_mend_them(play: Any) -> None:
    played = play("flat+compose", model=ScriptedChatModel([compose(FAULTY), compose(call_id="c2"), ends()]))
    faulty, mended = results(played)
    assert faulty["error"]["code"] == "bad_tools"
    assert "E_UNKNOWN_API $.steps[0].api" in faulty["error"]["message"]
    assert "search_segments_by_text" in faulty["error"]["message"]
    assert mended["status"] == "ok"


def test_only_so_many_documents_are_taken_faulty_ones_among_them(play: Any) -> None:
    script = [compose(FAULTY, call_id="a"), compose(call_id="b"), compose(call_id="c"), ends()]
    played = play("flat+compose", options={"documents": 2}, model=ScriptedChatModel(script))
    assert [item.get("error", {}).get("code") for item in results(played)] == ["bad_tools", None, "documents_spent"]


@pytest.mark.parametrize(
    "arguments",
    [{}, {"document": DOCUMENT}, {"document": DOCUMENT, "arguments": [1]}, {"document": 3, "arguments": {}}, {"x": 1}],
)
def test_a_call_that_makes_no_sense_is_an_observation(play: Any, arguments: dict[str, Any]) -> None:
    call = completion(model="scripted", calls=[Call(tool="compose_tool", arguments=arguments, id="c1")])
    played = play("flat+compose", model=ScriptedChatModel([call, ends()]))
    assert results(played)[0]["error"]["code"] in ("bad_arguments", "bad_tools")
    assert played.episode.internal_faults == 0


def test_a_document_about_another_video_finds_nothing_of_it(play: Any) -> None:
    played = play("flat+compose", model=ScriptedChatModel([compose(arguments={**GIVEN, "video_id": "other"}), ends()]))
    assert results(played)[0]["error"]["code"] == "wrong_video"


def test_of_several_tools_the_last_is_run(play: Any) -> None:
    inner = {**DOCUMENT, "tool_name": "find_more_talk"}
    outer = {
        **DOCUMENT,
        "steps": [
            {
                "type": "call_tool",
                "tool": "find_more_talk",
                "params": {"video_id": "{{video_id}}", "words": "{{words}}"},
                "save_as": "inner",
            }
        ],
        "outputs": {"hits": {"type": "list<record>", "from": "{{ inner.hits }}"}},
    }
    played = play("flat+compose", model=ScriptedChatModel([compose({"tools": [inner, outer]}), ends()]))
    assert "blue folder" in str(results(played)[0]["outputs"])


def test_the_language_is_told_with_its_operations(play: Any) -> None:
    for name in ("flat+compose", "pipeline"):
        told = text_of(play(name).requests[0]["messages"][0])
        assert "# Operations" in told and "merge_intervals" in told and "compose_tool" in told


# --- pipeline -----------------------------------------------------------------------------------------------------


def test_a_pipeline_offers_nothing_but_its_one_tool(play: Any) -> None:
    request = play("pipeline").requests[0]
    assert [tool["function"]["name"] for tool in request["tools"]] == ["compose_tool", "read_more", "submit_answer"]


def test_a_pipeline_takes_no_answer_before_its_tool_has_run(play: Any) -> None:
    prose = completion(model="scripted", content="In the room.")
    played = play("pipeline", model=ScriptedChatModel([ends("early"), prose, compose(), ends()]))
    assert played.episode.slips == {"early_answer": 2}
    assert (played.episode.outcome, len(played.episode.rounds)) == ("submitted", 4)


def test_a_pipeline_that_never_composes_is_forced_and_says_why(play: Any) -> None:
    prose = completion(model="scripted", content="In the room.")
    played = play("pipeline", model=ScriptedChatModel([prose] * 4))
    assert (played.episode.outcome, played.episode.reason) == ("forced", "malformed_replies")


def test_a_pipeline_mends_its_document_once_and_runs_it_once(play: Any) -> None:
    script = [compose(FAULTY, call_id="a"), compose(call_id="b"), compose(call_id="c"), ends()]
    played = play("pipeline", model=ScriptedChatModel(script))
    assert [item.get("error", {}).get("code") for item in results(played)] == ["bad_tools", None, "already_composed"]
    assert played.episode.outcome == "submitted"


def test_a_pipeline_whose_document_fails_twice_may_still_answer(play: Any) -> None:
    script = [compose(FAULTY, call_id="a"), compose(FAULTY, call_id="b"), ends()]
    played = play("pipeline", model=ScriptedChatModel(script))
    assert [item["error"]["hint"] for item in results(played)][1] == "go on without one"
    assert played.episode.answer == "In the room."


def test_a_pipeline_out_of_rounds_is_forced(play: Any) -> None:
    prose = completion(model="scripted", content="In the room.")
    played = play("pipeline", model=ScriptedChatModel([compose(FAULTY), prose]), budget=Budget(rounds=1))
    assert (played.episode.outcome, played.episode.reason) == ("forced", "rounds")


@pytest.mark.parametrize("name", ["flat+compose", "pipeline"])
def test_judge_steps_are_told_where_a_judge_is_on_and_run(play: Any, name: str) -> None:
    judging = json.loads(json.dumps(DOCUMENT))
    step = {"type": "judge", "inputs": "hits", "question": "Is it a folder?", "answers": ["yes", "no"], "max_items": 5}
    judging["steps"].append({**step, "save_as": "judged"})
    judging["outputs"] = {"judged": {"type": "list<record>", "from": "{{ judged }}"}}
    script = ScriptedChatModel([compose(judging), ends()])
    played = play(name, model=script, judge=ScriptedJudge(["yes"] * 5))
    assert results(played)[0]["status"] == "ok"
    assert results(played)[0]["outputs"]["judged"][0]["answer"] == "yes"
    told = [text_of(item.requests[0]["messages"][0]) for item in (played, play(name))]
    assert ["\n- judge: " in text or "\njudge: " in text for text in told] == [True, False]

"""Judge steps through the compiler: switched off, shaped, typed, priced, frozen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Cli
from tool_induction import Origin, ToolFault, compile_document, freeze_library, load_library
from tool_induction.compiler import asks_judge, description_of
from tool_induction.curation import Edits, fork_library, plan_lines
from tool_induction.judge import JUDGEMENT


def faults(document: Any, *, allowed: bool = True) -> set[tuple[str, str]]:
    found = compile_document(document, allow_judge=allowed).diagnostics
    return {(item.code, item.json_path) for item in found if item.severity == "error"}


def test_it_is_switched_off_unless_it_is_switched_on(judging: Any) -> None:
    compilation = compile_document(judging())
    [fault] = [item for item in compilation.diagnostics if item.severity == "error"]
    assert (fault.code, fault.json_path) == ("E_SHAPE", "$.steps[1].type")
    assert "--allow-judge" in fault.message
    assert faults(judging()) == set()


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"answers": ["yes"]}, ("E_SHAPE", "$.steps[1].answers")),
        ({"answers": []}, ("E_SHAPE", "$.steps[1].answers")),
        ({"answers": "yes or no"}, ("E_SHAPE", "$.steps[1].answers")),
        ({"answers": ["yes", 1]}, ("E_SHAPE", "$.steps[1].answers[1]")),
        ({"answers": ["yes", "Yes."]}, ("E_SHAPE", "$.steps[1].answers[1]")),
        ({"answers": ["yes", "..."]}, ("E_SHAPE", "$.steps[1].answers[1]")),
        ({"answers": ["yes", "n" * 41]}, ("E_SIZE", "$.steps[1].answers[1]")),
        ({"answers": [str(n) for n in range(9)]}, ("E_SIZE", "$.steps[1].answers")),
        ({"answers": [f"{n}" + "a" * 35 for n in range(8)]}, ("E_SIZE", "$.steps[1].answers")),
        ({"question": None}, ("E_SHAPE", "$.steps[1]")),
        ({"question": "{{ nobody }}"}, ("E_UNDEFINED", "$.steps[1].question")),
        ({"inputs": "nothing"}, ("E_UNDEFINED", "$.steps[1].inputs")),
        ({"inputs": "query"}, ("E_TYPE", "$.steps[1].inputs")),
        ({"max_items": 0}, ("E_SHAPE", "$.steps[1].max_items")),
        ({"max_items": 101}, ("E_SHAPE", "$.steps[1].max_items")),
        ({"model": "large"}, ("E_SHAPE", "$.steps[1].model")),
    ],
)
def test_what_is_wrong_with_one_is_told_at_its_place(judging: Any, changes: Any, fault: Any) -> None:
    assert fault in faults(judging(**changes))


def test_an_answer_is_one_of_the_closed_ones_and_the_item_stays(judging: Any) -> None:
    document = judging()
    document["steps"][2]["where"] = "{{ item.answer > 3 }}"
    assert ("E_TYPE", "$.steps[2].where") in faults(document)
    document["steps"][2]["where"] = "{{ item.answer == 'yes' and item.start_time > 3 and item.snippet != '' }}"
    assert faults(document) == set()


def test_the_price_says_tokens_and_model_calls_before_anything_runs(judged_tools: Any) -> None:
    item = judged_tools()["judge_hits"]
    assert (item.price.least.tokens, item.price.most.tokens) == (0, 4 * JUDGEMENT.tokens)
    assert item.price.most.model_calls == 4
    assert f"up to {4 * JUDGEMENT.tokens} tokens" in description_of(item)


def test_how_many_are_judged_is_written_out_where_nothing_says_it(judging: Any) -> None:
    document = judging(max_items=None)
    document["steps"][0]["params"]["top_k"] = 60
    compilation = compile_document(document, allow_judge=True)
    assert any(
        item.code == "W_IMPLICIT_BINDING" and "items are judged" in item.message for item in compilation.diagnostics
    )
    assert compilation.tools["judge_hits"].frozen["steps"][1]["max_items"] == 20


def test_judging_inside_loops_has_a_bound_on_its_tokens(document: Any, search: Any) -> None:
    judge = {"type": "judge", "inputs": "hits", "question": "?", "answers": ["yes", "no"], "max_items": 5,
             "save_as": "judged"}  # fmt: skip
    loop = {"type": "loop", "loop_over": "hits", "do": [{**judge, "max_items": 5}], "save_as": "all_judged"}
    search["params"]["top_k"] = 100
    assert ("E_BUDGET", "$.steps") in faults(document(loop))


def test_the_frozen_form_compiles_to_itself(judged_tools: Any) -> None:
    frozen = judged_tools()["judge_hits"].frozen
    again = compile_document(frozen, allow_judge=True)
    assert again.tools["judge_hits"].frozen == frozen
    assert frozen["steps"][1]["answers"] == ["yes", "no"]


def test_a_plan_shows_what_is_asked(judged_tools: Any) -> None:
    assert (
        'judged = judge each item of hits.candidates (at most 4): "Is this about {{ query }}?", answers yes / no'
        in plan_lines(judged_tools()["judge_hits"].tool)
    )


def test_a_caller_of_a_tool_that_judges_judges_too(judging: Any, document: Any) -> None:
    call = {"type": "call_tool", "tool": "judge_hits", "params": {"video_id": "{{video_id}}", "query": "{{query}}"},
            "save_as": "judged"}  # fmt: skip
    tools = compile_document([judging(), document(call, outputs={"found": {"type": "int", "from": "{{ judged.found }}"}})],
                             allow_judge=True).require()  # fmt: skip
    assert asks_judge("small_tool", tools)
    assert tools["small_tool"].price.most.tokens == 4 * JUDGEMENT.tokens


def test_a_library_that_judges_loads_only_where_it_may(judged_tools: Any, tmp_path: Path, cli: Cli) -> None:
    origin = Origin(how="hand-written", date="2026-01-01")
    freeze_library(judged_tools(), tmp_path / "judging", name="judging", origin=origin)
    with pytest.raises(ToolFault, match="--allow-judge"):
        load_library(tmp_path / "judging")
    library = load_library(tmp_path / "judging", allow_judge=True)
    fork_library(
        library,
        Edits(
            edit=json.dumps(library.tools["judge_hits"].frozen | {"description": "Other words, six of them."}).encode()
        ),
        tmp_path / "fork",
        name="fork",
        date="2026-01-02",
        allow_judge=True,
    )
    assert cli("tools", "check", str(tmp_path / "fork"), store=None).status == 1
    assert cli("tools", "check", str(tmp_path / "fork"), "--allow-judge", store=None).status == 0
    shown = cli("tools", "review", str(tmp_path / "fork"), "--allow-judge").out
    assert "4 of them of a model, up to 4800 tokens" in shown
    assert "no_judge" in shown

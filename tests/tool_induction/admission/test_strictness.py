"""Tools that find something and are no good all the same; and what the clock has to say."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from tool_induction.admission import admit

SEARCH = {
    "type": "call_world_api",
    "api": "search_segments_by_text",
    "params": {"video_id": "{{video_id}}", "query": "{{query}}", "top_k": 10},
    "save_as": "hits",
}
EARLIEST = {"type": "aggregate", "operation": "pick_earliest", "inputs": "hits", "save_as": "hit"}
FOUND = {"start_time": {"type": "Time?", "from": "{{ hit.start_time }}"}}
ENTITIES = {"entities": ["the woman in yellow", "the ferry"], "others": ["a bottle", "a blue umbrella"]}


def asking(query: str) -> dict[str, Any]:
    return SEARCH | {"params": SEARCH["params"] | {"query": query}}  # type: ignore[operator]


def said(value: str) -> dict[str, Any]:
    return {"type": "set", "value": value, "save_as": "said"}


@pytest.mark.parametrize("query", ["The woman in yellow", "{{query}} near the ferry"])
def test_a_tool_with_an_entity_of_the_examples_written_in_is_refused(tool: Any, verdicts: Any, query: str) -> None:
    verdict = verdicts(tool(asking(query), EARLIEST, outputs=FOUND), **ENTITIES)["some_tool"]

    assert (verdict.admitted, verdict.reason) == (False, "only_examples")
    assert "yellow" in verdict.explanation or "ferry" in verdict.explanation
    assert "inputs" in verdict.suggestion


def test_an_entity_that_only_people_read_of_refuses_nothing(tool: Any, verdicts: Any) -> None:
    document = tool(SEARCH, EARLIEST, outputs=FOUND) | {
        "description": "Finds when the ferry, or what you name, is seen."
    }

    assert verdicts(document, **ENTITIES)["some_tool"].admitted


def test_a_tool_that_nothing_it_is_told_has_a_part_in_is_refused(tool: Any, verdicts: Any) -> None:
    verdict = verdicts(tool(asking("a door"), EARLIEST, outputs=FOUND))["some_tool"]

    assert verdict.reason == "ignores_inputs"
    assert "query" in verdict.explanation


def test_one_dead_input_beside_a_live_one_gets_a_warning(tool: Any, verdicts: Any) -> None:
    document = tool(SEARCH, EARLIEST, outputs=FOUND, inputs={"video_id": "string", "query": "string", "why": "string"})

    verdict = verdicts(document)["some_tool"]

    assert verdict.admitted
    assert [item.message[:3] for item in verdict.weaknesses if item.code == "dead_input"] == ["why"]


def test_a_first_output_that_follows_from_nothing_is_refused(tool: Any, verdicts: Any) -> None:
    outputs = {"answer": {"type": "string", "from": "{{ said }}"}, **FOUND}

    verdict = verdicts(tool(SEARCH, EARLIEST, said("The butler did it."), outputs=outputs))["some_tool"]

    assert (verdict.reason, "answer" in verdict.explanation) == ("constant", True)


def test_a_yes_that_is_only_reached_when_something_was_found_follows_from_it(tool: Any, verdicts: Any) -> None:
    found = {"type": "require", "condition": "hit is not none", "status": "empty", "reason": "not seen"}
    outputs = {"is_there": {"type": "bool", "from": "{{ said }}"}, **FOUND}

    assert verdicts(tool(SEARCH, EARLIEST, found, said("{{ true }}"), outputs=outputs))["some_tool"].admitted
    assert verdicts(tool(SEARCH, EARLIEST, said("{{ true }}"), outputs=outputs))["some_tool"].reason == "constant"


def test_what_a_branch_decides_follows_from_its_condition(tool: Any, verdicts: Any) -> None:
    told = {
        "type": "if",
        "condition": "hit is not none",
        "then": [said("seen")],
        "else": [said("not seen")],
    }
    outputs = {"answer": {"type": "string", "from": "{{ said }}"}, **FOUND}

    assert verdicts(tool(SEARCH, EARLIEST, told, outputs=outputs))["some_tool"].admitted


def test_a_certainty_that_the_tool_makes_up_is_refused_whatever_it_is_called(tool: Any, verdicts: Any) -> None:
    made_up = said("{{ 0.95 if hit is none else hit.score }}")
    outputs = {"sure": {"type": "float", "from": "{{ said }}"}, **FOUND}

    assert verdicts(tool(SEARCH, EARLIEST, made_up, outputs=outputs))["some_tool"].reason == "invents"


def test_a_slow_machine_changes_no_verdict(tool: Any, compiled: Any) -> None:
    tools = compiled(tool(SEARCH, EARLIEST, outputs=FOUND))
    slow = count(step=100)

    told = admit(tools, monotonic=lambda: float(next(slow)), reuse=False)

    assert told == admit(tools)


def test_a_machine_that_stands_still_gives_no_verdict(tool: Any, compiled: Any) -> None:
    still = count(step=1_000_000)

    tools = compiled(tool(SEARCH, EARLIEST, outputs=FOUND))
    (verdict,) = admit(tools, monotonic=lambda: float(next(still)), reuse=False).verdicts

    assert (verdict.admitted, verdict.reason) == (False, "disturbed")
    assert all(run.disturbed for run in verdict.runs)
    assert verdict.runs[0].record()["broken_off"] is True

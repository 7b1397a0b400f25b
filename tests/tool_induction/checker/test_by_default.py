"""Values that a tool has where its caller gives no optional input: parameters out of range, divisors that are 0."""

from typing import Any

import pytest

from tool_induction import compile_document


def search(top_k: Any) -> Any:
    params = {"video_id": "{{video_id}}", "query": "{{query}}", "top_k": top_k}
    return {"type": "call_world_api", "api": "search_segments_by_text", "params": params, "save_as": "more"}


def memories(level: Any) -> Any:
    params = {"video_id": "{{video_id}}", "level": level, "query": "{{query}}", "top_k": 3}
    return {"type": "call_world_api", "api": "read_memory", "params": params, "save_as": "notes"}


def aggregate(operation: str, **params: Any) -> Any:
    return {"type": "aggregate", "operation": operation, "inputs": "hits", "params": params, "save_as": "made"}


def setting(value: Any, name: str = "value") -> Any:
    return {"type": "set", "value": value, "save_as": name}


def branch(condition: str) -> Any:
    return {"type": "if", "condition": condition, "then": [search("{{ least }}")], "else": [search(5)]}


def require(condition: str) -> Any:
    return {"type": "require", "condition": condition, "status": "empty", "reason": "nothing"}


INPUTS = {
    "least": {"type": "int", "default": 0},
    "many": {"type": "int", "default": 50000},
    "few": {"type": "int", "default": 5},
    "share": {"type": "float", "default": 40},
    "level": {"type": "string", "default": "events"},
    "none_given": {"type": "int?", "default": None},
    "needed": {"type": "int"},
}
EARLY = {"type": "filter", "inputs": "hits", "where": "{{ item.start_time < least }}", "save_as": "early"}
COUNTED = aggregate("count") | {"inputs": "early"}
THERE = require("{{ hits | length > 0 }}")


def errors(document: Any) -> list[tuple[str, str]]:
    said = compile_document(document).diagnostics
    return [(item.code, item.json_path) for item in said if item.severity == "error"]


@pytest.mark.parametrize(
    ("steps", "place"),
    [
        ([search("{{ least }}")], "steps[1].params.top_k"),
        ([search("{{ many }}")], "steps[1].params.top_k"),
        ([search("{{ few * 10000 }}")], "steps[1].params.top_k"),
        ([setting("{{ few - 5 }}"), search("{{ value }}")], "steps[2].params.top_k"),
        ([THERE, search("{{ least }}")], "steps[2].params.top_k"),
        ([branch("{{ least == 0 }}")], "steps[1].then[0].params.top_k"),
        ([memories("{{ level }}")], "steps[1].params.level"),
        ([aggregate("top_k", k="{{ least }}")], "steps[1].params.k"),
        ([aggregate("filter_by_score", min_score="{{ share }}")], "steps[1].params.min_score"),
        ([setting("{{ 100 / least }}")], "steps[1].value"),
        ([setting("{{ 100 % (few - 5) }}")], "steps[1].value"),
        ([setting(0, "zero"), setting("{{ 100 / zero }}")], "steps[2].value"),
    ],
)
def test_a_value_that_is_wrong_by_default_is_refused_where_it_is_used(document: Any, steps: Any, place: str) -> None:
    assert errors(document(*steps, inputs=INPUTS)) == [("E_TYPE", f"$.{place}")]


def test_an_output_that_is_divided_by_a_default_of_0_is_refused(document: Any) -> None:
    outputs = {"each": {"type": "float", "from": "{{ (hits | length) / least }}"}}

    assert errors(document(outputs=outputs, inputs=INPUTS)) == [("E_TYPE", "$.outputs.each.from")]


@pytest.mark.parametrize(
    "steps",
    [
        [search("{{ few }}")],
        [search("{{ needed }}")],
        [search("{{ least if least > 0 else 5 }}")],
        [search("{{ [least, 1] | max }}")],
        [branch("{{ least > 0 }}")],
        [branch("{{ needed > 3 }}")],
        [branch("{{ least > 0 and hits | length > 3 }}")],
        [require("{{ least > 0 }}"), search("{{ least }}")],
        [require("{{ least > 0 or needed > 0 }}"), search("{{ least }}")],
        [setting("{{ 100 / few }}")],
        [setting("{{ 100 / least if least > 0 else 100 }}")],
        [require("{{ least > 0 }}"), setting("{{ 100 / least }}")],
        [search("{{ none_given | default(5) }}")],
        [setting("{{ 'some' if least > 0 else 'none' }}"), require("{{ value == 'some' }}"), search("{{ least }}")],
        [EARLY, require("{{ early | length > 0 }}"), setting("{{ 100 / least }}")],
        [EARLY, COUNTED, require("{{ made > 0 }}"), setting("{{ 100 / least }}")],
        [EARLY, search("{{ least }}") | {"loop_over": "early"}],
    ],
    ids=range(17),
)
def test_a_default_that_is_asked_for_before_is_taken(document: Any, steps: Any) -> None:
    assert errors(document(*steps, inputs=INPUTS)) == []

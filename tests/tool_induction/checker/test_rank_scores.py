"""A rank score orders the hits of one search: it may be ranked, never compared with another number."""

import re
from typing import Any

import pytest

from tool_induction import compile_document

BEST = {"type": "aggregate", "operation": "pick_best", "inputs": "hits", "save_as": "best"}
THERE = {"type": "require", "condition": "{{ best is not none }}", "status": "empty", "reason": "nothing"}
RENAMED = {"type": "project", "inputs": "hits", "fields": {"good": "{{ item.score }}"}, "save_as": "rows"}


def only(where: str, inputs: str = "hits") -> Any:
    return {"type": "filter", "inputs": inputs, "where": where, "save_as": "few"}


def aggregate(operation: str, inputs: Any, **params: Any) -> Any:
    return {"type": "aggregate", "operation": operation, "inputs": inputs, "params": params, "save_as": "made"}


def require(condition: str) -> Any:
    return {"type": "require", "condition": condition, "status": "empty", "reason": "nothing"}


def setting(value: Any, name: str = "value") -> Any:
    return {"type": "set", "value": value, "save_as": name}


def call(api: str, **parts: Any) -> Any:
    return {"type": "call_world_api", "api": api, "save_as": "seen", **parts}


DESCRIBED = {
    "loop_over": "hits",
    "params": {"video_id": "{{video_id}}", "start_time": "{{item.start_time}}", "end_time": "{{item.end_time}}"},
}
IF: Any = {"type": "if", "then": [setting(1)], "else": [setting(2)]}

COMPARED: dict[str, list[Any]] = {
    "steps[1].where": [only("{{ item.score > 0.5 }}")],
    "steps[1].where, mirrored": [only("{{ 0.5 <= item.score }}")],
    "steps[1].where, equal": [only("{{ item.score == 1 }}")],
    "steps[1].where, in a list": [only("{{ item.score in [0.1, 0.2] }}")],
    "steps[1].where, in a part": [only("{{ item.start_time > 3 and not (item.score < 0.02) }}")],
    "steps[1].where, with a default": [only("{{ item.score | default(0) > 0.5 }}")],
    "steps[1].where, rounded": [only("{{ item.score | round(2) > 0.5 }}")],
    "steps[1].where, computed": [only("{{ item.score * 100 - 50 > 0 }}")],
    "steps[1].where, with an input": [only("{{ item.score >= least }}")],
    "steps[2].where, renamed": [RENAMED, only("{{ item.good > 0.5 }}", "rows")],
    "steps[1].params.where, any": [aggregate("any", "hits", where="{{ item.score > 0.5 }}")],
    "steps[1].params.where, all": [aggregate("all", "hits", where="{{ item.score > 0.5 }}")],
    "steps[3].condition, if": [BEST, THERE, IF | {"condition": "{{ best.score > 0.5 }}"}],
    "steps[3].condition, require": [BEST, THERE, require("{{ best.score >= 0.03 }}")],
    "steps[3].value, set": [BEST, THERE, setting("{{ best.score > 0.5 }}")],
    "steps[3].value, chosen": [BEST, THERE, setting("{{ 'yes' if best.score > 0.5 else 'no' }}")],
    "steps[3].value, larger": [BEST, THERE, setting("{{ [best.score, 0.5] | max }}")],
    "steps[3].inputs, largest": [BEST, THERE, aggregate("max", ["{{ best.score }}", 0.5])],
    "steps[4].condition, saved": [BEST, THERE, setting("{{ best.score }}"), require("{{ value > 0.5 }}")],
    "steps[2].condition, mean": [aggregate("avg", "hits", key="score"), require("{{ made | default(0) > 0.2 }}")],
    "steps[2].condition, sum": [aggregate("sum", "hits", key="score"), require("{{ made > 0.2 }}")],
    "steps[1].until": [call("describe_segment", **DESCRIBED, until="{{ item.score < 0.2 }}")],
    "steps[1].params.key": [aggregate("filter_by_score", "hits", min_score=0.5, key="score")],
    "steps[2].params.key, renamed": [RENAMED, aggregate("filter_by_score", "rows", min_score=0.5, key="good")],
    "steps[3].params.min_score": [BEST, THERE, aggregate("filter_by_score", "hits", min_score="{{ best.score }}")],
    "steps[3].params.timestamp": [
        BEST,
        THERE,
        call(
            "detect_objects",
            params={"video_id": "{{video_id}}", "timestamp": "{{ best.score }}", "category": "person"},
        ),
    ],
}


@pytest.mark.parametrize("where", COMPARED)
def test_a_rank_score_that_is_compared_with_another_number_is_refused_at_its_place(document: Any, where: str) -> None:
    compilation = compile_document(document(*COMPARED[where], inputs={"least": {"type": "float", "default": 0.5}}))

    errors = [item for item in compilation.diagnostics if item.severity == "error"]
    assert [(item.code, item.json_path) for item in errors] == [("E_SCORE", "$." + where.split(",", maxsplit=1)[0])]
    assert re.search("top_k.*|pick_best", errors[0].suggestion)


def test_a_rank_score_is_no_condition_and_nobody_is_told_to_compare_it(document: Any) -> None:
    compilation = compile_document(document(BEST, THERE, IF | {"condition": "{{ best.score }}"}))

    (error,) = [item for item in compilation.diagnostics if item.severity == "error"]
    assert (error.code, error.json_path) == ("E_TYPE", "$.steps[3].condition")
    assert "rank instead" in error.suggestion


def test_a_rank_score_stays_one_in_the_result_of_a_called_tool(document: Any) -> None:
    outputs = {
        "score": {"type": "float?", "from": "{{ best.score }}"},
        "scores": {"type": "list<float>", "from": "{{ all_scores }}"},
    }
    each = {"type": "loop", "loop_over": "hits", "do": [setting("{{ item.score }}", "one")], "save_as": "all_scores"}
    inner = document(BEST, each, outputs=outputs, name="inner")
    asked = {"type": "call_tool", "tool": "inner", "params": {"video_id": "{{video_id}}", "query": "{{query}}"}}
    for condition in ("{{ got.score | default(0) > 0.5 }}", "{{ got.scores | max | default(0) > 0.5 }}"):
        compilation = compile_document([inner, document(asked | {"save_as": "got"}, require(condition), name="outer")])

        errors = [(item.code, item.tool) for item in compilation.diagnostics if item.severity == "error"]
        assert errors == [("E_SCORE", "outer")]


@pytest.mark.parametrize(
    "steps",
    [
        [aggregate("sort_by", "hits", key="score", descending=True)],
        [aggregate("top_k", "hits", k=3, key="score")],
        [aggregate("max", "hits", key="score")],
        [BEST, THERE, only("{{ item.score >= best.score }}")],
        [BEST, THERE, setting("{{ best.score }}")],
        [only("{{ item.confidence > 0.5 }}")],
    ],
    ids=["sorted", "the best", "the largest", "compared with another", "handed on", "a confidence"],
)
def test_rank_scores_may_be_ranked_and_told(document: Any, codes: Any, steps: Any) -> None:
    assert codes(compile_document(document(*steps))) == set()


def test_how_alike_two_entities_look_is_no_rank_score(document: Any, codes: Any) -> None:
    known = call("list_entities", params={"video_id": "{{video_id}}"})
    alike = "{{ (item.may_be | length) > 0 and item.may_be[0].score >= 0.8 }}"

    assert codes(compile_document(document(known, only(alike, "seen")))) == set()


ROWS = "{{ hits.candidates }}"
EACH = {"type": "loop", "loop_over": "hits", "do": [setting("{{ item.score }}", "one")], "save_as": "scores"}
HIDDEN: dict[str, tuple[str, Any, str, list[Any]]] = {
    "rows": ("list<record>", ROWS, "rows", []),
    "rows of anything": ("list<any>", ROWS, "rows", []),
    "a list": ("list", ROWS, "rows", []),
    "anything": ("any", ROWS, "rows", []),
    "the whole result": ("record", "{{ hits }}", "rows", []),
    "one row": ("record", "{{ best }}", "rows", [BEST, THERE]),
    "rows in a record": ("record", {"found": ROWS}, "rows.found", []),
    "one row in a list": ("list", ["x", "{{ best }}"], "rows[1]", [BEST, THERE]),
    "renamed": ("list<record>", "{{ rows }}", "rows", [RENAMED]),
    "scores": ("list<number>", "{{ scores }}", "rows", [EACH]),
    "one score in a list": ("list<number>", [1, "{{ best.score }}"], "rows[1]", [BEST, THERE]),
    "one score": ("any", "{{ best.score }}", "rows", [BEST, THERE]),
    "grouped": ("list<record>", "{{ made }}", "rows", [aggregate("group_by", "hits", key="source")]),
}


def faults(document: Any) -> list[Any]:
    return [item for item in compile_document(document).diagnostics if item.severity == "error"]


def handed(document: Any, type_: str, value: Any, steps: list[Any]) -> Any:
    inner = document(inputs={"rows": type_}, outputs={"n": {"type": "string", "from": "{{ rows }}"}}, name="inner")
    params = {"video_id": "{{video_id}}", "query": "{{query}}", "rows": value}
    asked = {"type": "call_tool", "tool": "inner", "params": params, "save_as": "got"}
    return [inner, document(*steps, asked, name="outer")]


@pytest.mark.parametrize("case", HIDDEN)
def test_rank_scores_are_not_handed_to_a_tool_whose_input_does_not_declare_them(document: Any, case: str) -> None:
    type_, value, place, steps = HIDDEN[case]

    errors = faults(handed(document, type_, value, steps))

    assert [(item.code, item.json_path) for item in errors] == [
        ("E_SCORE", f"$[1].steps[{len(steps) + 1}].params.{place}")
    ]
    assert errors[0].suggestion


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("list<Segment>", ROWS),
        ("list<Interval>", ROWS),
        ("list<record>", "{{ rows }}"),
        ("any", "{{ rows }}"),
        ("list<string>", ["{{ query }}"]),
        ("int", "{{ hits | length }}"),
    ],
)
def test_rows_that_declare_their_scores_or_hold_none_are_handed_on(document: Any, type_: str, value: Any) -> None:
    told = {"type": "project", "inputs": "hits", "fields": {"said": "{{ item.snippet }}"}, "save_as": "rows"}

    assert not faults(handed(document, type_, value, [told]))


@pytest.mark.parametrize("type_", ["any", "list<any>", "record"])
def test_a_rank_score_stays_one_in_an_output_of_any_type(document: Any, type_: str) -> None:
    source = {"any": "{{ best.score }}", "list<any>": ROWS, "record": "{{ best }}"}[type_]
    read = {"any": "got.made", "list<any>": "got.made[0].score", "record": "got.made.score"}[type_]
    inner = document(BEST, THERE, outputs={"made": {"type": type_, "from": source}}, name="inner")
    params = {"video_id": "{{video_id}}", "query": "{{query}}"}
    asked = {"type": "call_tool", "tool": "inner", "params": params, "save_as": "got"}
    condition = require(f"{{{{ {read} | default(0) > 0.5 }}}}")

    errors = faults([inner, document(asked, condition, name="outer")])

    assert [(item.code, item.tool) for item in errors] == [("E_SCORE", "outer")]

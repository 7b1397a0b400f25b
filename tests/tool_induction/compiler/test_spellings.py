"""Other spellings that can mean one thing only are read, logged, and reported where they stood."""

import copy
from typing import Any

import pytest

from tests.support.positions import locate
from tool_induction import compile_document

ORDERED = {
    "type": "aggregate",
    "operation": "sort_by",
    "inputs": "hits",
    "params": {"key": "start_time", "descending": False},
    "save_as": "x",
}
BEST = {"type": "aggregate", "operation": "pick_best", "inputs": "hits", "params": {"key": "score"}, "save_as": "x"}
MERGED = {"type": "aggregate", "operation": "merge_intervals", "inputs": "hits", "params": {"gap": 2.0}, "save_as": "x"}
LATE = {"type": "filter", "inputs": "hits", "where": "{{ item.start_time > 5 }}", "save_as": "x"}
BOTH = {"type": "aggregate", "operation": "concat_lists", "inputs": ["hits", "hits"], "save_as": "x"}
NEAR = {
    "type": "aggregate",
    "operation": "join_nearest_in_time",
    "inputs": {"a": "hits", "b": "hits"},
    "params": {"max_gap": 3},
    "save_as": "x",
}


def aggregate(operation: str, inputs: Any, **params: Any) -> Any:
    step = {"type": "aggregate", "operation": operation, "inputs": inputs, "save_as": "x"}
    return step | ({"params": params} if params else {})


SPELLINGS = [
    (
        "parameters beside the list",
        aggregate("sort_by", {"items": "hits", "key": "start_time", "order": "asc"}),
        ORDERED,
    ),
    ("the list under 'list'", aggregate("sort_by", {"list": "{{hits}}"}, key="start_time", order="ascending"), ORDERED),
    ("field", aggregate("pick_best", "hits", field="score"), BEST),
    ("max_by with a key", aggregate("max_by", {"items": "hits", "key": "score"}), BEST),
    ("max_by with a field", aggregate("max_by", "hits", field="score"), BEST),
    ("max_gap", aggregate("merge_overlapping", {"items": "hits", "max_gap": 2.0}), MERGED),
    ("a filter", aggregate("filter", {"list": "hits", "condition": "{{ item.start_time > 5 }}"}), LATE),
    ("a filter with where", aggregate("filter", "hits", where="item.start_time > 5"), LATE),
    ("lists", aggregate("concat", {"lists": ["{{hits}}", "{{hits}}"]}), BOTH),
    ("a parameter beside a pair", aggregate("join_nearest_in_time", {"a": "hits", "b": "hits", "max_gap": 3}), NEAR),
]


@pytest.mark.parametrize(("spelled", "ours"), [case[1:] for case in SPELLINGS], ids=[case[0] for case in SPELLINGS])
def test_another_spelling_compiles_to_the_same_and_is_logged(document: Any, spelled: Any, ours: Any) -> None:
    def compiled(step: Any) -> Any:
        return compile_document(document(step, outputs={"n": {"type": "int", "from": "{{ hits | length }}"}}))

    read, plain = compiled(copy.deepcopy(spelled)), compiled(ours)

    assert read.ok, [item.record() for item in read.diagnostics]
    assert read.tools["small_tool"].frozen == plain.tools["small_tool"].frozen
    assert "W_ALIAS" in {item.code for item in read.diagnostics}
    assert "W_ALIAS" not in {item.code for item in plain.diagnostics}


@pytest.mark.parametrize(
    ("step", "code", "path"),
    [
        (aggregate("sort_by", {"items": "hits", "key": "start"}), "E_TYPE", "$.steps[1].inputs.key"),
        (aggregate("sort_by", {"items": "hit", "key": "start_time"}), "E_UNDEFINED", "$.steps[1].inputs.items"),
        (aggregate("count", {"items": "hits", "per": "scene"}), "E_UNKNOWN_PARAM", "$.steps[1].inputs.per"),
        (aggregate("pick_best", "hits", field="scor"), "E_TYPE", "$.steps[1].params.field"),
        (aggregate("filter", {"list": "hits", "condition": "item.x > 1"}), "E_TYPE", "$.steps[1].inputs.condition"),
        (aggregate("nth", {"items": "hits"}), "E_MISSING_PARAM", "$.steps[1]"),
    ],
)
def test_a_fault_in_what_moved_is_told_where_it_stood(
    document: Any, codes: Any, step: Any, code: str, path: str
) -> None:
    import json

    made = document(step, outputs={"n": {"type": "int", "from": "{{ hits | length }}"}})
    compilation = compile_document(made)

    assert codes(compilation) == {(code, path)}
    assert all(locate(json.dumps(made), item.path) is not None for item in compilation.diagnostics)


@pytest.mark.parametrize(
    ("step", "code"),
    [
        (aggregate("max_by", "hits"), "E_UNKNOWN_AGGREGATE"),
        (aggregate("sort_by", {"items": "hits", "list": "hits", "key": "score"}), "E_UNKNOWN_PARAM"),
        (aggregate("sort_by", "hits", key="score", order="random"), "E_UNKNOWN_PARAM"),
        (aggregate("sort_by", "hits", key="score", field="start_time"), "E_UNKNOWN_PARAM"),
        (aggregate("sort_by", {"items": "hits", "key": "score"}, key="start_time"), "E_UNKNOWN_PARAM"),
        (aggregate("filter", {"list": "hits", "condition": "item.score > 1", "limit": 2}), "E_UNKNOWN_AGGREGATE"),
    ],
)
def test_what_could_mean_two_things_stays_a_fault(document: Any, codes: Any, step: Any, code: str) -> None:
    found = codes(compile_document(document(step, outputs={"n": {"type": "int", "from": "{{ hits | length }}"}})))

    assert code in {one for one, _ in found}


def test_two_times_in_a_list_are_an_interval(document: Any) -> None:
    step = {
        "type": "call_world_api",
        "api": "list_scenes",
        "params": {"video_id": "{{video_id}}", "time_range": [0, "{{ hits[0].start_time | default(9) }}"]},
        "save_as": "scenes",
    }

    compilation = compile_document(document(step, outputs={"scenes": "list"}))

    assert compilation.tools["small_tool"].frozen["steps"][1]["params"]["time_range"]["start_time"] == 0
    assert ("W_ALIAS", "$.steps[1].params.time_range") in {
        (item.code, item.json_path) for item in compilation.diagnostics
    }


def test_who_else_an_entity_may_be_is_not_the_list_that_a_record_stands_for(document: Any) -> None:
    follow = {
        "type": "call_world_api",
        "api": "get_entity_trajectory",
        "params": {"video_id": "{{video_id}}", "entity_id": "{{who}}"},
        "save_as": "path",
    }
    longest = {"type": "aggregate", "operation": "pick_longest", "inputs": "path", "save_as": "longest"}

    compilation = compile_document(document(follow, longest, inputs={"who": "string"}, outputs={"start_time": "Time"}))

    assert compilation.tools["small_tool"].frozen["steps"][2]["inputs"] == "{{ path.trajectory }}"

"""Where null is possible it must be dealt with; a condition that deals with it is understood."""

from typing import Any

import pytest

from tool_induction import compile_document

BEST = {"type": "aggregate", "operation": "pick_best", "inputs": "hits", "save_as": "best"}
USE = {
    "type": "call_world_api",
    "api": "describe_segment",
    "params": {"video_id": "{{video_id}}", "start_time": "{{best.start_time}}", "end_time": "{{best.end_time}}"},
    "save_as": "text",
}
OUTPUTS = {"caption": {"type": "string", "from": "{{ text.caption }}"}}


def implied(compilation: Any) -> list[str]:
    return [item.json_path for item in compilation.diagnostics if item.code == "W_IMPLICIT_REQUIRE"]


def require(condition: Any) -> Any:
    return {"type": "require", "condition": condition, "status": "empty", "reason": "nothing"}


@pytest.mark.parametrize(
    "steps",
    [
        [BEST, require("{{ best is not none }}"), USE],
        [BEST, require("best != none"), USE],
        [BEST, require("{{ best }}"), USE],
        [BEST, require("not (best is none)"), USE],
        [BEST, require("best.segment_id is not none and best.start_time > 0"), USE],
        [BEST, require("best.segment_id == 'seg_1'"), USE],
        [require("{{ hits | length > 0 }}"), BEST, USE],
        [require("0 < (hits | length)"), BEST, USE],
        [require("{{ hits }}"), BEST, USE],
        [BEST, require("hits | length >= 1"), USE],
        [{"type": "aggregate", "operation": "count", "inputs": "hits", "save_as": "n"}, BEST, require("n > 0"), USE],
        [{"type": "aggregate", "operation": "any", "inputs": "hits", "save_as": "some"}, BEST, require("some"), USE],
        [{"type": "set", "value": "{{ hits | length > 0 }}", "save_as": "some"}, BEST, require("some"), USE],
        [
            {
                "type": "aggregate",
                "operation": "sort_by",
                "inputs": "hits",
                "params": {"key": "start_time"},
                "save_as": "ordered",
            },
            require("hits | length > 0"),
            BEST | {"inputs": "ordered", "operation": "first"},
            USE,
        ],
    ],
    ids=range(14),
)
def test_a_condition_that_rules_null_out_is_understood(document: Any, codes: Any, steps: Any) -> None:
    compilation = compile_document(document(*steps, outputs=OUTPUTS))

    assert codes(compilation) == set()
    assert implied(compilation) == []


@pytest.mark.parametrize(
    "steps",
    [
        [BEST, USE],
        [BEST, require("best is not none or query == 'x'"), USE],
        [require("hits | length >= 0"), BEST, USE],
        [require("hits | length < 3"), BEST, USE],
        [
            require("hits | length > 0"),
            {"type": "filter", "inputs": "hits", "where": "item.start_time > 0", "save_as": "few"},
            BEST | {"inputs": "few"},
            USE,
        ],
    ],
    ids=range(5),
)
def test_where_no_condition_does_the_tool_ends_as_empty_and_that_is_written_out(document: Any, steps: Any) -> None:
    compilation = compile_document(document(*steps, outputs=OUTPUTS))

    frozen = compilation.tools["small_tool"].frozen["steps"]
    assert implied(compilation) == [f"$.steps[{len(steps)}].params.start_time"]
    assert frozen[-2] == {
        "type": "require",
        "condition": "{{ best is not none }}",
        "status": "empty",
        "reason": "nothing was found",
    }
    assert compile_document(compilation.tools["small_tool"].frozen).tools["small_tool"].frozen["steps"] == frozen


@pytest.mark.parametrize(
    "use",
    [
        USE | {"on_error": "null"},
        USE | {"loop_over": "hits"},
        {"type": "loop", "loop_over": "hits", "do": [USE], "save_as": "texts"},
        USE | {"params": {**USE["params"], "start_time": "{{ start }}", "end_time": 9}},  # type: ignore[dict-item]
        USE
        | {"params": {**USE["params"], "start_time": "{{ best.start_time if query == 'x' else 0 }}", "end_time": 9}},  # type: ignore[dict-item]
        {"type": "set", "value": "{{ best.end_time - best.start_time }}", "save_as": "text"},
        {"type": "filter", "inputs": "hits", "where": "item.start_time > best.end_time", "save_as": "text"},
    ],
    ids=["on_error", "a loop's call", "a loop's block", "an input", "one side of a choice", "a value", "a filter"],
)
def test_where_a_missing_value_could_mean_something_else_the_writer_has_to_say_what(
    document: Any, codes: Any, use: Any
) -> None:
    outputs = {"n": {"type": "int", "from": "{{ hits | length }}"}}
    found = codes(compile_document(document(BEST, use, outputs=outputs, inputs={"start": "number?"})))

    assert {code for code, _ in found} == {"E_OPTIONAL"}


def test_null_is_ruled_out_inside_the_branch_that_asks(document: Any, codes: Any) -> None:
    nothing = {"type": "set", "value": {"caption": "none"}, "save_as": "text"}
    branch = {"type": "if", "condition": "best is not none", "then": [USE], "else": [nothing]}
    wrong = {"type": "if", "condition": "best is none", "then": [USE], "else": [nothing]}

    assert codes(compile_document(document(BEST, branch, outputs=OUTPUTS))) == set()
    assert {code for code, _ in codes(compile_document(document(BEST, wrong, outputs=OUTPUTS)))} == {"E_OPTIONAL"}


def test_a_default_rules_null_out(document: Any, codes: Any) -> None:
    use = USE | {
        "params": {
            "video_id": "{{video_id}}",
            "start_time": "{{ best.start_time | default(0) }}",
            "end_time": "{{ best.end_time | default(10) }}",
        }
    }

    assert codes(compile_document(document(BEST, use, outputs=OUTPUTS))) == set()


def test_a_filter_tells_about_the_items_it_keeps(document: Any, codes: Any) -> Any:
    detect = {
        "type": "call_world_api",
        "api": "detect_objects",
        "loop_over": "hits",
        "params": {"video_id": "{{video_id}}", "timestamp": "{{item.center_time}}", "category": "person"},
        "save_as": "seen",
    }
    follow = {
        "type": "call_world_api",
        "api": "get_entity_trajectory",
        "loop_over": "{{ known }}",
        "max_items": 5,
        "params": {"video_id": "{{video_id}}", "entity_id": "{{item.entity_id}}"},
        "save_as": "parts",
    }

    def keep(where: str) -> Any:
        return {"type": "filter", "inputs": "seen", "where": where, "save_as": "known"}

    outputs = {"n": {"type": "int", "from": "{{ parts | length }}"}}
    known = document(detect, keep("item.entity_id is not none"), follow, outputs=outputs)
    unknown = document(detect, keep("item.confidence > 0.5"), follow, outputs=outputs)

    assert codes(compile_document(known)) == set()
    assert codes(compile_document(unknown)) == {("E_OPTIONAL", "$.steps[3].params.entity_id")}


def test_a_confidence_nobody_calibrated_passes_a_threshold_and_that_is_written_out(document: Any) -> None:
    confident = {"type": "filter", "inputs": "hits", "where": "item.confidence >= 0.5", "save_as": "sure"}

    compilation = compile_document(document(confident, outputs={"sure": "list"}))

    assert compilation.tools["small_tool"].frozen["steps"][1]["where"] == (
        "{{ (item.confidence is none) or item.confidence >= 0.5 }}"
    )
    assert ("W_COERCED", "$.steps[1].where") in {(item.code, item.json_path) for item in compilation.diagnostics}


def test_a_record_richer_than_an_interval_hands_on_the_interval(document: Any) -> None:
    similar = {
        "type": "call_world_api",
        "api": "search_similar_to_example",
        "params": {"video_id": "{{video_id}}", "example_segment": "{{ hits[0] }}", "top_k": 3},
        "save_as": "similar",
    }

    compilation = compile_document(
        document(
            require("hits | length > 0"), similar, outputs={"n": {"type": "int", "from": "{{ similar | length }}"}}
        )
    )

    assert compilation.tools["small_tool"].frozen["steps"][2]["params"]["example_segment"] == {
        "start_time": "{{ hits.candidates[0].start_time }}",
        "end_time": "{{ hits.candidates[0].end_time }}",
    }


SORTED = {
    "type": "aggregate",
    "operation": "sort_by",
    "inputs": "hits",
    "params": {"key": "start_time"},
    "save_as": "ordered",
}
COUNTED = {"type": "aggregate", "operation": "count", "inputs": "hits", "save_as": "n"}
PROJECTED = {"type": "project", "inputs": "ordered", "fields": {"t": "{{ item.start_time }}"}, "save_as": "times"}


def apart(first: str = "ordered[1].start_time", second: str = "ordered[0].start_time") -> Any:
    return {"apart": {"type": "float", "from": f"{{{{ {first} - {second} }}}}"}}


@pytest.mark.parametrize(
    "condition",
    [
        "ordered | length > 1",
        "ordered | length >= 2",
        "ordered | length == 2",
        "2 <= (ordered | length)",
        "not ordered | length < 2",
        "hits | length > 1",
        "n > 1",
        "n >= 2",
        "n - 1 > 0",
        "n > 5 or n == 2",
        "many",
        "ordered[1] is not none",
        "hits.candidates[1] is not none",
        "ordered[-2] is not none",
    ],
)
def test_a_condition_on_a_length_tells_which_items_are_there(document: Any, codes: Any, condition: str) -> None:
    many = {"type": "set", "value": "{{ n > 1 }}", "save_as": "many"}
    steps = [COUNTED, SORTED, many, require(condition), PROJECTED]

    for outputs in (
        apart(),
        apart("ordered[-1].start_time", "ordered[-2].start_time"),
        apart("times[0].t", "times[1].t"),
    ):
        assert codes(compile_document(document(*steps, outputs=outputs))) == set(), outputs


@pytest.mark.parametrize(
    "condition",
    ["ordered | length > 0", "n >= 1", "n > 1 or query == 'x'", "n < 5", "n != 1", "n - 1 >= 0", "n + 1 > 1"],
)
def test_a_condition_that_leaves_room_for_one_item_tells_of_no_second(
    document: Any, codes: Any, condition: str
) -> None:
    compilation = compile_document(document(COUNTED, SORTED, require(condition), outputs=apart()))

    assert {code for code, _ in codes(compilation)} == {"E_OPTIONAL"}


def test_a_length_tells_nothing_of_a_list_that_may_be_shorter_or_may_hold_nulls(document: Any, codes: Any) -> None:
    fewer = {"type": "filter", "inputs": "hits", "where": "item.start_time > 0.5", "save_as": "ordered"}
    look = {
        "type": "call_world_api",
        "api": "describe_segment",
        "loop_over": "hits",
        "params": {"video_id": "{{video_id}}", "start_time": "{{item.start_time}}", "end_time": "{{item.end_time}}"},
        "on_error": "null",
        "save_as": "ordered",
    }

    for steps in ([fewer, require("hits | length > 1")], [look, require("ordered | length > 1")]):
        compilation = compile_document(document(*steps, outputs=apart()))
        assert {code for code, _ in codes(compilation)} == {"E_OPTIONAL"}, steps


def test_lists_that_are_written_out_and_boxes_have_all_their_items(document: Any, codes: Any) -> None:
    pair = {"type": "set", "value": ["{{ 1 }}", "{{ 2 }}"], "save_as": "pair"}
    look = {
        "type": "call_world_api",
        "api": "detect_objects",
        "params": {"video_id": "{{video_id}}", "timestamp": 5, "category": "person"},
        "save_as": "seen",
    }
    wide = {"type": "project", "inputs": "seen", "fields": {"w": "{{ item.bbox[2] - item.bbox[0] }}"}, "save_as": "w"}
    outputs = {"n": {"type": "int", "from": "{{ pair[1] - pair[0] + ([3, 4][1]) }}"}}

    assert codes(compile_document(document(pair, look, wide, outputs=outputs))) == set()
    outside = {"n": {"type": "int", "from": "{{ pair[2] + 1 }}"}}
    assert {code for code, _ in codes(compile_document(document(pair, outputs=outside)))} == {"E_OPTIONAL"}


def test_a_number_that_was_asked_about_can_be_a_divisor(document: Any, codes: Any) -> None:
    outputs = {"rate": {"type": "float", "from": "{{ 10 / best.start_time }}"}}
    told = require("best is not none and best.start_time > 0")
    untold = require("best is not none and best.start_time >= 0")

    assert codes(compile_document(document(BEST, told, outputs=outputs))) == set()
    assert {code for code, _ in codes(compile_document(document(BEST, untold, outputs=outputs)))} == {"E_TYPE"}

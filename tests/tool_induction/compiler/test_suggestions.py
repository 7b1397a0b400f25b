"""Who does what a suggestion says has a tool that compiles and means what was meant."""

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings

from tests.support.damaged_documents import damaged
from tests.support.obeying import INSTRUCTION, mended, obeyed
from tests.support.planted_faults import PLANTS, SORT, VIDEO, aggregate, planted_documents, search, tool
from tool_induction import compile_document, run_tool
from tool_induction.admission import schema_worlds

Json = Any
CALM = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


def answers(document: Json) -> list[Json]:
    """What the last tool of a document says on worlds made from the operations' schemas."""
    tools = compile_document(document).require()
    name, worlds = list(tools)[-1], schema_worlds()
    said = []
    for world in ("empty", "one", "many", "crowded", "nulls"):
        run = run_tool(tools, name, {"video_id": worlds[world].video_id, "query": "rain"}, call=worlds[world])
        said.append((run["status"], run["outputs"]))
    return said


def faults(document: Json) -> list[Any]:
    return [item for item in compile_document(document).diagnostics if item.severity == "error"]


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_fault_is_mended_to_what_was_meant_by_doing_what_is_suggested(name: str) -> None:
    steps, plant = PLANTS[name]
    sound = tool(steps)
    broken = copy.deepcopy(sound)
    plant(broken["steps"])
    assert faults(broken)

    assert answers(mended(broken)) == answers(sound)


@settings(max_examples=25, suppress_health_check=CALM)
@given(both=planted_documents())
def test_a_fault_planted_anywhere_in_a_tool_is_mended_to_what_was_meant(both: tuple[list[Json], list[Json]]) -> None:
    sound, broken = both
    assume(not faults(sound))  # a condition of a document drawn may say that what it reads is not there

    assert answers(mended(broken)) == answers(sound)


@settings(max_examples=60, suppress_health_check=CALM)
@given(whole=damaged(planted_documents().map(lambda both: both[1])))
def test_what_an_edit_mends_is_not_told_again(whole: list[Json]) -> None:
    for item in compile_document(whole).diagnostics:
        assert not INSTRUCTION.match(item.suggestion) or item.edits, item.record()
        if not item.edits:
            continue
        json.dumps(item.record(), allow_nan=False)
        after = obeyed(whole, item)
        again = {(one.code, one.path, one.message, one.found) for one in compile_document(after).diagnostics}
        assert (item.code, item.path, item.message, item.found) not in again, item.record()


def small(*steps: Json, **parts: Json) -> Json:
    return tool([search("found"), *steps]) | {"outputs": {"n": {"type": "int", "from": "{{ found | length }}"}}} | parts


def told(document: Json) -> str:
    return str(faults(document)[0].suggestion)


@pytest.mark.parametrize(
    ("step", "choices"),
    [
        (aggregate("pick_latest", "made", key="start_time"), ("pick_best",)),
        (aggregate("pick_earliest", "made", key="end_time"), ("sort_by", "first")),
        (aggregate("merge_intervals", "made", start_key="center_time"), ("project",)),
        (aggregate("sort_by", "made", key="start_time", reverse=True), ('"descending"',)),
        (aggregate("pick_best", "made", key="start_time", order="asc"), ("takes no order", "sort_by")),
        (aggregate("count", "made", key="start_time"), ("count_distinct",)),
        (aggregate("concat_text", "made"), ("one of", "snippet", "source")),
        (aggregate("concat_lists", "made"), ("one list already",)),
    ],
    ids=lambda value: value["operation"] if isinstance(value, dict) else None,
)
def test_where_more_than_one_thing_can_be_meant_the_choices_are_named_and_nothing_is_ordered(
    step: Json, choices: tuple[str, ...]
) -> None:
    item = faults(small(step))[0]

    assert not item.edits
    assert not INSTRUCTION.match(item.suggestion)
    assert all(choice in item.suggestion for choice in choices), item.suggestion


def test_a_boolean_that_may_be_null_gets_its_default_where_it_stands() -> None:
    order = {
        "type": "aggregate",
        "operation": "order_check",
        "inputs": ["{{ found.candidates[0] }}"],
        "save_as": "order",
    }
    ask = {"type": "require", "condition": "{{ not order.ordered or query == 'x' }}", "reason": "no"}

    hint = told(small(order, ask))

    assert hint == 'give it a default: "{{ order.ordered | default(false) }}"'


def test_a_type_that_is_suggested_for_an_output_can_be_declared() -> None:
    made = {"type": "set", "value": {"rows": "{{ found.candidates }}", "n": 1}, "save_as": "record"}
    document = small(made, outputs={"made": {"type": "bool", "from": "{{ record }}"}})

    assert not faults(mended(document))


def test_an_output_is_not_told_to_loop() -> None:
    document = small(outputs={"when": {"type": "Time", "from": "{{ found.candidates }}"}})

    assert "loop_over" not in told(document)
    assert "found.candidates[0].center_time" in told(document)


def test_one_of_several_fields_is_not_bound_to_an_output_by_chance() -> None:
    steps = [aggregate("pick_earliest", "one"), aggregate("pick_latest", "two"), aggregate("count", "n")]
    document = small(*steps, outputs={"snippet": "string"})

    item = next(item for item in faults(document) if item.code == "E_OUTPUT_UNBOUND")

    assert not item.edits
    assert "one.snippet" in item.suggestion
    assert "two.snippet" in item.suggestion


def test_a_step_that_cannot_loop_is_not_told_to() -> None:
    document = small({"type": "set", "value": "{{ item.start_time }}", "save_as": "made"})

    assert "add loop_over" not in told(document)


def test_what_is_bound_inside_a_loop_is_told_what_the_loop_gives_of_it() -> None:
    body = [
        {"type": "set", "value": "{{ item.start_time }}", "save_as": "start"},
        {"type": "set", "value": "{{ start + 5 }}", "save_as": "later"},
    ]
    loop = {"type": "loop", "loop_over": "found", "do": body, "save_as": "all_later"}

    first = told(small(loop, {"type": "set", "value": "{{ start }}", "save_as": "made"}))
    last = told(small(loop, {"type": "set", "value": "{{ later }}", "save_as": "made"}))

    assert "'all_later', the list of 'later'" in first
    assert "'all_later', the list of them" in last


def test_a_filter_is_not_offered_where_the_results_have_no_such_field_or_value() -> None:
    for params in ({"mood": "happy"}, {"source": "smell"}):
        item = faults(tool([search("found", **params), SORT]))[0]
        assert item.code == "E_UNKNOWN_PARAM"
        assert not item.edits


TRAJECTORIES = [
    {"type": "call_world_api", "api": "list_entities", "params": VIDEO, "save_as": "known"},
    {
        "type": "call_world_api",
        "api": "get_entity_trajectory",
        "loop_over": "known",
        "max_items": 4,
        "params": {**VIDEO, "entity_id": "{{item.entity_id}}"},
        "save_as": "found",
    },
]


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("{{ found | length => 3 }}", "use '>='"),
        ("{{ found | length =< 3 }}", "use '<='"),
        ("{{ found | length = 3 }}", "use '=='"),
        ("{{ query matches 'rain' }}", "part in text"),
        ("{{ (found | length) // 2 }}", "not the one below"),
        ("{{ found.candidates[2:5] }}", "for the first k"),
    ],
)
def test_a_word_of_another_language_is_told_what_means_the_same_here(value: str, hint: str) -> None:
    assert hint in told(small({"type": "set", "value": value, "save_as": "made"}))


@pytest.mark.parametrize(
    "value",
    [
        "{{ found - 1 }}",
        "{{ found.candidates / 2 }}",
        "{{ found > 0 }}",
        "{{ found.count }}",
        "{{ 3 < found.candidates }}",
    ],
)
def test_a_list_in_place_of_a_number_is_told_how_many_it_holds(value: str) -> None:
    assert "| length" in told(small({"type": "set", "value": value, "save_as": "made"}))


def test_a_text_for_a_number_is_a_name_only_where_there_is_one() -> None:
    def asked(top_k: str) -> str:
        return told(
            tool([search("found", top_k=top_k), SORT])
            | {"inputs": {"video_id": "string", "query": "string", "most": "int"}}
        )

    assert asked("most") == 'did you mean "{{ most }}"?'
    assert asked("five") == "write a number, without quotes"
    assert asked("5") == "write 5"


def test_a_default_that_is_suggested_for_a_word_is_none_of_the_words_that_would_say_something() -> None:
    follow = TRAJECTORIES[1] | {"do": None}
    body = [
        {key: item for key, item in follow.items() if key not in ("loop_over", "max_items", "do")} | {"save_as": "path"}
    ]
    body.append(search("more", query="{{ path.size }}"))
    loop = {"type": "loop", "loop_over": "known", "max_items": 3, "do": body, "save_as": "found"}

    hint = told(tool([TRAJECTORIES[0], loop, SORT]))

    assert "default" in hint
    assert not any(word in hint for word in ("small", "medium", "large"))


@pytest.mark.parametrize(
    ("iou", "hint"),
    [
        (50, "it is a share, not a percentage: write 0.5"),
        (10, "it is a share, not a percentage: write 0.1"),
        (7, "write a number from 0 to 1"),
        (1.5, "write a number from 0 to 1"),
        (101, "write a number from 0 to 1"),
        (-0.5, "write a number from 0 to 1"),
    ],
)
def test_only_what_can_be_a_percentage_is_called_one(iou: float, hint: str) -> None:
    assert told(small(aggregate("dedupe_overlaps", "made", iou=iou))) == hint

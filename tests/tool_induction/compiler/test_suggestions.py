"""Who does what a suggestion says has a tool that compiles and means what was meant."""

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings

from tests.support.damaged_documents import damaged
from tests.support.obeying import INSTRUCTION, mended, obeyed
from tests.support.planted_faults import PLANTS, SORT, VIDEO, aggregate, placed, planted_documents, search, tool
from tool_induction.admission import schema_worlds
from tool_induction.compiler.compiling import compile_document
from tool_induction.runtime.runner import run_tool

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


@pytest.mark.parametrize("place", ["steps", "then", "else", "loop"])
@pytest.mark.parametrize("name", [name for name in PLANTS if PLANTS[name][0][0]["save_as"] == "found_rest"])
def test_a_step_that_is_suggested_takes_a_free_name_and_compiles_in_branches_and_loops(name: str, place: str) -> None:
    steps, plant = PLANTS[name]
    planted = copy.deepcopy(steps)
    plant(planted)
    first, later = search("hits"), {"type": "set", "value": 1, "save_as": "found_all"}
    outputs = {"made": {"type": "any?", "from": "{{ made_each }}" if place == "loop" else "{{ made }}"}}
    broken, sound = (
        tool([first, *placed(copy.deepcopy(inside), place), later]) | {"outputs": outputs}
        for inside in (planted, steps)
    )

    assert answers(mended(broken)) == answers(sound)


def test_a_new_name_is_as_short_as_a_name_may_be() -> None:
    long = "f" * 64
    document = tool([search(long, source="speech"), SORT | {"inputs": long}])

    assert not faults(mended(document))


def test_no_list_takes_the_name_of_a_result_whose_field_an_output_is() -> None:
    document = tool([search("found", source="speech")]) | {"outputs": {"candidates": "list"}}
    item = faults(document)[0]

    assert not item.edits
    assert "under a name of its own" in item.suggestion


def test_what_differs_for_each_item_of_a_loop_is_no_condition_after_it() -> None:
    each = search("found", time_range="{{ item.time_range }}") | {"loop_over": "seen", "max_items": 2}
    memory = {
        "type": "call_world_api",
        "api": "read_memory",
        "params": {**VIDEO, "level": "event", "query": "{{query}}", "top_k": 5},
        "save_as": "seen",
    }
    item = faults(tool([memory, each, SORT]))[0]

    assert not item.edits
    assert "for each item" in item.suggestion


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
        (aggregate("top_k", "made", k=2, reverse=True), ("sort_by",)),
        (aggregate("sort_by", "made", key="start_time", reverse="{{ query == 'x' }}"), ("descending",)),
        (aggregate("first", "made", key="start_time"), ("sort_by", "pick_best")),
        (
            aggregate("pick_best", "made", key="start_time", ascending=True),
            ('"descending": false', "first", "pick_earliest"),
        ),
        (
            aggregate("pick_best", "made", key="start_time", reverse=False),
            ('"descending": false', "first", "pick_earliest"),
        ),
        (aggregate("pick_best", "made", key="end_time", descending=True), ("takes the highest", "leave it out")),
        (
            aggregate("top_k", "made", k=2, key="start_time", ascending=True),
            ('"descending": false', "top_k without a key"),
        ),
        (aggregate("pick_earliest", "made", reverse=True), ("pick_latest",)),
        (aggregate("pick_latest", "made", order="asc"), ("pick_earliest",)),
        (aggregate("count", "made", descending=True), ("same in every order", "leave it out")),
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


def test_texts_that_are_added_are_joined_without_a_space() -> None:
    def labelled(value: str) -> Json:
        step = {"type": "project", "inputs": "found", "fields": {"label": value}, "save_as": "made"}
        return tool([search("found"), step])

    hint = told(labelled("{{ query + '-' }}"))
    written = json.loads(hint[hint.index('"') :])

    assert answers(labelled(written)) == answers(labelled("{{ query }}-"))


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


def test_a_filter_leaves_alone_what_reads_a_field_of_the_whole_result() -> None:
    item = faults(small(SORT) | {"steps": [search("found", source="speech"), SORT | {"inputs": "found.candidates"}]})[0]

    assert not item.edits
    assert '"where": "{{ item.source == \\"speech\\" }}"' in item.suggestion


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
    "step",
    [
        aggregate("merge_intervals", "made", gap=1),
        aggregate("sort_by", "made", key="start_time"),
        {"type": "filter", "inputs": "found", "where": "{{ item.start_time > 5 }}", "save_as": "made"},
    ],
    ids=["merge_intervals", "sort_by", "filter"],
)
def test_results_that_a_loop_keeps_whole_are_joined_by_the_step_that_is_suggested(step: Json) -> None:
    document = tool([*TRAJECTORIES, step])
    hint = told(document)
    added = json.loads(re.search(r"\{\"type\": \"loop\".*\}", hint)[0])  # type: ignore[index]

    document["steps"].insert(2, added)
    document["steps"][-1]["inputs"] = added["save_as"]

    assert not faults(document)
    assert any(said[1]["made"] for said in answers(document))


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
    assert asked("five") == "write a number"
    assert asked("5.5") == "write a whole number, without quotes"
    assert asked("5") == "write 5, without quotes"


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


def test_the_lowest_by_a_key_is_what_the_steps_give_that_are_suggested_for_it() -> None:
    asked = tool([search("found"), aggregate("pick_best", "made", key="start_time", ascending=True)])
    rising = aggregate("sort_by", "ordered", key="start_time", descending=False)
    lowest = tool([search("found"), rising, aggregate("first", "made") | {"inputs": "ordered"}])
    earliest = tool([search("found"), aggregate("pick_earliest", "made")])
    least = aggregate("top_k", "made", k=2) | {"inputs": "ordered"}

    assert "pick_earliest" in told(asked)
    assert answers(lowest) == answers(earliest)
    assert [said[1]["made"][:1] for said in answers(tool([search("found"), rising, least]))] == [
        [said[1]["made"]] if said[1]["made"] else [] for said in answers(lowest)
    ]


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


def constant(document: Json) -> list[Any]:
    return [item for item in compile_document(document).diagnostics if item.code == "W_CONSTANT_CONDITION"]


COUNT = aggregate("count", "n")
ANSWER = {"type": "set", "value": "{{ found | length }}", "save_as": "made"}


def asking(condition: Json) -> Json:
    return {"type": "require", "condition": condition, "reason": "nothing"}


def branching(condition: Json) -> Json:
    def ordered(operation: str) -> list[Json]:
        return [
            aggregate("sort_by", "rows", key="start_time"),
            {"type": "aggregate", "operation": operation, "inputs": "rows", "save_as": "made"},
        ]

    return {"type": "if", "condition": condition, "then": ordered("first"), "else": ordered("pick_latest")}


def kept(where: Json) -> list[Json]:
    return [{"type": "filter", "inputs": "found", "where": where, "save_as": "few"}, SORT | {"inputs": "few"}]


LOOKING = {
    "type": "call_world_api",
    "api": "describe_segment",
    "params": {**VIDEO, "start_time": "{{item.start_time}}", "end_time": "{{item.end_time}}"},
    "loop_over": "found",
    "max_items": 3,
    "save_as": "made",
}


@pytest.mark.parametrize(
    "steps",
    [
        [COUNT, asking("{{ n > -1 }}"), ANSWER],
        [asking("{{ 1 == 1 }}"), ANSWER],
        [asking(True), ANSWER],
        kept("{{ item.start_time >= 0 }}"),
        kept("{{ 1 == 1 }}"),
        [branching("{{ 1 == 1 }}")],
        [branching("{{ 1 == 2 }}")],
        [COUNT, branching("{{ n > -1 }}"), {**ANSWER, "save_as": "more"}],
        [{"type": "if", "condition": "{{ 1 == 2 }}", "then": [asking("{{ found | length > 2 }}")]}, ANSWER],
        [aggregate("any", "made", where="{{ item.start_time >= 0 }}")],
        [aggregate("all", "made", where="{{ item.start_time >= 0 }}")],
        [LOOKING | {"until": "{{ item.start_time < 0 }}"}],
        [COUNT, {"type": "set", "value": "{{ n > -1 }}", "save_as": "made"}],
        [COUNT, {"type": "set", "value": "{{ n < -1 }}", "save_as": "made"}],
        [
            {"type": "project", "inputs": "found", "fields": {"late": "{{ item.start_time >= 0 }}"}, "save_as": "made"},
        ],
    ],
    ids=range(15),
)
def test_a_condition_that_decides_nothing_is_left_out_as_is_said_and_the_tool_means_the_same(steps: list[Json]) -> None:
    document = tool([search("found"), *steps])
    (item,) = constant(document)

    after = obeyed(document, item)

    assert after is not None, item.record()
    assert not constant(after)
    assert answers(after) == answers(document)


def test_what_is_always_chosen_is_written_in_place_of_the_choice() -> None:
    chosen = "{{ 'some' if 1 == 1 else 'none' }}"
    document = tool([search("found"), {"type": "set", "value": chosen, "save_as": "made"}])

    assert constant(document)[0].suggestion.startswith('put "some" in place of ')


def test_an_output_that_never_changes_is_told_to_be_written_as_it_is() -> None:
    document = small(COUNT, outputs={"there": {"type": "bool", "from": "{{ n > -1 }}"}})
    (item,) = constant(document)

    after = obeyed(document, item)

    assert after["outputs"]["there"]["from"] == "{{ true }}"
    assert answers(after) == answers(document)


def test_a_step_that_stands_alone_in_its_block_is_not_told_to_be_left_out() -> None:
    inner = {"type": "if", "condition": "{{ found | length > 2 }}", "then": [asking("{{ 1 == 1 }}")]}
    (item,) = constant(tool([search("found"), inner, ANSWER]))

    assert item.suggestion == ""


@pytest.mark.parametrize("condition", ["n < 0", "0 > n", "found.candidates | length < 0"])
def test_a_tool_that_needs_what_it_asks_for_is_not_told_to_ask_that_it_is_missing(condition: str) -> None:
    document = tool([search("found"), COUNT, asking(f"{{{{ {condition} }}}}"), aggregate("first", "made")])
    document["outputs"] = {"at": {"type": "Time", "from": "{{ made.start_time }}"}}
    (item,) = constant(document)
    meant = re.fullmatch(r'did you mean "(.*)"\?', item.suggestion)
    assert meant is not None

    document["steps"][2]["condition"] = meant[1]

    assert not faults(document)
    assert not constant(document)


def test_a_branch_on_what_never_is_may_be_meant_either_way() -> None:
    document = tool([search("found"), COUNT, branching("{{ n < 0 }}")])

    assert constant(document)[0].suggestion == 'did you mean "{{ n > 0 }}" or "{{ n <= 0 }}"?'


@pytest.mark.parametrize(
    ("condition", "hint"),
    [
        ("item.confidence > 50", 'did you mean "{{ item.confidence > 0.5 }}"?'),
        ("50 < item.confidence", 'did you mean "{{ 0.5 < item.confidence }}"?'),
        ("item.confidence > 7", "compare it with a number from 0 to 1: a confidence is one"),
        ("item.confidence > 1.5", "compare it with a number from 0 to 1: a confidence is one"),
    ],
)
def test_a_confidence_is_compared_with_a_percentage_only_where_that_can_be_one(condition: str, hint: str) -> None:
    assert constant(tool([search("found"), *kept(f"{{{{ {condition} }}}}")]))[0].suggestion == hint

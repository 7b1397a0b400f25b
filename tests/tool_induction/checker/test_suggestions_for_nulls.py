"""A hint is true: who does what it says is rid of the fault, and in the end of all of them."""

import copy
import json
import re
from typing import Any

import pytest

from tool_induction import compile_document

Json = Any
PICK = {"type": "aggregate", "operation": "pick_best", "inputs": "hits", "save_as": "best"}
SORT = {
    "type": "aggregate",
    "operation": "sort_by",
    "inputs": "hits",
    "params": {"key": "start_time"},
    "save_as": "ordered",
}
COUNT = {"type": "aggregate", "operation": "count", "inputs": "hits", "save_as": "n"}
LOOK = {
    "type": "call_world_api",
    "api": "detect_objects",
    "loop_over": "hits",
    "params": {"video_id": "{{video_id}}", "timestamp": "{{item.center_time}}", "category": "person"},
    "save_as": "seen",
}
NEXT = {
    "type": "aggregate",
    "operation": "next_after",
    "inputs": "hits",
    "params": {"time": "{{item.end_time}}"},
    "save_as": "nxt",
}
ENTITIES = {
    "type": "call_world_api",
    "api": "list_entities",
    "params": {"video_id": "{{video_id}}"},
    "save_as": "known",
}


def value(text: Json, name: str = "made") -> Json:
    return {"type": "set", "value": text, "save_as": name}


def loop(*steps: Json, over: str = "hits", **more: Json) -> Json:
    return {"type": "loop", "loop_over": over, "do": list(steps), "save_as": "all_made", **more}


def follow(entity: str, **more: Json) -> Json:
    return {
        "type": "call_world_api",
        "api": "get_entity_trajectory",
        "params": {"video_id": "{{video_id}}", "entity_id": entity},
        "save_as": "followed",
        **more,
    }


def only_if(condition: str, *then: Json, otherwise: Json = ()) -> Json:
    step = {"type": "if", "condition": condition, "then": list(then)}
    return step | {"else": list(otherwise)} if otherwise else step


CASES: dict[str, list[Json]] = {
    "one value": [PICK, value("{{ best.start_time + 5 }}")],
    "a whole comparison": [PICK, value("{{ best.start_time > 5 }}")],
    "the first of a list": [value("{{ hits[0].start_time + 1 }}")],
    "the last of a list": [value("{{ hits[-1].start_time + 1 }}")],
    "the second of a list": [SORT, value("{{ ordered[1].start_time - ordered[0].start_time }}")],
    "the last but one": [SORT, value("{{ ordered[-2].start_time + 1 }}")],
    "far back": [SORT, value("{{ ordered[19].start_time + ordered[20].start_time + ordered[30].start_time }}")],
    "a list that may hold nulls": [LOOK | {"on_error": "null"}, value("{{ seen[0].timestamp + seen[1].timestamp }}")],
    "what a loop keeps whole or as null": [
        loop(NEXT, over="hits"),
        value("{{ all_made[0].start_time + all_made[1].start_time }}"),
    ],
    "a field of a field": [SORT, value("{{ ordered[0].confidence + 1 }}")],
    "a computed value": [value("{{ (hits.candidates | length) + ([1, 2] | max) }}")],
    "the largest of a list": [
        {"type": "project", "inputs": "hits", "fields": {"t": "{{ item.start_time }}"}, "save_as": "times"},
        {"type": "aggregate", "operation": "max", "inputs": "times", "params": {"key": "t"}, "save_as": "latest"},
        value("{{ latest - 5 }}"),
    ],
    "in an if": [
        PICK,
        only_if("{{ query != '' }}", value("{{ best.start_time + 5 }}"), otherwise=[value("{{ 1.0 }}")]),
    ],
    "a condition of an if": [
        PICK,
        only_if("{{ best.start_time > 5 }}", value("{{ 1 }}"), otherwise=[value("{{ 2 }}")]),
    ],
    "a condition of a require": [PICK, {"type": "require", "condition": "{{ best.start_time > 5 }}", "reason": "no"}],
    "one side of a choice": [PICK, value("{{ best.start_time + 5 if query != '' else 0 }}")],
    "in a loop, of outside": [PICK, loop(value("{{ best.start_time - item.end_time }}", "g"))],
    "in a loop, in a condition": [
        loop(NEXT, only_if("{{ nxt.start_time > 5 }}", value("{{ 1 }}"), otherwise=[value("{{ 2 }}")]))
    ],
    "in a loop, in a condition of many parts": [
        loop(
            NEXT,
            only_if(
                "{{ query == 'x' or nxt.start_time > 5 or not nxt.end_time < 4 }}",
                value("{{ 1 }}"),
                otherwise=[value("{{ 2 }}")],
            ),
        )
    ],
    "an item of a filter": [
        LOOK,
        {"type": "filter", "inputs": "seen", "where": "{{ item.entity_id in query }}", "save_as": "some"},
    ],
    "an item of a filter, in an or": [
        LOOK,
        {
            "type": "filter",
            "inputs": "seen",
            "where": "{{ query == 'x' or item.entity_id in query }}",
            "save_as": "some",
        },
    ],
    "an aggregate's condition": [
        LOOK,
        {
            "type": "aggregate",
            "operation": "any",
            "inputs": "seen",
            "params": {"where": "{{ item.entity_id in query }}"},
            "save_as": "some",
        },
    ],
    "until": [loop(value("{{ item }}", "one"), until="{{ all_made[0].start_time > 3 }}")],
    "a list that may be missing": [PICK, value("{{ best.evidence | length }}")],
    "a divisor": [COUNT, value("{{ 10 / n }}"), value("{{ 5 / (hits | length) }}", "other")],
    "a divisor of two": [COUNT, value("{{ 10 / (n - 1) }}")],
    "a time as a divisor": [PICK, value("{{ 10 / best.start_time }}")],
    "an input": [value("{{ least + 1 }}")],
    "an input in a loop": [loop(value("{{ least + item.start_time }}", "g"))],
    "a lower-case text": [LOOK, value("{{ seen[0].entity_id | lower }}")],
    "the needle of 'in'": [LOOK, value("{{ seen[0].entity_id in query }}")],
    "text of nothing": [
        {
            "type": "aggregate",
            "operation": "concat_text",
            "inputs": "hits",
            "params": {"key": "snippet"},
            "save_as": "t",
        },
        only_if(
            "{{ query != '' }}",
            {
                "type": "call_world_api",
                "api": "search_segments_by_text",
                "params": {"video_id": "{{video_id}}", "query": "{{ t }}", "top_k": 3},
                "save_as": "more",
            },
            otherwise=[value("{{ hits }}", "more")],
        ),
    ],
}


def faults(document: Json) -> list[Any]:
    return [item for item in compile_document(document).diagnostics if item.severity == "error"]


def at(document: Json, path: Any) -> Json:
    for part in path:
        document = document[part]
    return document


def steps_above(path: Any) -> list[Any]:
    """The paths of the steps a place lies in, the innermost first."""
    blocks = ("steps", "do", "then", "else")
    return [path[: end + 2] for end in range(len(path) - 2, -1, -1) if path[end] in blocks]


def objects(hint: str) -> list[Json]:
    found, start = [], 0
    while (start := hint.find("{", start)) >= 0:
        try:
            made, length = json.JSONDecoder().raw_decode(hint[start:])
        except json.JSONDecodeError:
            start += 1
            continue
        found.append(made)
        start += length
    return found


def obeyed(document: Json, item: Any) -> Json:
    """The document after doing what a hint says, word for word."""
    hint, made, above = item.suggestion, copy.deepcopy(document), steps_above(item.path)
    if hint.startswith("ask first"):
        at(made, item.path[:-1])[item.path[-1]] = json.loads(hint.partition(": ")[2])
        return made
    if hint.startswith("give it a default"):
        written = json.loads(hint.partition(": ")[2])[2:-2].strip()
        bare = re.sub(r" \| default\([^)]*\)$", "", written)
        old = at(made, item.path)
        assert bare in old, (bare, old)
        at(made, item.path[:-1])[item.path[-1]] = old.replace(bare, f"({written})")
        return made
    assert hint.startswith("say"), hint
    step = objects(hint)[0]
    if hint.startswith("say in a last step"):
        made["steps"].append(step)
    else:
        place = above[-1] if hint.startswith("say before the loop") else above[0]
        at(made, place[:-1]).insert(place[-1], step)
    return made


@pytest.mark.parametrize("name", CASES)
def test_who_does_what_the_hints_say_has_a_tool_that_runs(document: Any, name: str) -> None:
    made = document(*CASES[name], inputs={"least": "float?"})
    told = []

    for _ in range(8):
        found = faults(made)
        if not found:
            break
        assert {item.code for item in found} <= {"E_OPTIONAL", "E_TYPE"}, [item.record() for item in found]
        told.append((found[0].json_path, found[0].message, found[0].suggestion))
        made = obeyed(made, found[0])

    assert not faults(made), (told, [item.record() for item in faults(made)], made["steps"])
    assert len(set(told)) == len(told), told
    assert not any("..." in hint for _, _, hint in told)
    assert "W_REQUIRE_IN_LOOP" not in {item.code for item in compile_document(made).diagnostics}


def test_in_a_loop_the_hint_names_the_condition_for_an_if_and_says_what_a_require_would_do(document: Any) -> None:
    (fault, *_) = faults(document(LOOK, loop(follow("{{ item.entity_id }}"), over="seen")))

    assert "'require' ends the whole tool" in fault.suggestion
    assert "{{ item.entity_id is not none }}" in fault.suggestion


def test_lists_that_items_hold_are_joined_by_a_loop(document: Any) -> None:
    follows = follow("{{ item.entity_id }}", loop_over="known", max_items=5)
    merged = {"type": "aggregate", "operation": "merge_intervals", "inputs": "followed", "save_as": "intervals"}

    assert "each item holds a list 'trajectory'" in faults(document(ENTITIES, follows, merged))[0].suggestion


def test_a_require_that_asks_something_of_an_item_in_a_loop_is_noted(document: Any) -> None:
    ask = {"type": "require", "condition": "{{ nxt is not none }}", "status": "empty", "reason": "nothing was found"}
    about_all = ask | {"condition": "{{ query != '' }}"}

    def codes(*steps: Json) -> list[str]:
        return [item.code for item in compile_document(document(loop(*steps, value("{{ item }}")))).diagnostics]

    assert "W_REQUIRE_IN_LOOP" in codes(NEXT, ask)
    assert "W_REQUIRE_IN_LOOP" in codes(NEXT, only_if("{{ query != '' }}", ask))
    assert "W_REQUIRE_IN_LOOP" not in codes(NEXT, about_all)


def test_the_reason_of_a_hint_is_a_sentence_for_a_reader(document: Any) -> None:
    hints = [
        faults(document(*CASES[name]))[0].suggestion
        for name in ("one value", "the first of a list", "the second of a list", "far back")
    ]

    assert [objects(hint)[0]["reason"] for hint in hints] == [
        "nothing was found",
        "nothing was found",
        "fewer than 2 were found",
        "fewer than 20 were found",
    ]

"""Sound tools that a film too neat, or arguments in the wrong order, would refuse."""

from __future__ import annotations

from typing import Any

import pytest

FOUND = {"start_time": {"type": "Time", "from": "{{ first.start_time }}"}}


def call(api: str, name: str, **params: Any) -> dict[str, Any]:
    loop = {key: params.pop(key) for key in ("loop_over", "max_items") if key in params}
    return {
        "type": "call_world_api",
        "api": api,
        "params": {"video_id": "{{video_id}}", **params},
        "save_as": name,
        **loop,
    }


def keep(items: str, where: str, name: str) -> dict[str, Any]:
    return {"type": "filter", "inputs": items, "where": where, "save_as": name}


def first_of(items: str) -> list[dict[str, Any]]:
    return [
        {"type": "aggregate", "operation": "first", "inputs": items, "save_as": "first"},
        {"type": "require", "condition": "first is not none", "status": "empty", "reason": "there is none"},
    ]


SEARCH = call("search_segments_by_text", "hits", query="{{query}}", top_k=20)


@pytest.mark.parametrize("name", ["entity_id", "other_entity_id", "second_entity_id"])
def test_an_id_may_be_asked_for_under_any_name(tool: Any, verdicts: Any, name: str) -> None:
    path = call("get_entity_trajectory", "path", entity_id="{{" + name + "}}")
    document = tool(path, *first_of("path"), outputs=FOUND, inputs={"video_id": "string", name: "string"})

    verdict = verdicts(document)["some_tool"]

    assert verdict.admitted, verdict.text()


@pytest.mark.parametrize(
    ("late", "early"),
    [("until_time", "from_time"), ("before", "after"), ("end_of_it", "start_of_it"), ("second_start", "first_end")],
)
def test_what_ends_a_stretch_is_later_than_what_begins_it_in_whatever_order_they_are_declared(
    tool: Any, verdicts: Any, late: str, early: str
) -> None:
    told = call("describe_segment", "told", start_time="{{" + early + "}}", end_time="{{" + late + "}}")
    outputs = {"caption": {"type": "string", "from": "{{ told.caption }}"}}

    for names in ((late, early), (early, late)):
        inputs = {"video_id": "string", **dict.fromkeys(names, "Time")}
        verdict = verdicts(tool(told, outputs=outputs, inputs=inputs))["some_tool"]
        assert verdict.admitted, verdict.text()


@pytest.mark.parametrize("seconds", [10, 30, 60])
def test_long_scenes_can_be_found(tool: Any, verdicts: Any, seconds: int) -> None:
    long = keep("scenes", f"item.end_time - item.start_time > {seconds}", "long")
    document = tool(
        call("list_scenes", "scenes"), long, *first_of("long"), outputs=FOUND, inputs={"video_id": "string"}
    )

    verdict = verdicts(document)["some_tool"]

    assert verdict.admitted, verdict.text()


def test_what_is_said_while_a_text_is_on_the_screen_can_be_found(tool: Any, verdicts: Any) -> None:
    at_one_time = "item.start_time < one.end_time and item.end_time > one.start_time"
    met = {
        "type": "loop",
        "loop_over": "said",
        "as": "one",
        "max_items": 20,
        "do": [keep("written", at_one_time, "both")],
        "save_as": "met",
    }
    said, written = (
        keep("hits", f"item.source == '{source}'", name)
        for source, name in (("speech", "said"), ("screen_text", "written"))
    )

    verdict = verdicts(tool(SEARCH, said, written, met, *first_of("met"), outputs=FOUND))["some_tool"]

    assert verdict.admitted, verdict.text()


def test_many_things_can_be_seen_at_one_time(tool: Any, verdicts: Any) -> None:
    at = "{{item.center_time}}"
    crowd = [
        call("list_scenes", "scenes"),
        call("detect_objects", "seen", loop_over="scenes", max_items=10, timestamp=at, category="{{query}}"),
        {
            "type": "aggregate",
            "operation": "group_by",
            "inputs": "seen",
            "params": {"key": "timestamp"},
            "save_as": "by",
        },
        keep("by", "item.items | length > 6", "many"),
        *first_of("many"),
    ]
    outputs = {"seen": {"type": "list<Detection>", "from": "{{ first['items'] }}"}}

    verdict = verdicts(tool(*crowd, outputs=outputs))["some_tool"]

    assert verdict.admitted, verdict.text()


def test_one_entity_alone_says_nothing_of_tools_that_look_for_two_things(tool: Any, verdicts: Any) -> None:
    pairs = {
        "type": "aggregate",
        "operation": "join_nearest_in_time",
        "inputs": {"a": "these", "b": "those"},
        "params": {"max_gap": 0},
        "save_as": "pairs",
    }
    searches = [
        call("search_segments_by_text", saved, query="{{" + asked + "}}", top_k=3)
        for saved, asked in (("these", "one"), ("those", "two"))
    ]
    outputs = {"start_time": {"type": "Time", "from": "{{ first.a.start_time }}"}}
    inputs = {"video_id": "string", "one": "string", "two": "string"}
    document = tool(*searches, pairs, *first_of("pairs"), outputs=outputs, inputs=inputs)

    verdict = verdicts(document, entities=["the woman in yellow"], others=["a bottle", "a blue umbrella"])["some_tool"]

    assert verdict.reason != "only_examples"


def test_counting_what_was_asked_for_reads_the_input(tool: Any, verdicts: Any) -> None:
    number = {"type": "aggregate", "operation": "count", "inputs": "hits", "save_as": "number"}
    outputs = {
        "number": {"type": "int", "from": "{{ number }}"},
        "hits": {"type": "list<Segment>", "from": "{{ hits.candidates }}"},
    }

    verdict = verdicts(tool(SEARCH, number, outputs={"number": outputs["number"]}))["some_tool"]

    assert not [note for note in verdict.notes if "changed nothing" in note]

"""What a tool computes and hands to an operation must be what the operation takes, also where lists are empty."""

from typing import Any

import pytest

from tool_induction import compile_document, run_tool

THERE = {"type": "require", "condition": "{{ hits | length > 0 }}", "status": "empty", "reason": "nothing"}


def call(api: str, **params: Any) -> Any:
    return {"type": "call_world_api", "api": api, "params": {"video_id": "{{video_id}}", **params}, "save_as": "x"}


def detect(timestamp: str) -> Any:
    return call("detect_objects", timestamp=timestamp, category="person")


def search(top_k: Any) -> Any:
    return call("search_segments_by_text", query="a", top_k=top_k)


def aggregate(operation: str, inputs: Any = "hits", save_as: str = "x", **params: Any) -> Any:
    step = {"type": "aggregate", "operation": operation, "params": params, "save_as": save_as}
    return step if inputs is None else step | {"inputs": inputs}


def setting(value: Any) -> Any:
    return {"type": "set", "value": value, "save_as": "x"}


def found(document: Any, *steps: Any, **parts: Any) -> Any:
    outputs = parts.pop("outputs", {"n": {"type": "int", "from": "{{ hits | length }}"}})
    return compile_document(document(*steps, outputs=outputs, inputs={"number": "number", "k": "int"}))


@pytest.mark.parametrize(
    "steps",
    [
        [search("{{ (hits | length) / 2 }}")],
        [aggregate("nth", n="{{ (hits | length) / 3 }}")],
        [aggregate("top_k", k=1.5)],
        [aggregate("sample_times", None, interval=[0, 10], step=0, max_items=5)],
        [aggregate("sample_times", None, interval=[0, 10], step=1, max_items=10**9)],
        [setting("{{ 1 / (hits | length) }}")],
        [setting("{{ 1 % (hits | length) }}")],
        [aggregate("count", save_as="n"), setting("{{ 1 / n }}")],
        [setting("{{ number / 0 }}")],
        [call("merge_events", event_ids=["a"])],
        [call("merge_events", event_ids="{{ [query] }}")],
        [THERE, call("describe_segment", start_time="{{ hits[0].start_time }}", end_time="{{ hits[0].start_time }}")],
        [THERE, call("describe_segment", start_time="{{ hits[0].end_time }}", end_time="{{ hits[0].start_time }}")],
        [THERE, aggregate("clamp", interval=["{{ hits[0].end_time }}", "{{ hits[0].start_time }}"])],
        [call("read_memory", level="{{ hits[0].source | default('event') }}", query="a", top_k=3)],
    ],
    ids=range(15),
)
def test_what_could_not_be_taken_when_the_tool_runs_is_a_fault_now(document: Any, steps: Any) -> None:
    errors = {item.code for item in found(document, *steps).diagnostics if item.severity == "error"}

    assert errors == {"E_TYPE"}


@pytest.mark.parametrize(
    "steps",
    [
        [search("{{ [[hits | length, 1] | max, 200] | min }}")],
        [search("{{ hits | length }}")],
        [THERE, search("{{ hits | length }}")],
        [search("{{ k }}")],
        [search("{{ number }}")],
        [search("{{ ((hits | length) / 2) | round + 1 }}")],
        [aggregate("top_k", k=2.0)],
        [aggregate("nth", n="{{ 0 - 1 }}")],
        [THERE, setting("{{ 1 / (hits | length) }}")],
        [setting("{{ 1 / number }}")],
        [setting("{{ 1 / ((hits | length) + 1) }}")],
        [THERE, call("describe_segment", start_time="{{ hits[0].start_time }}", end_time="{{ hits[0].end_time }}")],
        [THERE, setting("{{ [hits[0].start_time - 9, 0] | max }}"), detect("{{ x }}") | {"save_as": "y"}],
    ],
    ids=range(13),
)
def test_what_can_always_be_taken_is_sound(document: Any, steps: Any) -> None:
    compilation = found(document, *steps)

    assert compilation.ok, [item.record() for item in compilation.diagnostics if item.severity == "error"]
    assert "may lie before" not in str([item.message for item in compilation.diagnostics])


@pytest.mark.parametrize(
    ("steps", "place"),
    [
        ([detect("{{ hits[0].start_time - 500 }}")], ["params", "timestamp"]),
        ([detect("{{ -hits[0].start_time }}")], ["params", "timestamp"]),
        (
            [call("list_scenes", time_range={"start_time": "{{ hits[0].start_time - 9 }}", "end_time": 90})],
            ["params", "time_range", "start_time"],
        ),
        (
            [call("list_scenes", time_range=["{{ hits[0].start_time - 9 }}", 90])],
            ["params", "time_range", "start_time"],
        ),
        (
            [{"type": "set", "value": "{{ hits[0].start_time - 9 }}", "save_as": "t"}, detect("{{ t }}")],
            ["params", "timestamp"],
        ),
        (
            [
                {
                    "type": "project",
                    "inputs": "hits",
                    "fields": {"start_time": "{{ item.start_time - 9 }}"},
                    "save_as": "x",
                }
            ],
            ["fields", "start_time"],
        ),
    ],
)
def test_a_time_before_the_start_is_the_start_and_that_is_written_out(document: Any, steps: Any, place: Any) -> None:
    compilation = found(document, THERE, *steps)

    assert compilation.ok, [item.record() for item in compilation.diagnostics if item.severity == "error"]
    written = compilation.tools["small_tool"].frozen["steps"][-1]
    for part in place:
        written = written[part]
    assert written.endswith(", 0] | max }}")
    assert "W_COERCED" in {item.code for item in compilation.diagnostics}
    again = compile_document(compilation.tools["small_tool"].frozen).tools["small_tool"].frozen
    assert again == compilation.tools["small_tool"].frozen


def test_words_joined_of_nothing_are_not_searched_for(document: Any, compiled: Any, world: Any) -> None:
    joined = aggregate("concat_text", save_as="words", key="snippet")
    asks = call("search_segments_by_text", query="{{ words }}", top_k=3)
    world.segments = []

    outputs = {"n": {"type": "int", "from": "{{ x | length }}"}}
    tools = compiled(document(joined, asks, outputs=outputs))
    result = run_tool(tools, "small_tool", {"video_id": "film", "query": "a"}, call=world)

    assert (result["status"], world.names()) == ("empty", ["search_segments_by_text"])
    assert tools["small_tool"].frozen["steps"][2]["condition"] == "{{ (words | length) > 0 }}"


@pytest.mark.parametrize("condition", ["{{ words | length > 0 }}", "{{ words != '' }}"])
def test_a_condition_on_the_words_rules_that_out(document: Any, condition: str) -> None:
    joined = aggregate("concat_text", save_as="words", key="snippet")
    ask = {"type": "require", "condition": condition, "status": "empty", "reason": "no words"}

    compilation = found(document, joined, ask, call("search_segments_by_text", query="{{ words }}", top_k=3))

    assert compilation.ok
    assert "W_IMPLICIT_REQUIRE" not in {item.code for item in compilation.diagnostics}


def test_an_output_that_need_not_be_whole_is_no_int(document: Any) -> None:
    half = {"half": {"type": "int", "from": "{{ (hits | length) / 2 }}"}}
    whole = {"half": {"type": "int", "from": "{{ ((hits | length) / 2) | round }}"}}

    assert [item.code for item in found(document, outputs=half).diagnostics if item.severity == "error"] == ["E_TYPE"]
    assert found(document, outputs=whole).ok


def test_a_sum_of_whole_numbers_is_one(document: Any) -> None:
    scenes = call("list_scenes") | {"save_as": "scenes"}
    total = aggregate("sum", "scenes", save_as="total", key="scenes")

    assert found(document, scenes, total, outputs={"total": "int"}).ok

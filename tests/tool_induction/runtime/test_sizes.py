"""Small documents that make large values: nothing may take the memory or the time of the machine."""

import tracemalloc
from typing import Any

import pytest

from tool_induction import Memo, RunLimits, ToolFault, run_tool
from tool_induction.aggregates import AGGREGATES

ARGUMENTS = {"video_id": "film", "query": "somebody"}
SMALL = RunLimits(values=20_000)


def doubling(steps: int) -> list[Any]:
    made = [{"type": "set", "value": {"a": "{{query}}", "b": "{{query}}"}, "save_as": "x0"}]
    for place in range(1, steps):
        before = f"{{{{ x{place - 1} }}}}"
        made.append({"type": "set", "value": {"a": before, "b": before}, "save_as": f"x{place}"})
    return made


def joining(steps: int) -> list[Any]:
    first = {"type": "aggregate", "operation": "concat_lists", "inputs": ["hits", "hits"], "save_as": "x0"}
    names = [(f"x{place - 1}", f"x{place}") for place in range(1, steps)]
    return [first, *({**first, "inputs": [before] * 2, "save_as": name} for before, name in names)]


@pytest.mark.parametrize("steps", [doubling(50), joining(50)], ids=["records", "lists"])
def test_values_that_double_with_each_step_use_up_a_bound(run: Any, document: Any, steps: Any) -> None:
    result = run(document(*steps, outputs={"x": {"type": "any", "from": "{{ x49 }}"}}), limits=SMALL)

    assert result["status"] == "budget_exhausted"
    assert "values" in result["summary"]


def test_one_list_named_a_thousand_times_is_weighed_before_it_is_joined(run: Any, document: Any) -> None:
    joined = {"type": "aggregate", "operation": "concat_lists", "inputs": ["x4"] * 2000, "save_as": "y"}
    steps = [*joining(5), joined]

    assert run(document(*steps), limits=SMALL)["status"] == "budget_exhausted"


def test_values_nested_deeper_with_each_step_stop_before_python_does(run: Any, document: Any) -> None:
    first: Any = "{{query}}"
    steps = []
    for place in range(20):
        value = first if place == 0 else f"{{{{ x{place - 1} }}}}"
        for _ in range(20):
            value = [value]
        steps.append({"type": "set", "value": value, "save_as": f"x{place}"})

    result = run(document(*steps, outputs={"x": {"type": "string", "from": "{{ x19 }}"}}))

    assert result["status"] == "budget_exhausted"
    assert "nested" in result["summary"]


def test_a_long_text_inside_a_list_is_whole(run: Any, document: Any) -> None:
    step = {"type": "set", "value": ["{{query}}"], "save_as": "x"}
    result = run(document(step, outputs={"x": "list"}), arguments={**ARGUMENTS, "query": "word " * 3000})

    assert len(result["outputs"]["x"][0]) == 15_000


def test_the_clock_is_looked_at_between_the_items_of_a_filter(run: Any, document: Any) -> None:
    ticks = iter(range(1_000_000))
    step = {"type": "filter", "inputs": "x5", "where": "{{ item.start_time > 0 }}", "save_as": "late"}

    result = run(
        document(*joining(6), step, outputs={"n": {"type": "int", "from": "{{ late | length }}"}}),
        limits=RunLimits(seconds=50),
        monotonic=lambda: float(next(ticks)),
    )

    assert result["status"] == "budget_exhausted"
    assert next(ticks) < 300


@pytest.mark.parametrize(
    "aggregate",
    [
        lambda rows: AGGREGATES["join_nearest_in_time"].run(rows, rows),
        lambda r: AGGREGATES["dedupe_overlaps"].run(r, 1.0),
    ],
)
def test_lists_in_which_everything_overlaps_are_refused_when_they_are_long(aggregate: Any) -> None:
    rows = [{"start_time": place / 1000, "end_time": 100 + place / 1000} for place in range(4000)]

    with pytest.raises(ToolFault, match="overlapping"):
        aggregate(rows)
    assert aggregate(rows[:300])


def test_many_stretches_are_joined_with_the_evidence_inside_them() -> None:
    piece = {"frame_time": 1.0, "source": "caption", "start_time": 1, "end_time": 2}
    rows = [{"start_time": place, "end_time": place + 0.5, "evidence": [piece]} for place in range(20_000)]

    merged = AGGREGATES["merge_intervals"].run(rows)

    assert len(merged) == 20_000
    assert merged[7] == {"start_time": 7, "end_time": 7.5, "center_time": 7.25, "duration": 0.5, "evidence": [piece]}


def test_a_result_of_a_hundred_megabytes_is_refused_without_being_worked_on(compiled: Any, document: Any) -> None:
    text = "x" * 100_000_000
    tracemalloc.start()

    result = run_tool(
        compiled(document()),
        "small_tool",
        ARGUMENTS,
        call=lambda *_: {"candidates": [{"snippet": text}] * 3, "evidence": []},
    )

    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result["status"] == "budget_exhausted"
    assert "bytes" in result["summary"]
    assert most < 20_000_000


def test_what_is_remembered_is_bounded_in_bytes(compiled: Any, document: Any) -> None:
    memo = Memo(most_bytes=3_000)
    tools = compiled(document())
    asked: list[str] = []

    def call(name: str, arguments: Any) -> Any:
        asked.append(arguments["query"])
        return {"candidates": [], "evidence": [], "hint": "x" * 1_000}

    for query in ("a", "b", "c", "c", "a"):
        run_tool(tools, "small_tool", {**ARGUMENTS, "query": query}, call=call, memo=memo)

    assert asked == ["a", "b", "c", "a"]


@pytest.mark.parametrize("concurrency", [1, 8])
def test_ten_thousand_steps_use_up_a_bound_and_what_was_done_is_kept(run: Any, document: Any, concurrency: int) -> None:
    steps = [{"type": "set", "value": place, "save_as": f"x{place}"} for place in range(58)]
    inner = {"type": "loop", "loop_over": "hits", "as": "b", "do": steps, "save_as": "inner"}
    outer = {"type": "loop", "loop_over": "hits", "as": "a", "do": [inner], "save_as": "outer"}
    outputs = {"n": {"type": "int", "from": "{{ outer | length }}"}}

    result = run(document(outer, outputs=outputs), limits=RunLimits(steps=500, concurrency=concurrency))

    assert result["status"] == "budget_exhausted"
    assert result["outputs"] == {"n": 8}


@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_loop_that_a_bound_ends_keeps_the_items_that_were_done(
    run: Any, document: Any, world: Any, concurrency: int
) -> None:
    world.segments = [(n * 10, n * 10 + 2) for n in range(5)]
    describe = {
        "type": "call_world_api",
        "api": "describe_segment",
        "loop_over": "hits",
        "params": {"video_id": "{{video_id}}", "start_time": "{{item.start_time}}", "end_time": "{{item.end_time}}"},
        "save_as": "texts",
    }
    outputs = {"n": {"type": "int", "from": "{{ texts | length }}"}}

    result = run(document(describe, outputs=outputs), limits=RunLimits(items=3, concurrency=concurrency))

    assert (result["status"], result["outputs"]) == ("budget_exhausted", {"n": 3})
    assert result["warnings"] == ["texts: the budget ran out after 3 of 5 items"]
    assert result["calls"] == {"logical": 4, "physical": 4}

"""Small documents that make large values: nothing may take the memory or the time of the machine."""

import json
from typing import Any

import pytest

from tool_induction.aggregates.spans import dedupe_overlaps, join_nearest_in_time, merge_intervals
from tool_induction.runtime.budget import RunLimits
from world_api.core.faults import ToolFault

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


@pytest.mark.parametrize("type_", ["any", "record", "string"])
def test_a_large_output_is_shown_in_part_and_that_is_said(run: Any, document: Any, type_: str) -> None:
    result = run(document(*doubling(12), outputs={"x": {"type": type_, "from": "{{ x11 }}"}}))

    assert result["status"] == "ok"
    assert len(json.dumps(result)) < 60_000
    assert any(note.startswith("x: ") for note in result["warnings"])


def test_a_text_inside_a_list_is_no_longer_than_a_text_by_itself(run: Any, document: Any) -> None:
    step = {"type": "set", "value": ["{{query}}"], "save_as": "x"}
    result = run(document(step, outputs={"x": "list"}), arguments={**ARGUMENTS, "query": "word " * 3000})

    assert len(result["outputs"]["x"][0]) == 4000


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
    "aggregate", [lambda rows: join_nearest_in_time(rows, rows), lambda r: dedupe_overlaps(r, 1.0)]
)
def test_lists_in_which_everything_overlaps_are_refused_when_they_are_long(aggregate: Any) -> None:
    rows = [{"start_time": place / 1000, "end_time": 100 + place / 1000} for place in range(4000)]

    with pytest.raises(ToolFault, match="overlapping"):
        aggregate(rows)
    assert aggregate(rows[:300])


def test_many_stretches_are_joined_with_the_evidence_inside_them() -> None:
    piece = {"frame_time": 1.0, "source": "caption", "start_time": 1, "end_time": 2}
    rows = [{"start_time": place, "end_time": place + 0.5, "evidence": [piece]} for place in range(20_000)]

    merged = merge_intervals(rows)

    assert len(merged) == 20_000
    assert merged[7] == {"start_time": 7, "end_time": 7.5, "center_time": 7.25, "duration": 0.5, "evidence": [piece]}

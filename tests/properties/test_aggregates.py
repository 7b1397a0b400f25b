"""Algebra of the aggregates: deterministic, defined on nothing, ties broken as documented."""

import copy
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tool_induction.aggregates import AGGREGATES, ALIASES, span_of
from world_api.core import canonical_json

TIMES = st.integers(0, 50).map(lambda number: number / 2)
CONFIDENCES = st.one_of(st.none(), st.sampled_from([0.1, 0.5, 0.9]))


@st.composite
def stretches(draw: Any) -> Any:
    start = draw(TIMES)
    end = start + draw(st.integers(0, 20)) / 2
    item = {"start_time": start, "end_time": end, "center_time": (start + end) / 2}
    return item | {
        "confidence": draw(CONFIDENCES),
        "label": draw(st.sampled_from(["walk", "sit", "run"])),
        "entity_id": draw(st.one_of(st.none(), st.sampled_from(["e1", "e2", 1, 1.0, True]))),
    }


LISTS = st.lists(stretches(), max_size=8)
INTERVAL = {"start_time": 5.0, "end_time": 15.0}
PARAMS = {
    "nth": {"n": 1},
    "next_after": {"time": 10.0},
    "previous_before": {"time": 10.0},
    "sort_by": {"key": "label"},
    "top_k": {"k": 3},
    "filter_by_score": {"min_score": 0.5},
    "filter_in_interval": {"interval": INTERVAL},
    "clamp": {"interval": INTERVAL},
    "group_by": {"key": "label"},
    "count_distinct": {"key": "entity_id"},
    "dedupe_by": {"key": "entity_id"},
    "intersect_by": {"key": "label"},
    "difference_by": {"key": "label"},
    "sum": {"key": "confidence"},
    "avg": {"key": "confidence"},
    "min": {"key": "confidence"},
    "max": {"key": "confidence"},
    "mode": {"key": "label"},
    "concat_text": {"key": "label"},
    "sample_times": {"interval": INTERVAL, "step": 2.5, "max_items": 10},
}
EMPTY = {
    **dict.fromkeys(
        "pick_earliest pick_latest pick_longest pick_best first nth next_after previous_before ordered_pair "
        "avg min max mode".split()
    ),
    **{
        name: []
        for name in (
            "concat_lists sort_by top_k filter_by_score filter_in_interval dedupe_by intersect_by difference_by "
            "dedupe_overlaps merge_intervals clamp group_by join_nearest_in_time collect_evidence".split()
        )
    },
    "count": 0,
    "count_distinct": 0,
    "any": False,
    "all": True,
    "total_duration": 0.0,
    "sum": 0.0,
    "concat_text": "",
    "order_check": {"ordered": True, "missing": []},
}


def apply(name: str, items: Any, other: Any = None) -> Any:
    spec, params = AGGREGATES[name], PARAMS.get(name, {})
    match spec.takes:
        case "nothing":
            return spec.run(**params)
        case "pair":
            return spec.run(items, items if other is None else other, **params)
        case "lists":
            return spec.run([items, other or []], **params)
    if name in ("any", "all"):
        return spec.run([item["label"] == "walk" for item in items])
    return spec.run(items, **params)


def test_the_table_is_the_closed_one_of_the_design() -> None:
    assert set(AGGREGATES) == set(EMPTY) | {"sample_times"}
    assert set(ALIASES.values()) <= set(AGGREGATES)
    assert not set(ALIASES) & set(AGGREGATES)


@pytest.mark.parametrize("name", sorted(EMPTY))
def test_the_empty_list_has_a_defined_result(name: str) -> None:
    assert apply(name, []) == EMPTY[name]


@pytest.mark.parametrize("name", sorted(AGGREGATES))
@settings(max_examples=20)
@given(items=LISTS, other=LISTS)
def test_an_aggregate_is_deterministic_and_leaves_its_inputs_alone(name: str, items: Any, other: Any) -> None:
    before = copy.deepcopy((items, other))

    first = apply(name, items, other)

    assert canonical_json(first) == canonical_json(apply(name, copy.deepcopy(items), copy.deepcopy(other)))
    assert (items, other) == before


@settings(max_examples=40)
@given(LISTS)
def test_earliest_and_latest_bound_everything(items: Any) -> None:
    earliest, latest = apply("pick_earliest", items), apply("pick_latest", items)
    for item in items:
        assert earliest["start_time"] <= item["start_time"]
        assert latest["end_time"] >= item["end_time"]


@settings(max_examples=40)
@given(LISTS)
def test_of_equally_early_items_the_surer_wins_then_the_first(items: Any) -> None:
    earliest = apply("pick_earliest", items)
    tied = [item for item in items if earliest and item["start_time"] == earliest["start_time"]]
    best = max((item["confidence"] or 0 for item in tied), default=0)
    assert not tied or earliest is next(item for item in tied if (item["confidence"] or 0) == best)


@settings(max_examples=40)
@given(LISTS)
def test_the_best_is_never_one_that_nobody_calibrated_while_another_is(items: Any) -> None:
    best = apply("pick_best", items)
    known = [item["confidence"] for item in items if item["confidence"] is not None]
    assert not known or best["confidence"] == max(known)


@settings(max_examples=40)
@given(LISTS)
def test_sorting_keeps_the_items_and_orders_the_keys(items: Any) -> None:
    ordered = apply("sort_by", items)

    assert sorted(map(canonical_json, ordered)) == sorted(map(canonical_json, items))
    assert [item["label"] for item in ordered] == sorted(item["label"] for item in items)


@settings(max_examples=40)
@given(LISTS)
def test_sorting_down_is_sorting_up_by_key_reversed(items: Any) -> None:
    down = AGGREGATES["sort_by"].run(items, key="start_time", descending=True)

    assert [item["start_time"] for item in down] == sorted((item["start_time"] for item in items), reverse=True)


@settings(max_examples=40)
@given(LISTS)
def test_a_threshold_lets_uncalibrated_items_pass_unless_told_otherwise(items: Any) -> None:
    lenient = AGGREGATES["filter_by_score"].run(items, min_score=0.5)
    strict = AGGREGATES["filter_by_score"].run(items, min_score=0.5, keep_null=False)

    assert all(item["confidence"] is None or item["confidence"] >= 0.5 for item in lenient)
    assert strict == [item for item in lenient if item["confidence"] is not None]


@settings(max_examples=40)
@given(LISTS, LISTS)
def test_intersection_and_difference_part_a_list(items: Any, other: Any) -> None:
    shared, rest = apply("intersect_by", items, other), apply("difference_by", items, other)

    assert len(shared) + len(rest) == len(items)
    assert not {item["label"] for item in shared} & {item["label"] for item in rest}


@settings(max_examples=40)
@given(LISTS)
def test_groups_hold_every_item_once(items: Any) -> None:
    groups = apply("group_by", items)

    assert [item for group in groups for item in group["items"]] != [] or not items
    assert sum(len(group["items"]) for group in groups) == len(items)
    assert len({group["key"] for group in groups}) == len(groups)


@settings(max_examples=40)
@given(LISTS)
def test_merged_intervals_are_apart_in_order_and_cover_the_same_time(items: Any) -> None:
    merged = apply("merge_intervals", items)

    for one, other in pairwise(merged):
        assert one["end_time"] < other["start_time"]
    for item in items:
        assert any(one["start_time"] <= item["start_time"] and item["end_time"] <= one["end_time"] for one in merged)
    assert apply("total_duration", items) == pytest.approx(sum(one["duration"] for one in merged))
    assert apply("total_duration", merged) == apply("total_duration", items)


@settings(max_examples=40)
@given(LISTS)
def test_merging_twice_changes_nothing_more(items: Any) -> None:
    once = apply("merge_intervals", items)

    assert [span_of(item) for item in apply("merge_intervals", once)] == [span_of(item) for item in once]


@settings(max_examples=40)
@given(LISTS)
def test_what_is_left_of_overlaps_overlaps_less(items: Any) -> None:
    kept = AGGREGATES["dedupe_overlaps"].run(items, iou=0.5)
    spans = [span_of(item) for item in kept]

    assert not items or kept
    assert all(item in items for item in kept)
    for place, one in enumerate(spans):
        assert all(one.iou(other) < 0.5 for other in spans[place + 1 :])


@settings(max_examples=40)
@given(LISTS)
def test_clamped_items_lie_in_the_interval(items: Any) -> None:
    for item in apply("clamp", items):
        assert item["start_time"] >= 5.0
        assert item["end_time"] <= 15.0
        assert item["center_time"] == pytest.approx((item["start_time"] + item["end_time"]) / 2, abs=0.001)


@settings(max_examples=40)
@given(st.integers(0, 100), st.integers(0, 100), st.floats(0.1, 30), st.integers(1, 20))
def test_sampled_times_lie_in_the_interval_in_order_and_are_bounded(
    start: Any, length: Any, step: Any, most: Any
) -> None:
    interval = {"start_time": float(start), "end_time": float(start + length)}

    times = AGGREGATES["sample_times"].run(interval=interval, step=step, max_items=most)

    assert 1 <= len(times) <= most
    assert times[0] == start
    assert times == sorted(set(times))
    assert all(time < start + length or length == 0 for time in times)


@settings(max_examples=40)
@given(LISTS, LISTS)
def test_a_join_pairs_each_item_with_a_nearest_one(items: Any, other: Any) -> Any:
    def distance(one: Any, two: Any) -> Any:
        return max(0.0, two["start_time"] - one["end_time"], one["start_time"] - two["end_time"])

    joined = AGGREGATES["join_nearest_in_time"].run(items, other, max_gap=4.0)

    near = [item for item in items if any(distance(item, one) <= 4.0 for one in other)]
    assert [pair["a"] for pair in joined] == near
    for pair in joined:
        assert pair["dt"] == min(distance(pair["a"], one) for one in other)


@settings(max_examples=40)
@given(LISTS, LISTS)
def test_an_ordered_pair_is_in_order_and_tight(a: Any, b: Any) -> None:
    pair = apply("ordered_pair", a, b)
    following = [one for one in b if any(other["start_time"] < one["start_time"] for other in a)]

    if pair is None:
        assert not following
        return
    assert pair["a"]["start_time"] < pair["b"]["start_time"]
    assert pair["b"]["start_time"] == min(one["start_time"] for one in following)
    between = [one for one in a if pair["a"]["start_time"] < one["start_time"] < pair["b"]["start_time"]]
    assert not between


@settings(max_examples=40)
@given(st.lists(st.one_of(st.none(), stretches()), max_size=5))
def test_an_order_with_a_gap_is_neither_right_nor_wrong(items: Any) -> None:
    labels = ["one", "two", "three"]
    check = AGGREGATES["order_check"].run(items, labels=labels)
    missing = [labels[place] if place < 3 else str(place + 1) for place, item in enumerate(items) if item is None]

    assert check["missing"] == missing
    assert (check["ordered"] is None) == bool(missing)
    if not missing:
        starts = [item["start_time"] for item in items]
        assert check["ordered"] == all(one < other for one, other in pairwise(starts))


@settings(max_examples=40)
@given(LISTS, st.integers(10, 60))
def test_text_is_no_longer_than_asked_but_for_the_note_of_what_is_missing(items: Any, most: Any) -> None:
    text = AGGREGATES["concat_text"].run(items, key="label", sep=", ", max_chars=most)

    assert len(text.split(", (+")[0]) <= most
    assert text.count("walk") <= sum(item["label"] == "walk" for item in items)


def test_one_and_true_are_two_values_one_and_one_point_zero_are_one() -> None:
    items = [{"k": 1}, {"k": 1.0}, {"k": True}, {"k": "1"}, {"k": None}]

    assert AGGREGATES["count_distinct"].run(items, key="k") == 3
    assert len(AGGREGATES["dedupe_by"].run(items, key="k")) == 4

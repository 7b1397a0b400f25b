"""Each aggregate against a slow and obvious model of itself, over items with anything missing, null or no number."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given, settings, strategies as st

from tests.support.listed_items import LISTS, TIMED, Item
from tool_induction.aggregates import AGGREGATES

few = settings(max_examples=40)


def run(name: str, *lists: Any, **params: Any) -> Any:
    return AGGREGATES[name].run(*lists, **params)


def number(item: Item, key: str) -> float | None:
    value = item.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return None
    return value


def goodness(item: Item) -> float:
    for key in ("confidence", "score"):
        if (value := number(item, key)) is not None:
            return value
    return -math.inf


def best(items: list[Item], key: Any) -> Item | None:
    """The one item that no other beats: a smaller key, then a better one, then an earlier one."""
    for place, item in enumerate(items):
        if all(
            (key(item), -goodness(item), place) <= (key(other), -goodness(other), other_place)
            for other_place, other in enumerate(items)
        ):
            return item
    return None


def start(item: Item) -> float:
    return float(item.get("start_time", math.inf))


def end(item: Item) -> float:
    return float(item.get("end_time", -math.inf))


def same(value: Any) -> Any:
    """What makes two values one: 1 and 1.0 are, 1 and true are not."""
    return (isinstance(value, bool), value)


@few
@given(TIMED)
def test_the_earliest_the_latest_and_the_longest_are_those_no_other_beats(items: list[Item]) -> None:
    assert run("pick_earliest", items) is best(items, start)
    assert run("pick_latest", items) is best(items, lambda item: -end(item))
    assert run("pick_longest", items) is best(items, lambda item: (-(end(item) - start(item)), start(item)))


@few
@given(LISTS)
def test_an_item_without_times_is_picked_only_where_none_has_any(items: list[Item]) -> None:
    timed = [item for item in items if "start_time" in item]
    for name in ("pick_earliest", "pick_latest", "pick_longest"):
        picked = run(name, items)
        assert (picked in timed) if timed else (picked == (items[0] if name != "pick_longest" and items else picked))


@few
@given(LISTS)
def test_the_best_has_the_highest_value_and_of_equals_the_first(items: list[Item]) -> None:
    assert run("pick_best", items) is best(items, lambda item: 0)
    having = [item for item in items if number(item, "value") is not None]
    wanted = best(having, lambda item: -(number(item, "value") or 0)) if having else (items[0] if items else None)
    assert run("pick_best", items, key="value") is wanted


@few
@given(LISTS, st.integers(-9, 9))
def test_nth_counts_from_both_ends_and_beyond_them_is_nothing(items: list[Item], n: int) -> None:
    picked = run("nth", items, n=n)

    wanted = None
    for place, item in enumerate(items):
        if n in (place, place - len(items)):
            wanted = item
    assert picked is wanted
    assert run("first", items) is (items[0] if items else None)


@few
@given(TIMED, st.floats(0, 20))
def test_the_next_starts_after_a_time_and_the_previous_is_over_by_then(items: list[Item], time: float) -> None:
    later = [item for item in items if start(item) > time]
    earlier = [item for item in items if start(item) < time and end(item) <= time]

    assert run("next_after", items, time=time) is best(later, start)
    assert run("previous_before", items, time=time) is best(earlier, lambda item: -end(item))


@few
@given(LISTS, st.booleans())
def test_sorting_puts_numbers_in_order_ties_to_the_better_and_what_has_none_last(items: list[Item], down: bool) -> None:
    ordered = run("sort_by", items, key="value", descending=down)

    keyed = [item for item in items if number(item, "value") is not None]
    rest = [item for item in items if number(item, "value") is None]
    wanted: list[Item] = []
    sign = -1 if down else 1
    while keyed:
        chosen = best(keyed, lambda item: sign * (number(item, "value") or 0))
        wanted.append(next(item for item in keyed if item is chosen))
        keyed = [item for item in keyed if item is not chosen]
    assert [id(item) for item in ordered] == [id(item) for item in (*wanted, *rest)]


@few
@given(LISTS, st.integers(-3, 9))
def test_top_k_is_the_beginning_of_the_list_or_of_the_sorted_one(items: list[Item], k: int) -> None:
    assert run("top_k", items, k=k) == items[: max(0, k)]
    assert run("top_k", items, k=k, key="value") == run("sort_by", items, key="value", descending=True)[: max(0, k)]


@few
@given(LISTS, st.floats(-5, 5), st.booleans())
def test_a_threshold_keeps_what_is_at_least_so_sure_in_order(items: list[Item], least: float, keep: bool) -> None:
    kept = run("filter_by_score", items, min_score=least, key="confidence", keep_null=keep)

    wanted = []
    for item in items:
        sure = number(item, "confidence")
        if (sure is None and keep) or (sure is not None and sure >= least):
            wanted.append(item)
    assert kept == wanted


@few
@given(LISTS, LISTS)
def test_sets_of_values_are_told_apart_one_by_one(items: list[Item], other: list[Item]) -> None:
    def values(rows: list[Item]) -> list[Any]:
        return [same(row["label"]) for row in rows if row.get("label") is not None]

    distinct: list[Any] = []
    for value in values(items):
        if value not in distinct:
            distinct.append(value)
    assert run("count_distinct", items, key="label") == len(distinct)
    shared = [item for item in items if item.get("label") is not None and same(item["label"]) in values(other)]
    assert run("intersect_by", items, other, key="label") == shared
    assert run("difference_by", items, other, key="label") == [item for item in items if item not in shared]


@few
@given(LISTS)
def test_groups_stand_in_order_of_their_first_item_and_keep_the_order_inside(items: list[Item]) -> None:
    groups = run("group_by", items, key="label")

    wanted: list[tuple[Any, list[Item]]] = []
    for item in items:
        value = same(item.get("label"))
        for key, members in wanted:
            if key == value:
                members.append(item)
                break
        else:
            wanted.append((value, [item]))
    assert [(same(group["key"]), group["items"]) for group in groups] == wanted


@few
@given(LISTS)
def test_numbers_are_computed_from_what_is_a_number(items: list[Item]) -> None:
    found = [value for item in items if (value := number(item, "value")) is not None]

    assert run("sum", items, key="value") == math.fsum(found)
    assert run("avg", items, key="value") == (math.fsum(found) / len(found) if found else None)
    assert run("min", items, key="value") == (sorted(found)[0] if found else None)
    assert run("max", items, key="value") == (sorted(found)[-1] if found else None)


@few
@given(LISTS)
def test_the_mode_is_the_most_frequent_value_and_of_equals_the_first_seen(items: list[Item]) -> None:
    values = [item["label"] for item in items if item.get("label") is not None]
    counts = [sum(same(value) == same(other) for other in values) for value in values]

    wanted = values[counts.index(max(counts))] if counts else None
    assert same(run("mode", items, key="label")) == same(wanted)


@few
@given(TIMED, st.floats(0, 3))
def test_merged_stretches_cover_what_a_clock_that_ticks_finely_sees_covered(items: list[Item], gap: float) -> None:
    merged = run("merge_intervals", items, gap=gap)

    for tick in range(0, 45_000, 77):
        time = tick / 1000
        inside = any(start(item) <= time < end(item) for item in items)
        if inside and not any(abs(time - edge) < 0.01 for item in items for edge in (start(item), end(item))):
            assert any(one["start_time"] <= time < one["end_time"] for one in merged)
    assert sum(one["end_time"] > one["start_time"] or one["duration"] == 0 for one in merged) == len(merged)


@few
@given(TIMED, TIMED, st.floats(-1, 5))
def test_a_join_finds_the_nearest_by_looking_at_all(items: list[Item], other: list[Item], gap: float) -> None:
    def apart(one: Item, two: Item) -> tuple[float, float]:
        middle = abs((start(one) + end(one)) / 2 - (start(two) + end(two)) / 2)
        return max(0.0, start(two) - end(one), start(one) - end(two)), middle

    joined = run("join_nearest_in_time", items, other, max_gap=gap)

    wanted = []
    for item in items:
        near = sorted((*apart(item, one), place) for place, one in enumerate(other))
        if near and near[0][0] <= gap:
            wanted.append((id(item), id(other[near[0][2]])))
    assert [(id(pair["a"]), id(pair["b"])) for pair in joined] == wanted


@few
@given(LISTS, st.integers(-2, 60), st.sampled_from(["\n", ", ", ""]))
def test_text_is_whole_lines_from_the_beginning_and_never_too_long(items: list[Item], most: int, sep: str) -> None:
    text = run("concat_text", items, key="label", sep=sep, max_chars=most)
    whole = run("concat_text", items, key="label", sep=sep, max_chars=10_000)

    assert len(text) <= max(0, most)
    if len(whole) <= most:
        assert text == whole

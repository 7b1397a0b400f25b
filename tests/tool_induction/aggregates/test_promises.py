"""What the table of aggregates promises: types, order, evidence, bounds, and that doing it twice changes nothing."""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.support.listed_items import LISTS, TIMED, Item
from tool_induction.aggregates import AGGREGATES, evidence_of, span_of
from tool_induction.language import ANY, FLOAT, TIME, ListType, OptionalType, RecordType, optional
from tool_induction.runtime import fitted
from world_api.core import canonical_json

INTERVAL = {"start_time": 4.0, "end_time": 12.5}
PARAMS: dict[str, dict[str, Any]] = {
    "pick_best": {"key": "value"},
    "nth": {"n": -1},
    "next_after": {"time": 8.0},
    "previous_before": {"time": 8.0},
    "sort_by": {"key": "value"},
    "top_k": {"k": 2, "key": "value"},
    "filter_by_score": {"min_score": 0.5},
    "filter_in_interval": {"interval": INTERVAL},
    "clamp": {"interval": INTERVAL},
    "sample_times": {"interval": INTERVAL, "step": 2.5, "max_items": 5},
    **{name: {"key": "label"} for name in ("count_distinct", "dedupe_by", "intersect_by", "difference_by", "group_by")},
    **{name: {"key": "value"} for name in ("sum", "avg", "min", "max")},
    "mode": {"key": "label"},
    "concat_text": {"key": "label"},
    "merge_intervals": {"gap": 1.0},
    "join_nearest_in_time": {"max_gap": 3.0},
}
ITEM = RecordType(
    fields=(
        ("start_time", optional(TIME)),
        ("end_time", optional(TIME)),
        ("confidence", optional(FLOAT)),
        ("score", optional(FLOAT)),
        ("label", ANY),
        ("value", optional(FLOAT)),
        ("evidence", ANY),
    )
)

canonical = partial(json.dumps, sort_keys=True)


few = settings(max_examples=15)


def finite(rows: list[Item]) -> list[Item]:
    """As a run would hold them: no number that is not finite."""
    return [
        {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in row.items()}
        for row in rows
    ]


def apply(name: str, rows: Any, other: Any) -> Any:
    spec, params = AGGREGATES[name], PARAMS.get(name, {})
    match spec.takes:
        case "nothing":
            return spec.run(**params)
        case "pair":
            return spec.run(rows, other, **params)
        case "lists":
            return spec.run([rows, other], **params)
    return spec.run([row.get("value") == 1 for row in rows] if name in ("any", "all") else rows, **params)


@pytest.mark.parametrize("name", sorted(AGGREGATES))
@few
@given(rows=LISTS, other=LISTS)
def test_a_result_is_of_the_type_that_checking_promised(name: str, rows: Any, other: Any) -> None:
    rows, other = finite(rows), finite(other)
    lists = [ListType(item=ITEM, bound=7, filled=bool(one)) for one in (rows, other)]
    spec = AGGREGATES[name]

    promised = spec.result(lists if spec.takes in ("pair", "lists") else lists[:1], PARAMS.get(name, {}))
    made = apply(name, rows, other)

    fitted(made, promised)
    if isinstance(promised, ListType):
        assert promised.bound is None or len(made) <= promised.bound
        assert made or not promised.filled
    assert made is not None or isinstance(promised, OptionalType) or promised == ANY


def order_free() -> list[str]:
    """The aggregates of which the documentation promises it."""
    page = (Path(__file__).parents[3] / "docs" / "tool-language.md").read_text(encoding="utf-8")
    (line,) = [line for line in page.splitlines() if "do not depend on the order" in line]
    return line.split("`")[1].split()


@pytest.mark.parametrize("name", order_free())
@few
@given(rows=LISTS, data=st.data())
def test_where_the_documentation_says_so_the_order_of_the_items_does_not_matter(
    name: str, rows: Any, data: Any
) -> None:
    shuffled = data.draw(st.permutations(rows))

    assert canonical_json(apply(name, rows, [])) == canonical_json(apply(name, shuffled, []))


def tie(rows: list[Item]) -> bool:
    """Whether two items are alike in anything a choice goes by; what is missing is alike."""
    for key in ("start_time", "end_time", "value"):
        values = [row[key] for row in rows if isinstance(row.get(key), int | float) and not math.isnan(row[key])]
        if len(set(values)) < len(rows):
            return True
    return False


CHOICES = ["pick_earliest", "pick_latest", "pick_longest", "pick_best", "next_after", "previous_before", "sort_by"]


@pytest.mark.parametrize("name", CHOICES)
@few
@given(rows=TIMED, data=st.data())
def test_where_no_two_items_tie_the_order_does_not_matter_to_a_choice(name: str, rows: Any, data: Any) -> None:
    if tie(rows):
        rows = rows[:1]
    shuffled = data.draw(st.permutations(rows))

    assert repr(apply(name, rows, [])) == repr(apply(name, shuffled, []))


@given(TIMED, st.floats(0, 3))
def test_merging_and_thinning_twice_is_merging_and_thinning_once(rows: Any, gap: float) -> None:
    merged = AGGREGATES["merge_intervals"].run(rows, gap=gap)
    assert [span_of(one) for one in AGGREGATES["merge_intervals"].run(merged, gap=gap)] == [
        span_of(one) for one in merged
    ]
    for name, params in (("dedupe_by", {"key": "label"}), ("dedupe_overlaps", {"iou": min(1.0, gap)})):
        once = AGGREGATES[name].run(rows, **params)
        assert repr(AGGREGATES[name].run(once, **params)) == repr(once)


@given(TIMED)
def test_what_is_covered_is_no_more_than_from_the_first_start_to_the_last_end(rows: Any) -> None:
    covered = AGGREGATES["total_duration"].run(rows)

    whole = max((row["end_time"] for row in rows), default=0) - min((row["start_time"] for row in rows), default=0)
    assert 0 <= covered <= whole + 0.001
    assert covered <= sum(row["end_time"] - row["start_time"] for row in rows) + 0.001 * (len(rows) + 1)


@given(TIMED, st.floats(0, 20), st.floats(0, 20))
def test_what_is_cut_lies_inside_to_the_millisecond_and_was_touched(rows: Any, one: float, other: float) -> None:
    interval = {"start_time": min(one, other), "end_time": max(one, other)}

    cut = AGGREGATES["clamp"].run(rows, interval=interval)

    assert len(cut) == len(AGGREGATES["filter_in_interval"].run(rows, interval=interval))
    for item in cut:
        assert (
            interval["start_time"] - 0.0005 <= item["start_time"] <= item["end_time"] <= interval["end_time"] + 0.0005
        )


@pytest.mark.parametrize(
    "name", ["merge_intervals", "collect_evidence", "concat_lists", "clamp", "dedupe_by", "sort_by"]
)
@few
@given(rows=TIMED, other=TIMED)
def test_evidence_is_neither_lost_nor_made(name: str, rows: Any, other: Any) -> None:
    made = apply(name, rows, other)
    kept = {canonical_json(piece) for piece in evidence_of(made)}

    given_ = {canonical_json(piece) for piece in evidence_of([*rows, *other] if name == "concat_lists" else rows)}
    assert kept <= given_
    if name in ("merge_intervals", "collect_evidence", "concat_lists", "sort_by"):
        assert kept == given_


@given(TIMED, TIMED)
def test_pairs_carry_the_evidence_of_both_sides(rows: Any, other: Any) -> None:
    for pair in AGGREGATES["join_nearest_in_time"].run(rows, other, max_gap=3.0):
        assert pair["evidence"] == evidence_of([pair["a"], pair["b"]])
    pair = AGGREGATES["ordered_pair"].run(rows, other)
    assert pair is None or pair["evidence"] == evidence_of([pair["a"], pair["b"]])


@pytest.mark.parametrize("name", sorted(AGGREGATES))
@few
@given(
    rows=st.lists(
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(-3, 3),
            st.floats(),
            st.text(max_size=3),
            st.lists(st.integers(), max_size=2),
        ),
        max_size=5,
    )
)
def test_items_of_any_kind_are_taken_without_a_crash(name: str, rows: Any) -> None:
    spec, params = AGGREGATES[name], PARAMS.get(name, {})
    if spec.takes == "nothing":
        return
    lists = [rows, rows] if spec.takes == "pair" else [[rows]] if spec.takes == "lists" else [rows]
    made = spec.run(*lists, **params)

    json.dumps(made)

"""What documents drawn at random choose from: aggregates, conditions, what to do about a failure."""

from __future__ import annotations

from typing import Any

Json = Any

#: an aggregate -> its parameters, for lists of things with times
LIST_AGGREGATES: dict[str, Json] = {
    "pick_earliest": {},
    "pick_latest": {},
    "pick_longest": {},
    "pick_best": {},
    "first": {},
    "nth": {"n": -1},
    "next_after": {"time": 100},
    "previous_before": {"time": 900.5},
    "sort_by": {"key": "start_time", "descending": True},
    "top_k": {"k": 3},
    "filter_in_interval": {"interval": {"start_time": 50, "end_time": 1500}},
    "clamp": {"interval": {"start_time": 50, "end_time": 1500}},
    "dedupe_by": {"key": "start_time"},
    "dedupe_overlaps": {"iou": 0.3},
    "merge_intervals": {"gap": 5},
    "group_by": {"key": "start_time"},
    "count": {},
    "count_distinct": {"key": "start_time"},
    "any": {"where": "item.start_time > 100"},
    "all": {"where": "item.start_time > 100"},
    "total_duration": {},
    "sum": {"key": "start_time"},
    "avg": {"key": "start_time"},
    "min": {"key": "start_time"},
    "max": {"key": "end_time"},
    "mode": {"key": "start_time"},
    "concat_text": {"key": "start_time", "with_times": True, "max_chars": 200},
    "collect_evidence": {},
}
PICKS = ("pick_earliest", "pick_latest", "pick_longest", "first", "nth", "next_after", "previous_before")
LISTS = ("sort_by", "top_k", "filter_in_interval", "clamp", "dedupe_by", "dedupe_overlaps", "merge_intervals")
NUMBERS = ("count", "count_distinct", "total_duration", "sum")
PAIRS: dict[str, Json] = {
    "intersect_by": {"key": "start_time"},
    "difference_by": {"key": "start_time"},
    "join_nearest_in_time": {"max_gap": 30},
    "ordered_pair": {},
}
CONDITIONS = (
    "item.start_time > 100",
    "item.end_time - item.start_time < 5",
    "item.center_time is not none",
    "query in ['a dog', query]",
    "item.start_time > 10 and not item.end_time < 50",
)
ON_ERROR = ("fail", "skip", "null")
#: kinds of steps that may stand anywhere
KINDS = ("search list look aggregate pair filter project set require order sample flag flag join use ask").split()

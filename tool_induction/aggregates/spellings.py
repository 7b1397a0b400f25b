"""Other spellings of aggregates and their parameters, and suggestions for names that do not exist.

A spelling that means exactly one of ours is accepted, with the warning W_ALIAS. One that is only similar remains a
fault and gets a suggestion.
"""

from __future__ import annotations

#: another name -> the aggregate meant
ALIASES: dict[str, str] = {
    "pick_earliest_detection": "pick_earliest",
    "pick_earliest_segment": "pick_earliest",
    "pick_latest_detection": "pick_latest",
    "pick_latest_segment": "pick_latest",
    "pick_best_detection": "pick_best",
    "pick_best_segment": "pick_best",
    "pick_most_confident": "pick_best",
    "count_items": "count",
    "count_detections": "count",
    "merge_overlapping": "merge_intervals",
    "merge_segments": "merge_intervals",
    "average": "avg",
    "mean": "avg",
    "concat": "concat_lists",
    "join_text": "concat_text",
    "concat_texts": "concat_text",
}
#: another name -> the aggregate meant where these parameters are given (without them ours would choose by another key)
ALIASES_WITH: dict[str, tuple[str, frozenset[str]]] = {"max_by": ("pick_best", frozenset({"key"}))}
#: another name of a parameter -> ours, in every aggregate that has ours and not the other
PARAMETER_ALIASES: dict[str, str] = {"field": "key", "max_gap": "gap"}
#: ``order`` of a sort -> ``descending``
ORDERS: dict[str, bool] = {"asc": False, "ascending": False, "desc": True, "descending": True}
#: keys of a record under ``inputs`` that hold the list itself, with parameters beside it
LIST_KEYS: dict[str, tuple[str, ...]] = {"list": ("items", "list"), "lists": ("lists",)}
#: how an aggregate ``filter`` (which is a step of its own) calls its condition
CONDITION_KEYS = ("where", "condition")


_WITHOUT_REPEATS = (
    "concat_lists, then dedupe_by for what has the same value under a key, or dedupe_overlaps for what overlaps in time"
)

#: names of other languages, and names that occur in recorded answers of a model (from ``filter`` on) -> what to write instead.
#: Suggestions only inform: nothing is compiled differently for them. But a model that is shown its faults sees these
#: sentences, so a yield that is measured on those same recordings says nothing about any other document and is void.
INSTEAD: dict[str, str] = {
    "map": 'use a step of type "project"',
    "project": 'use a step of type "project"',
    "min_by": "sort_by with a key, then first",
    "most_common": "mode with a key",
    "limit": "top_k",
    "reverse": 'what is the list to be sorted by? sort_by with that "key" and "descending": true',
    "distinct": "dedupe_by with a key",
    "union": "concat_lists, then dedupe_by where each may count once only",
    "intersection": "intersect_by with a key",
    "difference": "difference_by with a key",
    "pick_first_detection": "first for the first of the list, pick_earliest for the first in time",
    "pick_last_detection": "nth with -1 for the last of the list, pick_latest for the last in time",
    "filter": 'use a step of type "filter" with "where"',
    "filter_non_empty": "nothing empty is left in a list that a loop joined; of records keep those that hold something, "
    'with a step of type "filter"',
    "get_field": 'use a step of type "set" with "{{ name.field }}"',
    "compute": 'use a step of type "set"',
    "compare": "no aggregate judges; return both sides, or use concat_text",
    "summarize": "no aggregate writes prose; concat_text joins the texts in order",
    "infer": "no aggregate judges; return the material in order",
    "flatten": "concat_lists joins lists; of records take the list out of each first, with a step of type "
    '"loop" over them whose "do" sets it',
    "zip": "what a loop makes already carries the item it was made from: read it as item.parent; "
    "join_nearest_in_time pairs two other lists",
    "max_by": "pick_best with a key",
    "argmax": "pick_best with a key",
    "select_top": "top_k with a key",
    "unique": "dedupe_by with a key",
    "filter_by_time_range": "filter_in_interval with an interval",
    "merge_and_sort_by_time": 'concat_lists, then sort_by with "key": "start_time"',
    "merge_timeline": 'concat_lists, then sort_by with "key": "start_time"',
    "merge_and_deduplicate": _WITHOUT_REPEATS,
    "union_dedup": _WITHOUT_REPEATS,
    "compare_times": "order_check on a list of the two items",
    "most_common_pattern": "mode with a key",
    "mean_score": "avg with a key",
    "take_first_of_each": 'a loop with a "do" block that ends in first',
    "extract_similarities": "no aggregate judges; return both sides",
    "extract_differences": "no aggregate judges; return both sides",
}

#: parameters that no aggregate has -> how to say what they say with ``key``
PARAMETERS_INSTEAD: dict[str, str] = {
    "expression": 'make the value a field first, with a step of type "project", and name that field as "key"',
    "by": "did you mean 'key'?",
    "attribute": "did you mean 'key'?",
    "text": "did you mean 'key'?",
}
#: names of an order that models give to aggregates; ours is ``descending``
ORDER_NAMES = frozenset(
    "order direction sort_order reverse reversed desc descending decreasing asc ascending increasing".split()
)
_OTHER_TIMES = (
    "a time span is always start_time to end_time; to take other times for these make them so first, with a step of "
    'type "project"'
)
#: ``aggregate.parameter`` that one aggregate has not, or a parameter that none has -> what has them
PARAMETERS_ELSEWHERE: dict[str, str] = {
    "pick_latest.key": "pick_latest takes the item that ends last; for the highest of another field pick_best with that key",
    "pick_earliest.key": "pick_earliest takes the item that starts first; for the lowest of another field sort_by with "
    "that key, then first",
    "pick_longest.key": "pick_longest takes the item that lasts longest; for the highest of another field pick_best with "
    "that key",
    "first.key": "first takes the list as it is; for the lowest of a field sort_by with that key before it, for the "
    "highest pick_best with that key",
    "count.where": 'put a step of type "filter" with this "where" before, and count what it keeps',
    "count.key": "to count different values use count_distinct with that key; count counts all items",
    "merge_intervals.key": "it joins all spans that touch; group_by first, where those of different things must not be "
    "joined",
    "start_key": _OTHER_TIMES,
    "end_key": _OTHER_TIMES,
}

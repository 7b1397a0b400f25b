"""What to write instead of an aggregate that does not exist."""

from __future__ import annotations

#: names that other languages have
_KNOWN_ELSEWHERE = {
    "map": 'use a step of type "project"',
    "project": 'use a step of type "project"',
    "min_by": "sort_by with a key, then first",
    "most_common": "mode with a key",
    "limit": "top_k",
    "reverse": "sort_by with descending",
    "distinct": "dedupe_by with a key",
    "union": "concat_lists, then dedupe_by where each may count once only",
    "intersection": "intersect_by with a key",
    "difference": "difference_by with a key",
    "pick_first_detection": "first for the first of the list, pick_earliest for the first in time",
    "pick_last_detection": "nth with -1 for the last of the list, pick_latest for the last in time",
}

#: names that occur in recorded answers of a model. Suggestions only inform: nothing is compiled differently for them.
#: But a model that is shown its faults sees these sentences, so a yield that is measured on those same recordings
#: says nothing about any other document and is void.
_SEEN_IN_RECORDINGS = {
    "filter": 'use a step of type "filter" with "where"',
    "filter_non_empty": "loops already leave out empty results; count the list instead",
    "get_field": 'use a step of type "set" with "{{ name.field }}"',
    "compute": 'use a step of type "set"',
    "compare": "no aggregate judges; return both sides, or use concat_text",
    "summarize": "no aggregate writes prose; concat_text joins the texts in order",
    "infer": "no aggregate judges; return the material in order",
    "flatten": "loops already flatten lists; concat_lists joins several",
    "zip": "what a loop makes already carries the item it was made from: read it as item.parent; "
    "join_nearest_in_time pairs two other lists",
    "max_by": "pick_best with a key",
    "argmax": "pick_best with a key",
    "select_top": "top_k",
    "unique": "dedupe_by with a key",
    "filter_by_time_range": "filter_in_interval with an interval",
    "merge_and_sort_by_time": "concat_lists, then sort_by",
    "merge_timeline": "concat_lists, then sort_by",
    "merge_and_deduplicate": "concat_lists, then dedupe_overlaps",
    "union_dedup": "concat_lists, then dedupe_overlaps",
    "compare_times": "order_check on a list of the two items",
    "most_common_pattern": "mode with a key",
    "mean_score": "avg with a key",
    "take_first_of_each": 'a loop with a "do" block that ends in first',
    "extract_similarities": "no aggregate judges; return both sides",
    "extract_differences": "no aggregate judges; return both sides",
}

INSTEAD: dict[str, str] = {**_KNOWN_ELSEWHERE, **_SEEN_IN_RECORDINGS}

#: parameters that no aggregate has -> how to say what they say
PARAMETERS_INSTEAD: dict[str, str] = {
    "start_key": "leave it out: a stretch is always start_time to end_time",
    "end_key": "leave it out: a stretch is always start_time to end_time",
    "expression": 'make the value a field first, with a step of type "project", and name that field as "key"',
    "by": "did you mean 'key'?",
    "attribute": "did you mean 'key'?",
    "text": "did you mean 'key'?",
    "reverse": 'write "descending": true',
}
#: parameters that one aggregate has not -> what has them
PARAMETERS_ELSEWHERE: dict[tuple[str, str], str] = {
    ("pick_latest", "key"): "leave it out: pick_latest takes the item that ends last; for another field use pick_best",
    (
        "pick_earliest",
        "key",
    ): "leave it out: pick_earliest takes the item that starts first; for another field sort_by, first",
    ("pick_longest", "key"): 'use pick_best with "key"',
    ("first", "key"): 'use sort_by with "key", then first',
    ("count", "where"): "filter first, then count",
    ("count", "key"): 'use count_distinct with "key"',
    ("merge_intervals", "key"): "group_by first, where stretches of different things must not be joined",
}

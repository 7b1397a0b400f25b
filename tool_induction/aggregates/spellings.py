"""Other spellings that are exactly an aggregate, or a parameter of one, of this language; each use is reported as W_ALIAS.

What is only like one of ours is no spelling of it: it stays a fault and gets a suggestion.
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
#: keys of a record under ``inputs`` that hold the list itself, the parameters standing beside it
LIST_KEYS: dict[str, tuple[str, ...]] = {"list": ("items", "list"), "lists": ("lists",)}
#: how an aggregate ``filter`` (which is a step of its own) calls its condition
CONDITION_KEYS = ("where", "condition")

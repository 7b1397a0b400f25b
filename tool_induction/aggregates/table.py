"""The closed table of aggregates: what each takes, what it gives, and what runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from tool_induction.aggregates import choosing, lists, rules, spans
from tool_induction.aggregates.rules import Given, Lists
from tool_induction.aggregates.sayings import SAYINGS
from tool_induction.language import limits
from tool_induction.language.evaluation import Json
from tool_induction.language.types import BOOL, FLOAT, INT, INTERVAL, STRING, TIME, ListType, Type

Takes = Literal["list", "lists", "pair", "mix", "slots", "nothing"]
Role = Literal["value", "key", "number_key", "text_key", "condition"]


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A parameter of an aggregate. ``role`` says whether it names a field of the items or is a condition on them."""

    type: Type = STRING
    required: bool = False
    role: Role = "value"
    above: float | None = None  #: a number it must be larger than
    least: float | None = None  #: the smallest number that makes sense
    most: float | None = None  #: the largest number it may be


@dataclass(frozen=True, kw_only=True)
class AggregateSpec:
    """One aggregate.

    ``takes``: one list; several lists; a pair ``{a, b}`` of lists; a mix of anything; slots (a list whose nulls
    count); or nothing. ``times`` says that items must stand for stretches of video. ``order_free`` promises that the
    result does not depend on the order of the items; a pick from a list is that only where no two items tie.
    """

    name: str
    takes: Takes
    result: Callable[[Lists, Given], Type]
    run: Callable[..., Json]
    params: Mapping[str, Parameter] = field(default_factory=dict)
    times: bool = False
    order_free: bool = False

    @property
    def says(self) -> str:
        """What it gives, in one line."""
        return SAYINGS[self.name]


def _key(role: Role = "key", *, required: bool = False) -> Parameter:
    return Parameter(role=role, required=required)


def _value(
    type_: Type,
    *,
    required: bool = False,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
) -> Parameter:
    return Parameter(type=type_, required=required, above=above, least=least, most=most)


_CONDITION = Parameter(type=BOOL, role="condition")
_INTERVAL = _value(INTERVAL, required=True)

_SPECS = (
    AggregateSpec(name="pick_earliest", takes="list", result=rules.picked, run=choosing.pick_earliest, times=True),
    AggregateSpec(name="pick_latest", takes="list", result=rules.picked, run=choosing.pick_latest, times=True),
    AggregateSpec(name="pick_longest", takes="list", result=rules.picked, run=choosing.pick_longest, times=True),
    AggregateSpec(
        name="pick_best", takes="list", result=rules.picked, run=choosing.pick_best, params={"key": _key("number_key")}
    ),
    AggregateSpec(name="first", takes="list", result=rules.picked, run=choosing.first),
    AggregateSpec(
        name="nth", takes="list", result=rules.found, run=choosing.nth, params={"n": _value(INT, required=True)}
    ),
    AggregateSpec(
        name="next_after",
        takes="list",
        result=rules.found,
        run=choosing.next_after,
        params={"time": _value(TIME, required=True, least=0)},
        times=True,
    ),
    AggregateSpec(
        name="previous_before",
        takes="list",
        result=rules.found,
        run=choosing.previous_before,
        params={"time": _value(TIME, required=True, least=0)},
        times=True,
    ),
    AggregateSpec(name="count", takes="list", result=rules.always(INT), run=lists.count, order_free=True),
    AggregateSpec(
        name="count_distinct",
        takes="list",
        result=rules.always(INT),
        run=lists.count_distinct,
        params={"key": _key()},
        order_free=True,
    ),
    AggregateSpec(
        name="any",
        takes="list",
        result=rules.always(BOOL),
        run=lists.any_,
        params={"where": _CONDITION},
        order_free=True,
    ),
    AggregateSpec(
        name="all",
        takes="list",
        result=rules.always(BOOL),
        run=lists.all_,
        params={"where": replace(_CONDITION, required=True)},
        order_free=True,
    ),
    AggregateSpec(name="concat_lists", takes="lists", result=rules.concatenated, run=lists.concat_lists),
    AggregateSpec(
        name="sort_by",
        takes="list",
        result=rules.same_length,
        run=choosing.sort_by,
        params={"key": _key(), "descending": _value(BOOL)},
    ),
    AggregateSpec(
        name="top_k",
        takes="list",
        result=rules.top,
        run=choosing.top_k,
        params={"k": _value(INT, required=True, least=1), "key": _key()},
    ),
    AggregateSpec(
        name="filter_by_score",
        takes="list",
        result=rules.some,
        run=choosing.filter_by_score,
        params={"min_score": _value(FLOAT, required=True), "key": _key("number_key"), "keep_null": _value(BOOL)},
    ),
    AggregateSpec(
        name="filter_in_interval",
        takes="list",
        result=rules.some,
        run=spans.filter_in_interval,
        params={"interval": _INTERVAL},
        times=True,
    ),
    AggregateSpec(name="dedupe_by", takes="list", result=rules.thinned, run=lists.dedupe_by, params={"key": _key()}),
    AggregateSpec(name="intersect_by", takes="pair", result=rules.some, run=lists.intersect_by, params={"key": _key()}),
    AggregateSpec(
        name="difference_by", takes="pair", result=rules.some, run=lists.difference_by, params={"key": _key()}
    ),
    AggregateSpec(
        name="dedupe_overlaps",
        takes="list",
        result=rules.thinned,
        run=spans.dedupe_overlaps,
        params={"iou": _value(FLOAT, least=0, most=1)},
        times=True,
    ),
    AggregateSpec(
        name="merge_intervals",
        takes="list",
        result=rules.intervals,
        run=spans.merge_intervals,
        params={"gap": _value(FLOAT, least=0)},
        times=True,
        order_free=True,
    ),
    AggregateSpec(
        name="total_duration",
        takes="list",
        result=rules.always(FLOAT),
        run=spans.total_duration,
        times=True,
        order_free=True,
    ),
    AggregateSpec(
        name="clamp", takes="list", result=rules.some, run=spans.clamp, params={"interval": _INTERVAL}, times=True
    ),
    AggregateSpec(
        name="sample_times",
        takes="nothing",
        result=rules.sampled,
        run=spans.sample_times,
        params={
            "interval": _INTERVAL,
            "step": _value(FLOAT, required=True, above=0),
            "max_items": _value(INT, required=True, above=0, most=limits.MAX_SAMPLES),
        },
    ),
    AggregateSpec(
        name="group_by", takes="list", result=rules.groups, run=lists.group_by, params={"key": _key(required=True)}
    ),
    AggregateSpec(
        name="join_nearest_in_time",
        takes="pair",
        result=rules.joined,
        run=spans.join_nearest_in_time,
        params={"max_gap": _value(FLOAT, least=0)},
        times=True,
    ),
    AggregateSpec(
        name="order_check",
        takes="slots",
        result=rules.order,
        run=spans.order_check,
        params={"labels": _value(ListType(item=STRING))},
        times=True,
    ),
    AggregateSpec(name="ordered_pair", takes="pair", result=rules.pair, run=spans.ordered_pair, times=True),
    AggregateSpec(
        name="sum",
        takes="list",
        result=rules.total,
        run=lists.sum_,
        params={"key": _key("number_key")},
        order_free=True,
    ),
    AggregateSpec(
        name="avg",
        takes="list",
        result=rules.mean,
        run=lists.avg,
        params={"key": _key("number_key")},
        order_free=True,
    ),
    AggregateSpec(
        name="min",
        takes="list",
        result=rules.at_key,
        run=lists.min_,
        params={"key": _key("number_key")},
        order_free=True,
    ),
    AggregateSpec(
        name="max",
        takes="list",
        result=rules.at_key,
        run=lists.max_,
        params={"key": _key("number_key")},
        order_free=True,
    ),
    AggregateSpec(name="mode", takes="list", result=rules.at_key, run=lists.mode, params={"key": _key()}),
    AggregateSpec(
        name="concat_text",
        takes="list",
        result=rules.always(STRING),
        run=spans.concat_text,
        params={
            "key": _key("text_key"),
            "sep": _value(STRING),
            "max_chars": _value(INT, least=1),
            "with_times": _value(BOOL),
        },
    ),
    AggregateSpec(
        name="collect_evidence", takes="mix", result=lambda _, __: rules.evidence_list(), run=lists.collect_evidence
    ),
)

AGGREGATES: dict[str, AggregateSpec] = {spec.name: spec for spec in _SPECS}

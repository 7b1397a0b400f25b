"""The closed table of aggregates: the inputs, parameters, result type and function of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from tool_induction import limits
from tool_induction.aggregates import functions
from tool_induction.language import types as ty
from tool_induction.language.evaluation import Json
from tool_induction.language.expressions import Scalar

#: the constant parameters a result's type may depend on
Given: TypeAlias = Mapping[str, Scalar]
Lists: TypeAlias = Sequence[ty.ListType]


def picked(given: Lists, _: Given) -> ty.Type:
    """Type of one of the items; it is not null if the list is known not to be empty."""
    return given[0].item if given[0].filled else ty.optional(given[0].item)


def found(given: Lists, _: Given) -> ty.Type:
    """Type of one of the items, or null."""
    return ty.optional(given[0].item)


def thinned(given: Lists, _: Given) -> ty.ListType:
    """Type of a list with usually fewer items; it is not empty if the given list is not."""
    one = given[0]
    return replace(one, name="", typical=None if one.typical is None else max(1, (one.typical + 1) // 2))


def some(given: Lists, constants: Given) -> ty.Type:
    """Type of a list with some of the items, which may be empty."""
    return replace(thinned(given, constants), filled=False)


def top(given: Lists, constants: Given) -> ty.Type:
    """Type of a list with at most ``k`` of the items."""
    k, one = constants.get("k"), given[0]
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        return replace(one, name="", filled=False)
    typical = k if one.typical is None else min(k, one.typical)
    return replace(one, name="", bound=k if one.bound is None else min(k, one.bound), typical=typical, stated=True)


def concatenated(given: Lists, _: Given) -> ty.Type:
    """Type of a list with the items of all lists."""
    bounds, typicals = [one.bound for one in given], [one.typical for one in given]
    return ty.ListType(
        item=ty.join_all(one.item for one in given),
        bound=None if None in bounds else sum(value or 0 for value in bounds),
        typical=None if None in typicals else sum(value or 0 for value in typicals),
        stated=all(one.stated for one in given),
        filled=any(one.filled for one in given),
    )


def field_type(item: ty.Type, key: Scalar) -> ty.Type:
    """Return the type under a key of the items (``a.b`` for nested records); ``any`` if it is unknown."""
    type_ = ty.plain(item)
    for part in str(key).split(".") if key is not None else ():
        type_ = ty.plain(type_)
        type_ = (type_.get(part) or ty.ANY) if isinstance(type_, ty.RecordType) else ty.ANY
    return type_


def total(given: Lists, constants: Given) -> ty.Type:
    """Type of a sum: ``int`` of integers, ``Score`` of rank scores, ``number`` of unknown values, else ``float``."""
    summed = ty.plain(field_type(given[0].item, constants.get("key")))
    if summed == ty.ANY:
        return ty.NUMBER
    return summed if summed in (ty.INT, ty.SCORE) else ty.FLOAT


def mean(given: Lists, constants: Given) -> ty.Type:
    """Type of a mean (a rank score or ``float``), which is null for an empty list."""
    return ty.optional(ty.SCORE if total(given, constants) == ty.SCORE else ty.FLOAT)


def at_key(given: Lists, constants: Given) -> ty.Type:
    """Type of one of the values under the key, or null."""
    if constants.get("key") is None and isinstance(ty.plain(given[0].item), ty.RecordType):
        return ty.ANY  # records need a key, which has been asked for
    return ty.optional(ty.plain(field_type(given[0].item, constants.get("key"))))


def evidence_list() -> ty.ListType:
    """Type of a list of evidence."""
    return ty.ListType(item=ty.world_types()["Evidence"], bound=100, typical=5)


def intervals(given: Lists, constants: Given) -> ty.Type:
    """Type of a list of merged intervals with their evidence; it may be empty if items may lack times."""
    item = ty.with_field(ty.LONG_INTERVAL, "evidence", evidence_list())
    return replace(thinned(given, constants), item=item, filled=given[0].filled and surely_timed(given[0].item))


def surely_timed(item: ty.Type) -> bool:
    """Whether every item of this type has a time span or a moment."""
    if isinstance(item, ty.RecordType) and not item.is_open:
        return any(isinstance(item.get(key), ty.ScalarType) for key in ("start_time", "timestamp"))
    return isinstance(item, ty.ScalarType) and ty.is_numeric(item)


def groups(given: Lists, constants: Given) -> ty.Type:
    """Type of a list of groups ``{key, items}``."""
    members = replace(given[0], name="", filled=True)
    item = ty.RecordType(fields=(("key", field_type(members.item, constants.get("key"))), ("items", members)))
    return replace(thinned(given, constants), item=item)


def joined(given: Lists, _: Given) -> ty.Type:
    """Type of a list of pairs ``{a, b, dt}`` with the times of ``a``."""
    pair = (("a", given[0].item), ("b", given[1].item), ("dt", ty.FLOAT))
    times = (("start_time", ty.TIME), ("end_time", ty.TIME), ("center_time", ty.TIME), ("evidence", evidence_list()))
    return replace(given[0], name="", item=ty.RecordType(fields=(*pair, *times)), filled=False)


def pair(given: Lists, _: Given) -> ty.Type:
    """Type of a pair ``{a, b}`` of items, or null."""
    fields = (("a", given[0].item), ("b", given[1].item), ("evidence", evidence_list()))
    return ty.optional(ty.RecordType(fields=fields))


def sampled(_: Lists, constants: Given) -> ty.Type:
    """Type of a list of times."""
    most = constants.get("max_items")
    bound = most if isinstance(most, int) and not isinstance(most, bool) else None
    return ty.ListType(item=ty.TIME, bound=bound, typical=bound, stated=bound is not None)


def always(type_: ty.Type) -> Callable[[Lists, Given], ty.Type]:
    """Return a function for ``AggregateSpec.result`` that returns ``type_`` for all inputs."""
    return lambda _, __: type_


Takes = Literal["list", "lists", "pair", "mix", "slots", "nothing"]
Role = Literal["value", "key", "number_key", "text_key", "condition"]


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A parameter of an aggregate. ``role``: a plain value, the name of a field of the items, or a condition."""

    type: ty.Type = ty.STRING
    required: bool = False
    role: Role = "value"
    above: float | None = None  #: a number it must be larger than
    least: float | None = None  #: the smallest number that makes sense
    most: float | None = None  #: the largest number it may be


@dataclass(frozen=True, kw_only=True)
class AggregateSpec:
    """One aggregate.

    ``takes``: one list; several lists; a pair ``{a, b}`` of lists; a mix of anything; slots (a list in which nulls
    count); or nothing. ``times``: whether items must have times.
    """

    name: str
    takes: Takes
    result: Callable[[Lists, Given], ty.Type]
    run: Callable[..., Json]
    says: str  #: what it gives, in one line: for the reference page and for prompts
    params: Mapping[str, Parameter]
    times: bool
    unsure: str  #: how it carries on what is possible: a key of ``UNSURE``


def _spec(
    run: Callable[..., Json], takes: Takes, result: Callable[[Lists, Given], ty.Type], /, **params: Parameter
) -> AggregateSpec:
    name, says = run.__name__.rstrip("_"), " ".join((run.__doc__ or "").split()).rstrip(".")
    return AggregateSpec(
        name=name,
        takes=takes,
        result=result,
        run=run,
        says=says[:1].lower() + says[1:],
        params=params,
        times=name in _TIMED,
        unsure=next((rule for rule, (names, _) in UNSURE.items() if name in names.split()), "mixed"),
    )


#: Rules for items that are only possible (they lack a word, or it was not judged of them), and for lists of which
#: items may be missing: the aggregates of each, and what they give. An aggregate that is not named here is ``mixed``.
UNSURE: Mapping[str, tuple[str, str]] = {
    "agreed": (
        "pick_earliest pick_latest pick_longest pick_best first nth next_after previous_before min max ordered_pair",
        "the candidate among the sure items if there is one, else among all; sure if all give the same and none may be missing",
    ),
    "counted": (
        "count count_distinct sum total_duration",
        "of the sure items alone; beside it, how much more is possible",
    ),
    "settled": (
        "any all",
        "yes or no only where no possible or missing item could change it; else no (null of an optional output)",
    ),
    "kept": (
        "concat_lists sort_by filter_by_score filter_in_interval clamp intersect_by difference_by",
        "what may belong to it; a sure item is one that surely does, no matter what becomes of the possible ones",
    ),
    "remade": (
        "top_k dedupe_by merge_intervals group_by join_nearest_in_time",
        "of all items; what the sure ones alone give too is sure, and others may be missing "
        "(none of `dedupe_by` where a sure item stands for each that it leaves out)",
    ),
    "mixed": (
        "avg mode concat_text order_check dedupe_overlaps collect_evidence sample_times",
        "of all items; sure if every item is and none may be missing",
    ),
}
#: aggregates whose items must have times
_TIMED = frozenset(
    "pick_earliest pick_latest pick_longest next_after previous_before filter_in_interval dedupe_overlaps "
    "merge_intervals total_duration clamp join_nearest_in_time order_check ordered_pair".split()
)
_CONDITION = Parameter(type=ty.BOOL, role="condition")
_INTERVAL = Parameter(type=ty.INTERVAL, required=True)
_MISSING = ty.ListType(item=ty.STRING, bound=20, typical=1)
_ORDER = ty.RecordType(fields=(("ordered", ty.optional(ty.BOOL)), ("missing", _MISSING)))

_SPECS = (
    _spec(functions.pick_earliest, "list", picked),
    _spec(functions.pick_latest, "list", picked),
    _spec(functions.pick_longest, "list", picked),
    _spec(functions.pick_best, "list", picked, key=Parameter(role="number_key")),
    _spec(functions.first, "list", picked),
    _spec(functions.nth, "list", found, n=Parameter(type=ty.INT, required=True)),
    _spec(functions.next_after, "list", found, time=Parameter(type=ty.TIME, required=True, least=0)),
    _spec(functions.previous_before, "list", found, time=Parameter(type=ty.TIME, required=True, least=0)),
    _spec(functions.count, "list", always(ty.INT)),
    _spec(functions.count_distinct, "list", always(ty.INT), key=Parameter(role="key")),
    _spec(functions.any_, "list", always(ty.BOOL), where=_CONDITION),
    _spec(functions.all_, "list", always(ty.BOOL), where=replace(_CONDITION, required=True)),
    _spec(functions.concat_lists, "lists", concatenated),
    _spec(
        functions.sort_by,
        "list",
        lambda given, _: replace(given[0], name=""),
        key=Parameter(role="key"),
        descending=Parameter(type=ty.BOOL),
    ),
    _spec(functions.top_k, "list", top, k=Parameter(type=ty.INT, required=True, least=1), key=Parameter(role="key")),
    _spec(
        functions.filter_by_score,
        "list",
        some,
        min_score=Parameter(type=ty.FLOAT, required=True),
        key=Parameter(role="number_key"),
        keep_null=Parameter(type=ty.BOOL),
    ),
    _spec(functions.filter_in_interval, "list", some, interval=_INTERVAL),
    _spec(functions.dedupe_by, "list", thinned, key=Parameter(role="key")),
    _spec(functions.intersect_by, "pair", some, key=Parameter(role="key")),
    _spec(functions.difference_by, "pair", some, key=Parameter(role="key")),
    _spec(functions.dedupe_overlaps, "list", thinned, iou=Parameter(type=ty.FLOAT, least=0, most=1)),
    _spec(functions.merge_intervals, "list", intervals, gap=Parameter(type=ty.FLOAT, least=0)),
    _spec(functions.total_duration, "list", always(ty.FLOAT)),
    _spec(functions.clamp, "list", some, interval=_INTERVAL),
    _spec(
        functions.sample_times,
        "nothing",
        sampled,
        interval=_INTERVAL,
        step=Parameter(type=ty.FLOAT, required=True, above=0),
        max_items=Parameter(type=ty.INT, required=True, above=0, most=limits.MAX_SAMPLES),
    ),
    _spec(functions.group_by, "list", groups, key=Parameter(role="key", required=True)),
    _spec(functions.join_nearest_in_time, "pair", joined, max_gap=Parameter(type=ty.FLOAT, least=0)),
    _spec(functions.order_check, "slots", always(_ORDER), labels=Parameter(type=ty.ListType(item=ty.STRING))),
    _spec(functions.ordered_pair, "pair", pair),
    _spec(functions.sum_, "list", total, key=Parameter(role="number_key")),
    _spec(functions.avg, "list", mean, key=Parameter(role="number_key")),
    _spec(functions.min_, "list", at_key, key=Parameter(role="number_key")),
    _spec(functions.max_, "list", at_key, key=Parameter(role="number_key")),
    _spec(functions.mode, "list", at_key, key=Parameter(role="key")),
    _spec(
        functions.concat_text,
        "list",
        always(ty.STRING),
        key=Parameter(role="text_key"),
        sep=Parameter(type=ty.STRING),
        max_chars=Parameter(type=ty.INT, least=1),
        with_times=Parameter(type=ty.BOOL),
    ),
    _spec(functions.collect_evidence, "mix", lambda _, __: evidence_list()),
)

AGGREGATES: dict[str, AggregateSpec] = {spec.name: spec for spec in _SPECS}

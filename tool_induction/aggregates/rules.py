"""How the type of an aggregate's result follows from the types of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from tool_induction.language.syntax import Scalar
from tool_induction.language.typenames import world_types
from tool_induction.language.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    LONG_INTERVAL,
    SCORE,
    STRING,
    TIME,
    ListType,
    RecordType,
    ScalarType,
    Type,
    is_numeric,
    join,
    optional,
    plain,
    with_field,
)

#: the constant parameters a result's type may depend on
Given: TypeAlias = Mapping[str, Scalar]
Lists: TypeAlias = Sequence[ListType]


def picked(given: Lists, _: Given) -> Type:
    """One of the items; surely there where the list is never empty."""
    return given[0].item if given[0].filled else optional(given[0].item)


def found(given: Lists, _: Given) -> Type:
    """One of the items, or nothing."""
    return optional(given[0].item)


def same_length(given: Lists, _: Given) -> Type:
    """The same items in another order."""
    return replace(given[0], name="")


def thinned(given: Lists, _: Given) -> Type:
    """Some of the items; where there are any, one stays."""
    typical = given[0].typical
    return replace(given[0], name="", typical=None if typical is None else max(1, (typical + 1) // 2))


def some(given: Lists, constants: Given) -> Type:
    """Some of the items, maybe none."""
    fewer = thinned(given, constants)
    return replace(fewer, filled=False) if isinstance(fewer, ListType) else fewer


def top(given: Lists, constants: Given) -> Type:
    """At most ``k`` of the items."""
    k, one = constants.get("k"), given[0]
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        return replace(one, name="", filled=False)
    typical = k if one.typical is None else min(k, one.typical)
    return replace(one, name="", bound=k if one.bound is None else min(k, one.bound), typical=typical, stated=True)


def concatenated(given: Lists, _: Given) -> Type:
    """The items of all lists."""
    item: Type | None = given[0].item if given else ANY
    for one in given[1:]:
        item = None if item is None else join(item, one.item)
    bounds, typicals = [one.bound for one in given], [one.typical for one in given]
    return ListType(
        item=ANY if item is None else item,
        bound=None if None in bounds else sum(value or 0 for value in bounds),
        typical=None if None in typicals else sum(value or 0 for value in typicals),
        stated=all(one.stated for one in given),
        filled=any(one.filled for one in given),
    )


def field_type(item: Type, key: Scalar) -> Type:
    """The type under a key of the items; ``any`` where it cannot be told."""
    type_ = plain(item)
    for part in str(key).split(".") if key is not None else ():
        type_ = plain(type_)
        type_ = (type_.get(part) or ANY) if isinstance(type_, RecordType) else ANY
    return type_


def total(given: Lists, constants: Given) -> Type:
    """A sum; of whole numbers it is one, and of rank scores it is as little a number."""
    summed = plain(field_type(given[0].item, constants.get("key")))
    return summed if summed in (INT, SCORE) else FLOAT


def mean(given: Lists, constants: Given) -> Type:
    """A mean; none of nothing."""
    return optional(SCORE if total(given, constants) == SCORE else FLOAT)


def at_key(given: Lists, constants: Given) -> Type:
    """A value under the key."""
    if constants.get("key") is None and isinstance(plain(given[0].item), RecordType):
        return ANY  # records need a key, which has been asked for
    return optional(plain(field_type(given[0].item, constants.get("key"))))


def evidence_list() -> ListType:
    """Pieces of evidence."""
    return ListType(item=world_types()["Evidence"], bound=100, typical=5)


def intervals(given: Lists, _: Given) -> Type:
    """Joined stretches with their evidence; none of items that stand for no stretch."""
    item = with_field(LONG_INTERVAL, "evidence", evidence_list())
    return replace(thin(given[0]), item=item, filled=given[0].filled and surely_timed(given[0].item))


def surely_timed(item: Type) -> bool:
    """Whether every item of this type stands for a stretch of video, or for a moment."""
    if isinstance(item, RecordType) and not item.is_open:
        return any(isinstance(item.get(key), ScalarType) for key in ("start_time", "timestamp"))
    return isinstance(item, ScalarType) and is_numeric(item)


def thin(one: ListType) -> ListType:
    """Fewer items, as a rule."""
    return replace(one, name="", typical=None if one.typical is None else max(1, (one.typical + 1) // 2))


def groups(given: Lists, constants: Given) -> Type:
    """Groups of items."""
    one = given[0]
    members = replace(one, name="", filled=True)
    item = RecordType(fields=(("key", field_type(one.item, constants.get("key"))), ("items", members)))
    return replace(thin(one), item=item)


def joined(given: Lists, _: Given) -> Type:
    """Pairs of items, over the times of the first."""
    pair = (("a", given[0].item), ("b", given[1].item), ("dt", FLOAT))
    times = (("start_time", TIME), ("end_time", TIME), ("center_time", TIME), ("evidence", evidence_list()))
    return replace(given[0], name="", item=RecordType(fields=(*pair, *times)), filled=False)


def order(_: Lists, __: Given) -> Type:
    """The verdict of an order check."""
    missing = ListType(item=STRING, bound=20, typical=1)
    return RecordType(fields=(("ordered", optional(BOOL)), ("missing", missing)))


def pair(given: Lists, _: Given) -> Type:
    """A pair of items, or nothing."""
    fields = (("a", given[0].item), ("b", given[1].item), ("evidence", evidence_list()))
    return optional(RecordType(fields=fields))


def sampled(_: Lists, constants: Given) -> Type:
    """Moments."""
    most = constants.get("max_items")
    bound = most if isinstance(most, int) and not isinstance(most, bool) else None
    return ListType(item=TIME, bound=bound, typical=bound, stated=bound is not None)


def always(type_: Type) -> Callable[[Lists, Given], Type]:
    """A rule that gives the same type whatever the inputs are."""
    return lambda _, __: type_

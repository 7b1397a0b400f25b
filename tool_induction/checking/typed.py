"""Expressions with their types, and what a whole record stands for where a list or a single value is wanted."""

from __future__ import annotations

from typing import NamedTuple

from tool_induction.language.syntax import Expr
from tool_induction.language.types import BOOKKEEPING, AnyType, ListType, RecordType, Type, fit, plain


class Typed(NamedTuple):
    """An expression with everything implicit written out, and its type."""

    expr: Expr
    type: Type


def list_field(type_: Type) -> tuple[str, ListType] | None:
    """The one list of a record (``candidates`` of a search result), if it has exactly one."""
    if not isinstance(type_, RecordType):
        return None
    found = [
        (key, inner)
        for key, value in type_.fields
        if key not in BOOKKEEPING and isinstance(inner := plain(value), ListType) and inner.name == ""
    ]
    # A record that stands for a stretch of video (a memory with its parts) is an item, not a list of its parts.
    if len(found) != 1 or type_.name:
        return None
    return found[0]


def is_list(type_: Type) -> bool:
    """Whether it is a list, or a record that stands for its one list."""
    return isinstance(type_, ListType) or list_field(type_) is not None


#: what a loop makes of the results of its items, in words; ``joined_field`` is the rule itself
JOINING = (
    "In a loop, results that say nothing but one list are joined into one list; any other result stays a record, one for "
    "each item, even if it holds a list."
)


def joined_field(type_: Type) -> tuple[str, ListType] | None:
    """The list that a loop joins: the one list of a record that says nothing else (``BOOKKEEPING`` aside)."""
    one = list_field(type_)
    if one is None or not isinstance(type_, RecordType):
        return None
    return one if all(key in BOOKKEEPING or key == one[0] for key in type_.keys) else None


def value_field(type_: Type, wanted: Type) -> tuple[str, Type] | None:
    """The one field of a record that says something and fits where a scalar is wanted (``answer`` of a state)."""
    if not isinstance(type_, RecordType) or isinstance(wanted, ListType | RecordType | AnyType):
        return None
    found = [(key, value) for key, value in type_.fields if key not in BOOKKEEPING]
    scalars = [(key, value) for key, value in found if not isinstance(plain(value), ListType | RecordType)]
    if len(scalars) != 1 or len(found) != 1:
        return None
    return scalars[0] if fit(scalars[0][1], wanted).how in ("yes", "optional") else None

"""The origin of an expression's value, found along the way that its value was found."""

from __future__ import annotations

from collections.abc import Mapping

from tool_induction.language.evaluation import Json, evaluate
from tool_induction.language.syntax import (
    Choice,
    Const,
    Expr,
    Field,
    Filtered,
    Index,
    Items,
    JsonList,
    JsonRecord,
    Name,
    children,
)
from tool_induction.runtime.origins.origin import NOTHING, Origin, Origins, joined


def origin_of(expr: Expr, values: Mapping[str, Json], origins: Origins) -> Origin:
    """Where the value of an expression came from. The expression has been evaluated in this scope before."""
    match expr:
        case Const():
            return NOTHING
        case Name(name):
            return origins.of(name)
        case Field(base, key):
            return origin_of(base, values, origins).field(key)
        case Index(base, number):
            return origin_of(base, values, origins).item(number)
        case JsonRecord(entries):
            return Origin(fields={key: origin_of(value, values, origins) for key, value in entries})
        case JsonList(items) | Items(items):
            return Origin(items=tuple(origin_of(item, values, origins) for item in items))
        case Choice(condition, then, otherwise):
            chosen = then if evaluate(condition, values) else otherwise
            decided = origin_of(condition, values, origins).behind()
            return origin_of(chosen, values, origins).also_decided_by(decided)
        case Filtered(value, "default", arguments):
            given = origin_of(value, values, origins)
            if evaluate(value, values) is not None:
                return given
            return origin_of(arguments[0], values, origins).also_decided_by(given.behind())
    return joined(origin_of(child, values, origins) for child in children(expr))

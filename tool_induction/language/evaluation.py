"""The evaluator: computes the value of an expression in a scope, from JSON values to a JSON value.

It looks up keys of mappings only (never attributes of Python objects), computes with numbers only, and limits the size
of every result. A missing key is null, and so is every key of null.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Callable, Mapping
from typing import TypeAlias

from tool_induction import limits
from tool_induction.language import expressions as ex
from world_api.core.faults import ToolFault

_CHARACTERS = 16  #: characters of text that count as one more value


def weight(value: object, *, most: int) -> int:
    """Return how many values a value contains when it is written out; counting stops beyond ``most``.

    Since a value may contain the same part many times, one that is small in memory can be endless to traverse. Compute
    the weight of a value before traversing it. Long texts count as several values.
    """
    return weight_and_depth(value, most=most)[0]


def weight_and_depth(value: object, *, most: int) -> tuple[int, int]:
    """Return the weight and the nesting depth of a value, as far as it was counted."""
    total, depth = 1, 0
    level = [value]
    while level and total <= most:
        below: list[object] = []
        is_deeper = False
        for item in level:
            if isinstance(item, str):
                total += len(item) // _CHARACTERS
            elif isinstance(item, dict | list):
                is_deeper = True
                total += len(item)
                if total > most:
                    break
                below.extend(item.values() if isinstance(item, dict) else item)
        level = below
        depth += is_deeper
    return total, depth


Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Scope: TypeAlias = Mapping[str, Json]


def evaluate(expr: ex.Expr, scope: Scope) -> Json:  # noqa: PLR0912 - one case a node type, flat
    """Return the value of an expression; ``scope`` has the values of names.

    Raises:
        ToolFault: ``bad_expression``, with the expression and what is wrong with its operands.
    """
    match expr:
        case ex.Const(value):
            return value
        case ex.Name(name):
            if name not in scope:
                raise _fault(expr, f"{name!r} is not bound")
            return scope[name]
        case ex.Field(base, key):
            record = evaluate(base, scope)
            if record is not None and not isinstance(record, dict):
                raise _fault(expr, f"{kind(record)} has no key {key!r}")
            return None if record is None else record.get(key)
        case ex.Index(base, number):
            rows = evaluate(base, scope)
            if rows is not None and not isinstance(rows, list):
                raise _fault(expr, f"{kind(rows)} has no items")
            return rows[number] if rows is not None and -len(rows) <= number < len(rows) else None
        case ex.Compare():
            return _compare(expr, evaluate(expr.left, scope), evaluate(expr.right, scope))
        case ex.IsNone(value, negated):
            return (evaluate(value, scope) is not None) == negated
        case ex.Logic(op, left, right):
            first = truth(expr, evaluate(left, scope))
            if first == (op == "or"):
                return first
            return truth(expr, evaluate(right, scope))
        case ex.Not(value):
            return not truth(expr, evaluate(value, scope))
        case ex.Negate(value):
            return -_number(expr, evaluate(value, scope))
        case ex.Arithmetic():
            return _arithmetic(expr, evaluate(expr.left, scope), evaluate(expr.right, scope))
        case ex.Choice(condition, then, otherwise):
            return evaluate(then if truth(expr, evaluate(condition, scope)) else otherwise, scope)
        case ex.Filtered():
            return _filter(expr, scope)
        case ex.ListExpression(items) | ex.JsonList(items):
            return [evaluate(item, scope) for item in items]
        case ex.JsonRecord(entries):
            return {key: evaluate(value, scope) for key, value in entries}
        case ex.Text(parts):
            return _text(expr, [as_text(evaluate(part, scope)) for part in parts])
        case ex.Broken():
            raise _fault(expr, "it could not be read")


def truth(expr: ex.Expr, value: Json) -> bool:
    """Return ``value``, that of the condition ``expr``; raise ``bad_expression`` if it is no boolean."""
    if not isinstance(value, bool):
        raise _fault(expr, f"a condition must be true or false, not {kind(value)}")
    return value


def as_text(value: Json) -> str:
    """Return a value as part of a text: strings unchanged, null as an empty text, other values as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if weight(value, most=limits.MAX_STRING_RESULT) > limits.MAX_STRING_RESULT:
        raise ToolFault("bad_expression", f"{kind(value)} is too large to be written into a text")
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def kind(value: Json) -> str:
    """Return what messages call a value, such as ``a list`` or ``null``."""
    if isinstance(value, bool) or value is None:
        return "null" if value is None else "a boolean"
    if isinstance(value, dict | list):
        return "a list" if isinstance(value, list) else "a record"
    return "a string" if isinstance(value, str) else "a number"


def same(left: Json, right: Json) -> bool:
    """Whether two JSON values are equal; 1 equals 1.0, but not true."""
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    return left == right


def _fault(expr: ex.Expr, why: str) -> ToolFault:
    shown = (
        "text" if isinstance(expr, ex.Text) else ex.to_text(expr) if not isinstance(expr, ex.JsonRecord) else "record"
    )
    return ToolFault("bad_expression", f"{{{{ {shown} }}}}: {why}", hint="the values it met do not fit the expression")


def _number(expr: ex.Expr, value: Json) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _fault(expr, f"a number is wanted, found {kind(value)}")
    if not abs(value) <= limits.MAX_NUMBER:  # not a number compares false with everything
        raise _fault(expr, "a number is too large")
    return value


def _compare(expr: ex.Compare, left: Json, right: Json) -> bool:
    match expr.op:
        case "==" | "!=":
            return same(left, right) == (expr.op == "==")
        case "in" | "not in":
            return _contains(expr, left, right) == (expr.op == "in")
    if isinstance(left, str) and isinstance(right, str):
        order: float = (left > right) - (left < right)
    else:
        first, second = _number(expr, left), _number(expr, right)
        order = (first > second) - (first < second)
    return bool(COMPUTED[expr.op](order, 0))


def _contains(expr: ex.Expr, item: Json, holder: Json) -> bool:
    if isinstance(holder, list):
        return any(same(item, other) for other in holder)
    if isinstance(holder, str) and isinstance(item, str):
        return item in holder
    raise _fault(expr, f"'in' looks into a list, or for a string in a string; found {kind(holder)}")


COMPUTED: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def _arithmetic(expr: ex.Arithmetic, left: Json, right: Json) -> int | float:
    first, second = _number(expr, left), _number(expr, right)
    if expr.op in ("/", "%") and second == 0:
        raise _fault(expr, "division by zero")
    result = COMPUTED[expr.op](first, second)
    if not math.isfinite(result) or abs(result) > limits.MAX_NUMBER:
        raise _fault(expr, "the result is too large")
    return result


def _filter(expr: ex.Filtered, scope: Scope) -> Json:
    value = evaluate(expr.value, scope)
    match expr.name:
        case "default":
            return evaluate(expr.arguments[0], scope) if value is None else value
        case "length":
            if not isinstance(value, list | str):
                raise _fault(expr, f"only lists and strings have a length, not {kind(value)}")
            return len(value)
        case "round":
            digits = _number(expr, evaluate(expr.arguments[0], scope)) if expr.arguments else 0
            if not isinstance(digits, int) or not 0 <= digits <= 9:
                raise _fault(expr, "rounds to 0 to 9 decimals")
            number = _number(expr, value)
            return round(number, digits) if digits else round(number)
        case "abs":
            return abs(_number(expr, value))
        case "min" | "max":
            if not isinstance(value, list):
                raise _fault(expr, f"a list of numbers is wanted, found {kind(value)}")
            numbers = [_number(expr, item) for item in value if item is not None]
            return (min if expr.name == "min" else max)(numbers, default=None)
        case "lower" | "upper":
            if not isinstance(value, str):
                raise _fault(expr, f"a string is wanted, found {kind(value)}")
            return _text(expr, [value.lower() if expr.name == "lower" else value.upper()])
    raise _fault(expr, f"there is no filter {expr.name!r}")


def _text(expr: ex.Expr, parts: list[str]) -> str:
    if sum(map(len, parts)) > limits.MAX_STRING_RESULT:
        raise _fault(expr, f"the text is longer than {limits.MAX_STRING_RESULT} characters")
    return "".join(parts)

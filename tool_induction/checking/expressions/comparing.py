"""The typing rules of comparisons and filters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tool_induction.checking.expressions.arithmetic import as_number
from tool_induction.checking.expressions.conditions import null_not_handled, with_default
from tool_induction.checking.expressions.scores import is_score, refuse_comparison, refuse_mixture
from tool_induction.checking.expressions.typed import Typed
from tool_induction.checking.expressions.unwrapping import is_list
from tool_induction.checking.known.narrowing import is_path
from tool_induction.language.diagnostics import did_you_mean
from tool_induction.language.syntax import Compare, Const, Expr, Field, Filtered, IsNone, Logic, to_text
from tool_induction.language.types import (
    ANY,
    FLOAT,
    INT,
    NULL,
    STRING,
    AnyType,
    EnumType,
    ListType,
    OptionalType,
    Type,
    is_numeric,
    is_text,
    join,
    optional,
    plain,
    show,
)

if TYPE_CHECKING:
    from tool_induction.checking.expressions.inference import Inference


def compare(at: Inference, expr: Compare) -> Expr:
    """The written-out comparison."""
    if expr.op in ("in", "not in"):
        return _membership(at, expr)
    left, right = at.infer(expr.left), at.infer(expr.right)
    written = Compare(left.expr, expr.op, right.expr)
    first, second = plain(left.type), plain(right.type)
    if refuse_comparison(at, written, left, right):
        return written
    if expr.op in ("==", "!="):
        _equality(at, first, second, written)
        return _not_empty(at, written, left, right)
    numbers = is_numeric(first) and is_numeric(second)
    if not numbers and not (is_text(first) and is_text(second)):
        at.note(
            "E_TYPE",
            f"{show(left.type)} and {show(right.type)} have no order",
            found=f"{show(left.type)} {expr.op} {show(right.type)}",
            expected="two numbers or two strings",
            suggestion=_how_many(at, left, right),
        )
        return written
    return _with_null(at, written, left, right)


def _how_many(at: Inference, left: Typed, right: Typed) -> str:
    """What is meant by a list that is compared with a number."""
    for rows, number in ((left, right), (right, left)):
        if is_list(plain(rows.type)) and is_numeric(plain(number.type)):
            return f"for how many there are write {to_text(rows.expr)} | length"
    return ""


def _with_null(at: Inference, written: Compare, left: Typed, right: Typed) -> Expr:
    """A confidence that nobody calibrated passes a threshold; any other null has to be dealt with."""
    loose = [side for side in (left, right) if isinstance(side.type, OptionalType)]
    if not loose:
        return written
    passes = written.op in (">", ">=") if loose == [left] else written.op in ("<", "<=")
    value = loose[0].expr
    if len(loose) == 1 and passes and isinstance(value, Field) and value.key == "confidence":
        lenient = Logic("or", IsNone(value, negated=False), written)
        at.note(
            "W_COERCED",
            f"{to_text(value)} is null where nobody calibrated it, and then passes the threshold",
            found=to_text(written),
            expected=to_text(lenient),
            suggestion=f"to drop such items write {to_text(value)} | default(0)",
        )
        return lenient
    for side in loose:
        null_not_handled(at, side, "an operand of a comparison")
    return written


def _not_empty(at: Inference, written: Compare, left: Typed, right: Typed) -> Expr:
    """``text != ""`` asks whether there is a text; null, which is not "" either, is none."""
    value = left if right.expr == Const("") else right if left.expr == Const("") else None
    if written.op != "!=" or value is None or not isinstance(value.type, OptionalType) or not is_path(value.expr):
        return written
    both = Logic("and", IsNone(value.expr, negated=True), written)
    at.note(
        "W_COERCED",
        f"{to_text(value.expr)} may be null, which is no text either",
        found=to_text(written),
        expected=to_text(both),
    )
    return both


def _equality(at: Inference, first: Type, second: Type, written: Compare) -> None:
    if isinstance(first, EnumType) and isinstance(second, EnumType) and not set(first.values) & set(second.values):
        known, word = (first, second) if len(second.values) == 1 else (second, first)
        if len(known.values) > 1:
            at.note(
                "E_TYPE",
                f"{to_text(written)}: {word.values[0]!r} is not one of the values",
                found=word.values[0],
                expected=", ".join(known.values),
                suggestion=did_you_mean(word.values[0], known.values),
            )
        return
    if join(first, second) is None:
        at.note(
            "E_TYPE",
            f"{to_text(written)} can never be equal: {show(first)} and {show(second)}",
            found=show(second),
            expected=show(first),
        )


def _membership(at: Inference, expr: Compare) -> Expr:
    left, right = at.infer(expr.left), at.infer(expr.right)
    holder, item = plain(right.type), plain(left.type)
    if is_text(holder):
        if not is_text(item):
            at.note(
                "E_TYPE", f"only a string can be in a string, not {show(item)}", found=show(item), expected="string"
            )
        for side in (left, right):
            if isinstance(side.type, OptionalType):
                null_not_handled(at, side, "an operand of 'in'")
        return Compare(left.expr, expr.op, right.expr)
    rows = at.listed(right)
    if refuse_comparison(at, Compare(left.expr, expr.op, rows.expr), left, rows):
        return Compare(left.expr, expr.op, rows.expr)
    if isinstance(rows.type, OptionalType):
        null_not_handled(at, rows, "the list of 'in'")
    return Compare(left.expr, expr.op, rows.expr)


def filtered(at: Inference, expr: Filtered) -> Typed:
    """The written-out use of a filter, and its type."""
    match expr.name:
        case "length":
            return _length(at, expr)
        case "default":
            return _default(at, expr)
        case "min" | "max":
            return _extreme(at, expr)
        case "lower" | "upper":
            text = at.infer(expr.value)
            if isinstance(text.type, OptionalType):
                null_not_handled(at, text, f"the operand of '{expr.name}'", with_default(text, "''"))
            elif not is_text(text.type):
                at.note("E_TYPE", f"'{expr.name}' works on strings", found=show(text.type), expected="string")
            return Typed(Filtered(text.expr, expr.name, ()), STRING)
    number = as_number(at, expr.value)
    arguments = tuple(as_number(at, argument).expr for argument in expr.arguments)
    written = Filtered(number.expr, expr.name, arguments)
    if expr.name == "round" and not is_score(number.type):
        return Typed(written, INT if arguments in ((), (Const(0),)) else FLOAT)
    return Typed(written, number.type)


def _length(at: Inference, expr: Filtered) -> Typed:
    value = at.infer(expr.value)
    if not is_text(plain(value.type)) or isinstance(value.type, AnyType):
        value = at.listed(value)
    if isinstance(value.type, OptionalType):
        null_not_handled(at, value, "the operand of 'length'", with_default(value, "[]"))
    return Typed(Filtered(value.expr, "length", ()), INT)


def _default(at: Inference, expr: Filtered) -> Typed:
    value, fallback = at.infer(expr.value), at.infer(expr.arguments[0])
    written = Filtered(value.expr, "default", (fallback.expr,))
    type_ = fallback.type if value.type == NULL else join(plain(value.type), fallback.type)
    if isinstance(type_, EnumType) and not isinstance(plain(value.type), EnumType):
        type_ = STRING
    if type_ is None:
        at.note(
            "E_TYPE",
            f"the default is {show(fallback.type)}, the value {show(plain(value.type))}",
            found=show(fallback.type),
            expected=show(plain(value.type)),
        )
        return Typed(written, plain(value.type))
    return Typed(written, type_)


def _extreme(at: Inference, expr: Filtered) -> Typed:
    rows = at.as_list(expr.value)
    refuse_mixture(at, rows.expr)
    written = Filtered(rows.expr, expr.name, ())
    inner = plain(rows.type)
    if not isinstance(inner, ListType):
        return Typed(written, ANY)
    item = plain(inner.item)
    if not is_numeric(item):
        at.note(
            "E_TYPE",
            f"'{expr.name}' works on numbers, found {show(rows.type)}",
            found=show(rows.type),
            expected="list<number>",
            suggestion=f'use the aggregate "{expr.name}" with a key',
        )
        return Typed(written, ANY)
    sure = inner.filled and not isinstance(inner.item, OptionalType) and not isinstance(rows.type, OptionalType)
    return Typed(written, item if sure else optional(item))

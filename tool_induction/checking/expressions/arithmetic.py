"""The typing rules of arithmetic: numbers only, and what was meant where there are none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tool_induction.checking.expressions.conditions import null_not_handled
from tool_induction.checking.expressions.typed import Typed
from tool_induction.checking.expressions.unwrapping import is_list
from tool_induction.checking.known.ranges import check_divisor
from tool_induction.language.syntax import Arithmetic, Expr, Text, to_json, to_text
from tool_induction.language.types import (
    ANY,
    FLOAT,
    INT,
    NUMBER,
    SCORE,
    TIME,
    OptionalType,
    Type,
    is_numeric,
    is_text,
    plain,
    show,
)

if TYPE_CHECKING:
    from tool_induction.checking.expressions.inference import Inference


def as_number(at: Inference, expr: Expr) -> Typed:
    """The expression where a number is wanted."""
    return _number(at, at.infer(expr))


def _number(at: Inference, typed: Typed) -> Typed:
    inner = plain(typed.type)
    if not is_numeric(inner):
        at.note(
            "E_TYPE",
            f"arithmetic works on numbers; {to_text(typed.expr)} is {show(typed.type)}",
            found=show(typed.type),
            expected="number",
            suggestion=_instead_of_arithmetic(inner, to_text(typed.expr)),
        )
        return Typed(typed.expr, NUMBER)
    if isinstance(typed.type, OptionalType):
        null_not_handled(at, typed, "an operand")
    return Typed(typed.expr, inner)


def arithmetic(at: Inference, expr: Arithmetic) -> Typed:
    """The written-out arithmetic; a time less a time is a duration."""
    sides = [at.infer(side) for side in (expr.left, expr.right)]
    if expr.op == "+" and not any(is_numeric(plain(side.type)) for side in sides):
        _added(at, sides[0], sides[1])
        return Typed(Arithmetic(sides[0].expr, expr.op, sides[1].expr), ANY)
    left, right = (_number(at, side) for side in sides)
    written = Arithmetic(left.expr, expr.op, right.expr)
    if expr.op in "/%":
        check_divisor(at, written)
    if SCORE in (left.type, right.type):
        return Typed(written, SCORE)
    if TIME in (left.type, right.type) and expr.op in "+-":
        both = left.type == right.type
        return Typed(written, FLOAT if both and expr.op == "-" else TIME)
    if left.type == right.type == INT and expr.op != "/":
        return Typed(written, INT)
    return Typed(written, FLOAT)


def _added(at: Inference, left: Typed, right: Typed) -> None:
    """What was meant by '+' on things that are no numbers."""
    first, second = to_text(left.expr), to_text(right.expr)
    suggestion = "a text is joined by writing its parts one after the other, outside of expressions"
    if is_list(plain(left.type)) and is_list(plain(right.type)):
        suggestion = (
            f'{{"type": "aggregate", "operation": "concat_lists", "inputs": ["{first}", "{second}"], "save_as": ...}}'
        )
    elif is_text(plain(left.type)) and is_text(plain(right.type)):
        suggestion = f"{suggestion}: {json.dumps(to_json(Text((left.expr, right.expr))), ensure_ascii=False)}"
    at.note(
        "E_TYPE",
        f"'+' adds numbers; {first} is {show(left.type)}",
        found=f"{show(left.type)} + {show(right.type)}",
        expected="numbers",
        suggestion=suggestion,
    )


def _instead_of_arithmetic(type_: Type, text: str) -> str:
    if is_list(type_):
        return (
            f"for how many there are write {text} | length; concat_lists joins lists, difference_by takes one "
            "from another"
        )
    if is_text(type_):
        return 'a text is joined by writing its parts one after the other, outside of expressions: "{{ a }}{{ b }}"'
    return ""

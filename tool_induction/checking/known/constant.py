"""Conditions whose value is known before a tool runs: always true, or never."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from tool_induction.checking.expressions.conditions import as_condition
from tool_induction.checking.expressions.typed import Typed
from tool_induction.checking.known.narrowing import OPERATIONS, OPPOSITE
from tool_induction.checking.known.ranges import Range, range_of
from tool_induction.language.syntax import (
    Comparator,
    Compare,
    Const,
    Expr,
    Field,
    Filtered,
    IsNone,
    Items,
    JsonList,
    Logic,
    Name,
    Not,
    to_text,
)
from tool_induction.language.types import (
    BOOL,
    FLOAT,
    INT,
    NULL,
    AnyType,
    OptionalType,
    RecordType,
    Type,
    is_numeric,
    plain,
)

if TYPE_CHECKING:
    from tool_induction.checking.expressions.inference import Inference

#: fields of operations' results whose values lie within bounds that their types do not say
_BOUNDS = {"confidence": Range(0, 1), "duration": Range(least=0)}
#: the comparison that was probably meant, where one never depends on anything at the edge of a range
_NEAREST: dict[Comparator, Comparator] = {">=": ">", "<=": "<", "<": "<=", ">": ">="}


def is_result(type_: Type) -> bool:
    """Whether it is a record that an operation made; what a field of any other holds is for its tool to say."""
    record = plain(type_)
    return isinstance(record, RecordType) and record.is_result


def whole_condition(at: Inference, expr: Expr) -> Expr:
    """A condition, written out; one that is always true, or never, is noted."""
    written = as_condition(at, expr)
    _check(at, written)
    return written


def _check(at: Inference, condition: Expr) -> None:
    quiet = at.knowing(())
    value = _truth(quiet, condition)
    if value is None:
        return
    asked = _asked(condition)
    at.note(
        "W_CONSTANT_CONDITION",
        f"{to_text(asked)} is {'always' if value else 'never'} true, so it decides nothing",
        found=to_text(asked),
        expected="a condition that can be true and can be false",
        suggestion=_instead(quiet, asked, value=value),
    )


def check_value(at: Inference, typed: Typed) -> None:
    """Note a value that is always true, or never, although it is worked out; a constant says so itself."""
    if typed.type == BOOL and not isinstance(typed.expr, Const | Name | Field):
        _check(at, typed.expr)


def _asked(condition: Expr) -> Expr:
    """The comparison of a confidence, without what was written out for a confidence that nobody calibrated."""
    match condition:
        case Logic("or", IsNone(Field(_, "confidence") as value, False), Compare() as asked) if value in (
            asked.left,
            asked.right,
        ):
            return asked
    return condition


def _truth(at: Inference, condition: Expr) -> bool | None:
    """What a condition always is; None where that depends."""
    match _asked(condition):
        case Const(bool(value)):
            return value
        case Not(value):
            inner = _truth(at, value)
            return None if inner is None else not inner
        case IsNone(value, negated):
            type_ = at.infer(value).type
            return None if isinstance(type_, AnyType | OptionalType) else (type_ == NULL) != negated
        case Logic(op, left, right) as whole:
            parts = {_truth(at, left), _truth(at, right)}
            decides = op == "or"
            if decides in parts or _contradicts(whole):
                return decides
            return not decides if parts == {not decides} else None
        case Compare() as comparison:
            return _compared(at, comparison)
    return None


def _compared(at: Inference, condition: Compare) -> bool | None:
    left, op, right = condition.left, condition.op, condition.right
    if op in ("in", "not in"):
        return op == "not in" if isinstance(right, Items | JsonList) and not right.items else None
    if left == right:
        return op in ("==", "<=", ">=")
    if isinstance(left, Const) and isinstance(right, Const) and op in ("==", "!="):
        return (left.value == right.value) == (op == "==")
    if not (is_numeric(at.infer(left).type) or is_numeric(at.infer(right).type)):
        return None
    first, second = _range(at, left), _range(at, right)
    if op in (">", ">="):
        first, second, op = second, first, "<" if op == ">" else "<="
    match op:
        case "<":
            return True if first.most < second.least else False if first.least >= second.most else None
        case "<=":
            return True if first.most <= second.least else False if first.least > second.most else None
    apart = first.most < second.least or second.most < first.least
    same = first.least == first.most == second.least == second.most
    return (op == "!=") if apart else (op == "==") if same else None


def _range(at: Inference, expr: Expr) -> Range:
    match expr:
        case Field(base, key) if key in _BOUNDS and is_result(at.infer(base).type):
            return _BOUNDS[key]
        case Filtered(value, "default", (instead,)):
            return _range(at, value).join(_range(at, instead))
    return range_of(at, expr)


def _contradicts(whole: Logic) -> bool:
    """Whether what the parts of an 'and' ask of one value cannot all be so; of an 'or', the opposites of its parts."""
    asked: dict[str, list[tuple[str, float | str]]] = {}
    for part in _parts(whole, whole.op):
        if not isinstance(part, Compare) or part.op in ("in", "not in") or not isinstance(part.right, Const):
            continue
        value = part.right.value
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            op = part.op if whole.op == "and" else OPPOSITE[part.op]
            asked.setdefault(to_text(part.left), []).append((op, value))
    return any(_cannot_all_hold(conditions) for conditions in asked.values())


def _parts(expr: Expr, op: str) -> list[Expr]:
    if isinstance(expr, Logic) and expr.op == op:
        return [*_parts(expr.left, op), *_parts(expr.right, op)]
    return [expr]


def _cannot_all_hold(conditions: list[tuple[str, float | str]]) -> bool:
    texts = {value for op, value in conditions if isinstance(value, str) and op == "=="}
    numbers = sorted({value for _, value in conditions if not isinstance(value, str)})
    if len(texts) > 1:
        return True
    if not numbers:
        return False
    # Between and beyond the numbers, and at each of them, every comparison keeps its value: one of each will do.
    tried = [numbers[0] - 1, numbers[-1] + 1, *numbers]
    tried += [(one + other) / 2 for one, other in pairwise(numbers)]
    bounds = [(op, value) for op, value in conditions if not isinstance(value, str)]
    return not any(all(OPERATIONS[op](one, value) for op, value in bounds) for one in tried)


def _instead(at: Inference, condition: Expr, *, value: bool) -> str:
    """What was probably meant."""
    meant: Expr | None = None
    match condition:
        case Compare(Field(_, "confidence"), _, Const(int() | float() as most)) if 1 < most <= 100:
            meant = replace(condition, right=Const(most / 100))
        case Compare(left, op, _) if op in _NEAREST and plain(at.infer(left).type) in (INT, FLOAT):
            meant = replace(condition, op=_NEAREST[op])
    if meant is not None and _truth(at, meant) is None:
        return f'did you mean "{{{{ {to_text(meant)} }}}}"?'
    return "leave the condition out" if value else ""

"""Conditions whose value is known before a tool runs: always true, or never."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from tool_induction.checking.expressions.conditions import as_condition
from tool_induction.checking.expressions.typed import Typed
from tool_induction.checking.known.narrowing import OPERATIONS, OPPOSITE
from tool_induction.checking.known.ranges import Range, range_of
from tool_induction.language.diagnostics import Suggestion, write_value
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
_TURNED: dict[Comparator, Comparator] = {"<": ">", ">": "<"}
#: what to write in place of a condition that is always true, or never: it depends on the step it stands in
Instead: TypeAlias = Mapping[bool, str | Suggestion]


def is_result(type_: Type) -> bool:
    """Whether it is a record that an operation made; what a field of any other holds is for its tool to say."""
    record = plain(type_)
    return isinstance(record, RecordType) and record.is_result


def whole_condition(at: Inference, expr: Expr, instead: Instead | None = None, *, is_required: bool = False) -> Expr:
    """A condition, written out; one that is always true, or never, is noted, with ``instead`` of it.

    ``is_required``: the steps after it need that it holds.
    """
    written = as_condition(at, expr)
    _check(at, written, instead or {}, is_required=is_required)
    return written


def _check(at: Inference, condition: Expr, instead: Instead, *, is_required: bool = False) -> None:
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
        suggestion=_meant(quiet, asked, value=value, is_required=is_required)
        or instead.get(value, "")
        or _confidence_range(asked),
    )


def check_value(at: Inference, typed: Typed) -> None:
    """Note a value that is always true, or never, although it is worked out; a constant says so itself."""
    if typed.type == BOOL and not isinstance(typed.expr, Const | Name | Field):
        written = {value: write_value(at.path, f"{{{{ {str(value).lower()} }}}}") for value in (True, False)}
        _check(at, typed.expr, written)


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


def _meant(at: Inference, condition: Expr, *, value: bool, is_required: bool) -> str:
    """The comparisons that were probably meant, where there are such that depend on the video."""
    if not isinstance(condition, Compare):
        return ""
    left, op, right = condition.left, condition.op, condition.right
    meant: list[Expr] = []
    match left, right:
        case Field(_, "confidence"), Const(int() | float() as most) if is_percentage(most):
            meant = [replace(condition, right=Const(most / 100))]
        case Const(int() | float() as most), Field(_, "confidence") if is_percentage(most):
            meant = [replace(condition, left=Const(most / 100))]
        case _ if op in _NEAREST and plain(at.infer(left).type) in (INT, FLOAT):
            meant = [replace(condition, op=_NEAREST[op])]
            if not value and isinstance(right if op == "<" else left, Const) and op in _TURNED:
                # Less than the least there can be: 'more than it' may be meant, and is where the steps after it need that.
                meant = [replace(condition, op=_TURNED[op]), *([] if is_required else meant)]
    texts = [f'"{{{{ {to_text(one)} }}}}"' for one in meant if _truth(at, one) is None]
    return f"did you mean {' or '.join(texts)}?" if texts else ""


def is_percentage(number: float) -> bool:
    """Whether a number that should be a share, from 0 to 1, can be meant as so many of a hundred."""
    return 10 <= number <= 100


def _confidence_range(condition: Expr) -> str:
    if isinstance(condition, Compare) and any(
        isinstance(side, Field) and side.key == "confidence" for side in (condition.left, condition.right)
    ):
        return "compare it with a number from 0 to 1: a confidence is one"
    return ""

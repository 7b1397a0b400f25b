"""Ranges of numbers: divisors that may be 0, intervals that end before they begin, conditions with a constant value.

Only what the tool itself makes possible is noted: a length may be 0, a time minus five seconds may be before the video.
A number from a caller or a result is checked when the tool runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor
from typing import TYPE_CHECKING

from tool_induction.checker.environment import MIRRORED, OPPOSITE, Typed, facts_of, shifted
from tool_induction.checker.operands import as_condition, ask_for, missing
from tool_induction.language import expressions as ex, types as ty
from tool_induction.language.evaluation import COMPUTED

if TYPE_CHECKING:
    from tool_induction.checker.expressions import Inference


_ANY = float("inf")


@dataclass(frozen=True)
class Range:
    """Bounds of a number, both included; an unknown bound is infinite."""

    least: float = -_ANY
    most: float = _ANY

    def join(self, other: Range) -> Range:
        """Return the smallest range that includes both."""
        return Range(min(self.least, other.least), max(self.most, other.most))


#: bounds of fields of operations' results that their types do not contain
_BOUNDS = {"confidence": Range(0, 1), "duration": Range(least=0)}


def range_of(at: Inference, expr: ex.Expr) -> Range:
    """Return the bounds of the number that a checked expression has as its value; infinite if they are unknown."""
    match expr:
        case ex.Const(value) if isinstance(value, int | float) and not isinstance(value, bool):
            return Range(value, value)
        case ex.Name(name) if ("signed", name) in at.environment.facts:
            return Range()
        case ex.Name(name) if name in at.environment.meanings:
            return range_of(at, at.environment.meanings[name])
        case ex.Field(base, key) if key in _BOUNDS and is_result(at.infer(base).type):
            return _BOUNDS[key]
        case ex.Name() | ex.Field() | ex.Index():
            return Range(least=0) if ty.plain(at.infer(expr).type) == ty.TIME else Range()
        case ex.Filtered():
            return _filtered(at, expr)
        case ex.Choice(_, then, otherwise):
            return range_of(at, then).join(range_of(at, otherwise))
        case ex.Negate(value):
            inner = range_of(at, value)
            return Range(-inner.most, -inner.least)
        case ex.Arithmetic(left, op, right):
            return _arithmetic(range_of(at, left), op, range_of(at, right))
    return Range()


def _filtered(at: Inference, expr: ex.Filtered) -> Range:
    match expr:
        case ex.Filtered(ex.Filtered(rows, "kept" | "distinct"), "length"):
            whole = ty.plain(at.infer(rows).type)
            most = whole.bound if isinstance(whole, ty.ListType) and whole.stated else None
            return Range(at.environment.least_length(expr.value), _ANY if most is None else most)
        case ex.Filtered(rows, "length"):
            whole = ty.plain(at.infer(rows).type)
            if not isinstance(whole, ty.ListType):
                return Range(least=0)
            least = max(int(whole.filled), at.environment.least_length(rows))
            return Range(least, whole.bound if whole.stated and whole.bound is not None else _ANY)
        case ex.Filtered(ex.ListExpression(items) | ex.JsonList(items), "min" | "max" as name) if items:
            parts = [range_of(at, item) for item in items]
            choose = min if name == "min" else max
            return Range(choose(part.least for part in parts), choose(part.most for part in parts))
        case ex.Filtered(value, "default", (instead,)):
            return range_of(at, value).join(range_of(at, instead))
        case ex.Filtered(value, "abs"):
            inner = range_of(at, value)
            return Range(least=max(0.0, inner.least, -inner.most))
        case ex.Filtered(value, "round"):
            return range_of(at, value)
    return Range()


def _arithmetic(left: Range, op: str, right: Range) -> Range:
    if op == "+":
        return Range(left.least + right.least, left.most + right.most)
    if op == "-":
        return Range(left.least - right.most, left.most - right.least)
    if op == "*" and left.least >= 0 and right.least >= 0:
        return Range(left.least * right.least, _ANY if _ANY in (left.most, right.most) else left.most * right.most)
    return Range()


#: what to do about a value that is wrong where a caller gives no optional input
OTHER_DEFAULT = "change the default, or the constant, that it comes from"


def check_divisor(at: Inference, expr: ex.Arithmetic) -> None:
    """Note a divisor that may be 0, such as the length of a list that may be empty, or that is 0 if all inputs have their defaults."""
    divisor, text = expr.right, ex.to_text(expr.right)
    if ("nonzero", text) in at.environment.facts:
        return
    may_be, suggestion = "may be", ask_for(at, ex.Compare(divisor, ">", ex.Const(0)))
    if at.environment.by_default(divisor) == 0:
        may_be, suggestion = ("is", "") if not ex.names(divisor) else ("is, by default,", OTHER_DEFAULT)
    elif range_of(at, divisor).least != 0 or at.environment.is_unsure:
        return
    at.note("E_TYPE", f"{text} {may_be} 0, and nothing can be divided by that", suggestion=suggestion)


def within_video(at: Inference, operation: str, name: str, value: ex.Expr) -> ex.Expr:
    """Return a parameter's value, with a computed time limited to 0 or more; note a value that the parameter cannot have.

    This is a list that is too short, a text that may be empty, another text in place of an id, or a count in place of a time.
    """
    if isinstance(value, ex.Const):
        return value
    whole = ty.operation_types(operation).parameters_schema
    schema, _ = ty.resolved(whole["properties"][name], whole)
    if isinstance(value, ex.JsonList | ex.ListExpression):
        least = schema.get("minItems", 0)
        if len(value.items) < least:
            at.note("E_TYPE", f"{name}: {len(value.items)} items, where at least {least} items are wanted")
        return value
    if name.endswith("_id"):
        _check_id(at, name, value)
    elif schema.get("minLength", 0) > 0:
        _check_text(at, name, value)
    elif schema.get("x-type") == "Time" and _is_count(at, value):
        at.note("E_TYPE", f"{ex.to_text(value)} is a number of items, and {name} a time in seconds")
    elif schema.get("x-type") == "Time" and schema.get("minimum") == 0 and not isinstance(value, ex.Field | ex.Index):
        return from_the_start(at, value)
    return value


def _check_id(at: Inference, name: str, value: ex.Expr) -> None:
    """Note a text of a result, such as a description, that is given as an id."""
    inner = value.value if isinstance(value, ex.Filtered) and value.name == "default" else value
    if not isinstance(inner, ex.Field) or inner.key.endswith("_id"):
        return
    record = ty.plain(at.knowing(()).infer(inner.base).type)
    if (
        is_result(record)
        and isinstance(record, ty.RecordType)
        and ty.is_text(ty.plain(record.get(inner.key) or ty.NULL))
    ):
        suggestion = f"write {{{{ {ex.to_text(ex.Field(inner.base, name))} }}}}" if record.get(name) else ""
        at.note("E_TYPE", f"{ex.to_text(inner)} is a text, not a {name}", suggestion=suggestion)


def _is_count(at: Inference, value: ex.Expr) -> bool:
    """Whether a value is the number of a list's items."""
    meaning = at.environment.meanings.get(value.name) if isinstance(value, ex.Name) else value
    return isinstance(meaning, ex.Filtered) and meaning.name == "length"


def _check_text(at: Inference, name: str, value: ex.Expr) -> None:
    """Note a text that may be empty, since an operation cannot answer an empty query."""
    if not may_be_empty(at, value):
        return
    message = f"{ex.to_text(value)} may be empty, and {name} may not"
    if isinstance(value, ex.Name):
        missing(at, value, ex.Compare(ex.Filtered(value, "length", ()), ">", ex.Const(0)), message)
        return
    suggestion = "write something around it that is always there"
    for word in sorted(word for word in ex.names(value) if ("joined", word) in at.environment.facts)[:1]:
        instead = f"{{{{ {word} if {word} != '' else 'nothing' }}}}"
        suggestion = f"a default is for null, not for an empty text: {instead}"
    at.note("E_OPTIONAL", message, suggestion=suggestion)


def may_be_empty(at: Inference, value: ex.Expr) -> bool:
    """Whether a text may be empty because it is joined from an empty list. Texts from callers and results are checked at run time."""
    match value:
        case ex.Name(name):
            return ("joined", name) in at.environment.facts and not at.environment.is_filled(value)
        case ex.Filtered(inner, "default" | "lower" | "upper", _):
            return may_be_empty(at, inner)
        case ex.Choice(condition, then, otherwise):
            return any(
                may_be_empty(at.knowing(facts_of(condition, at.environment, holds=holds)), branch)
                for branch, holds in ((then, True), (otherwise, False))
            )
        case ex.Text(parts):
            return all(_leaves_nothing(at, part) for part in parts)
    return False


def _leaves_nothing(at: Inference, part: ex.Expr) -> bool:
    if isinstance(part, ex.Const):
        return not str(part.value).strip()
    return may_be_empty(at, part) or isinstance(at.infer(part).type, ty.OptionalType)


def may_be_negative(at: Inference, value: ex.Expr) -> bool:
    """Whether a number is computed with a subtraction or a negative number, and may be below 0."""
    if isinstance(value, ex.Name):
        return ("signed", value.name) in at.environment.facts
    return _subtracts(at, value) and range_of(at, value).least < 0


def _subtracts(at: Inference, expr: ex.Expr) -> bool:
    match expr:
        case ex.Name(name):
            return ("signed", name) in at.environment.facts
        case ex.Const(value):
            return isinstance(value, int | float) and value < 0
        case ex.Negate() | ex.Arithmetic(_, "-", _):
            return True
        case ex.Arithmetic() | ex.Filtered() | ex.Choice() | ex.ListExpression():
            return any(_subtracts(at, part) for part in ex.children(expr))
    return False


def named_type(at: Inference, value: ex.Expr, type_: ty.Type) -> ty.Type:
    """Return the type of a value that is saved under a name.

    A constant text gets the type string, a time that may be negative the type float; an enum of several words stays an enum.
    """
    if isinstance(type_, ty.EnumType) and len(type_.values) == 1:
        return ty.STRING
    if ty.plain(type_) != ty.TIME or not may_be_negative(at, value):
        return type_
    return ty.optional(ty.FLOAT) if isinstance(type_, ty.OptionalType) else ty.FLOAT


def from_the_start(at: Inference, value: ex.Expr) -> ex.Expr:
    """Return a computed time limited to 0 or more, if it may be before the start of the video."""
    if not may_be_negative(at, value):
        return value
    at.note("W_COERCED", f"{ex.to_text(value)} may be before the video's start, and is then read as 0")
    return ex.Filtered(ex.ListExpression((value, ex.Const(0))), "max", ())


#: the times of one item, in this order
_ORDER = {"start_time": 0, "center_time": 1, "end_time": 2}


def check_span(
    at: Inference, entries: Mapping[str, ex.Expr], *, places: tuple[str | int, ...] = (), moments: bool = False
) -> None:
    """Note an interval that certainly ends before it begins, or, unless ``moments`` are allowed, where it begins.

    ``entries``: explicit values by key; ``places``: the indexes of start and end if they are in a list.
    """
    start, end = entries.get("start_time"), entries.get("end_time")
    if start is None or end is None:
        return
    is_turned = _lasts(at.knowing(()), start, end)
    if is_turned is None or (moments and not is_turned):
        return
    with at.at(places[1] if places else "end_time"):
        at.note(
            "E_TYPE",
            "the interval ends before it begins" if is_turned else "the interval ends where it begins",
            suggestion="swap start and end, or add the seconds to the start" if is_turned else "",
        )


def _lasts(at: Inference, start: ex.Expr, end: ex.Expr) -> bool | None:
    """Return None if an interval may end after its start; else True if it certainly ends before its start, False if maybe at it."""
    (first, before), (last, after) = _shifted(at, start), _shifted(at, end)
    turned = 0
    if isinstance(first, ex.Field) and isinstance(last, ex.Field) and first.base == last.base:
        turned = _ORDER.get(first.key, 0) - _ORDER.get(last.key, 9)
    if (first == last or turned > 0) and after <= before:
        return turned > 0 or after < before
    latest, earliest = range_of(at, end).most, range_of(at, start).least
    return None if latest > earliest else latest < earliest


def _shifted(at: Inference, time: ex.Expr) -> tuple[ex.Expr, float]:
    """Split a time into an expression and the seconds added to it; ``max`` with 0 is ignored."""
    added: float = 0
    while True:
        match time:
            case ex.Name(name) if name in at.environment.meanings:
                time = at.environment.meanings[name]
            case ex.Arithmetic(left, ("+" | "-") as op, ex.Const(value)) if isinstance(value, int | float):
                time, added = left, added + (value if op == "+" else -value)
            case ex.Arithmetic(ex.Const(value), "+", right) if isinstance(value, int | float):
                time, added = right, added + value
            case ex.Filtered(ex.ListExpression((value, ex.Const(0)) | (ex.Const(0), value)), "max", ()):
                time = value
            case _:
                return time, added


def is_shifted(at: Inference, time: ex.Expr) -> bool:
    """Whether a value is another one plus or minus constant seconds."""
    return _shifted(at, time)[0] != time


def is_result(type_: ty.Type) -> bool:
    """Whether a type is a record made by an operation; the fields of other records have no known bounds."""
    record = ty.plain(type_)
    return isinstance(record, ty.RecordType) and record.is_result


def whole_condition(at: Inference, expr: ex.Expr) -> ex.Expr:
    """Return a condition with conversions made explicit; note one that is always or never true."""
    written = as_condition(at, expr)
    _check_constant(at, written)
    return written


def check_value(at: Inference, typed: Typed) -> None:
    """Note a computed boolean that is always or never true; constants, names and fields are not checked."""
    if typed.type == ty.BOOL and not isinstance(typed.expr, ex.Const | ex.Name | ex.Field):
        _check_constant(at, typed.expr)


def _check_constant(at: Inference, condition: ex.Expr) -> None:
    value = _truth(at.knowing(()), condition)
    if value is None:
        return
    shown = _compared_confidence(condition)
    sides = (shown.left, shown.right) if isinstance(shown, ex.Compare) else ()
    suggestion = "leave it out, or compare with something that depends on the video"
    if any(isinstance(side, ex.Field) and side.key == "confidence" for side in sides):
        suggestion = "compare it with a number from 0 to 1: a confidence is one"
    message = f"{ex.to_text(shown)} is {'always' if value else 'never'} true, so it decides nothing"
    at.note("W_CONSTANT_CONDITION", message, suggestion=suggestion)


def _compared_confidence(condition: ex.Expr) -> ex.Expr:
    """Return the comparison of a confidence without the ``or`` that was added for null; other conditions unchanged."""
    match condition:
        case ex.Logic("or", ex.IsNone(ex.Field(_, "confidence") as value, False), ex.Compare() as compared):
            return compared if value in (compared.left, compared.right) else condition
    return condition


def _truth(at: Inference, condition: ex.Expr) -> bool | None:
    """Return the value of a condition that is always or never true; None if it depends on the video."""
    match _compared_confidence(condition):
        case ex.Const(bool(value)):
            return value
        case ex.Not(value):
            inner = _truth(at, value)
            return None if inner is None else not inner
        case ex.IsNone(value, negated):
            type_ = at.infer(value).type
            return None if isinstance(type_, ty.AnyType | ty.OptionalType) else (type_ == ty.NULL) != negated
        case ex.Logic(op, left, right):
            parts = {_truth(at, left), _truth(at, right)}
            decides = op == "or"
            if decides in parts or _exclude(at, condition, holds=not decides):
                return decides
            return not decides if parts == {not decides} else None
        case ex.Compare() as comparison:
            return _compared(at, comparison)
    return None


def _compared(at: Inference, condition: ex.Compare) -> bool | None:
    left, op, right = condition.left, condition.op, condition.right
    if op in ("in", "not in"):
        return op == "not in" if isinstance(right, ex.ListExpression | ex.JsonList) and not right.items else None
    (first, less), (last, fewer) = shifted(left, 0), shifted(right, 0)
    if first == last:
        return bool(COMPUTED[op](-less, -fewer))
    if isinstance(left, ex.Const) and isinstance(right, ex.Const) and op in ("==", "!="):
        return (left.value == right.value) == (op == "==")
    if not (ty.is_numeric(at.infer(left).type) or ty.is_numeric(at.infer(right).type)):
        return None
    one, other = range_of(at, left), range_of(at, right)
    if op in ("==", "!="):
        if one.most < other.least or other.most < one.least:
            return op == "!="
        return (op == "==") if one.least == one.most == other.least == other.most else None
    # the comparison holds at the ends that are farthest apart, or not even there
    low, high = (one, other) if op in ("<", "<=") else (other, one)
    ordered = COMPUTED[op.replace(">", "<")]
    if ordered(low.most, high.least):
        return True
    return None if ordered(low.least, high.most) else False


def _exclude(at: Inference, condition: ex.Expr, *, holds: bool) -> bool:
    """Whether the parts of a condition exclude each other, if all must hold (``holds=False``: if all must fail)."""
    asked: dict[ex.Expr, list[tuple[str, ex.Scalar]]] = {}
    for value, op, constant in _parts(condition, holds=holds):
        asked.setdefault(value, []).append((op, constant))
    return any(len(parts) > 1 and not _meet(at.infer(value).type, parts) for value, parts in asked.items())


#: comparisons -> those that hold where they fail
_FAILING: dict[str, ex.Comparator] = {"!=": "==", ">=": "<", "<=": ">", "not in": "in"}


def _parts(condition: ex.Expr, *, holds: bool) -> Iterator[tuple[ex.Expr, str, ex.Scalar]]:
    """Yield (value, operator, constant) of each comparison that holds if a condition holds, or fails; other parts as ``== true``."""
    match _compared_confidence(condition):
        case ex.Not(value):
            yield from _parts(value, holds=not holds)
        case ex.Logic(op, left, right) if (op == "and") == holds:
            yield from _parts(left, holds=holds)
            yield from _parts(right, holds=holds)
        case ex.Compare(left, op, ex.Const(int() | float() | str() as value)) if op in OPPOSITE:
            yield left, op if holds else OPPOSITE[op], value
        case ex.Compare(ex.Const(int() | float() | str() as value), op, right) if op in OPPOSITE:
            yield right, MIRRORED[op if holds else OPPOSITE[op]], value
        case ex.Compare(left, op, right) if op in _FAILING:
            yield ex.Compare(left, _FAILING[op], right), "==", not holds
        case ex.IsNone(value, negated):
            yield ex.IsNone(value, negated=False), "==", holds != negated
        case other:
            yield other, "==", holds


def _meet(type_: ty.Type, parts: Sequence[tuple[str, ex.Scalar]]) -> bool:
    """Whether some value of a type may satisfy all of some comparisons with constants."""
    constants, inner = [constant for _, constant in parts], ty.plain(type_)
    numbers = sorted(float(one) for one in constants if isinstance(one, int | float) and not isinstance(one, bool))
    if numbers and len(numbers) == len(constants):
        # between and beyond the numbers, and at each of them, every comparison keeps its value: one of each will do
        tried = [numbers[0] - 1, *numbers, *((one + other) / 2 for one, other in pairwise(numbers)), numbers[-1] + 1]
        if inner == ty.INT:
            tried = [floor(one) + more for one in numbers for more in (-1, 0, 1)]
        return any(all(COMPUTED[op](one, float(constant or 0)) for op, constant in parts) for one in tried)
    if numbers or any(op not in ("==", "!=") for op, _ in parts):
        return True
    closed = (True, False) if inner == ty.BOOL else inner.values if isinstance(inner, ty.EnumType) else ()
    others = () if closed and not isinstance(type_, ty.OptionalType) else (None,)  # None means any other value
    return any(
        all((one == constant) == (op == "==") for op, constant in parts) for one in (*(closed or constants), *others)
    )

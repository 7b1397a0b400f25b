"""Pass 4f: numbers that may be too small or too large, lists that may be too short.

Only what is sure to be possible is told: a length may be 0, a time less five seconds may lie before the video. A number that
comes from a caller or from a result is checked when it is known.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tool_induction.checking.expressions.conditions import missing
from tool_induction.checking.known.hints import ask_for
from tool_induction.checking.known.narrowing import DISTINCT, KEPT, facts_of
from tool_induction.language.schemas import operation_types
from tool_induction.language.syntax import (
    Arithmetic,
    Choice,
    Compare,
    Const,
    Expr,
    Field,
    Filtered,
    Index,
    Items,
    JsonList,
    Name,
    Negate,
    Text,
    children,
    names,
    to_text,
)
from tool_induction.language.types import FLOAT, TIME, ListType, OptionalType, Type, optional, plain

if TYPE_CHECKING:
    from tool_induction.checking.expressions.inference import Inference

_ANY = float("inf")


@dataclass(frozen=True)
class Range:
    """Where a number lies, both ends included; an end that nothing is known of is infinite."""

    least: float = -_ANY
    most: float = _ANY

    def join(self, other: Range) -> Range:
        """The range that holds both."""
        return Range(min(self.least, other.least), max(self.most, other.most))


def range_of(at: Inference, expr: Expr) -> Range:
    """Where the number lies that an expression (already written out) gives."""
    match expr:
        case Const(value) if isinstance(value, int | float) and not isinstance(value, bool):
            return Range(value, value)
        case Name(name) if name in at.environment.signed:
            return Range()
        case Name(name) if name in at.environment.meanings:
            return range_of(at, at.environment.meanings[name])
        case Name() | Field() | Index():
            return Range(least=0) if plain(at.infer(expr).type) == TIME else Range()
        case Filtered():
            return _filtered(at, expr)
        case Choice(_, then, otherwise):
            return range_of(at, then).join(range_of(at, otherwise))
        case Negate(value):
            inner = range_of(at, value)
            return Range(-inner.most, -inner.least)
        case Arithmetic(left, op, right):
            return _arithmetic(range_of(at, left), op, range_of(at, right))
    return Range()


def _filtered(at: Inference, expr: Filtered) -> Range:
    if expr.name == "length":
        if isinstance(expr.value, Filtered) and expr.value.name in (KEPT, DISTINCT):
            whole = plain(at.infer(expr.value.value).type)
            most = whole.bound if isinstance(whole, ListType) else None
            return Range(at.environment.least_length(expr.value), _ANY if most is None else most)
        rows = plain(at.infer(expr.value).type)
        if isinstance(rows, ListType):
            least = max(int(rows.filled), at.environment.least_length(expr.value))
            return Range(least, _ANY if rows.bound is None else rows.bound)
        return Range(least=0)
    if expr.name in ("min", "max") and isinstance(expr.value, Items | JsonList) and expr.value.items:
        parts = [range_of(at, item) for item in expr.value.items]
        choose = min if expr.name == "min" else max
        return Range(choose(part.least for part in parts), choose(part.most for part in parts))
    inner = range_of(at, expr.value)
    match expr.name:
        case "default":
            return inner.join(range_of(at, expr.arguments[0]))
        case "abs":
            return Range(least=max(0.0, inner.least, -inner.most))
        case "round":
            return inner
    return Range()


def _arithmetic(left: Range, op: str, right: Range) -> Range:
    if op == "+":
        return Range(left.least + right.least, left.most + right.most)
    if op == "-":
        return Range(left.least - right.most, left.most - right.least)
    if op == "*" and left.least >= 0 and right.least >= 0:
        return Range(left.least * right.least, _ANY if _ANY in (left.most, right.most) else left.most * right.most)
    return Range()


def check_divisor(at: Inference, expr: Arithmetic) -> None:
    """Note a division by what may be nothing: the length of a list that may be empty."""
    divisor = range_of(at, expr.right)
    text = to_text(expr.right)
    if ("nonzero", text) in at.environment.facts:
        return
    if divisor.least == 0 or expr.right == Const(0):
        at.note(
            "E_TYPE",
            f"{text} may be 0, and nothing can be divided by that",
            found=text,
            expected="a number that is not 0",
            suggestion="" if expr.right == Const(0) else ask_for(at, Compare(expr.right, ">", Const(0))),
        )


def within_video(at: Inference, operation: str, name: str, value: Expr) -> Expr:
    """The value of a parameter, written so that a time lies in the video; a list too short and a text of nothing are noted."""
    if isinstance(value, Const):
        return value
    schema = _schema(operation, name)
    if isinstance(value, JsonList | Items):
        _check_length(at, name, value, schema)
        return value
    if schema.get("minLength", 0) > 0:
        _check_text(at, name, value)
    elif schema.get("x-type") == "Time" and schema.get("minimum") == 0 and not isinstance(value, Field | Index):
        return from_the_start(at, value)
    return value


def _check_text(at: Inference, name: str, value: Expr) -> None:
    """A text that is joined of nothing is empty, and an operation that is asked about nothing cannot answer."""
    if not may_be_empty(at, value):
        return
    text = to_text(value)
    message = f"{text} may be empty, and {name} may not"
    if isinstance(value, Name):
        missing(at, value, Compare(Filtered(value, "length", ()), ">", Const(0)), message)
    else:
        at.note(
            "E_OPTIONAL",
            message,
            found=text,
            suggestion=_instead_of_nothing(at, value),
        )


def _instead_of_nothing(at: Inference, value: Expr) -> str:
    words = sorted(names(value) & at.environment.joined)
    if not words:
        return "write something around it that is always there"
    one = words[0]
    return f"a default is for null, not for an empty text: {{{{ {one} if {one} != '' else 'nothing' }}}}"


def may_be_empty(at: Inference, value: Expr) -> bool:
    """Whether a text was joined of what may be nothing. What a caller or a result says is looked at when it is known."""
    match value:
        case Name(name):
            return name in at.environment.joined and not at.environment.is_filled(value)
        case Filtered(inner, "default" | "lower" | "upper", _):
            return may_be_empty(at, inner)
        case Choice(condition, then, otherwise):
            return any(
                may_be_empty(at.knowing(facts_of(condition, at.environment, holds=holds)), branch)
                for branch, holds in ((then, True), (otherwise, False))
            )
        case Text(parts):
            return all(_leaves_nothing(at, part) for part in parts)
    return False


def _leaves_nothing(at: Inference, part: Expr) -> bool:
    if isinstance(part, Const):
        return not str(part.value).strip()
    return may_be_empty(at, part) or isinstance(at.infer(part).type, OptionalType)


def may_be_negative(at: Inference, value: Expr) -> bool:
    """Whether a number is made smaller in an expression, and nothing there keeps it from falling below zero."""
    if isinstance(value, Name):
        return value.name in at.environment.signed
    return subtracts(value, at.environment.signed) and range_of(at, value).least < 0


def signed_type(at: Inference, value: Expr, type_: Type) -> Type:
    """The type of a value under a name of its own: a time that may lie before the video's start is any number."""
    if plain(type_) != TIME or not may_be_negative(at, value):
        return type_
    return optional(FLOAT) if isinstance(type_, OptionalType) else FLOAT


def from_the_start(at: Inference, value: Expr) -> Expr:
    """A time that is computed may lie before the video's start; there is nothing there to look at."""
    if not may_be_negative(at, value):
        return value
    written = Filtered(Items((value, Const(0))), "max", ())
    at.note(
        "W_COERCED",
        f"{to_text(value)} may lie before the video's start, and is then read as 0",
        found=to_text(value),
        expected=to_text(written),
    )
    return written


def subtracts(expr: Expr, signed: Collection[str] = ()) -> bool:
    """Whether a number may have been made smaller; ``signed`` holds the names of those that were."""
    match expr:
        case Name(name):
            return name in signed
        case Negate():
            return True
        case Const(value):
            return isinstance(value, int | float) and value < 0
        case Arithmetic(_, "-", _):
            return True
        case Arithmetic() | Filtered() | Choice() | Items():
            return any(subtracts(part, signed) for part in children(expr))
    return False


def _check_length(at: Inference, name: str, value: JsonList | Items, schema: Mapping[str, Any]) -> None:
    least = schema.get("minItems", 0)
    if len(value.items) < least:
        at.note(
            "E_TYPE",
            f"{name}: a list of {len(value.items)}, where at least {least} are wanted",
            found=f"{len(value.items)} items",
            expected=f"at least {least} items",
        )


def _schema(operation: str, name: str) -> Mapping[str, Any]:
    """What the operation's own schema says of a parameter, null left out."""
    whole = operation_types(operation).parameters_schema
    schema: Mapping[str, Any] = whole["properties"][name]
    for part in schema.get("anyOf", ()):
        if part.get("type") != "null":
            schema = {**schema, **part}
    if "$ref" in schema:
        schema = whole.get("$defs", {}).get(str(schema["$ref"]).rsplit("/", 1)[-1], {})
    return schema

"""What stands for true or false, and what to say where null is possible and must not be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tool_induction.checking.expressions.scores import instead_of_score, is_score
from tool_induction.checking.expressions.typed import Typed
from tool_induction.checking.expressions.unwrapping import list_field
from tool_induction.checking.known.hints import ask_for, instead_of_null
from tool_induction.language.diagnostics import Findings, Path, Suggestion
from tool_induction.language.model import Require
from tool_induction.language.syntax import Compare, Const, Expr, Field, Filtered, Index, IsNone, Name, to_text
from tool_induction.language.types import BOOL, AnyType, ListType, OptionalType, RecordType, is_numeric, plain, show

if TYPE_CHECKING:
    from tool_induction.checking.expressions.inference import Inference


def as_condition(at: Inference, expr: Expr) -> Expr:
    """The expression where true or false is wanted; what a list or an optional stands for is written out."""
    with at.asking(expr):
        return _condition(at, expr)


def _condition(at: Inference, expr: Expr) -> Expr:
    typed = at.infer(expr)
    inner = plain(typed.type)
    if typed.type == BOOL or isinstance(typed.type, AnyType):
        return typed.expr
    if inner == BOOL:
        null_not_handled(at, typed, "a condition", with_default(typed, "false"))
        return typed.expr
    if isinstance(inner, ListType) and not isinstance(typed.type, OptionalType):
        return _coerced(at, typed, Compare(Filtered(typed.expr, "length", ()), ">", Const(0)))
    if isinstance(typed.type, OptionalType) or (isinstance(inner, RecordType) and list_field(inner) is None):
        return _coerced(at, typed, IsNone(typed.expr, negated=True))
    one = list_field(inner)
    if one is not None:
        return _coerced(at, typed, Compare(Filtered(Field(typed.expr, one[0]), "length", ()), ">", Const(0)))
    at.note(
        "E_TYPE",
        f"a condition is true or false, found {show(typed.type)}",
        found=show(typed.type),
        expected="bool",
        suggestion=instead_of_score(at, typed.expr)
        if is_score(inner)
        else f"compare it: is {to_text(typed.expr)} > 0 meant?"
        if is_numeric(inner)
        else "compare it with something",
    )
    return typed.expr


def _coerced(at: Inference, typed: Typed, written: Expr) -> Expr:
    at.note(
        "W_COERCED",
        f"as a condition, {to_text(typed.expr)} is read as {to_text(written)}",
        found=show(typed.type),
        expected="bool",
    )
    return written


def null_not_handled(at: Inference, typed: Typed, where: str, way_out: str | Suggestion = "") -> None:
    """Note that null is possible where it must not be; where the checker may ask for the value, it is demanded."""
    text = to_text(typed.expr)
    root = _first_null(at, typed.expr)
    asked = (
        not way_out and base_name(typed.expr) != "item" and not (isinstance(root, Field) and root.key == "confidence")
    )
    if root is not None and asked and at.demands is not None:
        at.demands.append(Demand(path=at.path, of=root, condition=IsNone(root, negated=True)))
        return
    at.note(
        "E_OPTIONAL",
        f"{text} may be null, and {where} may not",
        found=show(typed.type),
        expected=show(plain(typed.type)),
        suggestion=way_out or instead_of_null(at, typed.expr, root),
    )


def with_default(typed: Typed, fallback: str) -> str:
    """A value in its place in an expression, with a default."""
    return f'give it a default: "{{{{ {to_text(typed.expr)} | default({fallback}) }}}}"'


def missing(at: Inference, value: Expr, condition: Expr, message: str) -> None:
    """Note a value that may hold nothing where something is wanted; where the checker may ask for it, it is demanded."""
    if at.demands is not None:
        at.demands.append(Demand(path=at.path, of=value, condition=condition))
        return
    at.note("E_OPTIONAL", message, found=to_text(value), suggestion=ask_for(at, condition, value))


@dataclass(frozen=True, kw_only=True)
class Demand:
    """What a step cannot do without: the value, and the condition that it is there."""

    path: Path
    of: Expr
    condition: Expr


def implicit_require(demand: Demand, findings: Findings, *, message: str = "", suggestion: str = "") -> Require:
    """The step that ends a tool as ``empty`` where a value is missing that it cannot do without; it is said."""
    condition, path = demand.condition, demand.path
    text = to_text(demand.of)
    findings.add(
        "W_IMPLICIT_REQUIRE",
        path,
        message or f"this cannot be done without {text}: the tool ends with status 'empty' where it is missing",
        found=text,
        expected=f'{{"type": "require", "condition": "{{{{ {to_text(condition)} }}}}", "status": "empty"}}',
        suggestion=suggestion
        or "to go on without it, put the step into the 'then' of an 'if', or give the value a default",
    )
    # A reader of the result knows nothing of saved names; who writes the tool is told by the warning.
    reason = Const("nothing was found")
    return Require(condition=condition, status="empty", reason=reason, path=path)


def base_name(expr: Expr) -> str:
    """The name a path starts from; empty where it is no path."""
    while isinstance(expr, Field | Index):
        expr = expr.base
    return expr.name if isinstance(expr, Name) else ""


def optional_root(at: Inference, expr: Expr) -> Expr | None:
    """The outermost part of a path that may be null; None where the expression is no path from a saved name."""
    return None if base_name(expr) == "item" else _first_null(at, expr)


def _first_null(at: Inference, expr: Expr) -> Expr | None:
    chain: list[Expr] = []
    while isinstance(expr, Field | Index):
        chain.append(expr)
        expr = expr.base
    if not isinstance(expr, Name):
        return None
    for part in (expr, *reversed(chain)):
        if isinstance(at.infer(part).type, OptionalType):
            return part
    return None

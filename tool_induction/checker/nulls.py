"""Checks of conditions and of values that may be null, with suggestions what to write instead.

Outside of loops the suggestion is a ``require``, which ends the tool without the value. In a loop that would end the
whole tool: an ``if`` around the step is suggested, or a filter before the loop.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tool_induction.checker.environment import PLACES, Typed, list_field
from tool_induction.checker.scores import instead_of_score, is_score
from tool_induction.language import expressions as ex, types as ty
from tool_induction.language.diagnostics import Findings, Path, Suggestion
from tool_induction.language.model import Require

if TYPE_CHECKING:
    from tool_induction.checker.expressions import Inference


def as_condition(at: Inference, expr: ex.Expr) -> ex.Expr:
    """Return an expression as a condition: a list becomes ``length > 0``, an optional ``is not none``."""
    with at.asking(expr):
        return _condition(at, expr)


def _condition(at: Inference, expr: ex.Expr) -> ex.Expr:
    typed = at.infer(expr)
    inner, one = ty.plain(typed.type), list_field(ty.plain(typed.type))
    is_optional = isinstance(typed.type, ty.OptionalType)
    if typed.type == ty.BOOL or isinstance(typed.type, ty.AnyType):
        return typed.expr
    if inner == ty.BOOL:
        null_not_handled(at, typed, "a condition", with_default(typed, "false"))
        return typed.expr
    if is_optional or (isinstance(inner, ty.RecordType) and one is None):
        return _coerced(at, typed, ex.IsNone(typed.expr, negated=True))
    if isinstance(inner, ty.ListType) or one is not None:
        rows = typed.expr if one is None else ex.Field(typed.expr, one[0])
        return _coerced(at, typed, ex.Compare(ex.Filtered(rows, "length", ()), ">", ex.Const(0)))
    meant = (
        f"compare it: is {ex.to_text(typed.expr)} > 0 meant?" if ty.is_numeric(inner) else "compare it with something"
    )
    suggestion = instead_of_score(at, typed.expr) if is_score(inner) else meant
    at.note("E_TYPE", f"a condition is true or false, found {ty.show(typed.type)}", suggestion=suggestion)
    return typed.expr


def _coerced(at: Inference, typed: Typed, written: ex.Expr) -> ex.Expr:
    at.note("W_COERCED", f"as a condition, {ex.to_text(typed.expr)} is read as {ex.to_text(written)}")
    return written


def null_not_handled(at: Inference, typed: Typed, where: str, way_out: str | Suggestion = "") -> None:
    """Note a value that may be null where null is not allowed; if a ``require`` may be added, add a ``Demand`` instead.

    ``where`` names the place in the message; ``way_out`` is a suggestion to use instead of the usual ones.
    """
    text = ex.to_text(typed.expr)
    root = _first_null(at, typed.expr)
    may_demand = (
        not way_out
        and base_name(typed.expr) != "item"
        and not (isinstance(root, ex.Field) and root.key == "confidence")
    )
    if root is not None and may_demand and at.demands is not None:
        at.demands.append(Demand(path=at.path, of=root, condition=ex.IsNone(root, negated=True)))
        return
    at.note(
        "E_OPTIONAL",
        f"{text} may be null, and {where} may not",
        suggestion=way_out or instead_of_null(at, typed.expr, root),
    )


def with_default(typed: Typed, fallback: str) -> str:
    """Return the suggestion to give a value the default ``fallback``."""
    return f'give it a default: "{{{{ {ex.to_text(typed.expr)} | default({fallback}) }}}}"'


def missing(at: Inference, value: ex.Expr, condition: ex.Expr, message: str) -> None:
    """Note a value that is missing unless ``condition`` holds; if a ``require`` may be added, add a ``Demand`` instead."""
    if at.demands is not None:
        at.demands.append(Demand(path=at.path, of=value, condition=condition))
        return
    at.note("E_OPTIONAL", message, suggestion=ask_for(at, condition, value))


@dataclass(frozen=True, kw_only=True)
class Demand:
    """A value ``of`` that a step needs, and the condition under which it is present."""

    path: Path
    of: ex.Expr
    condition: ex.Expr


def implicit_require(demand: Demand, findings: Findings, *, message: str = "", suggestion: str = "") -> Require:
    """Return a ``require`` step that ends a tool as ``empty`` if a needed value is missing; warn, with the given texts if any."""
    condition, path = demand.condition, demand.path
    text = ex.to_text(demand.of)
    findings.add(
        "W_IMPLICIT_REQUIRE",
        path,
        message or f"this cannot be done without {text}: the tool ends with status 'empty' where it is missing",
        suggestion=suggestion
        or "to go on without it, put the step into the 'then' of an 'if', or give the value a default",
    )
    # A reader of the result does not know saved names; the writer of the tool sees the warning.
    reason = ex.Const("nothing was found")
    return Require(condition=condition, status="empty", reason=reason, path=path)


def base_name(expr: ex.Expr) -> str:
    """Return the name that a path starts with; empty for any other expression."""
    while isinstance(expr, ex.Field | ex.Index):
        expr = expr.base
    return expr.name if isinstance(expr, ex.Name) else ""


def optional_root(at: Inference, expr: ex.Expr) -> ex.Expr | None:
    """Return the first part of a path (``a``, then ``a.b``, ...) that may be null; None if there is none.

    It is also None for a path from ``item`` and for an expression that is no path.
    """
    return None if base_name(expr) == "item" else _first_null(at, expr)


def _first_null(at: Inference, expr: ex.Expr) -> ex.Expr | None:
    chain: list[ex.Expr] = []
    while isinstance(expr, ex.Field | ex.Index):
        chain.append(expr)
        expr = expr.base
    if not isinstance(expr, ex.Name):
        return None
    for part in (expr, *reversed(chain)):
        if isinstance(at.infer(part).type, ty.OptionalType):
            return part
    return None


def instead_of_null(at: Inference, value: ex.Expr, root: ex.Expr | None) -> str:
    """Return a suggestion for a ``value`` that may be null: to check its part ``root``.

    Without such a part, or for a ``confidence``, it is to give the value a default, or to save it and require it.

    ``root`` is the first part that may be null (``a.b`` of ``a.b.c``); None if the value is not a name with fields or
    indexes, so that no part can be checked.
    """
    if root is None or (isinstance(root, ex.Field) and root.key == "confidence"):
        return _default(at, value) or "save it first with a 'set', and say what happens without it with a 'require'"
    return ask_for(at, there(at, root), value)


def there(at: Inference, root: ex.Expr) -> ex.Expr:
    """Return the condition that a value is present: it is not null, or, for an item at an index, its list is long enough."""
    if isinstance(root, ex.Index):
        rows = ty.plain(at.infer(root.base).type)
        least = root.number if root.number >= 0 else -root.number - 1
        if isinstance(rows, ty.ListType) and not isinstance(rows.item, ty.OptionalType) and least < PLACES:
            return ex.Compare(ex.Filtered(root.base, "length", ()), ">", ex.Const(least))
    return ex.IsNone(root, negated=True)


def ask_for(at: Inference, condition: ex.Expr, value: ex.Expr | None = None) -> str:
    """Return a suggestion how to make a condition hold here. ``value``: may be null, and can be given a default."""
    environment = at.environment
    is_local = any(
        name in environment.walked or (environment.outside is not None and name not in environment.outside)
        for name in ex.names(condition)
    )
    if is_local and at.condition is not None:
        both = _braced(ex.Logic("and", condition, at.condition))
        return f"ask first, as the condition: {json.dumps(both, ensure_ascii=False)}"
    if is_local:
        default = _default(at, value)
        text = f"put an 'if' with the condition {_braced(condition)} around the step, or filter the list before"
        return f"in a loop a 'require' ends the whole tool; {text}" + (f"; or {default}" if default else "")
    where = "in a last step" if "steps" not in at.path else "before the loop" if environment.outside else "before"
    return f"say {where} what happens without it: {require(condition)}"


def require(condition: ex.Expr) -> str:
    """Return the JSON text of a ``require`` step for a condition, with a reason for readers of the result."""
    few = isinstance(condition, ex.Compare) and isinstance(condition.right, ex.Const) and condition.right.value
    reason = f"fewer than {few + 1} were found" if isinstance(few, int) and few else "nothing was found"
    step = {"type": "require", "condition": _braced(condition), "status": "empty", "reason": reason}
    return json.dumps(step, ensure_ascii=False)


def _default(at: Inference, value: ex.Expr | None) -> str:
    """Return the suggestion to give a value a default; empty if its type has none."""
    type_ = ty.NULL if value is None else ty.plain(at.infer(value).type)
    defaults: list[tuple[bool, ex.Expr]] = [
        (type_ == ty.BOOL, ex.Const(False)),
        (isinstance(type_, ty.ListType), ex.JsonList(())),
        (ty.is_numeric(type_), ex.Const(0)),
        (ty.is_text(type_), ex.Const("unknown")),
    ]
    fallback = next((default for fits, default in defaults if fits), None)
    if value is None or fallback is None:
        return ""
    if isinstance(value, ex.Field) and value.key == "confidence":
        kept = _braced(ex.Filtered(value, "default", (ex.Const(1),)))
        return f"give it a default that keeps what has no confidence (0 would leave it out): {json.dumps(kept)}"
    written = _braced(ex.Filtered(value, "default", (fallback,)))
    return f"give it a default that says what is so, for instance: {json.dumps(written, ensure_ascii=False)}"


def own_lists(item: ty.Type, *, having: Collection[str] = ("start_time", "timestamp")) -> str:
    """Return the suggestion to join lists inside the items, if the entries of one have a field of ``having``; else empty."""
    for key, type_ in item.fields if isinstance(item, ty.RecordType) else ():
        inner = ty.plain(type_)
        held = ty.plain(inner.item) if isinstance(inner, ty.ListType) and key not in ty.BOOKKEEPING else None
        if isinstance(held, ty.RecordType) and any(held.get(wanted) is not None for wanted in having):
            step = '{"type": "loop", "loop_over": <the items>, "do": [{"type": "set", "value": "{{ item.%s }}", ...}]}'
            return f"each item holds a list {key!r}; join those before with {step % key}"
    return ""


def _braced(expr: ex.Expr) -> str:
    return f"{{{{ {ex.to_text(expr)} }}}}"

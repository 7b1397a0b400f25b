"""Checks of values that cannot be computed with: null values and conditions, and rank scores; with suggestions what to write instead.

Outside of loops the suggestion for a null value is a ``require``, which ends the tool without the value. In a loop that would
end the whole tool: an ``if`` around the step is suggested, or a filter before the loop. Rank scores order the hits of one
search and mean nothing else: no threshold applies to them.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tool_induction.checker.environment import PLACES, Typed, list_field
from tool_induction.language import expressions as ex, types as ty
from tool_induction.language.diagnostics import Findings, Path, Suggestion
from tool_induction.language.model import Require

if TYPE_CHECKING:
    from tool_induction.checker.expressions import Inference

_RANK = (
    "rank instead, with the aggregate top_k, sort_by or pick_best; "
    "whether anything was found is asked with 'length' or 'is not none'"
)


def is_score(type_: ty.Type) -> bool:
    """Whether a type is that of a rank score or of a number computed from one."""
    return ty.plain(type_) == ty.SCORE


def is_other_number(type_: ty.Type) -> bool:
    """Whether a type is certainly a number and not a rank score."""
    inner = ty.plain(type_)
    return isinstance(inner, ty.ScalarType) and ty.is_numeric(inner) and inner != ty.SCORE


def refuse_comparison(at: Inference, left: Typed, right: Typed) -> bool:
    """Return whether a rank score, or a list of them, is compared with another number or a list of these; note it."""
    inner = (ty.plain(left.type), ty.plain(right.type))
    first, second = (type_.item if isinstance(type_, ty.ListType) else type_ for type_ in inner)
    if not (is_score(first) and is_other_number(second)) and not (is_score(second) and is_other_number(first)):
        return False
    score, other = (left, right) if is_score(first) else (right, left)
    refuse_score(at, score.expr, f"it cannot be compared with {ex.to_text(other.expr)}")
    return True


def refuse_mixture(at: Inference, rows: ex.Expr) -> None:
    """Note a list of rank scores and other numbers that is to be ordered, since its largest item would mean nothing."""
    if not isinstance(rows, ex.ListExpression | ex.JsonList):
        return
    parts = [at.knowing(()).infer(item) for item in rows.items]
    score = next((part for part in parts if is_score(part.type)), None)
    other = next((part for part in parts if is_other_number(part.type)), None)
    if score is not None and other is not None:
        refuse_score(at, score.expr, f"it cannot be compared with {ex.to_text(other.expr)}")


def refuse_score_argument(at: Inference, value: ex.Expr, wanted: ty.Type, name: str) -> None:
    """Note a rank score where a plain number is expected: it would be used as a threshold, a time or an amount.

    The same holds for rank scores in a list or record whose declared type has none.
    """
    inner = ty.plain(wanted)
    if isinstance(value, ex.JsonList | ex.ListExpression) and isinstance(inner, ty.ListType | ty.AnyType):
        for place, item in enumerate(value.items):
            with at.at(place):
                refuse_score_argument(
                    at, item, inner.item if isinstance(inner, ty.ListType) else inner, f"{name}[{place}]"
                )
        return
    if isinstance(value, ex.JsonRecord) and isinstance(inner, ty.RecordType | ty.AnyType):
        for key, item in value.entries:
            with at.at(key):
                refuse_score_argument(
                    at, item, (inner.get(key) or ty.ANY) if isinstance(inner, ty.RecordType) else inner, f"{name}.{key}"
                )
        return
    found = at.knowing(()).infer(value).type
    if not _hides_score(found, wanted):
        return
    if is_score(found):
        refuse_score(at, value, f"it cannot be {name}")
        return
    at.note(
        "E_SCORE",
        f"{ex.to_text(value)} holds rank scores, and {name}, declared {ty.show(wanted)}, says nothing of them: they only order the "
        "hits of one search, and would be taken for other numbers",
        suggestion="declare the input with a named type that has scores, such as list<Segment>, or leave the scores out before "
        'with a step of type "project"',
    )


def _hides_score(found: ty.Type, wanted: ty.Type) -> bool:
    """Whether a value of type ``found`` contains a rank score where the declared type has none."""
    have, inner = ty.plain(found), ty.plain(wanted)
    if have == ty.SCORE:
        return isinstance(inner, ty.AnyType) or is_other_number(inner)
    if isinstance(have, ty.ListType) and isinstance(inner, ty.ListType | ty.AnyType):
        return _hides_score(have.item, inner.item if isinstance(inner, ty.ListType) else inner)
    if isinstance(have, ty.RecordType) and isinstance(inner, ty.RecordType | ty.AnyType):
        # a field that a closed record does not declare cannot be read there
        taken = [(type_, inner.get(key) if isinstance(inner, ty.RecordType) else inner) for key, type_ in have.fields]
        return any(other is not None and _hides_score(type_, other) for type_, other in taken)
    return False


def refuse_score(at: Inference, score: ex.Expr, why: str, *, instead: str = "") -> None:
    """Note a misused rank score: ``why`` it is wrong; suggest ``instead``, if given, and ``instead_of_score``."""
    at.note(
        "E_SCORE",
        f"{ex.to_text(score)} is a rank score, which only orders the hits of one search: {why}",
        suggestion=", or ".join(filter(None, (instead, instead_of_score(at, score)))),
    )


def instead_of_score(at: Inference, score: ex.Expr) -> str:
    """Return the suggestion to rank, or to compare the confidence if the item has one."""
    value = score.value if isinstance(score, ex.Filtered) and score.name == "default" else score
    holder = ty.plain(at.knowing(()).infer(value.base).type) if isinstance(value, ex.Field) else None
    if not isinstance(value, ex.Field) or not isinstance(holder, ty.RecordType) or holder.get("confidence") is None:
        return _RANK
    return f"compare {ex.to_text(ex.Field(value.base, 'confidence'))} instead, or {_RANK}"


def with_scores(found: ty.Type, declared: ty.Type) -> ty.Type:
    """Return an output's declared type, with Score in place of the number where ``found`` has a rank score."""
    if isinstance(declared, ty.OptionalType):
        inner = with_scores(ty.plain(found), declared.item)
        return declared if inner is declared.item else replace(declared, item=inner)
    have = ty.plain(found)
    is_vague = isinstance(declared, ty.AnyType) or (isinstance(declared, ty.RecordType) and declared.is_open)
    if is_vague and _hides_score(have, declared):
        return found if isinstance(declared, ty.AnyType) else have
    if isinstance(declared, ty.ListType) and isinstance(have, ty.ListType):
        inner = with_scores(have.item, declared.item)
        return declared if inner is declared.item else replace(declared, item=inner)
    return ty.SCORE if is_score(have) and is_other_number(declared) else declared


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

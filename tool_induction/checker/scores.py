"""The rules of rank scores. They order the hits of one search and mean nothing else: no threshold applies to them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from tool_induction.checker.environment import Typed
from tool_induction.language.expressions import (
    Compare,
    Const,
    Expr,
    Field,
    Filtered,
    Items,
    JsonList,
    JsonRecord,
    Name,
    to_text,
)
from tool_induction.language.model import free_name
from tool_induction.language.types import (
    ANY,
    SCORE,
    AnyType,
    ListType,
    OptionalType,
    RecordType,
    ScalarType,
    Type,
    fit,
    is_numeric,
    plain,
    show,
    world_types,
)

if TYPE_CHECKING:
    from tool_induction.checker.expressions import Inference


_RANK = (
    "rank instead, with the aggregate top_k, sort_by or pick_best; "
    "whether anything was found is asked with 'length' or 'is not none'"
)

#: what a projection keeps by itself
_KEPT = ("start_time", "end_time", "center_time", "evidence")


def is_score(type_: Type) -> bool:
    """Whether it is a rank score, or computed from one."""
    return plain(type_) == SCORE


def is_other_number(type_: Type) -> bool:
    """Whether it is surely a number and no rank score."""
    inner = plain(type_)
    return isinstance(inner, ScalarType) and is_numeric(inner) and inner != SCORE


def refuse_comparison(at: Inference, written: Compare, left: Typed, right: Typed) -> bool:
    """Note a rank score that is compared with anything but a rank score; whether it is."""
    first, second = (_compared(side.type) for side in (left, right))
    if not (is_score(first) and is_other_number(second)) and not (is_score(second) and is_other_number(first)):
        return False
    score = left if is_score(first) else right
    refuse_score(
        at, score.expr, f"it cannot be compared with {to_text((right if score is left else left).expr)}", written
    )
    return True


def _compared(type_: Type) -> Type:
    """What 'in' compares with: the items of a list."""
    inner = plain(type_)
    return inner.item if isinstance(inner, ListType) else inner


def refuse_mixture(at: Inference, rows: Expr) -> None:
    """Note a list of rank scores and other numbers that is about to be ordered: the largest of them means nothing."""
    if not isinstance(rows, Items | JsonList):
        return
    parts = [at.knowing(()).infer(item) for item in rows.items]
    score = next((part for part in parts if is_score(part.type)), None)
    other = next((part for part in parts if is_other_number(part.type)), None)
    if score is not None and other is not None:
        refuse_score(at, score.expr, f"it cannot be compared with {to_text(other.expr)}")


def refuse_score_argument(at: Inference, value: Expr, wanted: Type, name: str) -> None:
    """Note a rank score where a plain number is wanted, which would be a threshold, a time or an amount.

    Of a list or a record, its rank scores: where nothing declares them, whoever is given them takes them for such numbers.
    """
    inner = plain(wanted)
    if isinstance(value, JsonList | Items) and isinstance(inner, ListType | AnyType):
        for place, item in enumerate(value.items):
            with at.at(place):
                refuse_score_argument(
                    at, item, inner.item if isinstance(inner, ListType) else inner, f"{name}[{place}]"
                )
        return
    if isinstance(value, JsonRecord) and isinstance(inner, RecordType | AnyType):
        for key, item in value.entries:
            with at.at(key):
                refuse_score_argument(
                    at, item, (inner.get(key) or ANY) if isinstance(inner, RecordType) else inner, f"{name}.{key}"
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
        f"{to_text(value)} holds rank scores, and {name}, declared {show(wanted)}, says nothing of them: they only order the "
        "hits of one search, and would be taken for other numbers",
        found=show(found),
        expected="no rank scores, or items whose type declares them",
        suggestion=_declared_or_left_out(at, value, found, name),
    )


def _hides_score(found: Type, wanted: Type) -> bool:
    """Whether a value holds a rank score that nothing in the type of its place declares."""
    have, inner = plain(found), plain(wanted)
    if have == SCORE:
        return isinstance(inner, AnyType) or is_other_number(inner)
    if isinstance(have, ListType) and isinstance(inner, ListType | AnyType):
        return _hides_score(have.item, inner.item if isinstance(inner, ListType) else inner)
    if isinstance(have, RecordType) and isinstance(inner, RecordType | AnyType):
        # a field that a closed record does not declare cannot be read there
        taken = [(type_, inner.get(key) if isinstance(inner, RecordType) else inner) for key, type_ in have.fields]
        return any(other is not None and _hides_score(type_, other) for type_, other in taken)
    return False


def _declared_or_left_out(at: Inference, value: Expr, found: Type, name: str) -> str:
    """How to hand on what holds rank scores: declared, where a type name does that, or without them."""
    inner = plain(found)
    item = plain(inner.item) if isinstance(inner, ListType) else inner
    if not isinstance(item, RecordType):
        return _RANK
    declares = world_types().get(item.name)
    is_declared = (
        declares is not None
        and name.isidentifier()
        and fit(item, declares).how == "yes"
        and not _hides_score(item, declares)
    )
    type_name = f"list<{item.name}>" if inner is not item else item.name
    declared = f'declare {name!r} in the called tool as "{type_name}"; or ' if is_declared else ""
    kept = [key for key, type_ in item.fields if not _hides_score(type_, ANY)]
    if inner is item:
        fields = {key: f"{{{{ {to_text(Field(value, key))} }}}}" for key in kept}
        return f"{declared}hand on its other fields: {json.dumps(fields, ensure_ascii=False)}"
    step = {
        "type": "project",
        "inputs": f"{{{{ {to_text(value)} }}}}",
        "fields": {key: f"{{{{ item.{key} }}}}" for key in kept if key not in _KEPT},
        "save_as": free_name("rows", at.environment.taken),
    }
    return f"{declared}leave the scores out before, and hand on that list: {json.dumps(step, ensure_ascii=False)}"


def refuse_score(at: Inference, score: Expr, why: str, comparison: Compare | None = None, *, instead: str = "") -> None:
    """Note a rank score where it means nothing, with what to write instead."""
    at.note(
        "E_SCORE",
        f"{to_text(score)} is a rank score, which only orders the hits of one search: {why}",
        found=to_text(comparison or score),
        expected="confidence, or a ranking",
        suggestion=", or ".join(filter(None, (instead, instead_of_score(at, score, comparison)))),
    )


def instead_of_score(at: Inference, score: Expr, comparison: Compare | None = None) -> str:
    """The same comparison of the confidence, where there is one; else a ranking."""
    instead = None if comparison is None else _with_confidence(at, score, comparison)
    said = f"write {to_text(instead)} instead of {to_text(comparison)}, or " if instead and comparison else ""
    return f"{said}{_top(at, score) or _RANK}"


def _with_confidence(at: Inference, score: Expr, comparison: Compare) -> Expr | None:
    """``item.score > 0.5`` as ``item.confidence > 0.5``; an unknown confidence passes no upper bound."""
    value = score.value if isinstance(score, Filtered) and score.name == "default" else score
    holder = plain(at.knowing(()).infer(value.base).type) if isinstance(value, Field) else None
    found = holder.get("confidence") if isinstance(holder, RecordType) else None
    other = comparison.right if comparison.left == score else comparison.left
    share = not isinstance(other, Const) or (isinstance(other.value, int | float) and 0 <= other.value <= 1)
    if not isinstance(value, Field) or found is None or not is_numeric(plain(found)) or not share:
        return None
    confidence: Expr = Field(value.base, "confidence")
    low = comparison.op in ((">", ">=") if comparison.left == score else ("<", "<="))
    if comparison.op in ("in", "not in", "==", "!="):
        return None
    if isinstance(found, OptionalType) and not low:
        confidence = Filtered(confidence, "default", (Const(1),))
    if comparison.left == score:
        return replace(comparison, left=confidence)
    return replace(comparison, right=confidence)


def _top(at: Inference, score: Expr) -> str:
    """The step that keeps the best of the list that a variable walks through."""
    if not isinstance(score, Field) or not isinstance(score.base, Name):
        return ""
    rows = at.environment.walked.get(score.base.name)
    if rows is None:
        return ""
    replaces = at.path[-1] == "where" and len(at.binds) == 1
    step = {
        "type": "aggregate",
        "operation": "top_k",
        "inputs": f"{{{{ {to_text(rows)} }}}}",
        "params": {"k": 3, "key": score.key},
        "save_as": at.binds[0] if replaces else free_name("best", at.environment.taken),
    }
    return f"keep the best {'instead' if replaces else 'before'}: {json.dumps(step, ensure_ascii=False)}"


def with_scores(found: Type, declared: Type) -> Type:
    """The declared type of an output, where a rank score stays one for whoever calls the tool."""
    if isinstance(declared, OptionalType):
        inner = with_scores(plain(found), declared.item)
        return declared if inner is declared.item else replace(declared, item=inner)
    have = plain(found)
    is_vague = isinstance(declared, AnyType) or (isinstance(declared, RecordType) and declared.is_open)
    if is_vague and _hides_score(have, declared):
        return found if isinstance(declared, AnyType) else have
    if isinstance(declared, ListType) and isinstance(have, ListType):
        inner = with_scores(have.item, declared.item)
        return declared if inner is declared.item else replace(declared, item=inner)
    return SCORE if is_score(have) and is_other_number(declared) else declared

"""The rules of rank scores. They order the hits of one search and mean nothing else: no threshold applies to them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from tool_induction.checking.expressions.typed import Typed
from tool_induction.language.syntax import Compare, Const, Expr, Field, Filtered, Items, JsonList, Name, to_text
from tool_induction.language.types import (
    SCORE,
    ListType,
    OptionalType,
    RecordType,
    ScalarType,
    Type,
    is_numeric,
    plain,
)

if TYPE_CHECKING:
    from tool_induction.checking.expressions.inference import Inference

_RANK = (
    "rank instead, with the aggregate top_k, sort_by or pick_best; "
    "whether anything was found is asked with 'length' or 'is not none'"
)


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


def refuse_handing_on(at: Inference, value: Expr, wanted: Type, name: str) -> None:
    """Note a rank score where a plain number is wanted, which would be a threshold, a time or an amount."""
    if is_other_number(wanted) and is_score(at.knowing(()).infer(value).type):
        refuse_score(at, value, f"it cannot be {name}")


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
        "save_as": at.binds[0] if replaces else "best",
    }
    return f"keep the best {'instead' if replaces else 'before'}: {json.dumps(step, ensure_ascii=False)}"


def with_scores(found: Type, declared: Type) -> Type:
    """The declared type of an output, where a rank score stays one for whoever calls the tool."""
    if isinstance(declared, OptionalType):
        inner = with_scores(plain(found), declared.item)
        return declared if inner is declared.item else replace(declared, item=inner)
    have = plain(found)
    if isinstance(declared, ListType) and isinstance(have, ListType):
        inner = with_scores(have.item, declared.item)
        return declared if inner is declared.item else replace(declared, item=inner)
    return SCORE if is_score(have) and is_other_number(declared) else declared

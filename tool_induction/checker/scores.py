"""The rules of rank scores. They order the hits of one search and mean nothing else: no threshold applies to them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tool_induction.checker.environment import Typed
from tool_induction.language.expressions import (
    Compare,
    Expr,
    Field,
    Filtered,
    Items,
    JsonList,
    JsonRecord,
    to_text,
)
from tool_induction.language.types import (
    ANY,
    SCORE,
    AnyType,
    ListType,
    OptionalType,
    RecordType,
    ScalarType,
    Type,
    is_numeric,
    plain,
    show,
)

if TYPE_CHECKING:
    from tool_induction.checker.expressions import Inference


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
    """Note a rank score that is compared with another kind of number; return whether it is."""
    first, second = (_compared(side.type) for side in (left, right))
    if not (is_score(first) and is_other_number(second)) and not (is_score(second) and is_other_number(first)):
        return False
    score = left if is_score(first) else right
    refuse_score(
        at, score.expr, f"it cannot be compared with {to_text((right if score is left else left).expr)}", written
    )
    return True


def _compared(type_: Type) -> Type:
    """The type that is compared: for a list, its items."""
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

    In a list or a record that does not declare them, rank scores would be taken for plain numbers, too.
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
        suggestion="declare the input with a named type that has scores, such as list<Segment>, or leave the scores out before "
        'with a step of type "project"',
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


def refuse_score(at: Inference, score: Expr, why: str, comparison: Compare | None = None, *, instead: str = "") -> None:
    """Note a misused rank score and suggest what to write instead."""
    at.note(
        "E_SCORE",
        f"{to_text(score)} is a rank score, which only orders the hits of one search: {why}",
        suggestion=", or ".join(filter(None, (instead, instead_of_score(at, score)))),
    )


def instead_of_score(at: Inference, score: Expr) -> str:
    """Suggest a ranking, and the confidence if the item has one."""
    value = score.value if isinstance(score, Filtered) and score.name == "default" else score
    holder = plain(at.knowing(()).infer(value.base).type) if isinstance(value, Field) else None
    if not isinstance(value, Field) or not isinstance(holder, RecordType) or holder.get("confidence") is None:
        return _RANK
    return f"compare {to_text(Field(value.base, 'confidence'))} instead, or {_RANK}"


def with_scores(found: Type, declared: Type) -> Type:
    """The declared type of an output, in which a rank score stays one for callers of the tool."""
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

"""The rules of rank scores, which order the hits of one search and mean nothing else: no threshold applies to them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tool_induction.checker.environment import Typed
from tool_induction.language import expressions as ex, types as ty

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

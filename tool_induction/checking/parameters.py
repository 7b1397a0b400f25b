"""Values of aggregates' parameters that their types allow and that make no sense: out of range, or unlike the list."""

from __future__ import annotations

import json

from tool_induction.aggregates import Parameter
from tool_induction.checking.expressions.inference import Inference
from tool_induction.checking.known.ranges import Range, range_of
from tool_induction.language.syntax import Const, Expr, Filtered, Items, JsonList, Name, to_text
from tool_induction.language.types import ListType

_ANY = float("inf")
#: what confidences are compared with
SHARE = Parameter(least=0, most=1)


def check_limits(at: Inference, name: str, value: Expr, parameter: Parameter) -> None:
    """Note a number that is out of the range of a parameter, or may be where an aggregate does not take that."""
    found, above, least, most = range_of(at, value), parameter.above, parameter.least, parameter.most
    below = least is not None and found.most < least
    low = above is not None and (-_ANY < found.least <= above or found.most <= above)
    high = most is not None and (most < found.most < _ANY or found.least > most)
    if not (below or low or high):
        return
    wanted = f"at least {least:g}" if below else f"more than {above:g}" if low else f"at most {most:g}"
    text, known = to_text(value), isinstance(value, Const)
    percentage = most == 1 and known and 1 < found.most <= 100
    at.note(
        "E_TYPE",
        f"{name} must be {wanted}; {text} {'is not' if known else 'need not be'}",
        found=text,
        expected=wanted,
        suggestion=f"it is a share, not a percentage: write {found.most / 100:g}" if percentage else "",
    )


def check_place(at: Inference, number: Expr, rows: ListType) -> None:
    """Note a place at which a list of that type has no item."""
    bound = rows.bound if rows.stated else None
    if bound is None or not isinstance(number, Const) or not isinstance(number.value, int):
        return
    if not -bound <= number.value < bound:
        at.note(
            "E_TYPE",
            f"the list has at most {bound} items, and never one at place {number.value}",
            found=str(number.value),
            expected=f"a place from {-bound} to {bound - 1}",
        )


def check_labels(at: Inference, labels: Expr, slots: Expr) -> None:
    """Note labels that are more, or fewer, than the items they stand for."""
    given, wanted = _size(at, labels), _size(at, slots)
    if given.most == 0 or (given.most >= wanted.least and given.least <= wanted.most):
        return
    number = wanted.least if given.most < wanted.least else wanted.most
    at.note(
        "E_TYPE",
        f"there are {'fewer' if given.most < wanted.least else 'more'} labels than items, of which there are {number:g}",
        found=to_text(labels),
        expected=f"{number:g} labels, one for each item",
        suggestion=_labels_for(labels, slots),
    )


def _size(at: Inference, rows: Expr) -> Range:
    if isinstance(rows, Items | JsonList):
        return Range(len(rows.items), len(rows.items))
    return range_of(at, Filtered(rows, "length", ()))


def _labels_for(labels: Expr, slots: Expr) -> str:
    """The labels that were given, as many as there are items; the rest is called by what it is read from."""
    if not isinstance(labels, JsonList | Items) or not isinstance(slots, JsonList | Items):
        return ""
    names = [item.value if isinstance(item, Const) else None for item in labels.items]
    read = [slot.name if isinstance(slot, Name) else f"{place}" for place, slot in enumerate(slots.items, start=1)]
    meant = [*names[: len(read)], *read[len(names) :]]
    return f'write "labels": {json.dumps(meant, ensure_ascii=False)}' if None not in meant else ""

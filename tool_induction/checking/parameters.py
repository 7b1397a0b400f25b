"""Values of aggregates' parameters that their types allow and that make no sense: out of range, or unlike the list."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tool_induction.aggregates import Parameter
from tool_induction.checking.expressions.inference import Inference
from tool_induction.checking.known.constant import is_percentage
from tool_induction.checking.known.ranges import Range, range_of
from tool_induction.language.diagnostics import leave_out, write_value
from tool_induction.language.syntax import Const, Expr, Filtered, Items, JsonList, Name, Scalar, to_text
from tool_induction.language.types import ListType

#: what confidences are compared with
SHARE = Parameter(least=0, most=1)


def check_limits(at: Inference, name: str, value: Expr, parameter: Parameter) -> None:
    """Note a constant that is out of the range of a parameter."""
    number = value.value if isinstance(value, Const) else None
    if not isinstance(number, int | float) or isinstance(number, bool):
        return
    above, least, most = parameter.above, parameter.least, parameter.most
    if least is not None and number < least:
        wanted = f"at least {least:g}"
    elif above is not None and number <= above:
        wanted = f"more than {above:g}"
    elif most is not None and number > most:
        wanted = f"at most {most:g}"
    else:
        return
    suggestion = f"write a number from {least:g} to {most:g}" if least is not None and most is not None else ""
    if most == 1 and is_percentage(number):
        suggestion = f"it is a share, not a percentage: write {number / 100:g}"
    text = to_text(value)
    at.note("E_TYPE", f"{name} must be {wanted}; {text} is not", found=text, expected=wanted, suggestion=suggestion)


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
    """Note labels that are more, or fewer, than the items they stand for, and those that tell no two of them apart."""
    given, wanted = _size(at, labels), _size(at, slots)
    if given.most == 0:
        at.note(
            "E_TYPE",
            "there are no labels",
            found=to_text(labels),
            expected="one label for each item",
            suggestion=leave_out(at.path),
        )
        return
    if given.most >= wanted.least and given.least <= wanted.most:
        _check_each_label(at, labels, slots)
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


def _check_each_label(at: Inference, labels: Expr, slots: Expr) -> None:
    """Note a label that is empty, or that an item before it has."""
    if not isinstance(labels, JsonList | Items):
        return
    texts = [item.value if isinstance(item, Const) else None for item in labels.items]
    meant = _distinct(texts, slots)
    for place, text in enumerate(texts):
        is_empty = isinstance(text, str) and not text.strip()
        if text is None or not (is_empty or text in texts[:place]):
            continue
        with at.at(*([place] if isinstance(labels, JsonList) else [])):
            at.note(
                "E_TYPE",
                "a label must not be empty" if is_empty else f"{text!r} is the label of another item, too",
                found=str(text),
                expected="a label that no other item has",
                suggestion=write_value(at.path, meant[place]) if meant and isinstance(labels, JsonList) else "",
            )


def _labels_for(labels: Expr, slots: Expr) -> str:
    """The labels that were given, as many as there are items."""
    if not isinstance(labels, JsonList | Items):
        return ""
    meant = _distinct([item.value if isinstance(item, Const) else None for item in labels.items], slots)
    return f'write "labels": {json.dumps(meant, ensure_ascii=False)}' if meant else ""


def _distinct(texts: Sequence[Scalar], slots: Expr) -> list[str]:
    """A label for each item: the one given; where that is missing, empty or taken, what it is read from, or its place.

    There are none where a label that was given, or the number of items, is not known before the tool runs.
    """
    if not isinstance(slots, JsonList | Items) or None in texts:
        return []
    meant: list[str] = []
    for place, slot in enumerate(slots.items):
        others = [*meant, *texts[place + 1 : len(slots.items)]]
        given = str(texts[place]).strip() if place < len(texts) else ""
        read = slot.name if isinstance(slot, Name) else ""
        free = [text for text in (read, f"{place + 1}", f"item {place + 1}") if text and text not in others]
        meant.append(str(texts[place]) if given and texts[place] not in meant else free[0])
    return meant

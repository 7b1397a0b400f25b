"""The accepted answers of an item, checked, and the given one in the type of the question."""

from __future__ import annotations

from typing import Any

from controller.questions import InvalidAnswer, value_of
from eval.datasets.items import Item
from world_api.core.faults import EvalFault


def accepted_values(item: Item) -> tuple[Any, ...]:
    """All accepted answers in the type of the question, the first one first.

    Raises:
        EvalFault: ``item_without_answer``.
    """
    try:
        return tuple(value_of(item.question, value) for value in (item.answer, *item.also))
    except InvalidAnswer as why:
        raise _unusable(item, str(why)) from None


def accepted_texts(item: Item) -> tuple[str, ...]:
    """All accepted answers of an open question as text; datasets also hold numbers.

    Raises:
        EvalFault: ``item_without_answer``.
    """
    texts = []
    for value in (item.answer, *item.also):
        if not isinstance(value, str | int | float) or isinstance(value, bool) or not str(value).strip():
            raise _unusable(item, "it is neither text nor a number")
        texts.append(str(value).strip())
    return tuple(texts)


def given_value(item: Item, value: Any) -> Any | None:
    """The given answer in the type of the question; None where it is none."""
    try:
        return value_of(item.question, value)
    except InvalidAnswer:
        return None


def _unusable(item: Item, why: str) -> EvalFault:
    return EvalFault(
        "item_without_answer",
        f"item {item.id!r} has no answer that it can be scored by: {why}",
        hint="mend the dataset's answers, or leave the item out",
    )

"""How long a list is known to be at least, and so which of its items are there."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Literal, TypeAlias

from tool_induction.language.syntax import Arithmetic, Const, Expr

#: up to this length it is kept apart how long a list is at least; of items further back each must be asked for
PLACES = 20
Reached: TypeAlias = tuple[Literal["reached"], str]


def least_length(op: str, number: float) -> int:
    """The least length for which ``length op number`` can hold."""
    match op:
        case ">":
            return max(0, math.floor(number) + 1)
        case ">=" | "==":
            return max(0, math.ceil(number))
        case "!=":
            return 1 if number == 0 else 0
    return 0


def is_none_left(op: str, number: float) -> bool:
    """Whether ``length op number`` holds of the empty list alone."""
    return (op == "<" and 0 < number <= 1) or (op in ("<=", "==") and 0 <= number < 1)


def reached(rows: str, least: int) -> frozenset[Reached]:
    """What is known of a list that has at least so many items; ``rows`` is its text."""
    return frozenset(("reached", f"{rows}[{place}]") for place in range(min(least, PLACES)))


def reaches(facts: Collection[tuple[str, str]], rows: str, number: int) -> bool:
    """Whether a list is known to have an item at a place; the places from the end are negative."""
    place = number if number >= 0 else -number - 1
    return ("reached", f"{rows}[{place}]") in facts


def known_length(facts: Collection[tuple[str, str]], rows: str) -> int:
    """How many items a list is known to have at least."""
    return next((place for place in range(PLACES) if not reaches(facts, rows, place)), PLACES)


def shifted(left: Expr, number: float) -> tuple[Expr, float]:
    """``x - 1 > 0`` says ``x > 1``: the expression without what is added to it, and the number it is compared with."""
    while isinstance(left, Arithmetic) and left.op in ("+", "-"):
        added = left.right
        if not isinstance(added, Const) or isinstance(added.value, bool) or not isinstance(added.value, int | float):
            break
        number += -added.value if left.op == "+" else added.value
        left = left.left
    return left, number

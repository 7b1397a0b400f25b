"""How large a value would be written out, and how deep."""

from __future__ import annotations

_CHARACTERS = 16  #: of text weigh as much as one more value


def weight(value: object, *, most: int) -> int:
    """How many values a value holds if it is written out; counting stops beyond ``most``.

    A value may hold another one many times over, and twice as often with each step: it is small in memory and
    endless for whatever walks it. Nothing may walk a value that has not been weighed.
    """
    return weight_and_depth(value, most=most)[0]


def weight_and_depth(value: object, *, most: int) -> tuple[int, int]:
    """The same, and how many lists and records lie one inside the other, as far as was counted."""
    total, depth = 1, 0
    level = [value]
    while level and total <= most:
        below: list[object] = []
        is_deeper = False
        for item in level:
            if isinstance(item, str):
                total += len(item) // _CHARACTERS
            elif isinstance(item, dict | list):
                is_deeper = True
                total += len(item)
                if total > most:
                    break
                below.extend(item.values() if isinstance(item, dict) else item)
        level = below
        depth += is_deeper
    return total, depth

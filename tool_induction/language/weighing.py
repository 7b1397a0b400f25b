"""How large a value would be written out, and how deep."""

from __future__ import annotations

_CHARACTERS = 16  #: of text weigh as much as one more value


def weight(value: object, *, most: int) -> int:
    """How many values a value holds if it is written out; counting stops beyond ``most``.

    A value may hold another one many times over, and twice as often with each step: it is small in memory and
    endless for whatever walks it. Nothing may walk a value that has not been weighed.
    """
    total = 1
    level = [value]
    while level and total <= most:
        below: list[object] = []
        for item in level:
            if isinstance(item, dict | list):
                total += len(item)
                if total > most:
                    break
                below.extend(item.values() if isinstance(item, dict) else item)
            elif isinstance(item, str):
                total += len(item) // _CHARACTERS
        level = below
    return total


def depth_within(value: object, most: int) -> bool:
    """Whether a value of bounded weight is nested no deeper than ``most``."""
    level = [value]
    for _ in range(most):
        level = [
            part
            for item in level
            if isinstance(item, dict | list)
            for part in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return True
    return False

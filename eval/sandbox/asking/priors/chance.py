"""Chance, and the best constant guess."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from eval.datasets.items import Item
from eval.scoring.scorers import score_value

#: A stretch is guessed as a part of the film: these many beginnings and ends.
_GRID = 24


def chance_of(item: Item) -> float | None:
    """How often a blind draw is right: one option of a choice, one order of all; None for numbers and stretches."""
    options = len(item.question.options)
    if item.question.kind == "choice":
        return 1 / options
    return 1 / math.factorial(options) if item.question.kind == "order" else None


def group_of(item: Item) -> str:
    """Questions that one constant guess is made for: those of one template, with as many options."""
    return f"{item.template} {item.question.kind} {len(item.question.options)}"


class Constant:
    """The best constant guess for each template, taken from other films: the most frequent letter, number, part of the film."""

    def __init__(self, items: Sequence[Item], durations: dict[str, float]) -> None:
        groups: dict[str, list[Item]] = {}
        for item in items:
            groups.setdefault(group_of(item), []).append(item)
        self._durations = durations
        self._numbers = {
            name: {item.answer for item in group} for name, group in groups.items() if group[0].question.kind == "count"
        }
        self._guesses = {name: _best(group, durations) for name, group in groups.items()}

    def guess(self, item: Item) -> Any:
        """The guess for an item's template; of one that was never seen, the first letters, one, the first tenth."""
        found = self._guesses.get(group_of(item))
        if item.question.kind == "interval":
            start, end = found if found is not None else (0.0, 0.1)
            length = self._durations.get(item.video_id, 0.0)
            return {"start_time": start * length, "end_time": end * length}
        if found is not None:
            return found
        return {"choice": "A", "order": list(item.question.letters), "count": 1}.get(item.question.kind, "")

    def drawn(self, item: Item) -> float | None:
        """How often a blind draw among the numbers is right that the template's questions have; None for what is no number."""
        numbers = self._numbers.get(group_of(item))
        return 1 / len(numbers) if numbers else None


def _best(items: Sequence[Item], durations: dict[str, float]) -> Any:
    kind = items[0].question.kind
    if kind == "interval":
        return max(_parts(), key=lambda part: sum(_hits(item, part, durations) for item in items))
    answers = Counter(tuple(item.answer) if kind == "order" else item.answer for item in items)
    best = max(sorted(answers, key=str), key=lambda answer: answers[answer])
    return list(best) if kind == "order" else best


def _parts() -> list[tuple[float, float]]:
    """Parts of a film, from its whole to short ones."""
    edges = [number / _GRID for number in range(_GRID + 1)]
    return [(start, end) for start in edges for end in edges if start < end]


def _hits(item: Item, part: tuple[float, float], durations: dict[str, float]) -> float:
    """How much of a stretch a part is."""
    length = durations.get(item.video_id, 0.0)
    start, end = part[0] * length, part[1] * length
    return score_value(item, {"start_time": start, "end_time": end}, None).score

"""Multiple choice: the letter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from eval.datasets.items import Item
from eval.scoring.kinds.expected import accepted_values, given_value
from eval.scoring.port import Context
from eval.scoring.score import Score


@dataclass(frozen=True, kw_only=True)
class NoSettings:
    """There is nothing to set."""


def score_choice(item: Item, value: Any, answer: str | None, context: Context) -> Score:
    """Correct: the letter is the accepted one, or one of them. ``options`` tells what guessing would get."""
    context.read(NoSettings)
    accepted = accepted_values(item)
    given = given_value(item, value)
    options = len(item.question.options)
    if given is None:
        return context.wrong("no_answer", expected=accepted[0], options=options)
    correct = given in accepted
    return context.scored(correct=correct, score=correct, given=given, expected=accepted[0], options=options)

"""Numbers of things: exact, and how far off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from eval.datasets.items import Item
from eval.scoring.kinds.expected import accepted_values, given_value
from eval.scoring.port import Context
from eval.scoring.score import Score


@dataclass(frozen=True, kw_only=True)
class CountSettings:
    """An answer is correct up to ``within`` off, or up to this share of the true number; 0 and 0, the default: exact."""

    within: int = 0
    within_share: float = 0.0

    def __post_init__(self) -> None:
        if self.within < 0 or self.within_share < 0:
            raise ValueError("within and within_share are not negative")


def score_count(item: Item, value: Any, answer: str | None, context: Context) -> Score:
    """Correct: the accepted number. The score is one less the relative error, and not below zero.

    The error is that of the nearest accepted number; the relative error of a true zero is taken as if it were one.
    """
    settings = context.read(CountSettings)
    accepted = accepted_values(item)
    given = given_value(item, value)
    if given is None:
        return context.wrong("no_answer", expected=accepted[0])
    nearest = min(accepted, key=lambda number: abs(given - number))
    error = given - nearest
    relative = abs(error) / max(nearest, 1)
    return context.scored(
        correct=abs(error) <= max(settings.within, settings.within_share * nearest),
        score=max(0.0, 1 - relative),
        given=given,
        expected=nearest,
        error=error,
        absolute_error=abs(error),
        relative_error=round(relative, 6),
        exact=error == 0,
    )

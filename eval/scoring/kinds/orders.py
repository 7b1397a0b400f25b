"""Orders: Kendall's tau."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from eval.datasets.items import Item
from eval.scoring.kinds.expected import accepted_values, given_value
from eval.scoring.port import Context
from eval.scoring.score import Score
from eval.statistics.association import kendall_tau


@dataclass(frozen=True, kw_only=True)
class OrderSettings:
    """An order is correct from this tau on; 1, the default: all of it right."""

    correct_at: float = 1.0

    def __post_init__(self) -> None:
        if not -1 < self.correct_at <= 1:
            raise ValueError("correct_at is a tau: above -1 and at most 1")


def score_order(item: Item, value: Any, answer: str | None, context: Context) -> Score:
    """The best tau-a with an accepted order, brought to 0 to 1 as the score."""
    settings = context.read(OrderSettings)
    accepted = accepted_values(item)
    given = given_value(item, value)
    if given is None:
        return context.wrong("no_answer", expected="".join(accepted[0]))
    tau, best = max((tau_of(given, one), one) for one in accepted)
    return context.scored(
        correct=tau >= settings.correct_at - 1e-9,
        score=(tau + 1) / 2,
        tau=round(tau, 6),
        exact=given == best,
        given="".join(given),
        expected="".join(best),
    )


def tau_of(given: list[str], accepted: list[str]) -> float:
    """Kendall's tau-a of two orders of the same things."""
    return kendall_tau(list(range(len(given))), [accepted.index(thing) for thing in given])

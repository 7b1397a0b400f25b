"""Self-consistency: the answer most seeds give, computed from episodes that are there, at the cost of all of them.

The winner is one of the recorded answers, so that its score is known and nothing is scored anew. Answers that are equal vote for
each other; of stretches the one that overlaps most with the others wins. Ties are broken by chance, seeded.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from eval.tables.kinds.main import cells_of
from eval.tables.measuring import money
from eval.tables.rows import SampleRow, Spend
from eval.tables.study import Setting, Study, grouped
from world_api.core.canonical import canonical


@dataclass(frozen=True, kw_only=True)
class Vote:
    """One question's vote of some seeds: the sample that won, at the tokens and money of all that voted."""

    winner: SampleRow
    voters: tuple[SampleRow, ...]

    def row(self) -> SampleRow:
        """The vote as a sample of its own: the winner's outcome at the cost of all voters."""
        spends = [row.spent() for row in self.voters]
        known = [spent for spent in spends if spent is not None]
        whole = Spend(
            tokens_in=sum(spent.tokens_in for spent in known),
            tokens_out=sum(spent.tokens_out for spent in known),
            money=_sum([money(row) for row in self.voters]),
            estimated=any(spent.estimated for spent in known),
            is_least=any(spent.is_least for spent in known),
        )
        return replace(self.winner, spend={"logical": {"total": whole}} if known else {})


def votes_of(study: Study) -> Iterator[tuple[Setting, str, int, list[Vote]]]:
    """Votes of 2, 3, ... seeds of each arm: the first seeds, in their order, so that more voters hold all the fewer had."""
    for setting, arm, own in cells_of(study.rows):
        seeds = sorted({row.seed for row in own})
        questions = grouped(own, lambda row: row.item)
        for number in range(2, len(seeds) + 1):
            chosen = set(seeds[:number])
            yield setting, arm, number, list(_votes(questions, chosen, study.seed))


def _votes(questions: Mapping[str, Sequence[SampleRow]], seeds: set[int], seed: int) -> Iterator[Vote]:
    """The votes on all questions that each of the seeds was asked."""
    for item, rows in questions.items():
        voters = sorted((row for row in rows if row.seed in seeds), key=lambda row: row.seed)
        if len(voters) == len(seeds):
            yield Vote(winner=winner(voters, seed=f"{seed} {item} {len(voters)}"), voters=tuple(voters))


def winner(voters: Sequence[SampleRow], *, seed: str) -> SampleRow:
    """The sample whose answer wins; one without an answer only where nobody has any."""
    held = [row for row in voters if row.value is not None and row.outcome != "failed"]
    if not held:
        return voters[0]
    support = [sum(_agreement(row, other) for other in held) for row in held]
    best = [row for row, votes in zip(held, support, strict=True) if votes >= max(support) - 1e-9]
    answers = sorted(grouped(best, _answer))
    drawn = random.Random(seed).choice(answers)  # noqa: S311 - breaking ties, not keeping secrets
    return next(row for row in best if _answer(row) == drawn)


def _agreement(one: SampleRow, other: SampleRow) -> float:
    first, second = _stretch(one.value), _stretch(other.value)
    if one.kind == "interval" and first is not None and second is not None:
        return overlap(first, second)
    return float(_answer(one) == _answer(other))


def overlap(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Intersection over union of two stretches; equal moments agree."""
    if one == other:
        return 1.0
    shared = min(one[1], other[1]) - max(one[0], other[0])
    whole = max(one[1], other[1]) - min(one[0], other[0])
    return max(0.0, shared) / whole if whole > 0 else 0.0


def _answer(row: SampleRow) -> str:
    """An answer as it votes: words without case, spacing and a last full stop."""
    if isinstance(row.value, str):
        return " ".join(row.value.casefold().split()).rstrip(".。 ")
    return canonical(row.value)


def _stretch(value: Any) -> tuple[float, float] | None:
    if not isinstance(value, dict):
        return None
    ends = value.get("start_time"), value.get("end_time")
    numbers = [float(end) for end in ends if isinstance(end, int | float) and not isinstance(end, bool)]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else None


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None

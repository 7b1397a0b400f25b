"""Tests of paired outcomes, and what they are worth where there are many."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from eval.statistics.bootstrap import Floats, cells_of
from eval.statistics.distributions import binomial_at_most
from world_api.core.faults import EvalFault

_WHOLE = 14  #: with so many clusters or fewer all ways to flip signs are tried
_AT_ONCE = 2_000_000


@dataclass(frozen=True, kw_only=True)
class McNemar:
    """Pairs in which only one of two arms was right, and the exact two-sided p value that both are as likely.

    It knows nothing of clusters: the companion of a clustered interval, not its replacement.
    """

    only_first: int
    only_second: int
    both: int
    neither: int
    p: float

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return asdict(self)


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> McNemar:
    """Exact McNemar test of paired outcomes (McNemar 1947): the discordant pairs against a fair coin.

    Raises:
        EvalFault: ``bad_sample``.
    """
    if len(first) != len(second):
        raise EvalFault("bad_sample", "the two arms have different numbers of outcomes", hint="pair them by question")
    counts = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
    for one, other in zip(first, second, strict=True):
        counts[bool(one), bool(other)] += 1
    ours, theirs = counts[True, False], counts[False, True]
    return McNemar(
        only_first=ours,
        only_second=theirs,
        both=counts[True, True],
        neither=counts[False, False],
        p=min(1.0, 2 * binomial_at_most(min(ours, theirs), ours + theirs)),
    )


def sign_flip(differences: Sequence[float], clusters: Sequence[Hashable], *, seed: int, draws: int = 10_000) -> float:
    """Two-sided p value of "no cluster favours either arm": the sum of differences under flipped signs of whole clusters.

    All flips are tried with 14 clusters or fewer, else so many are drawn. It holds whatever the sizes of the clusters are, as
    long as a cluster would as likely have come out the other way round.

    Raises:
        EvalFault: ``nothing_to_compare``.
    """
    if not differences:
        raise EvalFault("nothing_to_compare", "there is no difference to test", hint="run more samples")
    sums = np.abs(cells_of(np.asarray(differences, dtype=np.float64), [clusters]).sums)
    # Which way a cluster went only matters for the sum that was observed.
    seen = abs(float(np.sum(np.asarray(differences, dtype=np.float64))))
    slack = 1e-9 * max(1.0, float(sums.sum()))
    if len(sums) <= _WHOLE:
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=len(sums))))
        return float((np.abs(signs @ sums) >= seen - slack).mean())
    random = np.random.default_rng(seed)
    extreme, left = 0, draws
    while left > 0:
        many = min(left, max(1, _AT_ONCE // len(sums)))
        extreme += int((np.abs(_signs(random, many, len(sums)) @ sums) >= seen - slack).sum())
        left -= many
    return (extreme + 1) / (draws + 1)


def holm(values: Mapping[str, float]) -> dict[str, float]:
    """The p values of one family, adjusted so that the family errs as often as one test (Holm 1979); in the order given.

    Raises:
        EvalFault: ``bad_sample``: a value is no probability.
    """
    wrong = [name for name, p in values.items() if not 0 <= p <= 1]
    if wrong:
        raise EvalFault("bad_sample", f"the p value of {wrong[0]} is no probability", hint="give values from 0 to 1")
    adjusted: dict[str, float] = {}
    least = 0.0
    for place, name in enumerate(sorted(values, key=lambda name: values[name])):
        least = max(least, min(1.0, (len(values) - place) * values[name]))
        adjusted[name] = least
    return {name: adjusted[name] for name in values}


def _signs(random: np.random.Generator, draws: int, count: int) -> Floats:
    return np.where(random.integers(0, 2, size=(draws, count)) == 0, -1.0, 1.0)

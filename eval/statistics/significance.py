"""Tests of paired outcomes, and their adjustment within a family of tests."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from eval.extras import from_extra
from eval.statistics.bootstrap import cells_of
from world_api.core.faults import EvalFault

_WHOLE = 14  #: with at most so many clusters all sign flips are enumerated
_AT_ONCE = 2_000_000  #: signs held in memory


def mcnemar(pairs: Sequence[tuple[bool, bool]]) -> float:
    """The p value of the exact, two-sided McNemar test (1947) of paired outcomes.

    It knows nothing of clusters: the companion of a clustered interval, not its replacement.
    """
    with from_extra("eval"):
        from scipy import stats
    first, second = (sum(pair == only for pair in pairs) for only in ((True, False), (False, True)))
    return float(stats.binomtest(first, first + second).pvalue) if first + second else 1.0


def sign_flip(differences: Sequence[float], clusters: Sequence[Hashable], *, seed: int, draws: int = 10_000) -> float:
    """Two-sided p value of "no cluster favours either arm": the sum of differences under flipped signs of whole clusters.

    All flips are enumerated with 14 clusters or fewer, else ``draws`` of them are drawn. The test holds whatever the sizes of the
    clusters are, as long as a cluster would as likely have come out the other way round.

    Raises:
        EvalFault: ``nothing_to_compare``.
    """
    if not differences:
        raise EvalFault("nothing_to_compare", "there is no difference to test", hint="run more samples")
    values = np.asarray(differences, dtype=np.float64)
    sums = np.abs(cells_of(values, [clusters]).sums)
    # Which way a cluster went only matters for the sum that was observed.
    least = abs(float(values.sum())) - 1e-9 * max(1.0, float(sums.sum()))
    if len(sums) <= _WHOLE:
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=len(sums))))
        return float((np.abs(signs @ sums) >= least).mean())
    random = np.random.default_rng(seed)
    extreme, left = 0, draws
    while left > 0:
        many = min(left, max(1, _AT_ONCE // len(sums)))
        signs = np.where(random.integers(0, 2, size=(many, len(sums))) == 0, -1.0, 1.0)
        extreme += int((np.abs(signs @ sums) >= least).sum())
        left -= many
    return (extreme + 1) / (draws + 1)


def holm(values: Mapping[str, float]) -> dict[str, float]:
    """The p values of one family, adjusted by Holm (1979), in the order given.

    Raises:
        EvalFault: ``bad_sample``: a value is no probability.
    """
    wrong = [name for name, p in values.items() if not 0 <= p <= 1]
    if wrong:
        raise EvalFault("bad_sample", f"the p value of {wrong[0]} is no probability", hint="give values from 0 to 1")
    if not values:
        return {}
    with from_extra("eval"):
        from statsmodels.stats.multitest import multipletests
    adjusted = multipletests(list(values.values()), method="holm")[1]
    return dict(zip(values, adjusted.tolist(), strict=True))

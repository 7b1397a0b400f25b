"""Intervals of means and of paired differences, by a seeded bootstrap over clusters.

Questions about one video are no independent draws, so whole videos are drawn again. Where several seeds answered, or
several libraries of one kind were tried, those are draws too: ``crossed`` names the seed, or the library, of each row.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from statistics import NormalDist
from typing import Literal

import numpy as np

from eval.statistics.distributions import t_quantile
from eval.statistics.interval import FEW_CLUSTERS, Caution, Interval
from eval.statistics.resampling import Cells, Floats, cells_of, drawn_means
from world_api.core.faults import EvalFault

DRAWS = 10_000
_LEAST_EFFECTIVE = 5  #: clusters that unequal sizes cannot bring the effective number below

Method = Literal["expanded", "percentile"]


def paired_interval(
    differences: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    seed: int,
    level: float = 0.95,
    draws: int = DRAWS,
    crossed: Sequence[Sequence[Hashable]] = (),
    method: Method = "expanded",
    within: tuple[float, float] | None = None,
) -> Interval:
    """The mean of paired differences (one arm less the other, on the same question and seed), with its interval.

    ``within`` are the least and the greatest value a mean can have (-1 and 1 for accuracy); the interval ends there. Two equal
    arms give exactly zero.

    Raises:
        EvalFault: ``nothing_to_compare``, ``bad_sample``.
    """
    return mean_interval(
        differences, clusters, seed=seed, level=level, draws=draws, crossed=crossed, method=method, within=within
    )


def mean_interval(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    seed: int,
    level: float = 0.95,
    draws: int = DRAWS,
    crossed: Sequence[Sequence[Hashable]] = (),
    method: Method = "expanded",
    within: tuple[float, float] | None = None,
) -> Interval:
    """The mean of values, one a row, with its interval; ``clusters`` names the cluster of each row.

    ``percentile`` is the plain percentile interval. ``expanded``, the default, draws one cluster less than there are and takes on
    each side the wider of the percentiles at the level of Student's t (Hesterberg 2015) and of t standard errors of the draws; t has
    the degrees of freedom of the effective number of clusters, which is smaller where their sizes differ.

    Raises:
        EvalFault: ``nothing_to_compare``, ``bad_sample``.
    """
    cells = cells_of(_checked(values, clusters, crossed, level, draws), [clusters, *crossed])
    estimate, count = cells.mean, cells.counts[0]
    low, high, caution = _ends(cells, seed=seed, level=level, draws=draws, method=method)
    if within is not None and low is not None and high is not None:
        low, high = max(low, within[0]), min(high, within[1])
    return Interval(
        estimate=estimate,
        low=low,
        high=high,
        level=level,
        clusters=count,
        rows=len(values),
        draws=draws,
        method=method,
        caution=caution,
    )


def _ends(
    cells: Cells, *, seed: int, level: float, draws: int, method: Method
) -> tuple[float | None, float | None, Caution | None]:
    if cells.counts[0] < 2:
        return None, None, "one_cluster"
    # The rest of a subtraction must not look like a difference, nor the noise of sums like a spread.
    residuals = cells.sums - cells.mean * cells.sizes
    if np.abs(residuals).max() <= 1e-12 * max(1.0, float(np.abs(cells.sums).max())):
        return cells.mean, cells.mean, "no_spread"
    caution: Caution | None = "few_clusters" if cells.counts[0] < FEW_CLUSTERS else None
    tail = (1 - level) / 2
    if method == "percentile":
        low, high = np.quantile(drawn_means(cells, seed=seed, draws=draws, fewer=0), [tail, 1 - tail])
        return float(low), float(high), caution
    means = drawn_means(cells, seed=seed, draws=draws)
    steps = t_quantile(1 - tail, _freedom(cells, residuals))
    outer = NormalDist().cdf(-steps)
    low, high = np.quantile(means, [outer, 1 - outer])
    reach = steps * float(means.std())
    return min(float(low), cells.mean - reach), max(float(high), cells.mean + reach), caution


def _freedom(cells: Cells, residuals: Floats) -> float:
    """Degrees of freedom of the spread: of each factor the effective number of levels less one, put together as Satterthwaite does."""
    spreads, freedoms = [], []
    for levels, count in zip(cells.levels, cells.counts, strict=True):
        if count < 2:
            continue
        sizes = np.bincount(levels, weights=cells.sizes, minlength=count)
        parts = np.bincount(levels, weights=residuals, minlength=count)
        effective = float(sizes.sum() ** 2 / (sizes**2).sum())
        freedoms.append(max(effective, min(count, _LEAST_EFFECTIVE)) - 1)
        spreads.append(float((parts**2).sum()) * count / (count - 1))
    whole = sum(spreads)
    if whole == 0:
        return freedoms[0]
    return whole**2 / sum(spread**2 / freedom for spread, freedom in zip(spreads, freedoms, strict=True))


def _checked(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    crossed: Sequence[Sequence[Hashable]],
    level: float,
    draws: int,
) -> Floats:
    numbers = np.asarray(values, dtype=np.float64)
    if len(numbers) == 0:
        raise EvalFault("nothing_to_compare", "there is no value to take a mean of", hint="run more samples")
    reason = None
    if any(len(labels) != len(numbers) for labels in (clusters, *crossed)):
        reason = "values and clusters differ in number"
    elif not np.isfinite(numbers).all():
        reason = "a value is not a number"
    elif not 0 < level < 1 or draws < 100:
        reason = f"level {level:g} is not between 0 and 1, or {draws} draws are too few"
    if reason is not None:
        raise EvalFault("bad_sample", reason, hint="give each row a finite value and a cluster, and at least 100 draws")
    return numbers


def is_zero(interval: Interval) -> bool:
    """Whether nothing differs anywhere: the estimate and both ends are zero."""
    return not any(map(bool, (interval.estimate, interval.low, interval.high))) and not math.isnan(interval.estimate)

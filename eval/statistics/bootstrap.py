"""A mean with its interval.

Drawing levels of factors again: which rows count how often in each draw.

Rows are summed by cell first (a cluster, or a cluster crossed with seeds and library draws), so that a draw costs as many
steps as there are cells and not rows.


Intervals of means and of paired differences, by a seeded bootstrap over clusters.

Questions about one video are no independent draws, so whole videos are drawn again. Where several seeds answered, or
several libraries of one kind were tried, those are draws too: ``crossed`` names the seed, or the library, of each row.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from eval.statistics.distributions import t_quantile
from world_api.core.faults import EvalFault

#: Intervals over fewer clusters than this are said to be rough.
FEW_CLUSTERS = 10

#: ``one_cluster``: no interval can be made. ``no_spread``: all clusters say the same, and the interval is a point.
#: ``few_clusters``: fewer than ``FEW_CLUSTERS``.
Caution = Literal["one_cluster", "no_spread", "few_clusters"]

_SAID: dict[str, str] = {
    "one_cluster": "one cluster only: no interval",
    "no_spread": "all clusters say the same: the interval tells nothing of other clusters",
    "few_clusters": f"fewer than {FEW_CLUSTERS} clusters: a rough interval",
}


@dataclass(frozen=True, kw_only=True)
class Interval:
    """An estimate and the ends of its interval at ``level``; both are None where there is none.

    ``rows`` values in ``clusters`` clusters were drawn again ``draws`` times, by ``method``.
    """

    estimate: float
    low: float | None
    high: float | None
    level: float
    clusters: int
    rows: int
    draws: int
    method: str
    caution: Caution | None = None

    @property
    def note(self) -> str:
        """What to say beside the interval; empty where there is nothing to say."""
        return _SAID[self.caution] if self.caution else ""

    def covers(self, value: float) -> bool:
        """Whether a value lies in the interval; one that is not there rules nothing out."""
        return self.low is None or self.high is None or self.low <= value <= self.high

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return {**asdict(self), "note": self.note}


Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_MOST_NUMBERS = 4_000_000  #: held at once, of each kind


@dataclass(frozen=True, kw_only=True)
class Cells:
    """Sums and numbers of rows by cell.

    ``levels[f][c]`` is the level of factor ``f`` in cell ``c``; the first factor is the cluster.
    """

    sums: Floats
    sizes: Floats
    levels: tuple[Indices, ...]
    counts: tuple[int, ...]  #: levels that each factor has

    @property
    def mean(self) -> float:
        """Of all rows."""
        return float(self.sums.sum() / self.sizes.sum())


def cells_of(values: Floats, factors: Sequence[Sequence[Hashable]]) -> Cells:
    """Sum rows by cell. Levels are in the order of their names, so that the order of rows makes no difference."""
    coded = [_coded(labels) for labels in factors]
    counts = tuple(count for _, count in coded)
    keys = np.zeros(len(values), dtype=np.int64)
    for codes, count in coded:
        keys = keys * count + codes
    cells, place = np.unique(keys, return_inverse=True)
    levels = []
    for count in reversed(counts):
        cells, level = np.divmod(cells, count)
        levels.append(level)
    return Cells(
        sums=np.bincount(place, weights=values).astype(np.float64),
        sizes=np.bincount(place).astype(np.float64),
        levels=tuple(reversed(levels)),
        counts=counts,
    )


def drawn_means(cells: Cells, *, seed: int, draws: int, fewer: int = 1) -> Floats:
    """The mean in each draw: of every factor so many levels less ``fewer`` are drawn, with replacement.

    Drawing one level less than there are makes the spread of the draws that of the estimate (Rao and Wu 1988). A row counts
    as often as its levels were drawn, multiplied (Owen 2007). Draws in which no row is left are left out.
    """
    random = np.random.default_rng(seed)
    means = [
        _means(cells, [_levels(random, count, many, fewer) for count in cells.counts])
        for many in _portions(draws, max(len(cells.sums), *cells.counts))
    ]
    return np.concatenate(means)


def _levels(random: np.random.Generator, count: int, draws: int, fewer: int) -> Indices:
    return random.integers(0, count, size=(draws, max(count - fewer, 1)))


def _means(cells: Cells, drawn: Sequence[Indices]) -> Floats:
    if len(drawn) == 1:  # the sums of the clusters that were drawn, with no need to count them
        [only] = drawn
        means: Floats = cells.sums[only].sum(axis=1) / cells.sizes[only].sum(axis=1)
        return means
    weights = np.ones((len(drawn[0]), len(cells.sums)))
    for chosen, levels, count in zip(drawn, cells.levels, cells.counts, strict=True):
        weights *= _counted(chosen, count)[:, levels]
    sizes = weights @ cells.sizes
    kept = sizes > 0
    some: Floats = (weights[kept] @ cells.sums) / sizes[kept]
    return some


def _counted(chosen: Indices, count: int) -> Floats:
    """How often each level was drawn in each draw: draws x levels."""
    draws = len(chosen)
    at = (chosen + count * np.arange(draws)[:, None]).ravel()
    return np.bincount(at, minlength=draws * count).reshape(draws, count).astype(np.float64)


def _portions(draws: int, width: int) -> Iterator[int]:
    """So many draws at a time that memory stays bounded."""
    at_once = max(1, _MOST_NUMBERS // max(width, 1))
    while draws > 0:
        yield min(draws, at_once)
        draws -= at_once


def _coded(labels: Sequence[Hashable]) -> tuple[Indices, int]:
    names = _sorted(set(labels))
    places = {name: place for place, name in enumerate(names)}
    return np.fromiter((places[label] for label in labels), dtype=np.int64, count=len(labels)), len(names)


def _sorted(names: set[Hashable]) -> list[Hashable]:
    """Numbers by size, then all else by how it is written."""
    numbers = [name for name in names if isinstance(name, int)]
    return [*sorted(numbers), *sorted(names.difference(numbers), key=repr)]


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

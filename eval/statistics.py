"""Statistics of paired comparisons: cluster bootstrap, exact tests, families of tests, power, agreement of raters.

Distributions and standard tests are those of SciPy and statsmodels (extra ``eval``), imported at first use. Every
random draw uses a seed that the caller gives.

Questions about one video are not independent, so whole videos are resampled. Seeds and libraries of one kind can be
resampled too: ``crossed`` gives the seed, or the library, of each row. Rows are summed by cell first (a cluster, or a
cluster crossed with seeds and libraries), so that the cost of a draw depends on the number of cells and not of rows.

*Power.* ``discordance`` is the share of questions on which the arms differ, ``effect`` the true difference. The
difference on one question (-1, 0 or 1) then has the variance ``discordance - effect ** 2``. ``standard_error`` is that
of the mean over questions whose differences correlate by ``correlation`` within a video and by ``repeat_correlation``
between seeds (design effect: Kish 1965). The test uses Student's t with one degree of freedom less than there are
effective clusters.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from world_api.core.faults import EvalFault
from world_api.installation import from_extra

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Method = Literal["expanded", "percentile"]
#: ``one_cluster``: no interval is possible. ``no_spread``: all clusters are equal, and the interval is a point.
#: ``few_clusters``: fewer than ``FEW_CLUSTERS``.
Caution = Literal["one_cluster", "no_spread", "few_clusters"]

DRAWS = 10_000
LEVEL = 0.95
FEW_CLUSTERS = 10  #: intervals over fewer clusters are called rough
_LEAST_EFFECTIVE = 5  #: least effective number of clusters, however unequal their sizes
_MOST_NUMBERS = 4_000_000  #: most numbers of one kind in memory
_NOTES: dict[str, str] = {
    "one_cluster": "one cluster only: no interval",
    "no_spread": "all clusters say the same: the interval says nothing about other clusters",
    "few_clusters": f"fewer than {FEW_CLUSTERS} clusters: a rough interval",
}


@dataclass(frozen=True, kw_only=True)
class Interval:
    """An estimate and the ends of its interval at ``level``; both ends are None if there is no interval.

    It was computed by ``method`` from ``draws`` resamplings of ``rows`` values in ``clusters`` clusters.
    """

    estimate: float
    low: float | None
    high: float | None
    clusters: int
    rows: int
    draws: int
    method: str
    caution: Caution | None = None
    level: float = LEVEL

    @property
    def note(self) -> str:
        """Why the interval is missing or unreliable (too few clusters, no spread), as text; empty if it is neither."""
        return _NOTES[self.caution] if self.caution else ""

    def record(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {**asdict(self), "note": self.note}


def mean_interval(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    seed: int,
    draws: int = DRAWS,
    crossed: Sequence[Sequence[Hashable]] = (),
    method: Method = "expanded",
    within: tuple[float, float] | None = None,
) -> Interval:
    """Return the mean of values, one per row, with its interval; ``clusters`` gives the cluster of each row.

    Values may be paired differences: one arm less the other, on the same question and seed. Two equal arms give exactly
    zero. ``within`` are the least and the greatest possible mean (-1 and 1 for differences of accuracy); the interval
    is cut there. ``crossed``: more labels of the rows (such as seeds) whose levels are resampled like the clusters.

    ``percentile`` is the plain percentile interval. ``expanded``, the default, resamples one cluster less than there
    are. Each end is the more distant of two: the percentile at the level of Student's t (Hesterberg 2015), and t
    standard errors of the draws; t has the degrees of freedom of the effective number of clusters, which is smaller if
    their sizes differ.

    Raises:
        EvalFault: ``nothing_to_compare``, ``bad_sample``; BackendFault: ``extra_missing``, for ``expanded`` only.
    """
    labels = [clusters, *crossed]
    cells = cells_of(_checked(values, labels, draws), labels)
    low, high, caution = _ends(cells, seed=seed, draws=draws, method=method)
    if within is not None and low is not None and high is not None:
        low, high = max(low, within[0]), min(high, within[1])
    return Interval(
        estimate=cells.mean,
        low=low,
        high=high,
        clusters=cells.counts[0],
        rows=len(values),
        draws=draws,
        method=method,
        caution=caution,
    )


def _checked(values: Sequence[float], labels: Sequence[Sequence[Hashable]], draws: int) -> Floats:
    numbers = np.asarray(values, dtype=np.float64)
    if len(numbers) == 0:
        raise EvalFault("nothing_to_compare", "there is no value to take a mean of", hint="run more samples")
    reason = None
    if any(len(own) != len(numbers) for own in labels):
        reason = "values and clusters differ in number"
    elif not np.isfinite(numbers).all():
        reason = "a value is not a number"
    elif draws < 100:
        reason = f"{draws} draws are too few"
    if reason is not None:
        raise EvalFault("bad_sample", reason, hint="give each row a finite value and a cluster, and at least 100 draws")
    return numbers


@dataclass(frozen=True, kw_only=True)
class Cells:
    """Sums (``sums``) and numbers (``sizes``) of rows by cell: here a combination of levels of all factors.

    ``levels[f][c]`` is the level of factor ``f`` in cell ``c``; the first factor is the cluster. ``counts`` are the
    numbers of levels of the factors.
    """

    sums: Floats
    sizes: Floats
    levels: tuple[Indices, ...]
    counts: tuple[int, ...]

    @property
    def mean(self) -> float:
        """The mean of all rows."""
        return float(self.sums.sum() / self.sizes.sum())


def cells_of(values: Floats, factors: Sequence[Sequence[Hashable]]) -> Cells:
    """Return the sums of values by cell, the same in any order; ``factors[f][i]`` is value ``i``'s label for factor ``f``."""
    coded = [_coded(labels) for labels in factors]
    counts = tuple(count for _, count in coded)
    cells, place = np.unique(np.ravel_multi_index([codes for codes, _ in coded], counts), return_inverse=True)
    return Cells(
        sums=np.bincount(place, weights=values).astype(np.float64),
        sizes=np.bincount(place).astype(np.float64),
        levels=tuple(np.unravel_index(cells, counts)),
        counts=counts,
    )


def _coded(labels: Sequence[Hashable]) -> tuple[Indices, int]:
    """Return each label's index among the sorted different labels (integers first, others by ``repr``), and their number."""
    names = set(labels)
    numbers = sorted(name for name in names if isinstance(name, int))
    places = {name: place for place, name in enumerate([*numbers, *sorted(names.difference(numbers), key=repr)])}
    return np.fromiter((places[label] for label in labels), dtype=np.int64, count=len(labels)), len(names)


def drawn_means(cells: Cells, *, seed: int, draws: int, fewer: int = 1) -> Floats:
    """Return the mean of each draw: of every factor, as many levels as it has less ``fewer``, with replacement.

    With one level less, the spread of the draws is that of the estimate (Rao and Wu 1988). A row's weight is the
    product of how often each of its levels was drawn (Owen 2007). Draws without any row are left out.
    """
    random = np.random.default_rng(seed)
    at_once = max(1, _MOST_NUMBERS // max(len(cells.sums), *cells.counts, 1))  # memory stays bounded
    means = []
    for done in range(0, draws, at_once):
        many = min(at_once, draws - done)
        means.append(
            _means(cells, [random.integers(0, count, size=(many, max(count - fewer, 1))) for count in cells.counts])
        )
    return np.concatenate(means)


def _means(cells: Cells, drawn: Sequence[Indices]) -> Floats:
    if len(drawn) == 1:  # faster: sum the drawn clusters without counting them
        [only] = drawn
        means: Floats = cells.sums[only].sum(axis=1) / cells.sizes[only].sum(axis=1)
        return means
    weights = np.ones((len(drawn[0]), len(cells.sums)))
    for chosen, levels, count in zip(drawn, cells.levels, cells.counts, strict=True):
        weights *= _times_drawn(chosen, count)[:, levels]
    sizes = weights @ cells.sizes
    kept = sizes > 0
    some: Floats = (weights[kept] @ cells.sums) / sizes[kept]
    return some


def _times_drawn(chosen: Indices, count: int) -> Floats:
    """Return how often each level was drawn in each draw (draws x ``count``); ``chosen`` has a row of indices per draw."""
    draws = len(chosen)
    at = (chosen + count * np.arange(draws)[:, None]).ravel()
    return np.bincount(at, minlength=draws * count).reshape(draws, count).astype(np.float64)


def _ends(cells: Cells, *, seed: int, draws: int, method: Method) -> tuple[float | None, float | None, Caution | None]:
    if cells.counts[0] < 2:
        return None, None, "one_cluster"
    # Rounding errors must not look like a difference or a spread.
    residuals = cells.sums - cells.mean * cells.sizes
    if np.abs(residuals).max() <= 1e-12 * max(1.0, float(np.abs(cells.sums).max())):
        return cells.mean, cells.mean, "no_spread"
    caution: Caution | None = "few_clusters" if cells.counts[0] < FEW_CLUSTERS else None
    tail = (1 - LEVEL) / 2
    if method == "percentile":
        low, high = np.quantile(drawn_means(cells, seed=seed, draws=draws, fewer=0), [tail, 1 - tail])
        return float(low), float(high), caution
    with from_extra("eval"):
        from scipy import special
    means = drawn_means(cells, seed=seed, draws=draws)
    steps = float(special.stdtrit(_degrees_of_freedom(cells, residuals), 1 - tail))
    outer = float(special.ndtr(-steps))
    low, high = np.quantile(means, [outer, 1 - outer])
    margin = steps * float(means.std())
    return min(float(low), cells.mean - margin), max(float(high), cells.mean + margin), caution


def _degrees_of_freedom(cells: Cells, residuals: Floats) -> float:
    """Return factors' effective numbers of levels less one, combined (Satterthwaite). A cell's residual: sum less size x mean."""
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


@dataclass(frozen=True, kw_only=True)
class Kappa:
    """Share (0 to 1) of equal ratings of two raters, and Cohen's kappa with its interval; these are None if all ratings are equal."""

    agreement: float
    kappa: float | None
    low: float | None
    high: float | None
    pairs: int


def kendall_tau(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Kendall's tau-a of two rankings: concordant less discordant pairs, over all pairs (Kendall 1938).

    Ties count as neither. It is 1 for fewer than two things. SciPy only has tau-b and tau-c, which correct for ties.

    Raises:
        EvalFault: ``bad_sample``: they differ in length.
    """
    _same_length(first, second)
    if len(first) < 2:
        return 1.0
    one, other = (np.sign(np.subtract.outer(np.asarray(x, float), np.asarray(x, float))) for x in (first, second))
    return float((one * other).sum() / (len(first) * (len(first) - 1)))


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable], *, seed: int) -> Kappa:
    """Return Cohen's kappa (1960) of two raters, with a percentile interval over resampled pairs.

    Raises:
        EvalFault: ``bad_sample``, ``nothing_to_compare``.
    """
    _same_length(first, second)
    if not first:
        raise EvalFault("nothing_to_compare", "there is nothing that two raters rated", hint="give labelled pairs")
    names = sorted({*first, *second}, key=repr)
    table = np.zeros((len(names), len(names)))
    np.add.at(table, ([names.index(name) for name in first], [names.index(name) for name in second]), 1)
    many = len(first)
    drawn = np.random.default_rng(seed).multinomial(many, table.ravel() / many, size=DRAWS)
    kappas = _kappas(drawn.reshape(DRAWS, len(names), len(names)).astype(np.float64))
    kappas = kappas[np.isfinite(kappas)]
    [kappa] = _kappas(table[None])
    known = bool(np.isfinite(kappa)) and len(kappas) > 0
    low, high = np.quantile(kappas, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist() if known else (None, None)
    agreement = float(np.trace(table) / many)
    return Kappa(agreement=agreement, kappa=float(kappa) if known else None, low=low, high=high, pairs=many)


def correlation(
    first: Sequence[float], second: Sequence[float], *, groups: Sequence[Hashable] | None = None
) -> float | None:
    """Return Pearson's correlation, with ``groups`` after subtracting group means; None if one side does not vary.

    Raises:
        EvalFault: ``bad_sample``.
    """
    groups = [0] * len(first) if groups is None else groups
    _same_length(first, second)
    _same_length(first, groups)
    codes = np.unique([repr(group) for group in groups], return_inverse=True)[1]
    sides = [np.asarray(values, dtype=np.float64) for values in (first, second)]
    # Each value less the mean of its group.
    one, other = (own - (np.bincount(codes, weights=own) / np.bincount(codes))[codes] for own in sides)
    spread = float(np.sqrt((one**2).sum() * (other**2).sum()))
    return float((one * other).sum() / spread) if spread > 1e-12 else None


def _kappas(tables: Floats) -> Floats:
    """Return the kappa of each table (n x k x k of counts); not finite if both raters give one rating only."""
    many = tables.sum(axis=(1, 2))
    seen = np.trace(tables, axis1=1, axis2=2) / many
    chance = (tables.sum(axis=1) * tables.sum(axis=2)).sum(axis=1) / many**2
    with np.errstate(divide="ignore", invalid="ignore"):
        kappas: Floats = (seen - chance) / (1 - chance)
    return kappas


def _same_length(first: Sequence[Any], second: Sequence[Any]) -> None:
    if len(first) != len(second):
        raise EvalFault("bad_sample", "the two differ in length", hint="give both for the same things")


_WHOLE = 14  #: most clusters for which all sign flips are enumerated
_AT_ONCE = 2_000_000  #: signs held in memory


def mcnemar(pairs: Sequence[tuple[bool, bool]]) -> float:
    """Return the p value of the exact, two-sided McNemar test (1947) of paired outcomes.

    It ignores clusters, so it accompanies a clustered interval and does not replace it.
    """
    with from_extra("eval"):
        from scipy import stats
    first, second = (sum(pair == only for pair in pairs) for only in ((True, False), (False, True)))
    return float(stats.binomtest(first, first + second).pvalue) if first + second else 1.0


def sign_flip(differences: Sequence[float], clusters: Sequence[Hashable], *, seed: int, draws: int = 10_000) -> float:
    """Return the two-sided p value of "no cluster favours either arm", by flipping the signs of whole clusters.

    The statistic is the sum of differences. With 14 clusters or fewer all flips are enumerated, else ``draws`` random
    ones. The test holds for clusters of any size if each cluster is as likely to have the opposite sign.

    Raises:
        EvalFault: ``nothing_to_compare``.
    """
    if not differences:
        raise EvalFault("nothing_to_compare", "there is no difference to test", hint="run more samples")
    values = np.asarray(differences, dtype=np.float64)
    sums = np.abs(cells_of(values, [clusters]).sums)
    # The sign of a cluster's sum only matters for the observed sum.
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
    """Return the p values (by name) of one family, adjusted by Holm (1979), in the order given.

    Raises:
        EvalFault: ``bad_sample``: a value is no probability; BackendFault: ``extra_missing``.
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


USUAL_DISCORDANCE = 0.25
USUAL_CORRELATION = 0.1
USUAL_REPEAT_CORRELATION = 0.6


@dataclass(frozen=True, kw_only=True)
class ContrastPlan:
    """A planned comparison of two arms: number of questions of each video, and the assumptions for its power.

    ``repeats``: seeds that each question is asked with; ``repeat_correlation``: correlation of the differences of one
    question between seeds. ``discordance``: share of questions on which the arms differ; ``correlation``: of the
    differences of questions of one video. All shares are 0 to 1; ``level`` is the confidence level of the interval.

    Raises EvalFault: ``bad_plan`` if a number is out of its range or there are no questions.
    """

    questions: tuple[int, ...]
    repeats: int = 1
    discordance: float = USUAL_DISCORDANCE
    correlation: float = USUAL_CORRELATION
    repeat_correlation: float = USUAL_REPEAT_CORRELATION
    level: float = LEVEL

    def __post_init__(self) -> None:
        shares = (self.discordance, self.correlation, self.repeat_correlation)
        if not self.questions or min(self.questions) < 1 or self.repeats < 1:
            raise EvalFault("bad_plan", "a plan needs videos with questions", hint="give at least one question a video")
        if not all(0 <= share <= 1 for share in shares) or not 0 < self.level < 1:
            raise EvalFault(
                "bad_plan", "a share or the level of a plan is not between 0 and 1", hint="give shares from 0 to 1"
            )


@dataclass(frozen=True, kw_only=True)
class Power:
    """The power of a plan. ``detectable`` is the smallest difference with power 0.8; None if there is none.

    ``power`` is None with fewer than two videos, which give no interval.
    """

    plan: ContrastPlan
    effect: float
    power: float | None
    standard_error: float
    detectable: float | None

    @property
    def text(self) -> str:
        """The power as a sentence, with its assumptions."""
        plan, videos = self.plan, len(self.plan.questions)
        many = f"{videos} videos, {sum(plan.questions)} questions, {plan.repeats} seeds"
        assumed = (
            f"assumed: {100 * plan.discordance:g} % of outcomes differ, correlation {plan.correlation:g} inside a video, "
            f"{plan.repeat_correlation:g} between seeds"
        )
        if self.power is None:
            return f"{many}: no interval can be made of one video ({assumed})"
        least = "no difference at all is found with probability 0.8 by so few videos and questions"
        if self.detectable is not None:
            least = f"the smallest that is found with probability 0.8 is {100 * self.detectable:.1f} points"
        return (
            f"{many}: a true difference of {100 * self.effect:g} points is found with probability {self.power:.2f}; "
            f"{least} ({assumed})"
        )

    def record(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {**asdict(self), "text": self.text}


def power(questions: Sequence[int], *, effect: float, **assumed: Any) -> Power:
    """Return the power of a paired contrast over videos with these numbers of questions.

    ``effect`` is the true difference of accuracies (0 to 1); ``assumed`` are other fields of ``ContrastPlan``.

    Raises:
        EvalFault: ``bad_plan``; BackendFault: ``extra_missing``.
    """
    plan = ContrastPlan(questions=tuple(questions), **assumed)
    if abs(effect) > plan.discordance:
        raise EvalFault(
            "bad_plan",
            f"a difference of {effect:g} cannot come from {plan.discordance:g} of outcomes that differ",
            hint="assume a larger discordance or a smaller effect",
        )
    return Power(
        plan=plan,
        effect=effect,
        power=_power(plan, effect),
        standard_error=standard_error(plan, effect),
        detectable=_smallest_detectable(plan),
    )


def standard_error(plan: ContrastPlan, effect: float) -> float:
    """Return the standard error of the mean paired difference over all questions and seeds, if it is truly ``effect``."""
    sizes = np.asarray(plan.questions, dtype=np.float64)
    size = float((sizes**2).sum() / sizes.sum())
    alone = (1 + (plan.repeats - 1) * plan.repeat_correlation) / plan.repeats
    variance = (plan.discordance - effect**2) * (alone + (size - 1) * plan.correlation) / sizes.sum()
    return math.sqrt(max(float(variance), 0.0))


def _power(plan: ContrastPlan, effect: float) -> float | None:
    sizes = np.asarray(plan.questions, dtype=np.float64)
    if len(sizes) < 2:
        return None
    error = standard_error(plan, effect)
    if error == 0:
        return 1.0 if effect else 0.0
    with from_extra("eval"):
        from scipy import special
    freedom = max(float(sizes.sum() ** 2 / (sizes**2).sum()), min(len(sizes), 5)) - 1
    critical = float(special.stdtrit(freedom, (1 + plan.level) / 2))
    # A noncentral t beyond the critical value on either side. SciPy gives no number far below its centre, where it is 0.
    ends = special.nctdtr(freedom, abs(effect) / error, np.array([-critical, critical]))
    below, above = np.nan_to_num(ends, nan=0.0).tolist()
    return float(1 - above + below)


def _smallest_detectable(plan: ContrastPlan) -> float | None:
    """Return the smallest effect that has power 0.8; None if there is none."""
    with from_extra("eval"):
        from scipy import optimize

    def lacking(size: float) -> float:
        return (_power(plan, size) or 0.0) - 0.8

    return float(optimize.brentq(lacking, 0.0, plan.discordance, xtol=1e-7)) if lacking(plan.discordance) >= 0 else None

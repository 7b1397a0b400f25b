"""Tests of paired outcomes, their adjustment within a family, and the power of a planned contrast.

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
from typing import Any

import numpy as np

from eval.extras import from_extra
from eval.statistics.bootstrap import LEVEL, cells_of
from world_api.core.faults import EvalFault

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

"""How far a judge agrees with people, and whether it favours long answers."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from eval.scoring.labels import LabelledPair
from eval.scoring.score import AnswerJudge, Verdict
from eval.statistics.association import Kappa, cohen_kappa, correlation
from eval.statistics.bootstrap import Interval, mean_interval

_BIAS_DRAWS = 2_000


@dataclass(frozen=True, kw_only=True)
class Share:
    """Of so many pairs so many judged as people do, and what went wrong."""

    pairs: int
    agreed: int
    false_yes: int
    false_no: int
    unreadable: int


@dataclass(frozen=True, kw_only=True)
class LengthBias:
    """Correlation of a yes with the logarithm of the answer's length, among answers with the same label.

    0 is no bias, above 0 longer answers are judged better than people judge them. None: verdicts or lengths do not vary.
    """

    correlation: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """A judge against labels: accuracy with its interval, Cohen's kappa, by category and by arm, length bias.

    The interval draws videos where pairs name them, else questions.
    """

    judge: str
    seed: int
    accuracy: Interval
    kappa: Kappa
    total: Share
    categories: Mapping[str, Share]
    languages: Mapping[str, Share]
    arms: Mapping[str, Share]
    arm_kappas: Mapping[str, Kappa]
    length_bias: LengthBias

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return {**asdict(self), "accuracy": self.accuracy.record()}

    @property
    def text(self) -> str:
        """For people."""
        return "\n".join(_lines(self))


def measure_agreement(judge: AnswerJudge, pairs: Sequence[LabelledPair], *, seed: int = 0) -> Agreement:
    """Put every pair to the judge, in an order of the seed's, and compare.

    Raises:
        EvalFault, BackendFault: what the judge names; ``nothing_to_compare``.
    """
    order = list(range(len(pairs)))
    random.Random(seed).shuffle(order)  # noqa: S311 - an order, no secret
    said: dict[int, Verdict] = {}
    for place in order:
        pair = pairs[place]
        said[place] = judge.verdict(pair.question, pair.accepted, pair.answer)
    return compared(judge.name, pairs, [said[place] for place in range(len(pairs))], seed=seed)


def compared(judge: str, pairs: Sequence[LabelledPair], verdicts: Sequence[Verdict], *, seed: int = 0) -> Agreement:
    """Verdicts that were given against the labels."""
    yes = [verdict.yes for verdict in verdicts]
    agreed = [float(verdict == pair.right) for verdict, pair in zip(yes, pairs, strict=True)]
    arms = _grouped(pairs, lambda pair: pair.arms)
    return Agreement(
        judge=judge,
        seed=seed,
        accuracy=mean_interval(agreed, [pair.video or pair.question for pair in pairs], seed=seed, within=(0.0, 1.0)),
        kappa=_kappa(pairs, yes, range(len(pairs)), seed),
        total=_share(pairs, verdicts, range(len(pairs))),
        categories={name: _share(pairs, verdicts, at) for name, at in _grouped(pairs, _category).items()},
        languages={name: _share(pairs, verdicts, at) for name, at in _grouped(pairs, _language).items()},
        arms={name: _share(pairs, verdicts, at) for name, at in arms.items()},
        arm_kappas={name: _kappa(pairs, yes, at, seed) for name, at in arms.items()},
        length_bias=length_bias(yes, [pair.right for pair in pairs], [len(pair.answer) for pair in pairs], seed=seed),
    )


def length_bias(
    yes: Sequence[bool], labels: Sequence[bool], lengths: Sequence[int], *, seed: int, level: float = 0.95
) -> LengthBias:
    """Whether verdicts follow the length of answers (characters) where the label does not, with a percentile interval."""
    said = np.array([float(one) for one in yes])
    long = np.array([math.log1p(length) for length in lengths])
    groups = np.array([int(label) for label in labels])
    found = correlation(said.tolist(), long.tolist(), groups=groups.tolist())
    if found is None:
        return LengthBias(correlation=None, low=None, high=None)
    drawn = np.random.default_rng(seed).integers(0, len(said), size=(_BIAS_DRAWS, len(said)))
    tried = (correlation(said[at].tolist(), long[at].tolist(), groups=groups[at].tolist()) for at in drawn)
    known = [one for one in tried if one is not None]
    if not known:
        return LengthBias(correlation=round(found, 4), low=None, high=None)
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return LengthBias(correlation=round(found, 4), low=round(float(low), 4), high=round(float(high), 4))


def _kappa(pairs: Sequence[LabelledPair], yes: Sequence[bool], places: Sequence[int], seed: int) -> Kappa:
    return cohen_kappa([yes[place] for place in places], [pairs[place].right for place in places], seed=seed)


def _share(pairs: Sequence[LabelledPair], verdicts: Sequence[Verdict], places: Sequence[int]) -> Share:
    both = [(verdicts[place], pairs[place].right) for place in places]
    return Share(
        pairs=len(both),
        agreed=sum(verdict.yes == right for verdict, right in both),
        false_yes=sum(verdict.yes and not right for verdict, right in both),
        false_no=sum(right and not verdict.yes for verdict, right in both),
        unreadable=sum(verdict.fault is not None for verdict, _ in both),
    )


def _grouped(pairs: Sequence[LabelledPair], of: Callable[[LabelledPair], Iterable[str]]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for place, pair in enumerate(pairs):
        for name in filter(None, of(pair)):
            groups.setdefault(name, []).append(place)
    return dict(sorted(groups.items()))


def _category(pair: LabelledPair) -> tuple[str, ...]:
    return (pair.category,)


def _language(pair: LabelledPair) -> tuple[str, ...]:
    return (pair.language,)


def _lines(found: Agreement) -> list[str]:
    kappa, bias = found.kappa, found.length_bias
    lines = [
        f"judge {found.judge}: agrees with people on {found.total.agreed} of {found.total.pairs} pairs, "
        f"{_percent(found.accuracy.estimate)} [{_percent(found.accuracy.low)}, {_percent(found.accuracy.high)}]",
        f"Cohen's kappa {_figure(kappa.kappa)} [{_figure(kappa.low)}, {_figure(kappa.high)}]",
        f"says yes to {found.total.false_yes} wrong answers and no to {found.total.false_no} right ones; "
        f"{found.total.unreadable} replies could not be read",
        f"length bias (correlation of a yes with length, labels equal) {_figure(bias.correlation)} "
        f"[{_figure(bias.low)}, {_figure(bias.high)}]",
    ]
    for title, groups in (("category", found.categories), ("language", found.languages), ("arm", found.arms)):
        for name, share in groups.items():
            told = f"  {title} {name}: {share.agreed} of {share.pairs}"
            if title == "arm":
                told += f", kappa {_figure(found.arm_kappas[name].kappa)}"
            lines.append(told + f" (false yes {share.false_yes}, false no {share.false_no})")
    return lines


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"

"""Agreement of two rankings, two raters or two measures."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.statistics.bootstrap import Floats
from world_api.core.faults import EvalFault


@dataclass(frozen=True, kw_only=True)
class Kappa:
    """Agreement of two raters and Cohen's kappa with its interval; None where both always say the same one thing."""

    agreement: float
    kappa: float | None
    low: float | None
    high: float | None
    pairs: int

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return asdict(self)


def kendall_tau(first: Sequence[float], second: Sequence[float]) -> float:
    """Kendall's tau-a of two rankings of the same things: concordant less discordant pairs, over all pairs (Kendall 1938).

    Ties count as neither. 1 for fewer than two things. SciPy has tau-b and tau-c alone, which correct for ties.

    Raises:
        EvalFault: ``bad_sample``: they differ in length.
    """
    _same_length(first, second)
    if len(first) < 2:
        return 1.0
    one, other = (np.sign(np.subtract.outer(np.asarray(x, float), np.asarray(x, float))) for x in (first, second))
    return float((one * other).sum() / (len(first) * (len(first) - 1)))


def cohen_kappa(
    first: Sequence[Hashable], second: Sequence[Hashable], *, seed: int, level: float = 0.95, draws: int = 10_000
) -> Kappa:
    """Cohen's kappa (1960) of two raters, with a percentile interval over pairs that are drawn again.

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
    drawn = np.random.default_rng(seed).multinomial(many, table.ravel() / many, size=draws)
    kappas = _kappas(drawn.reshape(draws, len(names), len(names)).astype(np.float64))
    kappas = kappas[np.isfinite(kappas)]
    [kappa] = _kappas(table[None])
    tail = (1 - level) / 2
    known = bool(np.isfinite(kappa)) and len(kappas) > 0
    low, high = np.quantile(kappas, [tail, 1 - tail]) if known else (None, None)
    return Kappa(
        agreement=float(np.trace(table) / many),
        kappa=float(kappa) if known else None,
        low=float(low) if low is not None else None,
        high=float(high) if high is not None else None,
        pairs=many,
    )


def correlation(
    first: Sequence[float], second: Sequence[float], *, groups: Sequence[Hashable] | None = None
) -> float | None:
    """Pearson's correlation; with ``groups`` of what is left when each group's mean is taken away. None: one does not vary.

    Raises:
        EvalFault: ``bad_sample``.
    """
    _same_length(first, second)
    groups = [0] * len(first) if groups is None else groups
    _same_length(first, groups)
    codes = np.unique([repr(group) for group in groups], return_inverse=True)[1]
    one, other = (_centred(np.asarray(values, dtype=np.float64), codes) for values in (first, second))
    spread = float(np.sqrt((one**2).sum() * (other**2).sum()))
    return float((one * other).sum() / spread) if spread > 1e-12 else None


def _centred(values: Floats, codes: NDArray[np.intp]) -> Floats:
    """The values less the mean of their group."""
    means = np.bincount(codes, weights=values) / np.bincount(codes)
    centred: Floats = values - means[codes] if len(values) else values
    return centred


def _kappas(tables: Floats) -> Floats:
    """Kappa of each table (n x k x k of counts); not finite where both raters say one thing only."""
    many = tables.sum(axis=(1, 2))
    seen = np.trace(tables, axis1=1, axis2=2) / many
    chance = (tables.sum(axis=1) * tables.sum(axis=2)).sum(axis=1) / many**2
    with np.errstate(divide="ignore", invalid="ignore"):
        kappas: Floats = (seen - chance) / (1 - chance)
    return kappas


def _same_length(first: Sequence[Any], second: Sequence[Any]) -> None:
    if len(first) != len(second):
        raise EvalFault("bad_sample", "the two differ in length", hint="give both for the same things")

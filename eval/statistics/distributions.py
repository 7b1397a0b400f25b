"""Student's t and the binomial without SciPy."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

_STEPS = 200
_TINY = 1e-300


def t_cdf(value: float, freedom: float) -> float:
    """The probability that Student's t with so many degrees of freedom (any positive number) is at most ``value``."""
    if math.isinf(freedom):
        return NormalDist().cdf(value)
    tail = incomplete_beta(freedom / (freedom + value * value), freedom / 2, 0.5) / 2
    return 1 - tail if value > 0 else tail


def t_quantile(probability: float, freedom: float) -> float:
    """The value that Student's t stays under with that probability, by bisection to the last digits of a float."""
    if probability < 0.5:
        return -t_quantile(1 - probability, freedom)
    low, high = 0.0, 1.0
    while t_cdf(high, freedom) < probability and high < 1e12:
        low, high = high, 2 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if t_cdf(middle, freedom) < probability else (low, middle)
    return high


def incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (Abramowitz and Stegun 26.5.8)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side
        return 1 - _by_fraction(1 - x, b, a)
    return _by_fraction(x, a, b)


def _by_fraction(x: float, a: float, b: float) -> float:
    logs = a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) - math.log(a)
    return math.exp(logs) / _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """1 + d1/(1 + d2/(1 + ...)), evaluated from the front (Lentz)."""
    value, c, d = 1.0, 1.0, 0.0
    for step in range(1, 10 * _STEPS):
        m = step // 2
        if step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / _away(1 + term * d)
        c = _away(1 + term / c)
        value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def _away(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def binomial_at_most(count: int, trials: int) -> float:
    """The probability of at most ``count`` heads in so many throws of a fair coin."""
    if count >= trials:
        return 1.0
    logs = np.array([_log_choose(trials, k) for k in range(count + 1)]) - trials * math.log(2)
    greatest = float(logs.max())
    return float(math.exp(greatest) * np.exp(logs - greatest).sum())


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)

"""From quantities to places on a drawing, and the round numbers that stand beside an axis."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A straight or logarithmic scale from ``low .. high`` to ``start .. end``."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """Where a value lies; values outside lie on the edge."""
        held = min(max(value, self.low), self.high)
        if self.logarithmic:
            share = math.log(held / self.low) / math.log(self.high / self.low)
        else:
            share = (held - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """About five round numbers on it."""
        if self.logarithmic:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            found = [base * 10.0**power for power in range(first, last + 1) for base in (1, 2, 5)]
            within = [value for value in found if self.low <= value <= self.high]
            return [value for value in within if _is_ten(value)] if len(within) > 7 else within
        step = round_step((self.high - self.low) / 5)
        first = math.ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)]


def round_step(rough: float) -> float:
    """The next 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    return next(base * power for base in (1, 2, 5, 10) if base * power >= rough * (1 - 1e-9))


def amounts(values: Iterable[float], *, start: float, end: float) -> Scale:
    """A scale for amounts from 0 on; logarithmic where they lie more than thirty times apart."""
    held = [value for value in values if math.isfinite(value)]
    most, least = max(held, default=1.0), min(held, default=0.0)
    if least > 0 and most / least > 30:
        return Scale(low=least / 1.5, high=most * 1.5, start=start, end=end, logarithmic=True)
    return Scale(low=0.0, high=most * 1.08 if most > 0 else 1.0, start=start, end=end)


def around(values: Iterable[float], *, start: float, end: float, zero: bool) -> Scale:
    """A scale that holds all values with some room, and 0 where that is asked for."""
    held = [value for value in values if math.isfinite(value)] + ([0.0] if zero else [])
    low, high = min(held, default=0.0), max(held, default=1.0)
    room = (high - low) * 0.06 or 0.05
    return Scale(low=low - room, high=high + room, start=start, end=end)


def short(value: float) -> str:
    """A number as it stands beside an axis: 12k, 1.5M, 0.25."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:.3g}{letter}"
    return f"{round(value, 6):.4g}"


def percent(value: float) -> str:
    """A share in percent."""
    return f"{round(100 * value, 6):.4g}%"


def _is_ten(value: float) -> bool:
    return math.isclose(math.log10(value), round(math.log10(value)), abs_tol=1e-9)

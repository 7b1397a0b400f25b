"""Prices: what a call costs before it is made, and what was spent after it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Atomic calls, model calls, model tokens and seconds. Adds up; scales by a number of repetitions."""

    calls: int = 0
    model_calls: int = 0
    tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            calls=self.calls + other.calls,
            model_calls=self.model_calls + other.model_calls,
            tokens=self.tokens + other.tokens,
            seconds=self.seconds + other.seconds,
        )

    def times(self, count: int) -> Cost:
        """The cost of doing this ``count`` times."""
        return Cost(
            calls=self.calls * count,
            model_calls=self.model_calls * count,
            tokens=self.tokens * count,
            seconds=self.seconds * count,
        )

    def record(self) -> dict[str, float]:
        """The wire form."""
        return {
            "calls": self.calls,
            "model_calls": self.model_calls,
            "tokens": self.tokens,
            "seconds": round(self.seconds, 6),
        }

"""What charts are drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A figure with the ends of its interval, where it has one."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def ends(self) -> list[float]:
        """All there is of it."""
        return [self.value, *(end for end in (self.low, self.high) if end is not None)]


@dataclass(frozen=True, kw_only=True)
class CostPoint:
    """An arm at a budget: what it spent and how much of its answers were right."""

    panel: str
    series: str
    label: str
    cost: Estimate
    share: Estimate
    words: str
    samples: int | None = None
    primary: bool = False


@dataclass(frozen=True, kw_only=True)
class Dot:
    """A figure on a line of its own; ``group`` heads those that follow one another."""

    group: str
    label: str
    at: Estimate
    words: str
    samples: int | None = None
    marked: bool = False


@dataclass(frozen=True, kw_only=True)
class Tile:
    """A field of a heat map; ``value`` None has nothing to show, and ``words`` say why."""

    row: str
    column: str
    value: float | None
    shown: str
    words: str
    samples: int | None = None
    own: bool = False  #: is set apart by a frame


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A part of a bar, of a series."""

    series: int
    value: float
    words: str
    samples: int | None = None


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A bar of pieces end to end, with what stands behind it."""

    group: str
    label: str
    pieces: Sequence[Piece]
    shown: str

    @property
    def length(self) -> float:
        """All its pieces together."""
        return sum(piece.value for piece in self.pieces)

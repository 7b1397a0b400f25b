"""How far a run is, for whoever shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eval.runs.cells import Cell
from eval.runs.lines import Cost

_FEWEST = 10  #: samples before which a pace says nothing: those that ask are still getting ready


@dataclass
class ArmTally:
    """Samples of one arm: finished, scored, and right."""

    done: int = 0
    scored: int = 0
    right: int = 0

    @property
    def accuracy(self) -> float | None:
        """Share of the right ones among those that were scored."""
        return self.right / self.scored if self.scored else None


@dataclass
class Tally:
    """Samples of a run so far. ``asked`` counts those of this process, in ``seconds``; money is None where no price is known."""

    planned: int
    done: int = 0
    asked: int = 0
    failed: int = 0
    tokens: int = 0
    money: float | None = None
    seconds: float = 0.0
    arms: dict[str, ArmTally] = field(default_factory=dict)

    def pay(self, cost: Cost) -> None:
        """Count what was spent, whatever came of it."""
        self.tokens += cost.tokens
        if cost.money is not None:
            self.money = (self.money or 0.0) + cost.money

    def add(self, cell: Cell, *, correct: bool | None, failed: bool = False) -> None:
        """Count one finished sample; ``correct`` None: nobody has scored it yet."""
        self.done += 1
        self.failed += failed
        arm = self.arms.setdefault(label_of(cell), ArmTally())
        arm.done += 1
        if correct is not None:
            arm.scored += 1
            arm.right += correct

    def settle(self, scored: Mapping[str, tuple[int, int]]) -> None:
        """Put in what the scores say in the end: by arm, how many samples were scored and how many of them are right."""
        for label, (count, right) in scored.items():
            arm = self.arms.setdefault(label, ArmTally(done=count))
            arm.scored, arm.right = count, right

    @property
    def left(self) -> float | None:
        """Seconds that the rest will take, at the pace so far; None while that cannot be told yet."""
        if self.asked < _FEWEST:
            return None
        return self.seconds / self.asked * (self.planned - self.done)

    def record(self) -> dict[str, Any]:
        """The wire form."""
        left = self.left
        return {
            "done": self.done,
            "planned": self.planned,
            "asked": self.asked,
            "failed": self.failed,
            "tokens": self.tokens,
            "money": round(self.money, 6) if self.money is not None else None,
            "seconds": round(self.seconds, 1),
            "seconds_left": round(left, 1) if left is not None else None,
            "accuracy": {
                name: {"done": arm.done, "right": arm.right, "accuracy": _rounded(arm.accuracy)}
                for name, arm in self.arms.items()
            },
        }


def label_of(cell: Cell) -> str:
    """An arm, with its library where it has one."""
    return cell.arm.name if cell.arm.library is None else f"{cell.arm.name}/{cell.arm.library}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)

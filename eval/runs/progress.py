"""Progress of a run: the tally of its samples, and showing it on stderr as a table, as log lines or as JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from eval.runs.cells import Cell
from eval.runs.files import Cost
from world_api.core.canonical import json_line
from world_api.core.ports import Clock

if TYPE_CHECKING:
    from rich.table import Table

_WARM_UP = 10  #: samples before the pace is used: workers are still loading
_LOG_INTERVAL, _ARMS_INTERVAL, _JSON_INTERVAL = 10.0, 60.0, 2.0  #: seconds between lines, lines with all arms, records


@dataclass
class ArmTally:
    """Samples of one arm: finished, scored, and right."""

    done: int = 0
    scored: int = 0
    right: int = 0

    @property
    def accuracy(self) -> float | None:
        """Share of right samples among those that were scored."""
        return self.right / self.scored if self.scored else None


@dataclass
class Tally:
    """Samples of a run so far. ``asked`` counts those of this process, in ``seconds``; money is None if no price is known."""

    planned: int
    done: int = 0
    asked: int = 0
    failed: int = 0
    tokens: int = 0
    money: float | None = None
    seconds: float = 0.0
    arms: dict[str, ArmTally] = field(default_factory=dict)

    def pay(self, cost: Cost) -> None:
        """Add a cost, whether its sample counts or not."""
        self.tokens += cost.tokens
        if cost.money is not None:
            self.money = (self.money or 0.0) + cost.money

    def add(self, cell: Cell, *, correct: bool | None, failed: bool = False) -> None:
        """Count one finished sample; ``correct`` is None if it is not scored yet."""
        self.done += 1
        self.failed += failed
        arm = self.arms.setdefault(cell.label, ArmTally())
        arm.done += 1
        if correct is not None:
            arm.scored += 1
            arm.right += correct

    def settle(self, scored: Mapping[str, tuple[int, int]]) -> None:
        """Replace accuracies by the final scores: by arm, how many samples were scored and how many of them are right."""
        for label, (count, right) in scored.items():
            arm = self.arms.setdefault(label, ArmTally(done=count))
            arm.scored, arm.right = count, right

    @property
    def left(self) -> float | None:
        """Seconds until the end at the pace so far; None while the pace is not known."""
        return None if self.asked < _WARM_UP else self.seconds / self.asked * (self.planned - self.done)

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "done": self.done,
            "planned": self.planned,
            "asked": self.asked,
            "failed": self.failed,
            "tokens": self.tokens,
            "money": _rounded(self.money, 6),
            "seconds": round(self.seconds, 1),
            "seconds_left": _rounded(self.left, 1),
            "accuracy": {
                name: {"done": arm.done, "right": arm.right, "accuracy": _rounded(arm.accuracy, 4)}
                for name, arm in self.arms.items()
            },
        }


class ProgressDisplay(Protocol):
    """Shows the progress of a run."""

    def update(self, tally: Tally) -> None:
        """Show the tally."""
        ...

    def say(self, text: str) -> None:
        """Show a message."""
        ...


class ProgressLog:
    """Writes a line from time to time; with ``as_json`` a JSON object."""

    def __init__(self, clock: Clock, *, as_json: bool) -> None:
        self._clock = clock
        self._as_json = as_json
        self._interval = _JSON_INTERVAL if as_json else _LOG_INTERVAL
        self._shown_at = self._arms_at = clock.monotonic()
        self._shown = -1

    def update(self, tally: Tally) -> None:
        """Write a line if the last one is long enough ago, or if the run is complete."""
        now = self._clock.monotonic()
        complete = tally.done >= tally.planned
        if self._shown != tally.done and (complete or now - self._shown_at >= self._interval):
            self._shown_at, self._shown = now, tally.done
            arms = complete or now - self._arms_at >= _ARMS_INTERVAL
            self._arms_at = now if arms else self._arms_at
            text = "  " + (progress_text(tally) if arms else progress_summary(tally))
            sys.stderr.write((json_line({"progress": tally.record()}) if self._as_json else text) + "\n")

    def say(self, text: str) -> None:
        """Write a message on a line of its own."""
        sys.stderr.write((json_line({"note": text}) if self._as_json else f"  {text}") + "\n")


@contextmanager
def progress_display(clock: Clock, *, as_json: bool) -> Iterator[ProgressDisplay]:
    """A live table if stderr is a terminal, else log lines."""
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    if as_json or not console.is_terminal:
        yield ProgressLog(clock, as_json=as_json)
        return
    with Live(console=console, refresh_per_second=4, transient=True) as live:

        class LiveTable:
            def update(self, tally: Tally) -> None:
                live.update(_table(tally))

            def say(self, text: str) -> None:
                live.console.print(f"  {text}", markup=False, highlight=False)

        yield LiveTable()


def progress_text(tally: Tally) -> str:
    """The summary and the accuracy of every arm, on one line."""
    arms = ", ".join(f"{name} {_percent(arm.accuracy)}" for name, arm in tally.arms.items())
    return f"{progress_summary(tally)}; right so far: {arms}" if arms else progress_summary(tally)


def progress_summary(tally: Tally) -> str:
    """How many samples are done, their cost, and the time left."""
    parts = [f"{tally.done:,} of {tally.planned:,} questions"]
    if tally.failed:
        parts.append(f"{tally.failed:,} failed")
    parts.append(f"{tally.tokens:,} tokens")
    if tally.money is not None:
        parts.append(f"{tally.money:.2f} USD")
    if tally.left is not None and tally.done < tally.planned:
        parts.append(f"{duration(tally.left)} left")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """A rounded duration for people: ``40 s``, ``12 min``, ``2.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def _table(tally: Tally) -> Table:
    from rich.table import Table

    table = Table(title=progress_summary(tally), title_justify="left", box=None, padding=(0, 2))
    for name in ("arm", "done", "right"):
        table.add_column(name, justify="left" if name == "arm" else "right")
    for name, arm in tally.arms.items():
        table.add_row(name, f"{arm.done:,}", _percent(arm.accuracy))
    return table


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)

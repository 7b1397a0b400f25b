"""The progress of a run: counts and costs so far, shown on a terminal or as log lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from eval.runs.records import Cell, SampleCost
from world_api.core.canonical import json_line
from world_api.core.ports import Clock

_WARM_UP = 10  #: samples before the time left is estimated, as workers are still loading
_INTERVAL = 5.0  #: seconds between two lines of progress


@dataclass
class ArmTally:
    """Number of samples of one arm that are finished, scored, and right."""

    done: int = 0
    scored: int = 0
    right: int = 0

    @property
    def accuracy(self) -> float | None:
        """Share of right samples among the scored ones; None without any."""
        return self.right / self.scored if self.scored else None


@dataclass
class Tally:
    """Counts of a run so far. This process ran ``ran`` samples in ``seconds``; ``money`` is USD, None if unknown."""

    planned: int
    done: int = 0
    ran: int = 0
    failed: int = 0
    tokens: int = 0
    money: float | None = None
    seconds: float = 0.0
    arms: dict[str, ArmTally] = field(default_factory=dict)

    def pay(self, cost: SampleCost) -> None:
        """Add a cost, also that of a sample that does not count."""
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
        """Replace the counts behind the accuracies by final ones: by arm, the number of scored and of right samples."""
        for label, (count, right) in scored.items():
            arm = self.arms.setdefault(label, ArmTally(done=count))
            arm.scored, arm.right = count, right

    @property
    def left(self) -> float | None:
        """Expected seconds until the end at the pace so far; None while too few samples have run."""
        return None if self.ran < _WARM_UP else self.seconds / self.ran * (self.planned - self.done)

    def record(self) -> dict[str, Any]:
        """Return the JSON form."""
        arms = {
            name: {"done": arm.done, "right": arm.right, "accuracy": _rounded(arm.accuracy, 4)}
            for name, arm in self.arms.items()
        }
        counts = {"done": self.done, "planned": self.planned, "asked": self.ran, "failed": self.failed}
        spent = {"tokens": self.tokens, "money": _rounded(self.money, 6), "seconds": round(self.seconds, 1)}
        return {**counts, **spent, "seconds_left": _rounded(self.left, 1), "accuracy": arms}


class ProgressDisplay(Protocol):
    """Shows the progress of a run."""

    def update(self, tally: Tally) -> None:
        """Show the tally."""

    def say(self, text: str) -> None:
        """Show a message."""


class ProgressLog:
    """Writes log lines to stderr at intervals; with ``as_json`` as JSON objects."""

    def __init__(self, clock: Clock, *, as_json: bool) -> None:
        self._clock, self._as_json = clock, as_json
        self._shown_at, self._shown = clock.monotonic(), -1

    def update(self, tally: Tally) -> None:
        """Write a line if more samples are done, and the last line is five seconds old or the run is complete."""
        now = self._clock.monotonic()
        complete = tally.done >= tally.planned
        if self._shown != tally.done and (complete or now - self._shown_at >= _INTERVAL):
            self._shown_at, self._shown = now, tally.done
            self._write({"progress": tally.record()}, progress_text(tally))

    def say(self, text: str) -> None:
        """Write a message as a line of its own."""
        self._write({"note": text}, text)

    def _write(self, record: Mapping[str, Any], text: str) -> None:
        sys.stderr.write((json_line(record) if self._as_json else f"  {text}") + "\n")


@contextmanager
def progress_display(clock: Clock, *, as_json: bool) -> Iterator[ProgressDisplay]:
    """Yield a display: a live line if stderr is a terminal and ``as_json`` is false, else log lines."""
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    if as_json or not console.is_terminal:
        yield ProgressLog(clock, as_json=as_json)
        return
    with Live(console=console, refresh_per_second=4, transient=True) as live:

        class LiveText:
            def update(self, tally: Tally) -> None:
                live.update(progress_text(tally))

            def say(self, text: str) -> None:
                live.console.print(f"  {text}", markup=False, highlight=False)

        yield LiveText()


def progress_text(tally: Tally) -> str:
    """Return the summary and the accuracy of every arm, on one line."""
    shares = {name: "-" if arm.accuracy is None else f"{100 * arm.accuracy:.0f} %" for name, arm in tally.arms.items()}
    arms = ", ".join(f"{name} {share}" for name, share in shares.items())
    return f"{progress_summary(tally)}; right so far: {arms}" if arms else progress_summary(tally)


def progress_summary(tally: Tally) -> str:
    """Return the number of finished samples, their cost and the time left, on one line."""
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
    """Return a rounded duration as text: ``40 s``, ``12 min``, ``2.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)

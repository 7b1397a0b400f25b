"""Progress on stderr: a table that is drawn again on a terminal, a line now and then in a log, JSON for programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from eval.runs.running.tally import Tally
from world_api.core.canonical import json_line
from world_api.core.ports import Clock

if TYPE_CHECKING:
    from rich.table import Table

_EVERY_LINE = 10.0  #: seconds between the lines of a log
_EVERY_ARMS = 60.0  #: between those that tell of every arm
_EVERY_RECORD = 2.0


class Shown(Protocol):
    """Whoever shows how far a run is."""

    def update(self, tally: Tally) -> None:
        """So far it is."""
        ...

    def say(self, text: str) -> None:
        """Something to tell in between."""
        ...


class Lines:
    """A line now and then; with ``as_json`` a JSON object."""

    def __init__(self, clock: Clock, *, as_json: bool) -> None:
        self._clock = clock
        self._as_json = as_json
        self._every = _EVERY_RECORD if as_json else _EVERY_LINE
        self._told = self._told_arms = clock.monotonic()
        self._last = -1

    def update(self, tally: Tally) -> None:
        """Tell it where the last time is long enough ago, or where all is done."""
        now = self._clock.monotonic()
        ended = tally.done >= tally.planned
        if self._last != tally.done and (ended or now - self._told >= self._every):
            self._told, self._last = now, tally.done
            arms = ended or now - self._told_arms >= _EVERY_ARMS
            self._told_arms = now if arms else self._told_arms
            text = "  " + (line_of(tally) if arms else head_of(tally))
            sys.stderr.write((json_line({"progress": tally.record()}) if self._as_json else text) + "\n")

    def say(self, text: str) -> None:
        """A line of its own."""
        sys.stderr.write((json_line({"note": text}) if self._as_json else f"  {text}") + "\n")


@contextmanager
def shown(clock: Clock, *, as_json: bool) -> Iterator[Shown]:
    """What suits stderr, while the block runs."""
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    if as_json or not console.is_terminal:
        yield Lines(clock, as_json=as_json)
        return
    with Live(console=console, refresh_per_second=4, transient=True) as live:

        class Drawn:
            def update(self, tally: Tally) -> None:
                live.update(table_of(tally))

            def say(self, text: str) -> None:
                live.console.print(f"  {text}", markup=False, highlight=False)

        yield Drawn()


def line_of(tally: Tally) -> str:
    """All of it on a line."""
    arms = ", ".join(f"{name} {_percent(arm.accuracy)}" for name, arm in tally.arms.items())
    return f"{head_of(tally)}; right so far: {arms}" if arms else head_of(tally)


def head_of(tally: Tally) -> str:
    """How far, at what cost, how much longer."""
    parts = [f"{tally.done:,} of {tally.planned:,} questions"]
    if tally.failed:
        parts.append(f"{tally.failed:,} failed")
    parts.append(f"{tally.tokens:,} tokens")
    if tally.money is not None:
        parts.append(f"{tally.money:.2f} USD")
    if tally.left is not None and tally.done < tally.planned:
        parts.append(f"{duration(tally.left)} left")
    return ", ".join(parts)


def table_of(tally: Tally) -> Table:
    """A small table, arm by arm."""
    from rich.table import Table

    table = Table(title=head_of(tally), title_justify="left", box=None, padding=(0, 2))
    for name in ("arm", "done", "right"):
        table.add_column(name, justify="left" if name == "arm" else "right")
    for name, arm in tally.arms.items():
        table.add_row(name, f"{arm.done:,}", _percent(arm.accuracy))
    return table


def duration(seconds: float) -> str:
    """About how long, in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"

"""Progress bars on stderr, one a stage; plain lines where stderr is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from world_api.build.scheduler import Progress


class Lines:
    """For logs: a line when a stage is done."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def update(self, stage: str, done: float, total: float) -> None:
        """Tell of a stage once, when it is through."""
        if done >= total and stage not in self._told:
            self._told.add(stage)
            sys.stderr.write(f"  {stage}: {total:.0f} s of video done\n")

    def say(self, text: str) -> None:
        """A line of its own."""
        sys.stderr.write(f"  {text}\n")


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Bars while the block runs."""
    if not sys.stderr.isatty():
        yield Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Drawn

    console = Console(stderr=True)
    columns = (TextColumn("  {task.description:14}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Drawn(*columns, console=console) as drawn:
        tasks: dict[str, TaskID] = {}

        class Bars:
            def update(self, stage: str, done: float, total: float) -> None:
                if stage not in tasks:
                    tasks[stage] = drawn.add_task(stage, total=total)
                drawn.update(tasks[stage], completed=done, total=total)

            def say(self, text: str) -> None:
                drawn.console.print(f"  {text}", markup=False, highlight=False)

        yield Bars()

"""Output of commands and of the Python interface: results on stdout, notes, faults and progress on stderr, and consent.

Control characters of texts are written as escapes. Nothing here imports Typer.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from world_api.core.faults import BackendFault, VideoWorldError
from world_api.core.identifiers import visible
from world_api.core.spans import DECODER_RESTARTED, SESSIONS_SET_ASIDE
from world_api.installation import program_name

if TYPE_CHECKING:
    from world_api.build.scheduler import Progress

_LOSSES = 20  #: losses of a world that are printed


def show(record: Any, *, as_json: bool, text: Callable[[], str]) -> None:
    """Print a result on stdout: ``record`` as JSON, or ``text()``. Control characters are written as escapes."""
    sys.stdout.write((to_json(record) if as_json else visible(text())) + "\n")


def first_part(record: Mapping[str, Any]) -> str:
    """Return a result as indented JSON; of a long one only the first part, and a note on stderr says how much that is."""
    from world_api.chat.messages import MAX_RESULT_CHARACTERS, first_page

    page = first_page(record, MAX_RESULT_CHARACTERS)
    if page.rest is not None:
        parts = ", ".join(f"{name} {part}" for name, part in page.parts.items())
        note(f"a first part is shown ({parts}); --json prints the whole result")
    return to_json(page.shown)


def to_json(record: Any) -> str:
    """Return indented JSON with readable Unicode. Raises ValueError for NaN and infinity."""
    return visible(json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False))


def loss_lines(losses: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line for each of the losses of a world, given as JSON values; of very many only the first, and how many more."""
    notes = (DECODER_RESTARTED, SESSIONS_SET_ASIDE)
    lines = [f"  {'note' if loss['code'] in notes else 'lost'}: {loss['message']}" for loss in losses[:_LOSSES]]
    left_out = len(losses) - len(lines)
    return [*lines, f"  ... {left_out} more losses (--json shows all)"] if left_out > 0 else lines


def note(message: str) -> None:
    """Print a message on stderr, so that stdout holds the result alone. Control characters are escaped.

    Commands in backquotes, as hints have them, are written as they can be typed here.
    """
    sys.stderr.write(visible(message.replace("`videoworld ", f"`{program_name()} ")) + "\n")


def fail(error: VideoWorldError, *, as_json: bool) -> int:
    """Print a fault, as JSON on stdout or as text on stderr, and return the exit status 1."""
    if as_json:
        sys.stdout.write(to_json(error.record()) + "\n")
    else:
        note(f"error: {error.message} [{error.code}]")
        for line in getattr(error, "__notes__", ()):
            note(f"  {line}")
        if error.hint:
            note(f"  hint: {error.hint}")
    return 1


class _ProgressLines:
    """Progress for logs, without a terminal: one line when a stage is done."""

    def __init__(self, unit: str) -> None:
        self._done: set[str] = set()
        self._unit = unit

    def update(self, stage: str, done: float, total: float) -> None:
        """Print a line when a stage is done, only once per stage."""
        if done >= total and stage not in self._done:
            self._done.add(stage)
            sys.stderr.write(f"  {stage}: {total:,.0f}{self._unit} done\n")

    def say(self, text: str) -> None:
        """Print a text to stderr as an indented line."""
        note(f"  {text}")


class NoProgress:
    """A ``Progress``, or another display, that shows nothing."""

    def update(self, *args: Any, **named: Any) -> None:
        """Do nothing with the progress."""

    def say(self, text: str) -> None:
        """Do nothing with a line of text."""


@contextmanager
def progress_bars(unit: str = " s of video", *, shown: bool = True) -> Iterator[Progress]:
    """Show progress bars on stderr inside the block, one per stage, with the time left; plain lines without a terminal.

    ``unit`` is what is counted, as the lines name it. Without ``shown`` nothing is written.
    """
    if not shown:
        yield NoProgress()
        return
    if not sys.stderr.isatty():
        yield _ProgressLines(unit)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress as RichProgress,
        TaskID,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("  {task.description:14}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with RichProgress(*columns, console=Console(stderr=True)) as display:
        tasks: dict[str, TaskID] = {}

        class Bars:
            def update(self, stage: str, done: float, total: float) -> None:
                if stage not in tasks:
                    tasks[stage] = display.add_task(stage, total=total)
                display.update(tasks[stage], completed=done, total=total)

            def say(self, text: str) -> None:
                display.console.print(
                    f"  {text}".replace("`videoworld ", f"`{program_name()} "), markup=False, highlight=False
                )

        yield Bars()


def ask(text: str, question: str, *, yes: bool, kept: str, agree: str = "to agree", hint: str = "") -> None:
    """Show a text on stderr, then a question; return if ``yes`` is true or the user at the terminal agrees.

    ``kept`` says what did not happen otherwise. Raises BackendFault: ``consent_needed`` if there is no terminal;
    ``consent_refused``.
    """
    note(text)
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise BackendFault(
            "consent_needed", f"{kept}: there is no terminal to ask at", hint=f"add --yes {agree} (yes=True in Python)"
        )
    sys.stderr.write(f"{question} Type yes to agree: ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise BackendFault("consent_refused", kept, hint=hint)

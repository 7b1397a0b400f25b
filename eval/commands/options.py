"""Arguments and options that several commands of the evaluation share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from world_api.core.faults import VideoWorldError

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")]
JudgePromptOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A published judge's prompt, in place of our own.")
]


def end_command(fault: VideoWorldError | None, *, interrupted: bool, as_json: bool) -> None:
    """End a command with the exit status of how its run ended.

    Raises:
        KeyboardInterrupt: the run was interrupted.
        typer.Exit: there is a fault, and the JSON record that was printed holds it.
        VideoWorldError: the fault.
    """
    if interrupted:
        raise KeyboardInterrupt
    if fault is not None:
        raise typer.Exit(1) if as_json else fault

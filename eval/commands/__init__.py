"""``videoworld eval``: commands for datasets, runs and their results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from world_api.commands.cli import LazyCommand, group_app
from world_api.core.faults import VideoWorldError

#: By command: its module and function in ``eval.commands``, and its line of help.
_COMMANDS = {
    "check": ("datasets.check", "Say which videos and worlds of a dataset are there."),
    "run": ("runs.run", "Run an experiment: systems, libraries, datasets, seeds, budgets."),
    "score": ("runs.score", "Score a run's episodes again; no question is asked again."),
    "label": ("results.label", "Draw open answers of a run for people to label."),
    "judge": ("results.judge", "Measure a judge of open answers against labelled pairs."),
    "compare": ("tables.compare", "Compare two arms of a run, paired, with intervals."),
    "diff": ("tables.diff", "List the questions whose outcome flipped between two arms."),
    "transfer": ("tables.transfer", "Tool libraries against domains: the transfer matrix."),
    "select": ("tables.select", "Keep the tools that help on development questions."),
    "report": ("results.report", "Write a run's report: one HTML file, LaTeX and CSV tables."),
    "bundle": ("results.bundle", "Pack a run into one file that regenerates every table."),
    "export": ("results.export", "Export a run as an Inspect log."),
}
COMMANDS: dict[str, LazyCommand] = {
    name: LazyCommand(f"eval.commands.{place.partition('.')[0]}", place.partition(".")[2], about)
    for name, (place, about) in _COMMANDS.items()
}

app = group_app("Run experiments, score them, and compare what came out.", COMMANDS)

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")]
RunOrBundle = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run, or a bundle of one.")]
JudgePromptOption = Annotated[
    Path | None,
    typer.Option("--judge-prompt", "--prompt", metavar="FILE", help="A published judge's prompt, in place of our own."),
]


def end_command(fault: VideoWorldError | None, *, interrupted: bool, as_json: bool) -> None:
    """End a command according to how its run ended; return if there is no fault.

    Raises KeyboardInterrupt, if the run was interrupted; if there is a fault: typer.Exit if ``as_json`` (the
    printed record contains the fault), otherwise the fault itself.
    """
    if interrupted:
        raise KeyboardInterrupt
    if fault is not None:
        raise typer.Exit(1) if as_json else fault

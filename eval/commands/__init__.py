"""``videoworld eval``: commands for datasets, runs and their results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from world_api.commands.cli import LazyCommand, lazy_group
from world_api.core.faults import VideoWorldError

#: By command: its module and app in ``eval.commands``, and its line of help.
_COMMANDS = {
    "check": ("datasets.check_app", "Say which videos and worlds of a dataset are there."),
    "run": ("runs.run_app", "Run an experiment: systems, libraries, datasets, seeds, budgets."),
    "score": ("runs.score_app", "Score a run's episodes again; no question is asked again."),
    "label": ("results.label_app", "Draw open answers of a run for people to label."),
    "judge": ("results.judge_app", "Measure a judge of open answers against labelled pairs."),
    "compare": ("tables.compare_app", "Compare two arms of a run, paired, with intervals."),
    "diff": ("tables.diff_app", "List the questions whose outcome flipped between two arms."),
    "transfer": ("tables.transfer_app", "Tool libraries against domains: the transfer matrix."),
    "select": ("tables.select_app", "Keep the tools that help on development questions."),
    "report": ("results.report_app", "Write a run's report: one HTML file, LaTeX and CSV tables."),
    "bundle": ("results.bundle_app", "Pack a run into one file that regenerates every table."),
    "export": ("results.export_app", "Export a run as an Inspect log."),
}
COMMANDS: dict[str, LazyCommand] = {
    name: LazyCommand(f"eval.commands.{place.partition('.')[0]}", place.partition(".")[2], about)
    for name, (place, about) in _COMMANDS.items()
}

app = typer.Typer(
    cls=lazy_group(COMMANDS),
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback()
def evaluation() -> None:
    """Run experiments, score them, and compare what came out."""


RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")]
RunOrBundle = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run, or a bundle of one.")]
JudgePromptOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A published judge's prompt, in place of our own.")
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

"""``videoworld eval report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from world_api.exposure.cli import JsonOption, command_app, show

if TYPE_CHECKING:
    from eval.report.writing import Written

app = command_app()

_MOST_FRAMES = 400


@app.command()
def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder for the report; by default RUN/report.")
    ] = None,
    frames: Annotated[
        int, typer.Option("--frames", min=0, max=5000, help="Most pictures on the page; 0 for none.")
    ] = _MOST_FRAMES,
    store: Annotated[
        Path | None,
        typer.Option("--store", help="Where worlds lie, for pictures; by default that of the run's configuration."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the report of a run: one HTML file that needs nothing else, and its tables as LaTeX and CSV."""
    from eval.report.writing import Choices, write_report

    written = write_report(run, out, choices=Choices(most_frames=frames, store=store))
    show(record_of(written), as_json=as_json, text=lambda: text_of(written))


def record_of(written: Written) -> dict[str, Any]:
    """What was written, as JSON."""
    return {
        "page": str(written.page),
        "tables": written.tables,
        "episodes": written.episodes,
        "pictures": written.pictures,
        "bytes": written.bytes,
        "damaged": written.damaged,
    }


def text_of(written: Written) -> str:
    """What was written, for people."""
    told = f"{written.page}: {written.episodes:,} episodes, {written.pictures:,} pictures, {written.bytes / 1e6:.1f} MB"
    damaged = f"\n{written.damaged:,} episodes could not be read; the page names the reasons" if written.damaged else ""
    return told + f"\n{written.page.parent / 'tables'}: {written.tables} tables as LaTeX and CSV" + damaged

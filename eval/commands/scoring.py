"""``videoworld eval score``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from world_api.exposure.cli import JsonOption, command_app, show

if TYPE_CHECKING:
    from eval.runs.scoring import Scored

app = command_app()


@app.command()
def score(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    as_json: JsonOption = False,
) -> None:
    """Score a run's episodes again. No model answers anew; equal episodes get equal scores."""
    from eval.runs.places import RunFolder
    from eval.runs.scoring import score_run

    scored = score_run(RunFolder(run))
    show(scored.record(), as_json=as_json, text=lambda: _text(scored))


def _text(scored: Scored) -> str:
    who = ", ".join(f"{name} {count:,}" for name, count in scored.scorers.items())
    lines = [f"{scored.samples:,} samples scored, {scored.right:,} right; by {who or 'nobody'}"]
    lines += [f"counted as wrong, since it cannot be read: {name}" for name in scored.damaged]
    return "\n".join(lines)

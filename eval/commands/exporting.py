"""``videoworld eval export``: a run as Inspect logs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from world_api.exposure.cli import JsonOption, command_app, show

app = command_app()


@app.command()
def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="PATH",
            help="FILE.eval or FILE.json: one log; a folder: a log for each arm, dataset, world, budget.",
        ),
    ],
    as_json: JsonOption = False,
) -> None:
    """Write a run as logs that `inspect view` opens: samples, messages, tool calls, scores, tokens. Seeds are epochs.

    Needs the extra `inspect`.
    """
    from eval.inspect_logs import export_run, require_inspect
    from eval.runs.reading import read_run

    require_inspect()
    files = [{"file": str(path), "samples": samples} for path, samples in export_run(read_run(run), out)]
    record: dict[str, Any] = {"run": str(run), "logs": files}
    show(record, as_json=as_json, text=lambda: _page(record))


def _page(record: dict[str, Any]) -> str:
    lines = [f"{item['file']}: {item['samples']:,} samples" for item in record["logs"]]
    folder = Path(record["logs"][0]["file"]).parent
    return "\n".join([*lines, f"next: inspect view --log-dir {folder}"])

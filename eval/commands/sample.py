"""``videoworld sample``: a video for whoever has none at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from world_api.commands.cli import JsonOption, note, show

app = typer.Typer()


@app.command()
def sample(
    folder: Annotated[Path, typer.Argument(metavar="OUT_DIR", help="Folder for the files; made when missing.")],
    seed: Annotated[int, typer.Option(min=0, help="Decides who plays, in what colours, and at what times.")] = 7,
    as_json: JsonOption = False,
) -> None:
    """Draw and encode the sample video."""
    from eval.sandbox import make_sample

    note("drawing 72 seconds of film ...")
    files = make_sample(folder, seed=seed)
    record: dict[str, Any] = {
        "seed": seed,
        "video": str(files.video),
        "subtitles": str(files.subtitles),
        "truth": str(files.truth),
        "questions": str(files.questions),
    }
    show(record, as_json=as_json, text=lambda: _text(record))


def _text(record: dict[str, Any]) -> str:
    return "\n".join(
        [
            f"{record['video']}: the film, with its subtitles inside and beside it ({record['subtitles']})",
            f"{record['truth']}: what is true of it, frame by frame",
            f"{record['questions']}: questions with their answers",
            f"next: videoworld build {record['video']}",
        ]
    )

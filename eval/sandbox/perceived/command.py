"""``videoworld sandbox check``: how well the worlds of made films tell what was drawn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from world_api.exposure.cli import JsonOption, note, show

if TYPE_CHECKING:
    from eval.sandbox.perceived import Perceived


def check(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of films with their truth beside them.")],
    store: Annotated[
        Path | None, typer.Option("--store", help="Folder that holds the worlds (DIR/worlds); missing ones are built.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure what the classical profile perceives of made films: scenes, people, texts, speech.

    What each figure means is in docs/sandbox.md.
    """
    from eval.sandbox.perceived.checking import check_films, table_of

    found = check_films(folder, store or folder / "worlds", tell=note)
    show(_record(found), as_json=as_json, text=lambda: table_of(found))


def _record(found: list[Perceived]) -> dict[str, Any]:
    return {"films": [film.record() for film in found]}

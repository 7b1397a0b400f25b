"""``videoworld replay``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from world_api.exposure.cli import JsonOption, command_app, show

if TYPE_CHECKING:
    from controller.records.journal import Journal

EpisodeArgument = Annotated[
    Path, typer.Argument(metavar="EPISODE", help="DIR/NAME: an episode; DIR: the folder that --record made.")
]

app = command_app()


@app.command()
def replay(episode: EpisodeArgument, as_json: JsonOption = False) -> None:
    """Run recorded episodes again, offline, and compare byte for byte.

    Of a folder, all of them. Neither an endpoint nor the world is needed. Ends with status 1 unless every episode is the same.
    """
    from controller.records.places import place_of

    place = place_of(episode)
    names = [place.name] if place.name is not None else [entry.name for entry in place.journal.entries()]
    found = [_replayed(place.journal, name) for name in names]
    show({"episodes": found}, as_json=as_json, text=lambda: "\n".join(map(_line, found)) or "no episode is finished")
    if not all(item["identical"] for item in found):
        raise typer.Exit(1)


def _replayed(journal: Journal, name: str) -> dict[str, Any]:
    """How a replay went; a refusal is one way."""
    from controller.records.replay import replay_recorded
    from world_api.core.faults import VideoWorldError

    try:
        done = replay_recorded(journal, name)
    except VideoWorldError as fault:
        return {"name": name, "identical": False, "difference": None, **fault.record()}
    return {"name": name, "identical": done.identical, "difference": done.difference, "error": None}


def _line(item: dict[str, Any]) -> str:
    error = item["error"]
    if error is not None:
        return f"{item['name']}  refused: {error['message']} [{error['code']}]\n  hint: {error['hint']}"
    return f"{item['name']}  " + ("identical" if item["identical"] else f"differs at {item['difference']}")

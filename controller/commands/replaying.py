"""``videoworld replay``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from world_api.exposure.cli import JsonOption, command_app, show

if TYPE_CHECKING:
    from controller.records.journal import Damaged, Entry, Journal

EpisodeArgument = Annotated[
    Path, typer.Argument(metavar="EPISODE", help="DIR/NAME: an episode; DIR: the folder that --record made.")
]
NameArgument = Annotated[
    str | None, typer.Argument(metavar="[NAME]", help="With DIR: which of its episodes, as `show DIR` lists them.")
]

app = command_app()


@app.command()
def replay(episode: EpisodeArgument, name: NameArgument = None, as_json: JsonOption = False) -> None:
    """Run recorded episodes again, offline, and compare byte for byte.

    Of a folder, all of them. Neither an endpoint nor the world is needed. Ends with status 1 unless there is an episode and every
    one is the same.
    """
    from controller.records.places import place_of

    place = place_of(episode, name)
    if place.name is not None:
        found, unfinished = [_replayed(place.journal, place.journal.find(place.name))], []
    else:
        found = [_replayed(place.journal, entry) for entry in place.journal.scan()]
        unfinished = place.journal.unfinished()
    record = {"episodes": found, "unfinished": unfinished}
    show(record, as_json=as_json, text=lambda: _page(found, unfinished))
    if not found or not all(item["identical"] for item in found):
        raise typer.Exit(1)


def _replayed(journal: Journal, found: Entry | Damaged) -> dict[str, Any]:
    """How a replay went; a refusal is one way."""
    from controller.records.journal import Damaged
    from controller.records.replay import replay_found
    from world_api.core.faults import VideoWorldError

    try:
        if isinstance(found, Damaged):
            raise found.fault
        done = replay_found(journal, found)
    except VideoWorldError as fault:
        return {"name": found.name, "identical": False, "difference": None, **fault.record()}
    return {"name": found.name, "identical": done.identical, "difference": done.difference, "error": None}


def _page(found: list[dict[str, Any]], unfinished: list[str]) -> str:
    lines = [*map(_line, found), *(f"{name}  not finished" for name in unfinished)]
    return "\n".join(lines if found else [*lines, "no episode is finished"])


def _line(item: dict[str, Any]) -> str:
    error = item["error"]
    if error is not None:
        return f"{item['name']}  refused: {error['message']} [{error['code']}]\n  hint: {error['hint']}"
    return f"{item['name']}  " + ("identical" if item["identical"] else f"differs at {item['difference']}")

"""``videoworld show``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from controller.commands.replaying import EpisodeArgument, NameArgument
from world_api.exposure.cli import JsonOption, command_app, show

if TYPE_CHECKING:
    from controller.records.journal import Entry, Journal

RoundOption = Annotated[
    int | None, typer.Option("--round", min=0, metavar="N", help="This round only; 0 is what came before the first.")
]
FullOption = Annotated[bool, typer.Option("--full", help="Whole thoughts, arguments and results.")]

app = command_app()


@app.command("show")
def show_episode(
    episode: EpisodeArgument,
    name: NameArgument = None,
    only: RoundOption = None,
    full: FullOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show a recorded episode: question, rounds, calls, answer, evidence, cost.

    One that is not finished is shown as far as it came. Of a folder with several, their list; it ends with status 1 where one
    of them is damaged.
    """
    from controller.records.journal import Damaged
    from controller.records.places import place_of
    from controller.showing.pages import episode_page, list_of

    place = place_of(episode, name)
    if place.name is not None:
        entry = _looked_up(place.journal, place.name)
    else:
        scanned, unfinished = list(place.journal.scan()), place.journal.unfinished()
        found = [item for item in scanned if not isinstance(item, Damaged)]
        broken = [item for item in scanned if isinstance(item, Damaged)]
        if broken or unfinished or len(found) != 1:
            record: dict[str, Any] = {"episodes": [_line(item) for item in found], "unfinished": unfinished}
            record["damaged"] = [{"name": item.name, **item.fault.record()} for item in broken]
            told = [f"{item.name}  damaged: {item.fault.message}" for item in broken]
            told = ([list_of(found, unfinished)] if found or unfinished else []) + told
            show(record, as_json=as_json, text=lambda: "\n".join(told) or list_of([], []))
            if broken:
                raise typer.Exit(1)
            return
        entry = found[0]
        place.journal.taken(entry)  # refuses what is not as it was recorded
    show(_whole(entry), as_json=as_json, text=lambda: episode_page(entry, only=only, full=full))


def _looked_up(journal: Journal, name: str) -> Entry:
    """An episode by name, as it was recorded; one without an end as far as it came."""
    if name in journal.unfinished():
        return journal.beginning(name)
    entry = journal.find(name)
    journal.taken(entry)
    return entry


def _line(entry: Entry) -> dict[str, Any]:
    episode = entry.episode
    return {
        "name": entry.name,
        "question": episode.task.question.text,
        "system": episode.task.system,
        "outcome": episode.outcome,
        "answer": episode.answer,
    }


def _whole(entry: Entry) -> dict[str, Any]:
    from dataclasses import asdict

    from controller.summary import summarise

    timings = entry.episode.timings
    return {
        "summary": summarise(entry.episode, recorded_as=entry.name),
        "conditions": entry.conditions.record(),
        "episode": entry.episode.record(),
        "timings": asdict(timings) if timings is not None else None,
    }

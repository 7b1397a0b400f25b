"""``videoworld show``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from controller.commands.replaying import EpisodeArgument
from world_api.exposure.cli import JsonOption, command_app, show

if TYPE_CHECKING:
    from controller.records.journal import Entry

RoundOption = Annotated[
    int | None, typer.Option("--round", min=0, metavar="N", help="This round only; 0 is what came before the first.")
]
FullOption = Annotated[bool, typer.Option("--full", help="Whole thoughts, arguments and results.")]

app = command_app()


@app.command("show")
def show_episode(
    episode: EpisodeArgument, only: RoundOption = None, full: FullOption = False, as_json: JsonOption = False
) -> None:
    """Show a recorded episode: question, rounds, calls, answer, evidence, cost.

    Of a folder with several, their list.
    """
    from controller.records.places import place_of
    from controller.showing.pages import episode_page, list_of

    place = place_of(episode)
    found = [place.journal.find(place.name)] if place.name is not None else list(place.journal.entries())
    unfinished = [] if place.name is not None else place.journal.unfinished()
    if unfinished or len(found) != 1:
        record: dict[str, Any] = {"episodes": [_line(entry) for entry in found], "unfinished": unfinished}
        show(record, as_json=as_json, text=lambda: list_of(found, unfinished))
        return
    show(_whole(found[0]), as_json=as_json, text=lambda: episode_page(found[0], only=only, full=full))


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

"""``videoworld session``: what sessions wrote."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from world_api.exposure.cli import DEFAULT_SESSION, DEFAULT_STORE, JsonOption, StoreOption, command_app, show

app = command_app("List, commit or drop what sessions wrote.")
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Id of the video's world.")]
NameArgument = Annotated[str, typer.Argument(metavar="[NAME]", help="Which session.")]


@app.command("list")
def list_command(video_id: IdArgument, store: StoreOption = DEFAULT_STORE, as_json: JsonOption = False) -> None:
    """List the sessions of a world and how much each wrote."""
    from world_api.session.overlay import list_sessions

    found = [{"name": name, "events": events} for name, events in list_sessions(store, video_id)]
    show(
        {"video_id": video_id, "sessions": found},
        as_json=as_json,
        text=lambda: (
            "\n".join(f"{item['name']:24} {item['events']} events" for item in found) or "no session wrote anything"
        ),
    )


@app.command()
def commit(
    video_id: IdArgument,
    name: NameArgument = DEFAULT_SESSION,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Replay a session's writes onto the world, for every later session to see."""
    from world_api.session.overlay import commit_session

    record: dict[str, Any] = commit_session(store, video_id, name).record()
    show(
        record,
        as_json=as_json,
        text=lambda: (
            f"committed memories: {record['memories']}, entities: {record['entities']}, of session {name} "
            f"to {video_id}; the world is now {record['world_hash'][:16]}"
        ),
    )


@app.command()
def drop(
    video_id: IdArgument,
    name: NameArgument = DEFAULT_SESSION,
    store: StoreOption = DEFAULT_STORE,
    as_json: JsonOption = False,
) -> None:
    """Forget what a session wrote. The world itself is not touched."""
    from world_api.session.overlay import drop_session

    events = drop_session(store, video_id, name)
    show(
        {"video_id": video_id, "session": name, "events": events},
        as_json=as_json,
        text=lambda: f"dropped {events} events of session {name}",
    )

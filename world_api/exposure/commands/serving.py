"""``videoworld serve``: the operations for any client of the Model Context Protocol."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from world_api.exposure.cli import (
    DEFAULT_SESSION,
    DEFAULT_STORE,
    AsOfOption,
    JsonOption,
    SessionOption,
    StoreOption,
    command_app,
    note,
)

app = command_app()


@app.command()
def serve(
    video_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the video's world.")],
    store: StoreOption = DEFAULT_STORE,
    as_of: AsOfOption = None,
    session: SessionOption = DEFAULT_SESSION,
    as_json: JsonOption = False,
) -> None:
    """Serve the operations on a world over the Model Context Protocol, on stdin and stdout."""
    from world_api.exposure.mcp_server import serve_stdio
    from world_api.operations import run
    from world_api.profiles import open_session

    opened = open_session(store, video_id, as_of=as_of, name=session)
    if not as_json:
        note(f"serving {video_id} on stdin and stdout; end with the end of input")
    serve_stdio(partial(run, opened))

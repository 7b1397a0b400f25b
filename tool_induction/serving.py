"""``videoworld serve``: the operations, and the tools of a library, for any client of the Model Context Protocol.

The command is here, not in ``world_api.commands``, because that does not know libraries.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tool_induction.judge.options import AllowJudgeOption, JudgeModelOption, JudgeRecordOption
from world_api.commands.cli import (
    DEFAULT_SESSION,
    DEFAULT_STORE,
    AsOfOption,
    JsonOption,
    SessionOption,
    StoreOption,
    WithOption,
    command_app,
    note,
)
from world_api.commands.vision import DEFAULT_VISION, VisionOptions, with_vision_options

if TYPE_CHECKING:
    from tool_induction.judge.port import Judge
    from tool_induction.library import ToolLibrary
    from world_api.session.session import Session

app = command_app()


@app.command()
@with_vision_options()
def serve(
    video_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the video's world.")],
    store: StoreOption = DEFAULT_STORE,
    tools: Annotated[
        str | None, typer.Option("--tools", metavar="LIBRARY", help="Offer a tool library too, by name or folder.")
    ] = None,
    as_of: AsOfOption = None,
    session: SessionOption = DEFAULT_SESSION,
    groups: WithOption = None,
    allow_judge: AllowJudgeOption = False,
    judge_model: JudgeModelOption = None,
    judge_record: JudgeRecordOption = None,
    vision: VisionOptions = DEFAULT_VISION,
    as_json: JsonOption = False,
) -> None:
    """Serve the operations on a world, and a tool library, over the Model Context Protocol, on stdin and stdout."""
    from tool_induction.judge.options import judge_of
    from tool_induction.library import load_library
    from world_api.api import open_session, vision_config
    from world_api.core.ports import SystemClock
    from world_api.operations import run
    from world_api.schemas.mcp import serve_stdio

    clock = SystemClock()
    library = None if tools is None else load_library(tools, allow_judge=allow_judge, groups=groups or ())
    judge = judge_of(allow_judge, judge_model, judge_record, clock=clock, environment=os.environ)
    config = vision_config(vision.choices(), clock=clock, environment=os.environ)
    vision.confirm(store, video_id, config, during="as long as this serves")
    opened = open_session(store, video_id, as_of=as_of, name=session, groups=groups or (), seeing=config)
    if not as_json:
        also = "" if library is None else f" with the tools of {library.name}"
        note(f"serving {video_id}{also} on stdin and stdout; end with the end of input")
    if library is None:
        serve_stdio(partial(run, opened), groups=opened.groups)
    else:
        served = ServedTools(library, opened, judge=judge)
        serve_stdio(served, more_tools=served.declarations, groups=opened.groups)


class ServedTools:
    """A library's tools and the operations, as an MCP server calls them; results of tools are cached."""

    def __init__(self, library: ToolLibrary, session: Session, *, judge: Judge | None = None) -> None:
        from tool_induction.curation.examples import mcp_tools
        from tool_induction.toolset import LibraryTools

        self._names = frozenset(library.tools)
        self._session = session
        self._tools = LibraryTools.on_session(library, session, judge=judge)
        self.declarations = mcp_tools(library.tools)  #: MCP tools, in library order

    def __call__(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result of a tool or of an operation.

        Raises:
            VideoWorldError: the call is wrong; a tool that ends with a fault is a result with status ``error``.
        """
        from world_api.operations import run

        given = dict(arguments)
        return self._tools.run(name, given) if name in self._names else run(self._session, name, given)

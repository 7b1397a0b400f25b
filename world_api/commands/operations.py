"""``videoworld call``, which calls an operation, and ``videoworld ops``, which lists all of them."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Annotated

import typer

from world_api.api import open_session, vision_config
from world_api.commands.cli import (
    ArgsOption,
    AsOfOption,
    JsonOption,
    PairsArgument,
    SessionOption,
    StoreOption,
    VideoOption,
    WithOption,
    help_sections,
    read_arguments,
    with_vision_options,
)
from world_api.core.cost import ledger
from world_api.core.execution import SystemClock
from world_api.operations import EVERY_OPERATION, operations_for, run
from world_api.options import DEFAULT_SESSION, DEFAULT_STORE, DEFAULT_VISION, VisionOptions, spent_text
from world_api.perception.endpoint import MAY_BE_REFUSED
from world_api.schemas.formats import Format, render
from world_api.terminal import first_part, note, show


@help_sections("video store as_of session args groups profile model yes as_json")
@with_vision_options()
def call(
    operation: Annotated[
        str, typer.Argument(metavar="OPERATION", help="Which operation; `videoworld ops` lists them.")
    ],
    pairs: PairsArgument = None,
    video: VideoOption = "",
    store: StoreOption = DEFAULT_STORE,
    as_of: AsOfOption = None,
    session: SessionOption = DEFAULT_SESSION,
    args: ArgsOption = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="With --profile endpoint: the vision model, on the endpoint of OPENAI_BASE_URL."
        ),
    ] = None,
    vision: VisionOptions = DEFAULT_VISION,
    groups: WithOption = None,
    as_json: JsonOption = False,
) -> None:
    """Call one operation on a world, as a model would, and print its result."""
    if not video:
        raise typer.BadParameter("is missing: which video?", param_hint="--video")
    declared = EVERY_OPERATION.get(operation)
    is_on = operation in operations_for(groups or ())
    at_once = declared.looks + declared.price.model_calls if declared is not None and is_on else 0
    most_looks = min(vision.looks, at_once + MAY_BE_REFUSED) if at_once else 0  # a refused request is sent once more
    vision.refuse_unused(model=model)
    chosen = replace(vision.choices(model=model), looks=most_looks)
    config = vision_config(chosen, clock=SystemClock(), environment=os.environ)
    if config is not None and (most_looks or config.embedder is not None):
        vision.confirm(store, video, config, during="for this call")
    opened = open_session(store, video, as_of=as_of, name=session, seeing=config, groups=groups or ())
    properties = declared.parameters_schema()["properties"] if declared else {}
    arguments = {"video_id": video, **read_arguments(pairs, args, properties)}
    with ledger() as book:
        result = run(opened, operation, arguments)
    if config is not None:
        note(spent_text(book.items, config))
    show(result, as_json=as_json, text=lambda: first_part(result))


def ops(
    chosen: Annotated[Format, typer.Option("--format", help="Format of the declarations.")] = "table",
    groups: WithOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the sixteen operations: as a table, JSON Schema, OpenAI tools or MCP tools."""
    shown = "json-schema" if as_json and chosen == "table" else chosen
    text = render(shown, operations_for(groups or ())).rstrip("\n")
    show(None, as_json=False, text=lambda: text)

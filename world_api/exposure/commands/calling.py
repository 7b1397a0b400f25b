"""``videoworld call`` and ``videoworld ops``: the operations themselves."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from world_api.exposure.cli import (
    DEFAULT_SESSION,
    DEFAULT_STORE,
    ArgsOption,
    AsOfOption,
    JsonOption,
    PairsArgument,
    SessionOption,
    StoreOption,
    VideoOption,
    WithOption,
    command_app,
    note,
    read_arguments,
    show,
    to_json,
)
from world_api.exposure.perceiving.consent import agree_to_looking, prices_in, spent_text
from world_api.exposure.perceiving.options import (
    DEFAULT_FRAMES,
    DEFAULT_LANGUAGE,
    DEFAULT_LOOKS,
    DEFAULT_SIDE,
    EmbeddingModelOption,
    EyeChoices,
    FramesOption,
    LookLanguageOption,
    LooksOption,
    Perception,
    PerceptionOption,
    PricesOption,
    SideOption,
    VisionModelOption,
    YesOption,
    eyes_of,
)

app = command_app()


@app.command()
def call(
    operation: Annotated[str, typer.Argument(help="Which operation; `videoworld ops` lists them.")],
    pairs: PairsArgument = None,
    video: VideoOption = "",
    store: StoreOption = DEFAULT_STORE,
    as_of: AsOfOption = None,
    session: SessionOption = DEFAULT_SESSION,
    args: ArgsOption = None,
    profile: PerceptionOption = Perception.CLASSICAL,
    model: Annotated[
        str | None, typer.Option(help="With --profile endpoint: who looks, on the endpoint of OPENAI_BASE_URL.")
    ] = None,
    vision_model: VisionModelOption = None,
    embedding_model: EmbeddingModelOption = None,
    frames: FramesOption = DEFAULT_FRAMES,
    side: SideOption = DEFAULT_SIDE,
    look_language: LookLanguageOption = None,
    looks: LooksOption = DEFAULT_LOOKS,
    prices: PricesOption = None,
    yes: YesOption = False,
    groups: WithOption = None,
    as_json: JsonOption = False,
) -> None:
    """Call one operation on a world, as a model would, and print its result."""
    import os

    from world_api.api import open_session
    from world_api.backends.clocks import SystemClock
    from world_api.backends.endpoint.vision import MAY_BE_REFUSED
    from world_api.core.cost import ledger
    from world_api.operations import EVERY_OPERATION, operations_for, run

    if not video:
        raise typer.BadParameter("is missing: which video?", param_hint="--video")
    declared = EVERY_OPERATION.get(operation)
    is_on = operation in operations_for(groups or ())
    at_once = declared.looks + declared.price.model_calls if declared is not None and is_on else 0
    most_looks = min(looks, at_once + MAY_BE_REFUSED) if at_once else 0  # what is refused is sent once more without it
    chosen = EyeChoices(
        profile=profile.value, model=None, vision_model=vision_model or model, embedding_model=embedding_model,
        frames=frames, side=side, looks=most_looks, language=look_language or DEFAULT_LANGUAGE,
    )  # fmt: skip
    eyes = eyes_of(chosen, clock=SystemClock(), environment=os.environ)
    if eyes is not None and (most_looks or eyes.embedder is not None):
        agree_to_looking(store, video, eyes, prices_in(prices), yes=yes, during="for this call")
    opened = open_session(store, video, as_of=as_of, name=session, seeing=eyes, groups=groups or ())
    properties = declared.parameters_schema()["properties"] if declared else {}
    arguments = {"video_id": video, **read_arguments(pairs, args, properties)}
    with ledger() as book:
        result = run(opened, operation, arguments)
    if eyes is not None:
        note(spent_text(book.items, eyes))
    show(result, as_json=as_json, text=lambda: to_json(result))


class Format(StrEnum):
    """The faces of the operations."""

    TABLE = "table"
    JSON_SCHEMA = "json-schema"
    OPENAI = "openai"
    OPENAI_STRICT = "openai-strict"
    MCP = "mcp"


ops_app = command_app()


@ops_app.command()
def ops(
    face: Annotated[Format, typer.Option("--format", help="Which face of the declarations.")] = Format.TABLE,
    groups: WithOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the sixteen operations: as a table, JSON Schema, OpenAI tools or MCP tools."""
    from world_api.exposure.faces import render
    from world_api.operations import operations_for

    operations = operations_for(groups or ())
    chosen = Format.JSON_SCHEMA if as_json and face is Format.TABLE else face
    show(None, as_json=False, text=lambda: render(chosen.value, operations).rstrip("\n"))

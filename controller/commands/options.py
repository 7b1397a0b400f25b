"""The options of ``videoworld ask``, and what they mean together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from controller.questions import Kind
from world_api.exposure.cli import read_arguments
from world_api.exposure.models import WireChoice

#: Under which heading of the help each parameter stands; the rest are "Options".
HEADINGS = {
    "Question": ("kind", "option", "as_of", "language"),
    "System": (
        "system",
        "tools",
        "exposure",
        "domain",
        "settings",
        "groups",
        "allow_judge",
        "judge_model",
        "judge_record",
    ),
    "Model": ("model", "wire", "cache", "prices"),
    "Budget": ("rounds", "calls", "max_tokens", "seconds", "money", "window", "digest_tokens"),
    "Perception": ("profile", "vision_model", "embedding_model", "frames", "side", "look_language", "looks", "yes"),
    "World": ("store", "session", "commit"),
}

VideoArgument = Annotated[
    str, typer.Argument(metavar="ID_OR_VIDEO_FILE", help="A world's id, or a video to build first.")
]
QuestionArgument = Annotated[str, typer.Argument(help="What to find out, in English or Chinese.")]

KindOption = Annotated[
    Kind, typer.Option("--kind", help="The type of the answer; it is asked for and checked in that type.")
]
ChoicesOption = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="TEXT", help="A choice, or a thing to be ordered; repeat it for each."),
]
LanguageOption = Annotated[
    Literal["auto", "en", "zh"], typer.Option("--language", help="Of the prompts; auto: that of the question.")
]

SystemOption = Annotated[
    str | None,
    typer.Option(
        "--system",
        metavar="NAME",
        help="Who answers, such as flat, hier, direct, blind; by default hier with --tools, else flat.",
    ),
]
LibraryOption = Annotated[
    str | None, typer.Option("--tools", metavar="LIBRARY", help="A tool library, by name or folder.")
]
ExposureOption = Annotated[
    str | None, typer.Option("--exposure", metavar="NAME", help="How a library is shown, for systems that have one.")
]
DomainOption = Annotated[
    str | None,
    typer.Option(
        "--domain", metavar="NAME", help="A domain: some systems are told of it, and none is asked its worked examples."
    ),
]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A further setting of the system, read as JSON; repeatable."),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model", help="A model on the endpoint of OPENAI_BASE_URL; or rule-based, which needs none (default)."
    ),
]
WireOption = Annotated[
    WireChoice,
    typer.Option("--wire", help="The API that is spoken; auto: Chat Completions, unless the model wants the other."),
]
CacheOption = Annotated[
    Path | None, typer.Option("--cache", metavar="DIR", help="Keep replies there, and take equal requests from there.")
]
PricesOption = Annotated[
    Path | None,
    typer.Option(
        "--prices", metavar="FILE", help="USD per million tokens by model, as JSON or YAML; else no money is told."
    ),
]
RoundsOption = Annotated[int, typer.Option("--rounds", min=0, help="Most requests to the model.")]
CallsOption = Annotated[int, typer.Option("--calls", min=0, help="Most tool calls.")]
TokensOption = Annotated[int, typer.Option("--max-tokens", min=0, help="Most tokens, sent and written together.")]
SecondsOption = Annotated[
    float,
    typer.Option(
        "--seconds",
        min=0,
        help="Most wall time; the last request, for the best answer so far, comes on top (10 to 120 seconds).",
    ),
]
MoneyOption = Annotated[float | None, typer.Option("--money", min=0, metavar="USD", help="Most money; needs --prices.")]
WindowOption = Annotated[
    int | None,
    typer.Option(
        "--window", min=1, metavar="TOKENS", help="The model's context window; old results are folded to fit."
    ),
]
DigestOption = Annotated[
    int,
    typer.Option(
        "--digest-tokens",
        min=0,
        metavar="TOKENS",
        help="About how much is told of the world at the start; 0 for nothing.",
    ),
]
OwnSessionOption = Annotated[
    str | None,
    typer.Option(
        "--session",
        help="Session whose writes are seen and added to; by default a fresh one, of which nothing is kept.",
    ),
]
CommitOption = Annotated[
    bool, typer.Option("--commit", help="Once answered, add what the session wrote to the world, for later sessions.")
]
RecordOption = Annotated[
    Path | None, typer.Option("--record", metavar="DIR", help="Record the episode there, for replay.")
]


def system_settings(settings: list[str] | None, *, exposure: str | None) -> dict[str, Any]:
    """The settings of the system that the options give.

    Raises:
        OperationFault: ``bad_arguments``.
    """
    return read_arguments(settings, None, {}) | ({} if exposure is None else {"exposure": exposure})

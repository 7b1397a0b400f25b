"""The options with which commands choose a model that looks, and what they mean."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from world_api.core.faults import BackendFault

if TYPE_CHECKING:
    from world_api.backends.chat.endpoint import Endpoint
    from world_api.core.ports import Clock, EmbeddingModel
    from world_api.session.vision import VisionConfig

DEFAULT_FRAMES = 6
DEFAULT_SIDE = 512
DEFAULT_LOOKS = 60  #: for one question


class Perception(StrEnum):
    """What stands behind the operations that look."""

    CLASSICAL = "classical"
    ENDPOINT = "endpoint"


#: The languages that a model which looks is asked for.
LookLanguage = Literal["en", "zh"]
DEFAULT_LANGUAGE: LookLanguage = "en"

PerceptionOption = Annotated[
    Perception,
    typer.Option(
        "--profile",
        help="endpoint: a model looks at frames, which are sent to the endpoint; classical: nothing leaves this machine.",
    ),
]
VisionModelOption = Annotated[
    str | None,
    typer.Option("--vision-model", metavar="MODEL", help="With --profile endpoint: who looks; by default --model."),
]
EmbeddingModelOption = Annotated[
    str | None,
    typer.Option(
        "--embedding-model", metavar="MODEL", help="With --profile endpoint: what makes captions comparable in meaning."
    ),
]
FramesOption = Annotated[
    int, typer.Option("--frames", min=1, max=64, help="With --profile endpoint: frames of a stretch, at most.")
]
SideOption = Annotated[
    int,
    typer.Option("--side", min=64, max=4096, help="With --profile endpoint: longer side of a frame sent, in pixels."),
]
LooksOption = Annotated[
    int, typer.Option("--looks", min=0, help="With --profile endpoint: different looks for one question, at most.")
]
LookLanguageOption = Annotated[
    LookLanguage | None,
    typer.Option("--look-language", help="With --profile endpoint: of what the model that looks says."),
]
PricesOption = Annotated[
    Path | None,
    typer.Option("--prices", metavar="FILE", help="USD per million tokens, by model, so that costs are told in money."),
]
YesOption = Annotated[bool, typer.Option("--yes", help="Agree to what the estimate says, without being asked.")]


@dataclass(frozen=True, kw_only=True)
class EyeChoices:
    """What the options said."""

    profile: str
    model: str | None
    vision_model: str | None = None
    embedding_model: str | None = None
    frames: int = DEFAULT_FRAMES
    side: int = DEFAULT_SIDE
    looks: int | None = None
    language: str = "en"


def eyes_of(chosen: EyeChoices, *, clock: Clock, environment: Mapping[str, str]) -> VisionConfig | None:
    """The model that looks, where the endpoint profile was chosen by name; None otherwise, whatever keys are set.

    Raises:
        BackendFault: ``no_vision_model``; ``perception_not_chosen``: a model that looks is named and the profile is not;
            ``endpoint_takes_no_images``, where that was found out before; ``endpoint_not_configured`` and what else is wrong
            with an endpoint.
    """
    if chosen.profile != Perception.ENDPOINT:
        if chosen.vision_model is not None or chosen.embedding_model is not None:
            raise BackendFault(
                "perception_not_chosen",
                "a model that looks is named, and no profile that uses one",
                hint="add --profile endpoint; frames of the video are then sent to the endpoint",
            )
        return None
    from world_api.backends.chat.endpoint import Endpoint
    from world_api.backends.chat.rule_based import RULE_BASED
    from world_api.backends.endpoint.vision import EndpointVision
    from world_api.exposure.models import endpoint_model, takes_images
    from world_api.session.vision import FrameChoice, VisionConfig

    name = chosen.vision_model or chosen.model
    if name is None or name == RULE_BASED:
        raise BackendFault(
            "no_vision_model",
            "--profile endpoint needs the name of a model that takes pictures",
            hint="add --vision-model MODEL (or --model MODEL); OPENAI_BASE_URL says where it is served",
        )
    if takes_images(name, environment=environment) is False:
        raise BackendFault(
            "endpoint_takes_no_images",
            f"{name} takes no pictures, as `videoworld doctor --endpoint` found out",
            hint="name a model that does with --vision-model; if it has changed since, ask the doctor again",
        )
    chat = endpoint_model(name, clock=clock, environment=environment)
    endpoint = Endpoint.from_environment(environment)
    return VisionConfig(
        vision=EndpointVision(chat, at=endpoint.address, longest_side=chosen.side, language=chosen.language),
        embedder=None if chosen.embedding_model is None else _embedder(chosen.embedding_model, endpoint, clock),
        choice=FrameChoice(most=chosen.frames),
        most_looks=chosen.looks,
        host=endpoint.host,
    )


def _embedder(name: str, endpoint: Endpoint, clock: Clock) -> EmbeddingModel:
    from world_api.backends.chat.openai_chat import OpenAIChatModel
    from world_api.backends.endpoint.embedding import EmbeddingsWire, EndpointEmbedder

    model = OpenAIChatModel(endpoint, name, clock=clock, sleep=time.sleep, chance=random.random, wire=EmbeddingsWire())
    return EndpointEmbedder(model, at=endpoint.address)

"""Options that choose a vision model, and the estimate that is shown and confirmed before anything is sent to it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from world_api.commands.cli import note
from world_api.core.faults import BackendFault
from world_api.options import LookLanguage

if TYPE_CHECKING:
    from world_api.chat.usage import Prices
    from world_api.core.cost import Spent
    from world_api.session.captioning import LookEstimate
    from world_api.session.vision import VisionConfig


class Perception(StrEnum):
    """The perception behind operations that ask for what rows do not say."""

    CLASSICAL = "classical"
    ENDPOINT = "endpoint"


PerceptionOption = Annotated[
    Perception,
    typer.Option(
        "--profile",
        help="endpoint: a model looks at frames, which are sent to the endpoint; classical: nothing leaves this machine.",
    ),
]
VisionModelOption = Annotated[
    str | None,
    typer.Option(
        "--vision-model", metavar="MODEL", help="With --profile endpoint: the vision model; by default --model."
    ),
]
EmbeddingModelOption = Annotated[
    str | None,
    typer.Option(
        "--embedding-model", metavar="MODEL", help="With --profile endpoint: what makes captions comparable in meaning."
    ),
]
FramesOption = Annotated[
    int, typer.Option("--frames", min=1, max=64, help="With --profile endpoint: frames of an interval, at most.")
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
    typer.Option("--look-language", help="With --profile endpoint: language of the vision model's replies."),
]
PricesOption = Annotated[
    Path | None,
    typer.Option(
        "--prices", metavar="FILE", help="USD per million tokens, by model, so that costs are shown in money."
    ),
]
YesOption = Annotated[bool, typer.Option("--yes", help="Agree to the estimate without a question.")]


def estimate_text(what: str, estimate: LookEstimate, config: VisionConfig, prices: Prices) -> str:
    """Describe an estimate for people: what is sent where, how much it is, and what that is based on."""
    most = "at most " if estimate.is_bound else ""
    model = config.vision.name
    price = prices.of(model)
    lines = [
        f"{what}: {most}{_count(estimate.requests, 'request')} to {model} at {config.host}",
        f"  frames: {most}{estimate.frames:,}, none larger than {config.vision.longest_side} pixels; "
        "they leave this machine",
        f"  tokens: about {estimate.prompt:,} sent and {estimate.completion:,} written"
        + (f" ({estimate.assumed})" if estimate.assumed else ""),
        f"  money:  about {price.money(estimate):.2f} USD"
        if price is not None
        else f"  money:  not known; --prices FILE says what {model} costs",
    ]
    if estimate.is_bound:
        lines.append("  not counted: what is sent again because no answer came")
    if config.embedder is not None:
        lines.append(f"  words:  captions and search queries go to {config.embedder.name} there, a few tokens each")
    if estimate.kept:
        lines.append(f"  kept:   {_count(estimate.kept, 'caption')} from before, which cost nothing")
    return "\n".join(lines)


def confirm(text: str, *, yes: bool, answer: Callable[[], str] | None = None) -> None:
    """Show an estimate, and return only with ``--yes`` or if a person at a terminal agrees.

    ``answer`` reads what the person types; None reads the terminal, if there is one.

    Raises:
        BackendFault: ``consent_needed``: there is no terminal; ``consent_refused``.
    """
    note(text)
    if yes:
        return
    if answer is None:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise BackendFault(
                "consent_needed",
                "nothing was sent: there is no terminal to ask at",
                hint="add --yes to agree to this estimate",
            )
        answer = _typed
    if answer().strip().lower() not in ("y", "yes"):
        raise BackendFault("consent_refused", "nothing was sent", hint="choose fewer --frames or a smaller --side")


def confirm_vision_cost(
    store: Path,
    video: str,
    config: VisionConfig | None,
    prices: Prices,
    *,
    yes: bool,
    during: str = "for this question",
) -> None:
    """Show the most that a vision model may be sent, and return only if that is agreed to.

    ``video`` is the id of a world, or a file that need not have one yet: nothing is built.

    Raises:
        BackendFault: ``consent_needed``, ``consent_refused``.
        StoreFault: as opening a world names it.
        MediaFault: as probing a file names it.
    """
    if config is None:
        return
    from world_api.session.captioning import estimate_question

    estimate = estimate_question(config, *_frame_size(store, video))
    confirm(estimate_text(f"looking, {during}", estimate, config, prices), yes=yes)


def _frame_size(store: Path, video: str) -> tuple[int, int]:
    """Return width and height, in pixels, of the frames of a world or of a file."""
    from world_api.core.identifiers import is_name
    from world_api.media.decoder import MediaWorker
    from world_api.world.store import open_world

    path = Path(video).expanduser()
    if is_name(video) and not path.is_file():
        known = open_world(store, video).manifest.video
        return known.width, known.height
    with closing(MediaWorker()) as worker:
        found = worker.probe(path)
    return found.width, found.height


def spent_text(spent: Sequence[Spent], config: VisionConfig) -> str:
    """Describe for people what a vision model was sent."""
    sent = [item for item in spent if item.physical]
    if not sent:
        kept = "; all replies were kept from before" if spent else ""
        return f"nothing was sent to {config.host}{kept}"
    frames, prompt = sum(item.images for item in sent), sum(item.prompt for item in sent)
    written = sum(item.completion for item in sent)
    about = "about " if any(item.estimated for item in sent) else ""
    return (
        f"sent to {config.host}: {_count(len(sent), 'request')} with {_count(frames, 'frame')}, "
        f"{about}{prompt:,} tokens; {written:,} written"
    )


def _typed() -> str:
    sys.stderr.write("Send that? Type yes to agree: ")
    sys.stderr.flush()
    return sys.stdin.readline()


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"

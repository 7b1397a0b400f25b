"""Options that choose a vision model, and the estimate that is shown and confirmed before anything is sent to it.

A command with a parameter ``vision: VisionOptions`` and the decorator ``with_vision_options`` has all of these options.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from world_api.commands.cli import note
from world_api.core.faults import BackendFault
from world_api.core.identifiers import plural
from world_api.options import DEFAULT_FRAMES, DEFAULT_LANGUAGE, DEFAULT_LOOKS, DEFAULT_SIDE, LookLanguage, VisionChoices

if TYPE_CHECKING:
    from world_api.chat.usage import Prices
    from world_api.core.cost import Spent
    from world_api.session.captioning import LookEstimate
    from world_api.session.vision import VisionConfig


#: The perception behind operations that need more than the stored rows contain.
Perception = Literal["classical", "endpoint"]


@dataclass(frozen=True, kw_only=True)
class VisionOptions:
    """The options of a command that choose a vision model."""

    profile: Annotated[
        Perception,
        typer.Option(
            "--profile",
            help="endpoint: a model looks at frames, which are sent to the endpoint; classical: nothing leaves this machine.",
        ),
    ] = "classical"
    vision_model: Annotated[
        str | None,
        typer.Option(
            "--vision-model", metavar="MODEL", help="With --profile endpoint: the vision model; by default --model."
        ),
    ] = None
    embedding_model: Annotated[
        str | None,
        typer.Option(
            "--embedding-model",
            metavar="MODEL",
            help="With --profile endpoint: what makes captions comparable in meaning.",
        ),
    ] = None
    frames: Annotated[
        int, typer.Option("--frames", min=1, max=64, help="With --profile endpoint: frames of an interval, at most.")
    ] = DEFAULT_FRAMES
    side: Annotated[
        int,
        typer.Option(
            "--side", min=64, max=4096, help="With --profile endpoint: longer side of a frame sent, in pixels."
        ),
    ] = DEFAULT_SIDE
    look_language: Annotated[
        LookLanguage | None,
        typer.Option("--look-language", help="With --profile endpoint: language of the vision model's replies."),
    ] = None
    looks: Annotated[
        int,
        typer.Option("--looks", min=0, help="With --profile endpoint: different looks for one question, at most."),
    ] = DEFAULT_LOOKS
    prices: Annotated[
        Path | None,
        typer.Option(
            "--prices", metavar="FILE", help="USD per million tokens, by model, so that costs are shown in money."
        ),
    ] = None
    yes: Annotated[bool, typer.Option("--yes", help="Agree to the estimate without a question.")] = False

    def choices(self, *, model: str | None = None, language: str = DEFAULT_LANGUAGE) -> VisionChoices:
        """Return the chosen options. ``model`` is the controller's model; ``language`` is used if none was chosen."""
        return VisionChoices(
            profile=self.profile, model=model, vision_model=self.vision_model, embedding_model=self.embedding_model,
            frames=self.frames, side=self.side, looks=self.looks, language=self.look_language or language,
        )  # fmt: skip

    def confirm(
        self, store: Path, video: str, config: VisionConfig | None, *, prices: Prices | None = None, during: str
    ) -> None:
        """Show an upper bound of what is sent to a vision model, and return only if the user agrees.

        ``video`` is the id of a world, or a file; no world is built of it. ``during`` names the occasion in the text,
        such as "for this call". Without ``config`` nothing is shown.

        Raises BackendFault: ``consent_needed``, ``consent_refused``; StoreFault, MediaFault: those of opening a world
        and probing a file.
        """
        if config is None:
            return
        from world_api.chat.usage import Prices
        from world_api.session.captioning import estimate_question

        estimate = estimate_question(config, *_frame_size(store, video))
        known = Prices.read(self.prices) if prices is None else prices
        confirm(estimate_text(f"looking, {during}", estimate, config, known), yes=self.yes)


DEFAULT_VISION = VisionOptions()
_Command = Callable[..., None]


def with_vision_options(*left_out: str) -> Callable[[_Command], _Command]:
    """Return a decorator that replaces a command's parameter ``vision`` by the fields of ``VisionOptions``.

    Fields that are named in ``left_out`` are omitted and keep their defaults.
    """
    options = inspect.signature(VisionOptions, eval_str=True).parameters.values()
    added = [option for option in options if option.name not in left_out]

    def decorate(command: _Command) -> _Command:
        signature = inspect.signature(command, eval_str=True)
        own = list(signature.parameters.values())
        place = list(signature.parameters).index("vision")
        shown = [
            item.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
            for item in (*own[:place], *added, *own[place + 1 :])
        ]

        @functools.wraps(command)
        def expanded(**given: Any) -> None:
            chosen = {option.name: given.pop(option.name) for option in added}
            command(**given, vision=VisionOptions(**chosen))

        expanded.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]  # Typer reads it
        expanded.__annotations__ = {item.name: item.annotation for item in shown}
        return expanded

    return decorate


def estimate_text(what: str, estimate: LookEstimate, config: VisionConfig, prices: Prices) -> str:
    """Return an estimate as text for the user: requests, model and host, frames, tokens, money, and what is assumed."""
    from world_api.chat.usage import Usage

    tokens = Usage(prompt=estimate.prompt, completion=estimate.completion)
    most = "at most " if estimate.is_bound else ""
    model = config.vision.name
    price = prices.of(model)
    lines = [
        f"{what}: {most}{plural(estimate.requests, 'request')} to {model} at {config.host}",
        f"  frames: {most}{estimate.frames:,}, none larger than {config.vision.longest_side} pixels; "
        "they leave this machine",
        f"  tokens: about {estimate.prompt:,} sent and {estimate.completion:,} written"
        + (f" ({estimate.assumed})" if estimate.assumed else ""),
        f"  money:  about {price.money(tokens):.2f} USD"
        if price is not None
        else f"  money:  not known; --prices FILE says what {model} costs",
    ]
    if estimate.is_bound:
        lines.append("  not counted: what is sent again because no answer came")
    if config.embedder is not None:
        lines.append(f"  words:  captions and search queries go to {config.embedder.name} there, a few tokens each")
    if estimate.kept:
        lines.append(f"  kept:   {plural(estimate.kept, 'caption')} from before, which cost nothing")
    return "\n".join(lines)


def confirm(text: str, *, yes: bool) -> None:
    """Show an estimate on stderr; return if ``yes`` is true or the user at the terminal agrees.

    Raises BackendFault: ``consent_needed`` if there is no terminal; ``consent_refused``.
    """
    note(text)
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise BackendFault(
            "consent_needed",
            "nothing was sent: there is no terminal to ask at",
            hint="add --yes to agree to this estimate",
        )
    sys.stderr.write("Send that? Type yes to agree: ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise BackendFault("consent_refused", "nothing was sent", hint="choose fewer --frames or a smaller --side")


def _frame_size(store: Path, video: str) -> tuple[int, int]:
    """Return width and height, in pixels, of the frames of a world (``video`` is its id) or of a file (its path)."""
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
    """Return a text for the user about the requests, frames and tokens that were sent to a vision model."""
    sent = [item for item in spent if item.physical]
    if not sent:
        kept = "; all replies were kept from before" if spent else ""
        return f"nothing was sent to {config.host}{kept}"
    frames, prompt = sum(item.images for item in sent), sum(item.prompt for item in sent)
    written = sum(item.completion for item in sent)
    about = "about " if any(item.estimated for item in sent) else ""
    return (
        f"sent to {config.host}: {plural(len(sent), 'request')} with {plural(frames, 'frame')}, "
        f"{about}{prompt:,} tokens; {written:,} written"
    )

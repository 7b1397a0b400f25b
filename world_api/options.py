"""Options of all interfaces: the store, a build, the vision model that operations may call and the consent to what it is sent."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from world_api.core.faults import BackendFault
from world_api.core.identifiers import plural
from world_api.media.container import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from world_api.build.following import Following
    from world_api.chat.messages import Prices
    from world_api.core.cost import Spent
    from world_api.session.vision import VisionConfig
    from world_api.session.whole_video import LookEstimate

DEFAULT_STORE = Path("worlds")
STORE_VARIABLE = "VIDEOWORLD_STORE"
DEFAULT_SESSION = "default"

AUTO, OFF, NONE, BOTH = "auto", "off", "none", "both"
WHISPER, SPHINX = "faster-whisper", "pocketsphinx"
CLASSICAL, NEURAL, ENDPOINT, NEURAL_ENDPOINT = "classical", "neural", "endpoint", "neural+endpoint"
#: Profiles with which a vision model looks at frames, each with the profile of the worlds that are built for it.
LOOKING = {ENDPOINT: CLASSICAL, NEURAL_ENDPOINT: NEURAL}

DEFAULT_FRAMES = 6
DEFAULT_SIDE = 512  #: pixels
DEFAULT_LOOKS = 60  #: for one question
#: Languages of a vision model's replies.
LookLanguage = Literal["en", "zh"]
DEFAULT_LANGUAGE: LookLanguage = "en"
#: The perception behind operations that need more than the stored rows contain.
Perception = Literal["auto", "classical", "neural", "endpoint", "neural+endpoint"]


def default_store(given: str | PathLike[str] | None) -> Path:
    """Return the folder of worlds as ``--store`` has it: the given one, else that of the environment, else ``worlds``."""
    return Path(os.environ.get(STORE_VARIABLE) or DEFAULT_STORE) if given is None else Path(given)


@dataclass(frozen=True, kw_only=True)
class Listening:
    """The source of the spoken words of a video.

    Args:
        subtitles: ``auto``, ``none``, a language's code or a file's path.
        speech: ``auto`` (without subtitles, recognise speech if faster-whisper and a model are on this machine),
            ``off``, the name of a recogniser, which is then used instead of subtitles, or ``both``: subtitles and
            faster-whisper, each line with its source.
        model: The recogniser's model: a folder or a name; empty for the first of ``models`` that is present.
        language: The spoken language; empty to detect it.
        compute: Number format of a Whisper model: ``int8``, ``float16`` or ``float32``; ``auto`` is ``int8`` on a CPU and
            ``float16`` on a GPU.
        models: The folder of models; None for none. ``build_world`` sets it.
    """

    subtitles: str = AUTO
    speech: str = AUTO
    model: str = ""
    language: str = ""
    compute: str = AUTO
    models: Path | None = None


@dataclass(frozen=True, kw_only=True)
class BuildOptions:
    """Choices of a build.

    Args:
        profile: ``classical``, ``neural`` or ``oracle``; ``auto`` is that of the world that is there, else ``neural`` if a
            detector of it is on this machine, else ``classical``.
        listening: The source of the spoken words.
        without: Names of stages to leave out.
        force: Replace a world of the same id that was made from another file or with other options.
        limits: Limits of the video that is decoded.
        waits: Wait for another process that writes the same world instead of failing.
        following: How to build from a file while it is being written; None for a complete file.
        models: The folder of models; None for the configured one.
        detector: The name of the detector of ``neural``; None for the first of the catalogue that is there.
        record: The file in which a followed stream is recorded; by default inside the store.
    """

    profile: str = CLASSICAL
    listening: Listening = field(default_factory=Listening)
    without: tuple[str, ...] = ()
    force: bool = False
    limits: Limits = DEFAULT_LIMITS
    waits: bool = False
    following: Following | None = None
    models: Path | None = None
    detector: str | None = None
    record: Path | str | None = None


@dataclass(frozen=True, kw_only=True)
class VisionChoices:
    """The chosen options of the vision model that operations may call.

    Args:
        profile: ``endpoint`` or ``neural+endpoint`` to use a vision model; with any other profile none is used.
        model: The controller's model, used if ``vision_model`` is None.
        vision_model: The vision model.
        embedding_model: Model for text vectors of captions; None for no vectors.
        frames: Greatest number of frames of an interval that are sent.
        side: Longer side of a frame that is sent, in pixels.
        looks: Greatest number of requests of one session; None for no limit.
        language: Language of the replies.
    """

    profile: str
    model: str | None
    vision_model: str | None = None
    embedding_model: str | None = None
    frames: int = DEFAULT_FRAMES
    side: int = DEFAULT_SIDE
    looks: int | None = None
    language: str = DEFAULT_LANGUAGE


@dataclass(frozen=True, kw_only=True)
class VisionOptions:
    """The choice of a vision model for operations, and the consent to send frames to it.

    Args:
        profile: ``endpoint`` (a model looks at frames) or ``neural+endpoint`` (the same, at what the detector tracked);
            with any other nothing leaves this machine. It is also how a world is built where there is none.
        vision_model: The vision model; None for the model that answers.
        embedding_model: Model for text vectors of captions; None for no vectors.
        frames: Greatest number of frames of an interval that are sent.
        side: Longer side of a frame that is sent, in pixels.
        look_language: Language of the replies; None for that of the question.
        looks: Greatest number of different looks for one question.
        prices: A file with USD per million tokens, by model, so that costs are shown in money.
        yes: Agree to the estimate without a question.
    """

    profile: Perception = "auto"
    vision_model: str | None = None
    embedding_model: str | None = None
    frames: int = DEFAULT_FRAMES
    side: int = DEFAULT_SIDE
    look_language: LookLanguage | None = None
    looks: int = DEFAULT_LOOKS
    prices: Path | None = None
    yes: bool = False

    @property
    def base(self) -> str:
        """The profile of worlds that are built: with ``endpoint`` alone, classical ones are looked at."""
        return LOOKING.get(self.profile, self.profile)

    def refuse_unused(self, *, model: str | None = None, profile: str | None = None) -> None:
        """Raise ``perception_not_chosen`` if an option is given that only a vision model uses, and none was chosen.

        ``model``: the command's --model, if it names nothing else; ``profile``: that of a command with a --profile of its own.
        """
        given = [name for name, value in (("--model", model), ("--prices", self.prices)) if value is not None]
        if given and (profile or self.profile) not in LOOKING:
            raise BackendFault(
                "perception_not_chosen",
                f"{' and '.join(given)} without --profile endpoint: no model is asked for anything",
                hint=f"add --profile endpoint, or leave out {' and '.join(given)}",
            )

    def choices(self, *, model: str | None = None, language: str = DEFAULT_LANGUAGE) -> VisionChoices:
        """Return the chosen options; ``model`` (the controller's) and ``language`` serve if no vision model or language was chosen."""
        return VisionChoices(
            profile=self.profile, model=model, vision_model=self.vision_model, embedding_model=self.embedding_model,
            frames=self.frames, side=self.side, looks=self.looks, language=self.look_language or language,
        )  # fmt: skip

    def confirm(
        self,
        store: str | PathLike[str],
        video: str,
        config: VisionConfig | None,
        *,
        prices: Prices | None = None,
        during: str,
    ) -> None:
        """Show an upper bound of what is sent to a vision model, and return only if the user agrees.

        ``video`` is the id of a world, or a file; no world is built of it. ``during`` names the occasion in the text,
        such as "for this call". Without ``config`` nothing is shown; ``prices``: None for those of the options.

        Raises BackendFault: ``consent_needed``, ``consent_refused``; StoreFault, MediaFault: those of opening a world
        and probing a file.
        """
        if config is None:
            return
        from world_api.chat.messages import Prices
        from world_api.session.whole_video import estimate_question

        estimate = estimate_question(config, *_frame_size(Path(store), video))
        known = Prices.read(self.prices) if prices is None else prices
        confirm(estimate_text(f"looking, {during}", estimate, config, known), yes=self.yes)


DEFAULT_VISION = VisionOptions()


def estimate_text(what: str, estimate: LookEstimate, config: VisionConfig, prices: Prices) -> str:
    """Return an estimate as lines of text that begin with ``what``: requests, model, host, frames, tokens, money, assumptions."""
    from world_api.chat.messages import Usage

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
        lines.append(
            f"  kept:   {plural(estimate.kept, 'look' if estimate.entities else 'caption')} from before, which cost nothing"
        )
    return "\n".join(lines)


def confirm(text: str, *, yes: bool) -> None:
    """Show an estimate on stderr; return if ``yes`` is true or the user at the terminal agrees.

    Raises BackendFault: ``consent_needed`` if there is no terminal; ``consent_refused``.
    """
    from world_api.terminal import ask

    hint = "choose fewer --frames or a smaller --side"
    ask(text, "Send that?", yes=yes, kept="nothing was sent", agree="to agree to this estimate", hint=hint)


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
    """Return a line of text: the requests, frames and tokens sent to a vision model, or that nothing was sent."""
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

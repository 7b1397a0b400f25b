"""Options of all interfaces: for a build, and for the vision model that operations may call."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from world_api.media.container import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from world_api.build.following import Following


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

"""Ports: what the rooms ask of backends, each at most three methods.

Adapters are in ``world_api/perception`` and ``world_api/chat``; the areas below import only these protocols.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from world_api.core.boxes import Box
from world_api.core.cost import Spent
from world_api.core.spans import TimeSpan

Image = NDArray[np.uint8]  #: height x width x 3, BGR, as displayed (rotated)
Vector = NDArray[np.float32]  #: one of unit length
Vectors = NDArray[np.float32]  #: n x dimension, rows of unit length (or all zero)
Samples = NDArray[np.float32]  #: mono sound in -1..1, SAMPLE_RATE samples a second
SAMPLE_RATE = 16_000

#: What a claim rests on: where it can be looked at again.
Source = Literal["speech", "screen_text", "detector", "tracker", "caption", "memory", "scene_graph", "look", "metadata"]


@dataclass(frozen=True, kw_only=True)
class TextLine:
    """A line of text read off an image: what, where (pixels of that image), how sure (0 to 1)."""

    text: str
    box: Box
    confidence: float


@dataclass(frozen=True, kw_only=True)
class DetectedObject:
    """An object found in one image: its category, where (pixels of that image), how sure (0 to 1)."""

    category: str
    box: Box
    confidence: float


class TextReader(Protocol):
    """Optical character recognition, with a quick look before the reading."""

    producer: str

    def read(self, image: Image) -> Sequence[TextLine]:
        """All lines of text in the image, top to bottom."""
        ...

    def locate(self, image: Image) -> Sequence[Box]:
        """Where lines of text may be (pixels of the image); much cheaper than reading."""
        ...


@dataclass(frozen=True, kw_only=True)
class SpokenWord:
    """A recognised word: when (seconds from the first sample given), how sure (0 to 1)."""

    start: float
    end: float
    text: str
    confidence: float


@dataclass(frozen=True, kw_only=True)
class SpokenLine:
    """A recognised line and its words. ``language`` is a code such as ``en``, empty where unknown."""

    start: float
    end: float
    text: str
    language: str
    confidence: float
    words: tuple[SpokenWord, ...] = ()


class VoiceDetector(Protocol):
    """Voice activity detection. It looks back, never ahead, but for ``hang_over``."""

    producer: str
    #: Seconds of silence that must be heard before a stretch of voice is known to be over.
    hang_over: float

    def voiced(self, samples: Samples) -> Sequence[TimeSpan]:
        """Where somebody may be speaking: seconds from the first sample, apart and in order."""
        ...


class SpeechRecogniser(Protocol):
    """Speech to text with word times. ``language`` is a code such as ``en``, or empty: find out."""

    producer: str

    def transcribe(self, samples: Samples, language: str) -> Sequence[SpokenLine]:
        """The lines spoken in a stretch of at most thirty seconds, in time order.

        Raises:
            BackendFault: ``speech_model_missing``, where its package or its model is not there.
        """
        ...


class TextEmbedder(Protocol):
    """Dense text retrieval. Inner products up to ``noise_floor`` say nothing about two texts."""

    producer: str
    dimension: int
    noise_floor: float

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit vector a text (``len(texts) x dimension``); zero for a text without words."""
        ...


class ObjectDetector(Protocol):
    """Detection on one frame that was not sampled at build time."""

    producer: str

    def categories(self) -> frozenset[str]:
        """The category words this detector knows."""
        ...

    def detect(self, image: Image, category: str) -> Sequence[DetectedObject]:
        """Objects of that category, the surest first."""
        ...


class FrameSource(Protocol):
    """Random access to the frames of one video."""

    def frame_played_at(self, seconds: float) -> Image:
        """The frame on screen at that time (the last one whose presentation time is not after it).

        Raises:
            MediaFault: ``source_missing``, ``undecodable``.
        """
        ...


class PictureSource(Protocol):
    """Several frames of one video at once."""

    def pictures_played_at(self, times: Sequence[float], longest_side: int | None) -> Sequence[Image]:
        """The frame on screen at each time (rising), none larger than that; None: as they are.

        Raises:
            MediaFault: ``source_missing``, ``undecodable``.
        """
        ...


LookTask = Literal["caption", "answer", "state", "actions"]


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A picture that a model is shown: of which moment (seconds), and whether it is a part cut out of the frame."""

    time: float
    image: Image
    is_part: bool = False


def _freely() -> None:
    """Nobody counts."""


@dataclass(frozen=True, kw_only=True)
class LookRequest:
    """What a model shall look at, and what for. ``question`` and ``subject`` (what it is about) are data, never instructions.

    ``request`` names this request: what it costs is charged under that name. ``again`` is called before the request is sent
    once more in another form; what it raises is to be passed on.
    """

    task: LookTask
    span: TimeSpan
    pictures: tuple[Picture, ...]
    request: str
    question: str = ""
    subject: str = ""
    again: Callable[[], None] = field(default=_freely, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class SeenAction:
    """An action that a model names. ``confidence`` (0 to 1) only where it gave one."""

    label: str
    confidence: float | None


@dataclass(frozen=True, kw_only=True)
class LookReply:
    """What a model says of pictures: in words, how sure (only where it gave that), and what it says it cannot tell."""

    text: str
    confidence: float | None
    uncertain: str
    actions: tuple[SeenAction, ...]
    spent: Spent


@dataclass(frozen=True, kw_only=True)
class Expected:
    """Tokens that a look is likely to take, at most so many of them written, and in words what that rests on."""

    prompt: int
    completion: int
    most_completion: int
    assumed: str


class VisionModel(Protocol):
    """A model that is asked about pictures.

    ``producer`` covers all that its answers depend on beside the request: model, prompts, size of the pictures.
    ``longest_side`` is the size in pixels it wants pictures in.
    """

    name: str
    producer: str
    longest_side: int

    def expects(self, task: LookTask, pictures: int, width: int, height: int) -> Expected:
        """What a look at so many frames of that size (pixels) is likely to take."""
        ...

    def look(self, request: LookRequest) -> LookReply:
        """What it says. The cost is charged, also where the reply cannot be read.

        Raises:
            BackendFault: ``endpoint_takes_no_images``, ``sight_unreadable``, and what the endpoint's chat model names.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Embedded:
    """Vectors of some texts, in their order, and what they cost."""

    vectors: Vectors
    spent: Spent


class EmbeddingModel(Protocol):
    """Dense text vectors from a model that costs something. ``producer`` covers all that they depend on."""

    name: str
    producer: str

    def embed_texts(self, texts: Sequence[str], request: str) -> Embedded:
        """One unit vector a text. The cost is charged under the name ``request``.

        Raises:
            BackendFault: ``embedding_unreadable``, and what the endpoint names.
        """
        ...


class ChatModel(Protocol):
    """A function-calling chat model. The request and the reply are plain JSON values.

    ``request`` holds ``model``, ``messages``, optional ``tools``, ``tool_choice``, ``temperature``, ``seed`` and
    ``max_tokens`` as the Chat Completions API spells them; the reply is a Chat Completions response object.
    Plain JSON on both sides is what makes an episode recordable and replayable byte for byte.
    A reply's message may hold ``carried``, which is sent back unread in the assistant's message of later requests. How long a
    request may take is said by ``world_api.core.deadline`` where it is less than usual.
    """

    name: str

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """One reply.

        Raises:
            BackendFault: ``endpoint_unreachable``, ``endpoint_refused_key``, ``endpoint_refused_request``, ``endpoint_error``.
            EpisodeFault: ``replay_mismatch``, when a recording has no reply to this request.
        """
        ...


class Clock(Protocol):
    """Wall and monotonic time, passed in so that tests and replays decide them."""

    def now(self) -> str:
        """The wall clock as ISO 8601 in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never runs backwards."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> str:
        """The wall clock as ISO 8601 in UTC, to the second."""
        return datetime.now(UTC).isoformat(timespec="seconds")

    def monotonic(self) -> float:
        """Seconds on a clock that never runs backwards."""
        return time.monotonic()

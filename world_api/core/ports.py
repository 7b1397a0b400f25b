"""Ports: protocols of at most three methods behind which models, detectors and clocks are adapters.

Adapters are in ``world_api/perception`` and ``world_api/chat``; the areas below import only these protocols.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from world_api.core.cost import Spent
from world_api.core.spans import Box, TimeSpan

if TYPE_CHECKING:  # a build chooses NumPy's threads before it loads NumPy
    import numpy as np
    from numpy.typing import NDArray

#: A picture: height x width x 3, BGR, as displayed (rotated).
Image: TypeAlias = "NDArray[np.uint8]"
#: A vector of unit length.
Vector: TypeAlias = "NDArray[np.float32]"
#: Vectors, n x dimension; each row has unit length or is zero.
Vectors: TypeAlias = "NDArray[np.float32]"
#: Mono sound in -1..1, ``SAMPLE_RATE`` samples per second.
Samples: TypeAlias = "NDArray[np.float32]"
SAMPLE_RATE = 16_000

#: What evidence comes from.
Source = Literal["speech", "screen_text", "detector", "tracker", "caption", "memory", "scene_graph", "look", "metadata"]


@dataclass(frozen=True, kw_only=True)
class TextLine:
    """A line of text in an image: text, box (pixels of the image), confidence (0 to 1)."""

    text: str
    box: Box
    confidence: float


@dataclass(frozen=True, kw_only=True)
class DetectedObject:
    """An object in an image: category, box (pixels of the image), confidence (0 to 1)."""

    category: str
    box: Box
    confidence: float


class TextReader(Protocol):
    """Optical character recognition, with a cheaper detection of text regions."""

    producer: str

    def read(self, image: Image) -> Sequence[TextLine]:
        """All lines of text in the image, top to bottom."""
        ...

    def locate(self, image: Image) -> Sequence[Box]:
        """Boxes that may hold text (pixels of the image); much cheaper than reading."""
        ...


@dataclass(frozen=True, kw_only=True)
class SpokenWord:
    """A recognised word: times in seconds from the first sample, confidence 0 to 1."""

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
    """Voice activity detection. It is causal except for ``hang_over``."""

    producer: str
    #: Seconds of silence that must be heard before an interval of voice is known to be over.
    hang_over: float

    def voiced(self, samples: Samples) -> Sequence[TimeSpan]:
        """Spans in which a person may be speaking: seconds from the first sample, disjoint and in order."""
        ...


class SpeechRecogniser(Protocol):
    """Speech to text with word times. ``language`` is a code such as ``en``, or empty: find out."""

    producer: str

    def transcribe(self, samples: Samples, language: str) -> Sequence[SpokenLine]:
        """The lines spoken in an interval of at most thirty seconds, in time order.

        Raises BackendFault: ``speech_model_missing``, where its package or its model is not there.
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
    """Object detection on one frame."""

    producer: str

    def categories(self) -> frozenset[str]:
        """The category words this detector knows."""
        ...

    def detect(self, image: Image, category: str) -> Sequence[DetectedObject]:
        """Objects of that category, the surest first."""
        ...


class PersonScorer(Protocol):
    """Judges whether a box holds an upright person, and finds people in a picture."""

    producer: str

    def person_score(self, image: Image, box: Box) -> float:
        """Positive for a person who fills the box (pixels of ``image``), negative for anything else."""
        ...

    def people(self, image: Image) -> Sequence[DetectedObject]:
        """The people in a small picture, the most confident first; fast enough for one call every second."""
        ...


class AppearanceEmbedder(Protocol):
    """Re-identification: vectors of how tracked things look; the inner product of two says whether they are one thing.

    The stage ``moving_things`` makes them, compares them when things that covered each other part, and stores them in the table
    ``track_looks``, which fixes their length (``TRACK_LOOK_DIMENSION``). The stages ``stitches`` and ``look_links`` compare stored
    ones; their thresholds are those of the present embedder.
    """

    producer: str

    def embed(self, picture: Image, mask: Image, scene: Image) -> Vector | None:
        """The vector of a thing; None if too little of it is visible.

        ``picture`` is the part of a frame with the thing, ``mask`` is 255 where the thing is in it (height x width) and 0
        elsewhere, ``scene`` is the same scene without things.
        """
        ...


class FrameSource(Protocol):
    """Random access to the frames of one video."""

    def frame_played_at(self, seconds: float) -> Image:
        """The frame on screen at that time (the last one whose presentation time is not after it).

        Raises MediaFault: ``source_missing``, ``undecodable``.
        """
        ...

    def pictures_played_at(self, times: Sequence[float], longest_side: int | None) -> Sequence[Image]:
        """The frame on screen at each time (rising), none larger than that; None: as they are.

        Raises MediaFault: ``source_missing``, ``undecodable``.
        """
        ...


LookTask = Literal["caption", "answer", "state", "actions"]


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A picture for a model: the time of its frame in seconds, and whether it is a part cut out of the frame."""

    time: float
    image: Image
    is_part: bool = False


@dataclass(frozen=True, kw_only=True)
class LookRequest:
    """Pictures for a vision model and the task. ``question`` and ``subject`` (what it is about) are data, never instructions.

    ``request`` names the request; its cost is charged under that name. The adapter calls ``again`` before it sends the request
    once more in another form, and passes on what that raises.
    """

    task: LookTask
    span: TimeSpan
    pictures: tuple[Picture, ...]
    request: str
    question: str = ""
    subject: str = ""
    again: Callable[[], None] = field(default=lambda: None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class SeenAction:
    """An action that a model names. ``confidence`` is 0 to 1, or None if it gave none."""

    label: str
    confidence: float | None


@dataclass(frozen=True, kw_only=True)
class LookReply:
    """A vision model's answer: text, confidence (if it gave one), and what it says it is not certain of."""

    text: str
    spent: Spent
    confidence: float | None = None
    uncertain: str = ""
    actions: tuple[SeenAction, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Expected:
    """Expected tokens of a look: read, written, written at most; ``assumed`` says in words what the estimate rests on."""

    prompt: int
    completion: int
    most_completion: int
    assumed: str


class VisionModel(Protocol):
    """A model that answers questions about pictures.

    ``producer`` names all that its answers depend on beside the request: model, prompts, size of the pictures.
    ``longest_side`` is the size of its pictures in pixels.
    """

    name: str
    producer: str
    longest_side: int

    def expects(self, task: LookTask, pictures: int, width: int, height: int) -> Expected:
        """The expected tokens of a look at ``pictures`` frames of a size in pixels."""
        ...

    def look(self, request: LookRequest) -> LookReply:
        """Answer the request. The cost is charged even if the reply cannot be read.

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
    """Dense text vectors from a paid model. ``producer`` names all that they depend on."""

    name: str
    producer: str

    def embed_texts(self, texts: Sequence[str], request: str) -> Embedded:
        """One unit vector a text. The cost is charged under the name ``request``.

        Raises BackendFault: ``embedding_unreadable``, and what the endpoint names.
        """
        ...


class ChatModel(Protocol):
    """A function-calling chat model. The request and the reply are plain JSON values.

    ``request`` holds ``model``, ``messages``, optional ``tools``, ``tool_choice``, ``temperature``, ``seed`` and
    ``max_tokens`` as the Chat Completions API spells them; the reply is a Chat Completions response object.
    Plain JSON on both sides is what makes an episode recordable and replayable byte for byte.
    A reply's message may hold ``carried``, which is sent back unread in the assistant's message of later requests. A
    ``deadline`` of the caller limits how long a request may take.
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

"""Ports: protocols of at most three methods that models, detectors and clocks implement as adapters.

Adapters are in ``world_api/perception`` and ``world_api/chat``; other packages import only these protocols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log2
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from world_api.core.cost import Spent
from world_api.core.spans import Box, TimeSpan

if TYPE_CHECKING:  # a build chooses NumPy's threads before it loads NumPy
    import numpy as np
    from numpy.typing import NDArray

#: A picture: height x width x 3, BGR, as displayed (rotated).
Image: TypeAlias = "NDArray[np.uint8]"
#: A picture: height x width x 3, RGB, which is the order that models of pictures and texts are trained with.
RgbImage: TypeAlias = "NDArray[np.uint8]"
#: A vector of unit length.
Vector: TypeAlias = "NDArray[np.float32]"
#: Vectors, n x dimension; each row has unit length or is zero.
Vectors: TypeAlias = "NDArray[np.float32]"
#: Mono sound in -1..1, ``SAMPLE_RATE`` samples per second.
Samples: TypeAlias = "NDArray[np.float32]"
SAMPLE_RATE = 16_000

#: The kinds of sources that evidence names.
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
        """Return all lines of text in the image, top to bottom."""

    def locate(self, image: Image) -> Sequence[Box]:
        """Return boxes that may contain text (pixels of the image); much cheaper than reading."""


@dataclass(frozen=True, kw_only=True)
class SpokenWord:
    """A recognised word: times in seconds from the first sample, confidence 0 to 1."""

    start: float
    end: float
    text: str
    confidence: float


@dataclass(frozen=True, kw_only=True)
class SpokenLine:
    """A recognised line and its words, with times and confidence as in ``SpokenWord``.

    ``language`` is a code such as ``en``; empty if unknown.
    """

    start: float
    end: float
    text: str
    language: str
    confidence: float
    words: tuple[SpokenWord, ...] = ()


class VoiceDetector(Protocol):
    """Voice activity detection. A decision depends on no sound later than ``hang_over`` seconds after the moment."""

    producer: str
    #: Seconds of silence that must be heard before an interval of voice is known to be over.
    hang_over: float

    def voiced(self, samples: Samples) -> Sequence[TimeSpan]:
        """Return spans in which a person may be speaking: seconds from the first sample, disjoint and in order."""


class VoiceEmbedder(Protocol):
    """Speaker recognition: the inner product of two vectors says whether two pieces of speech are of the same voice.

    From ``sure`` on they are, below ``doubtful`` they are not; between these it is uncertain. The limits belong to the model.
    """

    producer: str
    sure: float
    doubtful: float

    def embed(self, pieces: Sequence[Samples]) -> Vectors:
        """Return one unit vector per piece of speech; zero for sound that is too short or silent.

        Raises BackendFault: ``model_missing``, ``model_damaged``, ``model_unusable``.
        """


class SpeechRecogniser(Protocol):
    """Speech to text with the times of words. ``language`` is a code such as ``en``; empty to detect the language."""

    producer: str

    def transcribe(self, samples: Samples, language: str) -> Sequence[SpokenLine]:
        """Return the lines spoken in an interval of at most thirty seconds, in time order.

        Raises BackendFault: ``speech_model_missing``, if its package or its model is missing.
        """


@dataclass(frozen=True, kw_only=True)
class TaggedSound:
    """A class of sounds heard in a window of sound that begins at ``start`` (seconds from the first sample); ``score``: 0 to 1."""

    start: float
    label: str
    score: float


class SoundTagger(Protocol):
    """Says which classes of sounds are heard in windows of ``window`` seconds, one every ``hop`` seconds.

    ``parameters``: all that its tags depend on; ``missed`` in it: class -> in how many labelled samples it was missed, of how many.
    """

    parameters: Mapping[str, Any]
    hop: float
    window: float

    def tag(self, samples: Samples) -> Sequence[TaggedSound]:
        """Return what is heard in each window, in time order; what is not heard may be there.

        Raises BackendFault: ``model_missing``, ``model_damaged``, ``model_unusable``.
        """


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Limits of the greatest inner product of a query with any of a video's lines, and how they were measured.

    From ``sure`` on a line is about the query, below ``doubtful`` none is, between these it is uncertain. This holds for ``lines``
    lines; ``sure`` rises by ``growth`` whenever their number doubles, since one of more is near by chance. ``doubtful`` does not
    rise with more lines: the line that a query is about is no nearer among many. Of ``absent[1]``
    queries about what no line says, ``absent[0]`` reached ``sure``; of ``present[1]`` about what one says, ``present[0]`` did
    not reach ``doubtful``.
    """

    sure: float
    doubtful: float
    lines: int
    growth: float
    absent: tuple[int, int]
    present: tuple[int, int]

    def limits(self, lines: int) -> tuple[float, float]:
        """Return ``doubtful`` and ``sure`` for a number of lines."""
        more = self.growth * log2(max(1, lines) / self.lines)
        return self.doubtful + min(more, 0.0), self.sure + more


class TextEmbedder(Protocol):
    """Text vectors for retrieval. An inner product of at most ``noise_floor`` does not mean that texts are similar.

    ``understands``: texts that mean the same are near each other, also in two languages; without it, those that share words.
    ``calibration`` is None if no limits were measured. Vectors of embedders with another ``producer`` are never compared.
    """

    producer: str
    noise_floor: float
    understands: bool
    calibration: Calibration | None

    @property
    def dimension(self) -> int:
        """The length of a vector."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text (``len(texts) x dimension``); zero for a text without words.

        Raises BackendFault: ``model_missing``, ``model_damaged``, ``model_unusable``, ``extra_missing``, if it is a model.
        """

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a query (1 x dimension). Raises BackendFault: as ``embed``."""


class ObjectDetector(Protocol):
    """Object detection on one frame."""

    producer: str

    def categories(self) -> frozenset[str]:
        """Return the categories that this detector can detect, as canonical words."""

    def detect(self, image: Image, category: str) -> Sequence[DetectedObject]:
        """Return the objects of a category, the most confident first."""


class SceneDetector(ObjectDetector, Protocol):
    """Detection of objects of all its categories at once, in several pictures.

    ``producer`` names the model (by its hash) and the thresholds. Pictures are reduced to ``side`` pixels on their longer
    side; ``batch`` is the number of pictures for which one call is most efficient. Detections below ``sure`` (0 to 1) only
    continue what was detected with more confidence before; ``detect`` leaves them out. ``missed``: category -> how many
    sightings were missed of the smallest things of which this was measured, of how many, and their least height in pixels of
    a picture with ``side``.
    """

    side: int
    batch: int
    sure: float
    missed: Mapping[str, tuple[int, int, int]]

    def detect_all(self, images: Sequence[Image]) -> Sequence[Sequence[DetectedObject]]:
        """Return the objects of each picture, the most confident first, also those with a confidence below ``sure``.

        Raises BackendFault: ``model_missing``, ``model_damaged``, ``model_unusable``.
        """


#: Height over width of an upright person, least and most. No person is looked for in a box of another shape.
UPRIGHT = (1.4, 3.45)


class PersonScorer(Protocol):
    """Judges whether a box contains an upright person, and finds people in a picture."""

    producer: str

    def person_score(self, image: Image, box: Box) -> float:
        """Return a score: positive if a person fills the box (pixels of ``image``), negative for anything else."""

    def people(self, image: Image) -> Sequence[DetectedObject]:
        """Return the people in a small picture, the most confident first; fast enough for one call every second."""


class AppearanceEmbedder(Protocol):
    """Re-identification: vectors of the look of tracked things. A high inner product of two means the same thing.

    The stage ``moving_things`` makes them, compares them when things that hid each other separate again, and stores
    them in the table ``track_looks``, which fixes their length (``TRACK_LOOK_DIMENSION``). The stages ``stitches`` and
    ``look_links`` compare stored ones; their thresholds are tuned to the present embedder.
    """

    producer: str

    def embed(self, picture: Image, mask: Image, scene: Image) -> Vector | None:
        """Return the vector of a thing; None if too little of it is visible.

        ``picture`` is the part of a frame that shows the thing, ``mask`` (height x width) is 255 at the pixels of the
        thing and 0 elsewhere, ``scene`` is a picture of the same scene without things.
        """


@dataclass(frozen=True, kw_only=True, eq=False)
class Face:
    """A face in an image: box (pixels of the image), confidence (0 to 1).

    ``landmarks`` (5 x 2, pixels): both eyes, the nose and both corners of the mouth, each pair from left to right in the image.
    """

    box: Box
    confidence: float
    landmarks: NDArray[np.float32]


class FaceDetector(Protocol):
    """Detection of faces with landmarks."""

    producer: str

    def faces(self, image: Image) -> Sequence[Face]:
        """Return the faces in a BGR picture, the most confident first.

        Raises BackendFault: ``model_missing``, ``model_damaged``, ``model_unusable``.
        """


class FaceEmbedder(Protocol):
    """Face recognition: the inner product of two vectors says whether two faces are of the same person.

    From ``sure`` on they are, below ``doubtful`` they are not; between these it is uncertain. The limits belong to the model.
    """

    producer: str
    sure: float
    doubtful: float

    def embed(self, image: Image, faces: Sequence[Face]) -> Vectors:
        """Return one vector per face of a BGR picture; zero for a face that shows too little to recognise it.

        Raises BackendFault: as ``FaceDetector.faces``.
        """


class BodyEmbedder(Protocol):
    """Re-identification of people by their whole figure, while they wear the same clothes. Limits as for ``FaceEmbedder``."""

    producer: str
    sure: float
    doubtful: float

    def embed(self, images: Sequence[Image]) -> Vectors:
        """Return one vector per BGR picture, each of which a standing person fills.

        Raises BackendFault: as ``FaceDetector.faces``.
        """


class ImageTextEncoder(Protocol):
    """A pair of encoders, of pictures and of texts, whose vectors are compared by their inner product (CLIP, SigLIP).

    ``producer`` names the model by its hashes and all that its vectors depend on. Any picture fits the texts ``neutral``; a
    text is taken for what a picture may show only if its inner product exceeds those of all neutral ones by ``margin``, which
    is not calibrated.
    """

    name: str
    producer: str
    neutral: Sequence[str]
    margin: float

    def encode_images(self, images: Sequence[RgbImage]) -> Vectors:
        """Return one unit vector per picture, float32, shape (n, dimension).

        Raises BackendFault: ``model_missing``, ``model_damaged``, ``model_unusable``, ``extra_missing``.
        """

    def encode_texts(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, float32, shape (n, dimension); texts are cut to the length that the model takes.

        Raises BackendFault: ``empty_text``, and those of ``encode_images``.
        """


#: Of what kind a tag is: a place, a kind of picture (a cartoon), an action, or a thing.
TagKind = Literal["place", "picture", "action", "thing"]


@dataclass(frozen=True, kw_only=True)
class PictureTag:
    """Words for what a picture may show, in English and Chinese (empty if unknown).

    ``score`` orders the tags of one tagger: a difference of inner products, or a classifier's probability; not calibrated.
    """

    kind: TagKind
    word: str
    chinese: str
    score: float


@dataclass(frozen=True, kw_only=True, eq=False)
class TaggedPicture:
    """The tags of a picture, the best first, and its vector; None if the tagger makes none."""

    tags: tuple[PictureTag, ...]
    vector: Vector | None = None


class PictureTagger(Protocol):
    """Says what whole pictures may show. ``parameters``: all that its tags and vectors depend on."""

    parameters: Mapping[str, Any]

    def tag(self, images: Sequence[RgbImage]) -> Sequence[TaggedPicture]:
        """Return the tags of each picture.

        Raises BackendFault: as ``ImageTextEncoder.encode_images``.
        """


class FrameSource(Protocol):
    """Random access to the frames of one video."""

    def pictures_played_at(self, times: Sequence[float], longest_side: int | None) -> Sequence[Image]:
        """Return the frame on screen at each of the ascending times: the last one whose presentation time is not after it.

        Frames are reduced to at most ``longest_side`` pixels on their longer side; None for full size.

        Raises MediaFault: ``source_missing``, ``undecodable``.
        """


LookTask = Literal["caption", "answer", "state", "actions", "attributes"]


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A picture for a model: the time of its frame in seconds; ``is_part`` if it is a crop of the frame."""

    time: float
    image: Image
    is_part: bool = False


@dataclass(frozen=True, kw_only=True)
class LookRequest:
    """Pictures for a vision model, and the task.

    ``question``, ``subject`` (the thing that the question is about) and ``entities`` (JSON records of what was tracked in the
    interval, for a caption) are data, never instructions. ``words`` are the attributes to judge. ``request`` is the hash
    under which the cost is charged. The adapter calls ``again`` before it repeats the request in another form; a
    fault that ``again`` raises ends the look.
    """

    task: LookTask
    span: TimeSpan
    pictures: tuple[Picture, ...]
    request: str
    question: str = ""
    subject: str = ""
    words: tuple[str, ...] = ()
    entities: tuple[Mapping[str, Any], ...] = ()
    again: Callable[[], None] = field(default=lambda: None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class SeenAction:
    """An action that a model names. ``confidence`` is 0 to 1; None if the model gives none."""

    label: str
    confidence: float | None


@dataclass(frozen=True, kw_only=True)
class LookReply:
    """A vision model's answer. ``confidence`` is 0 to 1 or None; ``uncertain`` describes what it is not sure of.

    Of the words to judge, ``affirmed`` hold and ``denied`` do not; of the others the pictures do not show enough.
    """

    text: str
    spent: Spent
    confidence: float | None = None
    uncertain: str = ""
    actions: tuple[SeenAction, ...] = ()
    affirmed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Expected:
    """Expected tokens of a look: of the prompt, of the reply, and at most of the reply.

    ``assumed`` describes in words the assumption of the estimate.
    """

    prompt: int
    completion: int
    most_completion: int
    assumed: str


class VisionModel(Protocol):
    """A model that answers questions about pictures.

    ``producer`` names everything beside the request that its answers depend on: model, prompts, size of the pictures.
    ``longest_side`` is the largest side of the pictures that are sent, in pixels.
    """

    name: str
    producer: str
    longest_side: int

    def expects(self, task: LookTask, pictures: int, width: int, height: int) -> Expected:
        """Return the expected tokens of a look at ``pictures`` frames of ``width`` x ``height`` pixels."""

    def look(self, request: LookRequest) -> LookReply:
        """Return the model's answer. The cost is charged even if the reply cannot be read.

        Raises:
            BackendFault: ``endpoint_takes_no_images``, ``sight_unreadable``, ``sight_refused``, and the chat model's.
        """


@dataclass(frozen=True, kw_only=True)
class Embedded:
    """Vectors of some texts, in their order, and what they cost."""

    vectors: Vectors
    spent: Spent


class EmbeddingModel(Protocol):
    """Text vectors from a paid model. ``producer`` names everything beside the text that they depend on."""

    name: str
    producer: str

    def embed_texts(self, texts: Sequence[str], request: str) -> Embedded:
        """Return one unit vector per text. The cost is charged under ``request``, the hash of the request.

        Raises BackendFault: ``embedding_unreadable``, and those of the endpoint.
        """


#: The API of an endpoint: ``auto`` is Chat Completions until the server reports that the model needs Responses, or what a probe found;
#: ``json`` is Chat Completions with calls of tools as JSON.
WireChoice = Literal["auto", "chat", "responses", "json"]


class ChatModel(Protocol):
    """A function-calling chat model. The request and the reply are plain JSON values.

    ``request`` contains ``model``, ``messages``, optional ``tools``, ``tool_choice``, ``temperature``, ``seed`` and
    ``max_tokens`` as in the Chat Completions API; the reply is a Chat Completions response object.
    Plain JSON on both sides makes an episode recordable and replayable byte for byte.
    A reply's message may contain a field ``carried``, which later requests send back unchanged in the assistant's
    message. A ``deadline`` of the caller limits how long a request may take.
    """

    name: str

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to a request.

        Raises:
            BackendFault: ``endpoint_unreachable``, ``endpoint_refused_key``, ``endpoint_refused_request``, ``endpoint_error``.
            EpisodeFault: ``replay_mismatch``, if a recording has no reply to this request.
        """


class Clock(Protocol):
    """Wall and monotonic time. Clocks are passed as arguments, so that tests and replays can set the time."""

    def now(self) -> str:
        """Return the wall time as ISO 8601 in UTC."""

    def monotonic(self) -> float:
        """Return the seconds of a clock that never runs backwards; only differences have a meaning."""

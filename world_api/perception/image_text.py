"""What a picture shows: pairs of encoders of pictures and texts, tags by them without training, and image classifiers.

Sources: Radford et al., "Learning transferable visual models from natural language supervision" (CLIP, 2021), for the pair and
its prompts; Sennrich et al., "Neural machine translation of rare words with subword units" (2016), for the tokenizer; Zhai et
al., "Sigmoid loss for language image pre-training" (SigLIP, 2023). No trained weights of a pair were at hand.
"""

from __future__ import annotations

import gzip
import html
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar

import numpy as np
import PIL.Image
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from world_api.core.canonical import content_hash
from world_api.core.faults import BackendFault
from world_api.core.ports import ImageTextEncoder, PictureTag, RgbImage, TaggedPicture, TagKind, Vectors
from world_api.core.yaml_text import read_yaml
from world_api.installation import install_command
from world_api.perception.detector import check_file, open_session, unusable

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]

#: The most pictures or texts of one call, for a file with a free batch.
_BATCH = 16
_TAGS = "picture_tags.yaml"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PictureInput(_Strict):
    """How a picture becomes a model's input: ``side`` pixels square if the file leaves it free; 0 to 1, minus ``mean``, by ``std``.

    ``fit``: ``crop`` scales the shorter side and cuts off what is beyond the middle, ``squash`` scales both sides. The values of
    CLIP stand where none are given.
    """

    side: int = Field(224, ge=16, le=2048)
    fit: Literal["crop", "squash"] = "crop"
    mean: tuple[float, float, float] = (0.48145466, 0.4578275, 0.40821073)
    std: tuple[float, float, float] = (0.26862954, 0.26130258, 0.27577711)

    def pixels(self, images: Sequence[RgbImage], side: int) -> Floats:
        """Return pictures as n x 3 x side x side."""
        fitted = np.stack([self._fit(image, side) for image in images]).astype(np.float32) / np.float32(255)
        normal = (fitted - np.asarray(self.mean, np.float32)) / np.asarray(self.std, np.float32)
        return np.ascontiguousarray(normal.transpose(0, 3, 1, 2))

    def _fit(self, image: RgbImage, side: int) -> RgbImage:
        picture = PIL.Image.fromarray(np.ascontiguousarray(image))
        wide, high = picture.size
        if self.fit == "crop":
            scale = side / min(wide, high)
            size = max(side, int(wide * scale)), max(side, int(high * scale))
        else:
            size = side, side
        left, top = round((size[0] - side) / 2), round((size[1] - side) / 2)
        resized = picture.resize(size, PIL.Image.Resampling.BICUBIC)  # with antialiasing, as these models are trained
        return np.asarray(resized.crop((left, top, left + side, top + side)))


class ImageTextOptions(PictureInput):
    """The options of a pair in the catalogue of models.

    Attributes:
        kind: ``onnx`` (files: encoder of pictures, encoder of texts, tokenizer) or ``open-clip`` (file: a checkpoint).
        architecture: That of an open_clip checkpoint, such as ``ViT-B-32``.
        context: Tokens of a text, if the file leaves it free; longer texts are cut.
        pad: The token that fills shorter texts.
        vocabulary: Tokens of a BPE vocabulary file, which may list more merges than the model has learned.
        margin: By how much a text must fit a picture better than neutral ones; not calibrated.
    """

    kind: Literal["onnx", "open-clip"] = "onnx"
    architecture: str = Field("", pattern=r"^[\w.-]*$")
    context: int = Field(77, ge=3, le=1024)
    pad: int = Field(0, ge=0)
    vocabulary: int = Field(49_408, ge=514)
    margin: float = Field(0.02, gt=0, lt=1)


class ClassifierOptions(PictureInput):
    """The options of an image classifier: the labels of its classes in order, and the least probability of a tag."""

    labels: tuple[str, ...] = Field(min_length=1)
    least: float = Field(0.3, gt=0, lt=1)


Options = TypeVar("Options", bound=BaseModel)


@dataclass(frozen=True, kw_only=True)
class ModelPart:
    """One file of a model (``OnnxModel``); ``name`` is that of the model."""

    name: str
    path: Path
    sha256: str


@dataclass(frozen=True, kw_only=True)
class PictureModel(Generic[Options]):
    """A pair of encoders, a classifier or a text encoder on this machine: its files in the order of the catalogue, and its options."""

    name: str
    parts: tuple[ModelPart, ...]
    options: Options

    @property
    def producer(self) -> str:
        """The name with a hash of all files and options."""
        own = [*(part.sha256 for part in self.parts), self.options.model_dump(mode="json")]
        return f"{self.name}-{content_hash(own)[:16]}/1"


# --- tokenizers -------------------------------------------------------------------------------------------------------


class Tokenizer(Protocol):
    """Splits a text into the numbers of tokens, with those that mark its start and its end."""

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text of any length."""


class BpeTokenizer:
    """CLIP's byte-pair encoding of lower-case words, from its vocabulary file (one merge a line, after a first line of its own).

    Of what the package ftfy mends first, only quotation marks and combined characters are: not text that was decoded wrongly.

    Raises BackendFault: ``model_missing``, ``model_damaged``, ``model_unusable``.
    """

    def __init__(self, file: ModelPart, vocabulary: int) -> None:
        check_file(file)
        try:
            content = file.path.read_bytes()
            text = (gzip.decompress(content) if file.path.suffix == ".gz" else content).decode()
            merges = [tuple(line.split()) for line in text.splitlines()[1 : vocabulary - 513] if line.strip()]
        except (OSError, EOFError, UnicodeDecodeError) as error:
            raise unusable(file, f"{file.path.name} cannot be read as a vocabulary ({error})") from error
        if not merges or any(len(merge) != 2 for merge in merges):
            raise unusable(file, f"{file.path.name} does not list one merge of two parts a line")
        self._ranks = {merge: rank for rank, merge in enumerate(merges)}
        bytes_ = list(_CHARACTERS.values())
        tokens = [*bytes_, *(f"{one}{_END}" for one in bytes_), *map("".join, merges), "<start>", "<end>"]
        self._numbers = {token: number for number, token in enumerate(tokens)}
        self._first, self._last = len(tokens) - 2, len(tokens) - 1

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text of any length."""
        unescaped = html.unescape(html.unescape(text)).translate(_QUOTES)
        plain = " ".join(unicodedata.normalize("NFC", unescaped).split()).lower()
        words = ("".join(_CHARACTERS[byte] for byte in word.encode()) for word in _words(plain))
        return [self._first, *(self._numbers[token] for word in words for token in self._merged(word)), self._last]

    def _merged(self, word: str) -> list[str]:
        """Return the parts of a word after all merges, the first learned first."""
        parts = [*word[:-1], word[-1] + _END]
        while len(parts) > 1:
            pairs = list(pairwise(parts))
            place = min(range(len(pairs)), key=lambda at: self._ranks.get(pairs[at], len(self._ranks)))
            if pairs[place] not in self._ranks:
                break
            parts[place : place + 2] = ["".join(pairs[place])]
        return parts


_END = "</w>"
_PRINTED = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
#: Byte -> the character that stands for it in a vocabulary, in the order of their numbers: printable ones for themselves.
_CHARACTERS = {byte: chr(byte) for byte in _PRINTED} | {
    byte: chr(256 + place) for place, byte in enumerate(sorted({*range(256)} - {*_PRINTED}))
}
_QUOTES = str.maketrans("“”„‘’", '"""\'\'')
_CLITIC = re.compile(r"'(?:s|t|re|ve|m|ll|d)")
_RUN = re.compile(r"L+|N|P+")


def _words(text: str) -> list[str]:
    """Return the words of a text: clitics, runs of letters, single digits, runs of other characters."""
    kinds = "".join(
        " " if one.isspace() else {"L": "L", "N": "N"}.get(unicodedata.category(one)[0], "P") for one in text
    )
    found, place = [], 0
    while place < len(text):
        match = _CLITIC.match(text, place) or _RUN.match(kinds, place)
        end = place + 1 if match is None else match.end()
        if match is not None:
            found.append(text[place:end])
        place = end
    return found


class JsonTokenizer:
    """A ``tokenizer.json`` of Hugging Face, read by the package tokenizers (which the extra ``speech`` brings).

    Raises BackendFault: ``extra_missing``, ``model_missing``, ``model_damaged``, ``model_unusable``.
    """

    def __init__(self, file: ModelPart) -> None:
        try:
            from tokenizers import Tokenizer as Reader
        except ImportError as error:
            raise _extra_missing("tokenizers", "speech", f"to read {file.path.name}") from error
        check_file(file)
        try:
            self._reader = Reader.from_file(str(file.path))
        except Exception as error:  # its exceptions have no common class
            raise unusable(file, f"{file.path.name} is no tokenizer ({str(error)[:200]})") from error
        self._reader.no_padding()
        self._reader.no_truncation()

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text of any length."""
        return list(self._reader.encode(text).ids)


def _extra_missing(package: str, extra: str, why: str) -> BackendFault:
    said = f"the package {package} is needed {why} and is not installed"
    return BackendFault("extra_missing", said, hint=install_command(extra))


# --- pairs of encoders ------------------------------------------------------------------------------------------------


def _unit(vectors: Floats, model: ModelPart) -> Vectors:
    """Return vectors (n x dimension) at unit length; zero ones remain zero. Raises BackendFault: ``model_unusable``."""
    if not np.isfinite(vectors).all():
        raise unusable(model, "its vectors are not finite")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    found: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 1e-6)
    return found


def _in_batches(count: int, size: int, run: Callable[[slice], Floats]) -> Floats:
    return np.concatenate([run(slice(first, min(first + size, count))) for first in range(0, count, size)])


class _OnnxNetwork:
    """An ONNX file that gives one vector per picture or text. It is loaded at the first run; threads may share it."""

    def __init__(self, part: ModelPart) -> None:
        self.part = part

    @cached_property
    def session(self) -> Any:
        return open_session(self.part)

    def side_of(self, axis: int, otherwise: int) -> int:
        """Return the size of an axis of the first input; ``otherwise`` if the file leaves it free."""
        shape = self.session.get_inputs()[0].shape
        size = shape[axis] if axis < len(shape) else None
        return size if isinstance(size, int) and size > 0 else otherwise

    def vectors(self, values: Floats | Integers, mask: Integers | None = None) -> Floats:
        """Return one vector per row of ``values``; ``mask`` goes to an input that is named so. Batches are those that fit the file."""
        inputs = self.session.get_inputs()
        given = [mask if "mask" in one.name and mask is not None else values for one in inputs]
        step = self.side_of(0, _BATCH)
        is_fixed = step == self.side_of(0, 0)

        def run(rows: slice) -> Floats:
            feeds = {}
            for one, whole in zip(inputs, given, strict=True):
                part = whole[rows].astype(_TYPES.get(one.type, np.float32))
                missing = step - len(part) if is_fixed else 0
                feeds[one.name] = np.pad(part, [(0, missing), *[(0, 0)] * (part.ndim - 1)])
            try:
                outputs = self.session.run([self._output], feeds)
            except Exception as error:  # its exceptions have no common class
                raise unusable(self.part, f"{self.part.path.name}: {str(error).splitlines()[0][:200]}") from error
            found: Floats = np.asarray(outputs[0], dtype=np.float32)[: rows.stop - rows.start]
            if found.ndim != 2 or len(found) != rows.stop - rows.start:
                raise unusable(self.part, f"{self.part.path.name} does not give one vector each")
            return found

        return _in_batches(len(values), step, run)

    @cached_property
    def _output(self) -> str:
        """The name of the output: the one of two dimensions, of several the one that is named after embeddings."""
        flat = [one.name for one in self.session.get_outputs() if len(one.shape) == 2]
        named = [name for name in flat if name.endswith(("embeds", "embeddings", "embedding"))]
        if len(named or flat) != 1:
            raise unusable(self.part, f"{self.part.path.name} does not have one output of vectors (batch x dimension)")
        return str((named or flat)[0])


#: Types of inputs as ONNX Runtime names them.
_TYPES: Mapping[str, Any] = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(float16)": np.float16}


class _Encoder(ABC):
    """What both kinds of pairs have in common: checks around ``_images`` and ``_texts``, which the kinds define."""

    def __init__(self, model: PictureModel[ImageTextOptions]) -> None:
        self.model, self.options, self.parts = model, model.options, model.parts
        self.name, self.producer, self.margin = model.name, model.producer, model.options.margin
        self.neutral: Sequence[str] = tag_list().neutral
        self._dimension = 0

    def encode_images(self, images: Sequence[RgbImage]) -> Vectors:
        """Return one unit vector per RGB picture."""
        if not images:
            return np.zeros((0, self._dimension), dtype=np.float32)
        return self._checked(self._images(images))

    def encode_texts(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text."""
        if any(not text.strip() for text in texts):
            raise BackendFault(
                "empty_text", "a text without words has no vector", hint="say in words what is looked for"
            )
        if not texts:
            return np.zeros((0, self._dimension), dtype=np.float32)
        return self._checked(self._texts(texts))

    def _checked(self, vectors: Floats) -> Vectors:
        self._dimension = self._dimension or vectors.shape[1]
        if vectors.shape[1] != self._dimension:
            sizes = f"vectors of {vectors.shape[1]} and of {self._dimension} numbers"
            raise unusable(self.parts[0], f"its two encoders give {sizes}; they must be of one model")
        return _unit(vectors, self.parts[0])

    @abstractmethod
    def _images(self, images: Sequence[RgbImage]) -> Floats:
        """Return a vector for each of at least one picture, of any length."""

    @abstractmethod
    def _texts(self, texts: Sequence[str]) -> Floats:
        """Return a vector for each of at least one text, of any length."""


class OnnxImageTextEncoder(_Encoder):
    """A pair of ONNX encoders with a tokenizer file (``ImageTextEncoder``)."""

    def __init__(self, model: PictureModel[ImageTextOptions]) -> None:
        super().__init__(model)
        if len(model.parts) < 3:
            raise unusable(
                model.parts[0], "it needs an encoder of pictures, one of texts, and a tokenizer, in this order"
            )
        self._picture, self._text = _OnnxNetwork(model.parts[0]), _OnnxNetwork(model.parts[1])

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        file = self.parts[2]
        return JsonTokenizer(file) if file.path.suffix == ".json" else BpeTokenizer(file, self.options.vocabulary)

    def _images(self, images: Sequence[RgbImage]) -> Floats:
        side = self._picture.side_of(2, self.options.side)
        return self._picture.vectors(self.options.pixels(images, side))

    def _texts(self, texts: Sequence[str]) -> Floats:
        context = self._text.side_of(1, self.options.context)
        ids, mask = np.full((len(texts), context), self.options.pad), np.zeros((len(texts), context), dtype=np.int64)
        for row, text in enumerate(texts):
            tokens = self._tokenizer.encode(text)
            own = tokens if len(tokens) <= context else [*tokens[: context - 1], tokens[-1]]
            ids[row, : len(own)], mask[row, : len(own)] = own, 1
        return self._text.vectors(ids, mask)


class OpenClipEncoder(_Encoder):
    """A checkpoint file of open_clip in torch (``ImageTextEncoder``); nothing is downloaded. It uses a GPU if torch has one."""

    @cached_property
    def _loaded(self) -> tuple[Any, Any, Any, str]:
        """The model, the transformation of a picture, the tokenizer, and the device."""
        part, architecture = self.parts[0], self.options.architecture
        try:
            import open_clip
            import torch
        except ImportError as error:
            raise _extra_missing("open_clip_torch", "neural-torch", f"for the model {part.name}") from error
        check_file(part)
        config = open_clip.get_model_config(architecture) if architecture else None
        if config is None:
            raise unusable(
                part, f"open_clip has no architecture {architecture!r}; state one with --set architecture=NAME"
            )
        if {"hf_tokenizer_name", "hf_model_name"} & config.get("text_cfg", {}).keys():
            raise unusable(
                part, f"the tokenizer of {architecture} would be downloaded; export the pair to ONNX files instead"
            )
        device = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            model, _, transform = open_clip.create_model_and_transforms(
                architecture, pretrained=str(part.path.resolve()), device=device
            )
        except Exception as error:  # a checkpoint may make it raise anything
            raise unusable(part, f"{part.path.name} is no checkpoint of {architecture} ({str(error)[:200]})") from error
        return model.eval(), transform, open_clip.get_tokenizer(architecture), device

    def _images(self, images: Sequence[RgbImage]) -> Floats:
        model, transform, _, device = self._loaded
        import torch

        pictures = [PIL.Image.fromarray(np.ascontiguousarray(image)) for image in images]

        def run(rows: slice) -> Floats:
            batch = torch.stack([transform(picture) for picture in pictures[rows]]).to(device)
            with torch.inference_mode():
                found: Floats = model.encode_image(batch).float().cpu().numpy()
            return found

        return _in_batches(len(images), _BATCH, run)

    def _texts(self, texts: Sequence[str]) -> Floats:
        model, _, tokenize, device = self._loaded
        import torch

        with torch.inference_mode():
            found: Floats = model.encode_text(tokenize(list(texts)).to(device)).float().cpu().numpy()
        return found


# --- tags -------------------------------------------------------------------------------------------------------------


class _TagWords(_Strict):
    prompts: tuple[str, ...] = Field(min_length=1)
    most: int = Field(1, ge=1)
    words: dict[str, str]


class TagList(_Strict):
    """The words that a pair is asked: ``picture_tags.yaml``."""

    neutral: tuple[str, ...] = Field(min_length=1)
    kinds: dict[TagKind, _TagWords]


@cache
def tag_list() -> TagList:
    """Return the list of the project."""
    return TagList.model_validate(read_yaml(Path(__file__).with_name(_TAGS).read_bytes(), _TAGS).value)


class ZeroShotTagger:
    """Tags by a pair of encoders (``PictureTagger``): words that fit a picture better than neutral texts, by a margin."""

    def __init__(self, encoder: ImageTextEncoder, words: TagList | None = None) -> None:
        self._encoder = encoder
        self._list = words or tag_list()
        self.parameters: Mapping[str, Any] = {
            "image_text": encoder.producer,
            "tags": content_hash(self._list.model_dump(mode="json"))[:16],
        }

    def tag(self, images: Sequence[RgbImage]) -> Sequence[TaggedPicture]:
        """Return the tags and the vector of each picture."""
        vectors = self._encoder.encode_images(images)
        neutral, prompts = self._prompts
        least = (vectors @ neutral.T).max(axis=1) if len(vectors) else np.zeros(0)
        tags: list[list[PictureTag]] = [[] for _ in images]
        for kind, own in self._list.kinds.items():
            above = vectors @ prompts[kind].T - least[:, None]
            for picture, scores in enumerate(above):
                for place in np.argsort(-scores, kind="stable")[: own.most].tolist():
                    if scores[place] >= self._encoder.margin:
                        word, chinese = list(own.words.items())[place]
                        score = round(float(scores[place]), 4)
                        tags[picture].append(PictureTag(kind=kind, word=word, chinese=chinese, score=score))
        return [TaggedPicture(tags=tuple(own), vector=vector) for own, vector in zip(tags, vectors, strict=True)]

    @cached_property
    def _prompts(self) -> tuple[Vectors, dict[TagKind, Vectors]]:
        """The vectors of the neutral texts, and of the words of each kind: the mean of their prompts."""
        found: dict[TagKind, Vectors] = {}
        for kind, own in self._list.kinds.items():
            texts = [prompt.format(word) for prompt in own.prompts for word in own.words]
            mean = self._encoder.encode_texts(texts).reshape(len(own.prompts), len(own.words), -1).mean(axis=0)
            lengths = np.linalg.norm(mean, axis=1, keepdims=True)
            found[kind] = np.divide(mean, lengths, out=np.zeros_like(mean), where=lengths > 1e-6)
        return self._encoder.encode_texts(self._list.neutral), found


class OnnxClassifier:
    """Tags of things by an image classifier in ONNX (``PictureTagger``), such as one of the 1,000 classes of ImageNet."""

    _MOST = 2  #: tags of one picture

    def __init__(self, model: PictureModel[ClassifierOptions]) -> None:
        self._options, self._network = model.options, _OnnxNetwork(model.parts[0])
        self.parameters: Mapping[str, Any] = {"classifier": model.producer}

    def tag(self, images: Sequence[RgbImage]) -> Sequence[TaggedPicture]:
        """Return for each picture its most probable classes from the least probability on; no vectors."""
        if not images:
            return []
        side = self._network.side_of(2, self._options.side)
        scores = self._network.vectors(self._options.pixels(images, side))
        labels = self._options.labels
        if scores.shape[1] != len(labels):
            raise unusable(self._network.part, f"it has {scores.shape[1]} classes, and {len(labels)} labels are listed")
        if not np.isfinite(scores).all():
            raise unusable(self._network.part, "its scores are not finite")
        if (scores < 0).any() or not np.allclose(scores.sum(axis=1), 1, atol=1e-3):  # logits
            scores = np.exp(scores - scores.max(axis=1, keepdims=True))
            scores /= scores.sum(axis=1, keepdims=True)
        return [TaggedPicture(tags=self._best(own)) for own in scores]

    def _best(self, scores: Floats) -> tuple[PictureTag, ...]:
        best: dict[str, float] = {}  # two classes may have one label, such as the bird and the machine "crane"
        for place in np.argsort(-scores, kind="stable")[: self._MOST].tolist():
            if scores[place] >= self._options.least:
                best.setdefault(self._options.labels[place], round(float(scores[place]), 4))
        return tuple(PictureTag(kind="thing", word=word, chinese="", score=score) for word, score in best.items())

"""Sentence encoders: vectors of texts in which paraphrases and translations are near each other (``TextEmbedder``).

``UseEncoder`` runs the multilingual Universal Sentence Encoder in NumPy, from its weights alone. The others run an encoder that a
user adds: an ONNX export with its ``tokenizer.json``, or a folder of the package sentence-transformers.

Sources: Yang et al., "Multilingual universal sentence encoder for semantic retrieval" (2020); Kudo, "Subword regularization"
(2018), for the unigram tokenizer and its Viterbi search; Reimers and Gurevych, "Sentence-BERT" (2019), for pooling.
"""

from __future__ import annotations

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, count
from pathlib import Path
from struct import unpack_from
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveInt, model_validator

from world_api.core.faults import BackendFault
from world_api.core.ports import Calibration, TextEmbedder, Vectors
from world_api.installation import install_command
from world_api.perception.detector import check_file, open_session, unusable
from world_api.perception.image_text import JsonTokenizer, ModelPart, PictureModel

Floats = NDArray[np.float32]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SentenceLimits(_Strict):
    """The fields of ``Calibration``."""

    sure: float = Field(gt=0, le=1)
    doubtful: float = Field(gt=0, le=1)
    lines: int = Field(gt=0)
    growth: float = Field(ge=0, lt=0.2)
    absent: tuple[NonNegativeInt, PositiveInt]
    present: tuple[NonNegativeInt, PositiveInt]

    @model_validator(mode="after")
    def _are_in_order(self) -> SentenceLimits:
        if self.doubtful > self.sure:
            raise ValueError("doubtful is above sure")
        return self


class SentenceOptions(_Strict):
    """The options of a text encoder in the catalogue of models.

    Attributes:
        kind: ``use`` (files: weights, tokenizer), ``onnx`` (network, tokenizer.json, then weights beside the network) or
            ``sentence-transformers`` (all files of a folder; ``modules.json`` comes first).
        pooling: How the vectors of tokens become one, for an ONNX file that does not do it itself.
        context: Tokens of a text; longer ones are cut.
        query: What is put before a query, and ``line`` before what is searched, for encoders that are trained with it.
        calibration: The limits that were measured with this encoder; None if none were.
    """

    kind: Literal["use", "onnx", "sentence-transformers"] = "onnx"
    pooling: Literal["mean", "first"] = "mean"
    context: int = Field(128, ge=3, le=8192)
    query: str = ""
    line: str = ""
    calibration: SentenceLimits | None = None


class _Encoder(ABC):
    """What all kinds have in common: identity, limits, batches of texts of similar length, vectors of unit length."""

    understands = True
    _BATCH = 32

    def __init__(self, model: PictureModel[SentenceOptions]) -> None:
        self.model, self.options, self.name = model, model.options, model.name
        # Other limits do not change its vectors.
        self.producer = replace(model, options=model.options.model_copy(update={"calibration": None})).producer
        limits = model.options.calibration
        self.calibration = None if limits is None else Calibration(**limits.model_dump())
        self.noise_floor = 0.0 if self.calibration is None else max(0.0, self.calibration.limits(1)[0])

    @cached_property
    def dimension(self) -> int:
        """The length of a vector."""
        return int(self._vectors(["a"]).shape[1])

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, for what is searched; zero for a text without letters and digits."""
        return self._embed(texts, self.options.line)

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a query, shape (1, dimension)."""
        return self._embed([text], self.options.query)

    def _embed(self, texts: Sequence[str], before: str) -> Vectors:
        found = np.zeros((len(texts), self.dimension), dtype=np.float32)
        order = [at for at in range(len(texts)) if any(map(str.isalnum, texts[at]))]
        order.sort(key=lambda at: len(texts[at]))
        for first in range(0, len(order), self._BATCH):
            places = order[first : first + self._BATCH]
            vectors = self._vectors([before + texts[at] for at in places])
            if not np.isfinite(vectors).all():
                raise unusable(self.model.parts[0], "its vectors are not finite")
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            found[places] = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 1e-6)
        return found

    @abstractmethod
    def _vectors(self, texts: Sequence[str]) -> Floats:
        """Return a vector of any length for each of a few texts, shape (texts, dimension)."""


# --- Universal Sentence Encoder ---------------------------------------------------------------------------------------

_SPACE, _UNKNOWN, _START, _END = "▁", 0, 1, 2
#: What an unknown character costs beyond the rarest piece, as the tokenizer was trained.
_PENALTY = 10.0


class UnigramTokenizer:
    """A unigram tokenizer from a SentencePiece file: the pieces of a text whose probabilities have the greatest product.

    Texts are put into Unicode's compatibility form. The file has a table of its own for that, which differs in a few
    control characters.

    Raises BackendFault: ``model_missing``, ``model_damaged``, ``model_unusable``.
    """

    def __init__(self, file: ModelPart) -> None:
        check_file(file)
        content = file.path.read_bytes()
        try:
            entries = [dict(_fields(piece)) for number, piece in _fields(content) if number == 1]
            pieces = [entry[1].decode() for entry in entries]
            self._scores: list[float] = [unpack_from("<f", entry[2])[0] if 2 in entry else 0.0 for entry in entries]
            self._rarest, self._longest = min(self._scores) - _PENALTY, max(map(len, pieces))
        except (KeyError, IndexError, ValueError, AttributeError) as error:
            raise unusable(file, f"{file.path.name} is no SentencePiece file") from error
        self._pieces = {piece: number for number, piece in enumerate(pieces) if number > _END}

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text of any length, with those that mark its start and its end."""
        shown = "".join(" " if unicodedata.category(one) in {"Cc", "Cf"} else one for one in text)
        words = unicodedata.normalize("NFKC", shown).split()
        spaced = "".join(f"{_SPACE}{word}" for word in words)
        # best[at]: the score of the best way to the place, the place where its last piece begins, and that piece.
        best: list[tuple[float, int, int]] = [(0.0, 0, _UNKNOWN), *[(-np.inf, 0, _UNKNOWN)] * len(spaced)]
        for first in range(len(spaced)):
            base = best[first][0]
            if base + self._rarest > best[first + 1][0]:
                best[first + 1] = (base + self._rarest, first, _UNKNOWN)
            for end in range(first + 1, min(first + self._longest, len(spaced)) + 1):
                piece = self._pieces.get(spaced[first:end])
                if piece is not None and base + self._scores[piece] > best[end][0]:
                    best[end] = (base + self._scores[piece], first, piece)
        tokens, at = [_END], len(spaced)
        while at:
            _, at, piece = best[at]
            tokens.append(piece)
        return [*reversed([*tokens, _START])]


def _fields(content: bytes) -> Iterator[tuple[int, Any]]:
    """Yield number and value of the fields of a message in Protocol Buffers' wire format."""
    at = 0

    def number() -> int:
        nonlocal at
        found = 0
        for shift in count(0, 7):
            found |= (content[at] & 127) << shift
            at += 1
            if content[at - 1] < 128:
                break
        return found

    while at < len(content):
        field, kind = divmod(number(), 8)
        length = {0: 0, 1: 8, 5: 4}.get(kind)
        if kind == 0:
            yield field, number()
            continue
        if length is None:
            length = number()
        if kind not in (1, 2, 5) or at + length > len(content):
            raise ValueError(kind)
        yield field, content[at : at + length]
        at += length


class UseEncoder(_Encoder):
    """The multilingual Universal Sentence Encoder (version 3), with its vocabulary's vectors in 8 bits.

    The vectors of the tokens and three convolutions over 2, 3 and 5 of them are averaged, and a network with two residual
    blocks makes one vector of 512 numbers of that.
    """

    dimension = 512
    _ORDERS = ((2, 0), (3, 1), (5, 2))  #: tokens of a window, and how many of them are before its own
    #: Parts of the vocabulary; rows of zeros between two texts, at least as many as a window reaches.
    _CHUNKS, _GAP = 17, 4

    def __init__(self, model: PictureModel[SentenceOptions]) -> None:
        super().__init__(model)
        if len(model.parts) != 2:
            raise unusable(model.parts[0], "it needs a file of weights and one of the tokenizer, in this order")

    @cached_property
    def _tokenizer(self) -> UnigramTokenizer:
        return UnigramTokenizer(self.model.parts[1])

    @cached_property
    def _weights(self) -> Mapping[str, NDArray[Any]]:
        file = self.model.parts[0]
        check_file(file)
        try:
            with np.load(file.path, allow_pickle=False) as stored:
                found = {name: stored[name] for name in stored.files}
            # Piece n of the vocabulary is row n // 17 of part n % 17.
            parts = [found.pop(f"q{part}") for part in range(1, self._CHUNKS + 1)]
            found["table"] = np.stack(parts, axis=1).reshape(-1, self.dimension)
        except (OSError, ValueError, KeyError) as error:
            raise unusable(file, f"{file.path.name} does not have the weights of this encoder") from error
        for kind in ("proj", "proj_b", "ln_g", "ln_b"):
            found[f"{kind}_all"] = np.concatenate([found[f"{kind}{order}"] for order, _ in self._ORDERS], axis=-1)
        return found

    def _vectors(self, texts: Sequence[str]) -> Floats:
        weights = self._weights
        tokens = [self._cut(self._tokenizer.encode(text)) for text in texts]
        lengths = np.array([len(own) for own in tokens])
        gap = [-1] * self._GAP
        row = np.array([*chain(gap, *((*own, *gap) for own in tokens))])
        inside = row >= 0
        ids = row[inside]
        part = (ids % self._CHUNKS)[:, None]
        features = weights["table"][ids] * weights["scale"][part] + weights["lo"][part]
        narrow = self._normed(features @ weights["proj_all"] + weights["proj_b_all"], "_all")
        width = narrow.shape[1] // len(self._ORDERS)
        found = [features]
        for place, (order, before) in enumerate(self._ORDERS):
            values = narrow[:, place * width : (place + 1) * width]
            for layer in ("1", "2"):
                spread = np.zeros((len(row), width), dtype=np.float32)
                spread[inside] = values
                at = np.flatnonzero(inside)[:, None] + np.arange(-before, order - before)
                window = spread[at].reshape(len(at), -1)
                values = values + np.maximum(window @ weights[f"w{layer}_{order}"] + weights[f"b{layer}_{order}"], 0)
            found.append(values)
        every = self._normed(np.concatenate(found, axis=1), "")
        firsts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        totals = np.add.reduceat(every, firsts, axis=0) @ weights["cnn_W"] + lengths[:, None] * weights["cnn_b"]
        mean = (totals / np.sqrt(lengths)[:, None]).astype(np.float32)
        inner = np.maximum(mean @ weights["d0"], 0)
        middle = np.maximum(mean @ weights["p1"] + inner @ weights["d1"], 0)
        outer = np.maximum(middle @ weights["d2"], 0)
        vectors: Floats = np.tanh(middle @ weights["p3"] + outer @ weights["d3"]).astype(np.float32)
        return vectors

    def _cut(self, tokens: list[int]) -> list[int]:
        return tokens if len(tokens) <= self.options.context else [*tokens[: self.options.context - 1], tokens[-1]]

    def _normed(self, values: Floats, of: str) -> Floats:
        """Return rows with mean 0 and variance 1, scaled and moved by the weights of a layer."""
        weights = self._weights
        values = values - values.mean(axis=1, keepdims=True)
        values /= np.sqrt(np.square(values).mean(axis=1, keepdims=True) + float(weights["eps"]))
        found: Floats = values * weights[f"ln_g{of}"] + weights[f"ln_b{of}"]
        return found


# --- encoders of users ------------------------------------------------------------------------------------------------


class OnnxSentenceEncoder(_Encoder):
    """An ONNX export of a sentence encoder.

    Inputs: tokens (``input_ids``), and as far as the file has them their mask, types and positions. Output: a vector per text
    (texts x dimension), if it is the only output or ``sentence_embedding``, else the tokens' vectors (texts x tokens x
    dimension), which are pooled as ``pooling`` says. Another vector per text, such as ``pooler_output``, was trained for
    something else.
    """

    _FILLED = ("input_ids", "attention_mask", "token_type_ids", "position_ids")

    def __init__(self, model: PictureModel[SentenceOptions]) -> None:
        super().__init__(model)
        if len(model.parts) < 2:
            raise unusable(model.parts[0], "it needs a network and a tokenizer.json, in this order")

    @cached_property
    def _session(self) -> Any:
        return open_session(self.model.parts[0])

    @cached_property
    def _tokenizer(self) -> JsonTokenizer:
        return JsonTokenizer(self.model.parts[1])

    def _vectors(self, texts: Sequence[str]) -> Floats:
        tokens = [self._tokenizer.encode(text) for text in texts]
        tokens = [own if len(own) <= (most := self.options.context) else [*own[: most - 1], own[-1]] for own in tokens]
        length = max(map(len, tokens))
        ids, mask = np.zeros((len(texts), length), dtype=np.int64), np.zeros((len(texts), length), dtype=np.int64)
        for row, own in enumerate(tokens):
            ids[row, : len(own)], mask[row, : len(own)] = own, 1
        positions = np.broadcast_to(np.arange(length), ids.shape)
        given = dict(zip(self._FILLED, (ids, mask, np.zeros_like(ids), positions), strict=True))
        wanted = [one.name for one in self._session.get_inputs()]
        if unknown := [name for name in wanted if name not in given]:
            raise unusable(self.model.parts[0], f"its input {unknown[0]} is none of {', '.join(self._FILLED)}")
        try:
            outputs = self._session.run(None, {name: given[name] for name in wanted})
        except Exception as error:  # its exceptions have no common class
            raise unusable(self.model.parts[0], str(error).splitlines()[0][:200]) from error
        names = [one.name for one in self._session.get_outputs()]
        found = {name: np.asarray(one, dtype=np.float32) for name, one in zip(names, outputs, strict=True)}
        ready = found.get("sentence_embedding", found[names[0]] if len(names) == 1 else None)
        if ready is not None and ready.ndim == 2 and len(ready) == len(texts):
            return ready
        of_tokens = next((one for one in found.values() if one.ndim == 3 and one.shape[:2] == ids.shape), None)
        if of_tokens is None:
            what = "it has no output of vectors: texts x tokens x dimension, or texts x dimension"
            raise unusable(self.model.parts[0], what)
        if self.options.pooling == "first":
            return of_tokens[:, 0]
        weights = mask[..., None].astype(np.float32)
        mean: Floats = (of_tokens * weights).sum(axis=1) / weights.sum(axis=1)
        return mean


class SentenceTransformersEncoder(_Encoder):
    """A folder of the package sentence-transformers in torch; nothing is downloaded, and no code of the folder is run."""

    @cached_property
    def _network(self) -> Any:
        for part in self.model.parts:
            check_file(part)
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            said = f"the package sentence-transformers is needed for the model {self.name} and is not installed"
            hint = f"pip install sentence-transformers; {install_command('neural-torch')} for torch"
            raise BackendFault("extra_missing", said, hint=hint) from error
        folder = self.model.parts[0].path.parent
        try:
            return SentenceTransformer(str(folder), local_files_only=True, trust_remote_code=False)
        except Exception as error:  # a folder may make it raise anything
            raise unusable(self.model.parts[0], f"{folder.name} cannot be loaded ({str(error)[:200]})") from error

    def _vectors(self, texts: Sequence[str]) -> Floats:
        found: Floats = np.asarray(
            self._network.encode(list(texts), show_progress_bar=False, convert_to_numpy=True), dtype=np.float32
        )
        return found


#: ``kind`` -> the encoder of a model with these options.
KINDS: Mapping[str, Callable[[PictureModel[SentenceOptions]], _Encoder]] = {
    "use": UseEncoder,
    "onnx": OnnxSentenceEncoder,
    "sentence-transformers": SentenceTransformersEncoder,
}


_MODULES, _PARTS = "modules.json", (".json", ".txt", ".model", ".safetensors", ".bin")


def files_of_encoder(folder: Path, *, hint: str) -> list[Path]:
    """Return the files of a text encoder in a folder: of sentence-transformers, its description first; else of an ONNX export.

    An export has one network, ``tokenizer.json``, and perhaps the network's weights. ``hint``: that of the fault.

    Raises BackendFault: ``model_missing``.
    """
    if (folder / _MODULES).is_file():
        others = sorted(path for path in folder.rglob("*") if path.suffix in _PARTS and path != folder / _MODULES)
        return [folder / _MODULES, *others]
    networks, tokenizer = sorted(folder.glob("*.onnx")), folder / "tokenizer.json"
    if len(networks) != 1 or not tokenizer.is_file():
        what = f"{folder.resolve()} contains neither {_MODULES} nor one ONNX file and tokenizer.json"
        raise BackendFault("model_missing", what, hint=hint)
    weights = sorted(path for path in folder.iterdir() if path.name.endswith((".data", ".onnx_data")))
    return [networks[0], tokenizer, *weights]


def try_encoder(encoder: TextEmbedder) -> None:
    """Embed three sentences with a text encoder, of which two mean the same.

    Raises BackendFault: ``model_unusable`` if these are not nearer each other than the third; those of ``TextEmbedder.embed``.
    """
    one, same, other = encoder.embed(
        ["A dog runs in the park.", "In the park a dog is running.", "Oil prices rose again."]
    )
    if not one.any() or one @ same <= max(one @ other, same @ other):
        what = f"for the model {encoder.producer} two sentences that mean the same are no nearer than two that do not"
        raise BackendFault(
            "model_unusable", what, hint="check its files, its tokenizer and --set pooling=first or mean"
        )

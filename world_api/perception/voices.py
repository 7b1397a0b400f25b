"""Speaker encoders: vectors of voices in which two pieces of one person's speech are near each other (``VoiceEmbedder``).

``ResemblyzerEncoder`` runs the network of the package Resemblyzer in NumPy, from its weights alone. ``OnnxVoiceEncoder`` runs an
ONNX export of a speaker encoder that a user adds, such as ECAPA-TDNN or a model of WeSpeaker.

Sources: Wan et al., "Generalized end-to-end loss for speaker verification" (2018); Hochreiter and Schmidhuber, "Long short-term
memory" (1997); Slaney, "Auditory toolbox" (1998), and Povey et al., "The Kaldi speech recognition toolkit" (2011), for the two
kinds of mel spectra.
"""

from __future__ import annotations

import io
import math
import pickle
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from world_api.core.faults import BackendFault
from world_api.core.ports import SAMPLE_RATE, Samples, Vectors, VoiceEmbedder
from world_api.perception.detector import check_file, open_session, unusable
from world_api.perception.image_text import PictureModel

Floats = NDArray[np.float32]

#: Samples of a frame of a spectrum (25 ms) and from one to the next (10 ms).
_FRAME, _HOP = 400, 160
#: The least duration (seconds) that can be embedded.
_LEAST = 0.4


class VoiceOptions(BaseModel):
    """The options of a speaker encoder in the catalogue of models.

    Attributes:
        kind: ``resemblyzer`` (a checkpoint of that package) or ``onnx`` (input: frames of log mel energies, 1 x frames x bins;
            output: the vector).
        bins: Mel bands of a frame, for an ONNX file that leaves them free.
        window: The window of its frames: ``hamming`` (WeSpeaker) or ``povey`` (Kaldi's default).
        sure: Inner product from which two pieces of speech are of one voice, and ``doubtful`` below which they are of two.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["resemblyzer", "onnx"] = "onnx"
    bins: int = Field(80, ge=20, le=256)
    window: Literal["hamming", "povey"] = "hamming"
    sure: float = Field(gt=0, le=1)
    doubtful: float = Field(gt=0, le=1)

    @model_validator(mode="after")
    def _are_in_order(self) -> VoiceOptions:
        if self.doubtful > self.sure:
            raise ValueError("doubtful is above sure")
        return self


class _Encoder(ABC):
    """What both kinds have in common: identity, limits, vectors of unit length."""

    def __init__(self, model: PictureModel[VoiceOptions]) -> None:
        self.model, self.options, self.name = model, model.options, model.name
        self.producer, self.sure, self.doubtful = model.producer, model.options.sure, model.options.doubtful

    def embed(self, pieces: Sequence[Samples]) -> Vectors:
        """Return one unit vector per piece of speech of one voice; zero for less than 0.4 s and for silence."""
        found = np.zeros((len(pieces), self.dimension), dtype=np.float32)
        usable = [at for at, piece in enumerate(pieces) if len(piece) >= _LEAST * SAMPLE_RATE and piece.any()]
        if not usable:
            return found
        vectors = self._vectors([pieces[at] for at in usable])
        if not np.isfinite(vectors).all():
            raise unusable(self.model.parts[0], "its vectors are not finite")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        found[usable] = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 1e-6)
        return found

    @cached_property
    def dimension(self) -> int:
        """The length of a vector."""
        noise = np.random.default_rng(0).normal(0, 0.1, SAMPLE_RATE).astype(np.float32)
        return int(self._vectors([noise]).shape[1])

    @abstractmethod
    def _vectors(self, pieces: Sequence[Samples]) -> Floats:
        """Return vectors of any length, shape (pieces, dimension), of pieces of at least 0.4 s."""


# --- Resemblyzer ------------------------------------------------------------------------------------------------------


class _Weights(pickle.Unpickler):
    """Reads tensors out of a checkpoint in torch's format of before version 1.6; it creates nothing but arrays and containers.

    The file consists of three pickled values, the pickled state, the pickled keys of the storages, and the storages:
    the number of values (8 bytes), then float32 values.
    """

    def __init__(self, file: io.BytesIO, storages: dict[str, Floats]) -> None:
        super().__init__(file)
        self._storages = storages
        self._most = len(file.getbuffer()) // 4  # values of a storage

    def find_class(self, module: str, name: str) -> Any:
        """Return what stands for a class or function of the file. Raises UnpicklingError for any that tensors do not need."""
        known: dict[tuple[str, str], Any] = {
            ("collections", "OrderedDict"): OrderedDict,
            ("torch", "FloatStorage"): np.float32,
            ("torch._utils", "_rebuild_tensor_v2"): _tensor,
        }
        if (module, name) not in known:
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a tensor")
        return known[module, name]

    def persistent_load(self, pid: Any) -> Floats:
        """Return a storage, which is filled after the state was read."""
        _, _, key, _, count, *_ = pid
        if not 0 <= int(count) <= self._most:
            raise pickle.UnpicklingError("a storage is larger than the file")
        return self._storages.setdefault(str(key), np.zeros(int(count), dtype=np.float32))


def _tensor(storage: Floats, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: object) -> Floats:
    """Return a view of a storage; ``strides`` in values. Raises ValueError if it is none, or the view does not lie in it."""
    if type(storage) is not np.ndarray or storage.ndim != 1 or storage.dtype != np.float32 or not storage.flags.owndata:
        raise ValueError("a tensor has no storage")
    last = offset + sum((side - 1) * step for side, step in zip(shape, strides, strict=True))
    if offset < 0 or min((*shape, *strides), default=1) < 0 or last >= len(storage):
        raise ValueError("a tensor is outside its storage")
    return np.lib.stride_tricks.as_strided(storage[offset:], shape, [4 * step for step in strides], writeable=False)


def read_tensors(content: bytes, name: str) -> dict[str, Floats]:
    """Return the tensors of a dictionary ``name`` in a checkpoint (``_Weights``); nothing of the file is run.

    Raises pickle.UnpicklingError, ValueError, KeyError, EOFError: it is no such file.
    """
    file, storages = io.BytesIO(content), dict[str, Floats]()
    for _ in range(3):
        _Weights(file, {}).load()
    state = _Weights(file, storages).load()
    for key in _Weights(file, {}).load():
        count = int(np.frombuffer(file.read(8), dtype="<i8")[0])
        values = np.frombuffer(file.read(4 * count), dtype="<f4")
        if key in storages:
            storages[key][:] = values
    found: dict[str, Floats] = dict(state[name])
    if not all(isinstance(one, np.ndarray) for one in found.values()):
        raise ValueError("it holds other values than tensors")
    return found


class ResemblyzerEncoder(_Encoder):
    """The speaker encoder of Resemblyzer: three LSTM layers over 40 mel bands, 256 numbers; windows of 1.6 s are averaged."""

    _BANDS, _LAYERS, _WINDOW = 40, 3, 160
    #: Frames from one window to the next, the least share of a last window that is sound, and the level of speech (dBFS).
    _STEP, _COVERED, _LEVEL = 77, 0.75, -30.0
    #: Windows that run at once, and columns of a block of weights.
    _BATCH, _BLOCK = 32, 32

    @cached_property
    def _network(self) -> Mapping[str, Floats]:
        file = self.model.parts[0]
        check_file(file)
        try:
            found = read_tensors(file.path.read_bytes(), "model_state")
            wanted: dict[str, tuple[int, ...]] = {"linear.weight": (256, 256), "linear.bias": (256,)}
            for layer in range(self._LAYERS):
                wanted[f"lstm.weight_ih_l{layer}"] = (1024, 256 if layer else self._BANDS)
                wanted[f"lstm.weight_hh_l{layer}"] = (1024, 256)
                wanted |= {f"lstm.bias_{part}_l{layer}": (1024,) for part in ("ih", "hh")}
            if {name: found[name].shape for name in wanted} != wanted:
                raise ValueError("other layers")
            for layer in range(self._LAYERS):
                for part in ("ih", "hh"):
                    weights = found[f"lstm.weight_{part}_l{layer}"]
                    blocks = weights.reshape(-1, self._BLOCK, weights.shape[1]).transpose(0, 2, 1)
                    found[f"{part}{layer}"] = np.ascontiguousarray(blocks)
                found[f"bias{layer}"] = found[f"lstm.bias_ih_l{layer}"] + found[f"lstm.bias_hh_l{layer}"]
        except (pickle.UnpicklingError, ValueError, KeyError, EOFError, IndexError, TypeError) as error:
            raise unusable(file, f"{file.path.name} does not have the weights of this encoder") from error
        return found

    def _vectors(self, pieces: Sequence[Samples]) -> Floats:
        parts = [self._windows(piece) for piece in pieces]
        windows = np.concatenate(parts)
        vectors = np.concatenate(
            [self._of_windows(windows[first : first + self._BATCH]) for first in range(0, len(windows), self._BATCH)]
        )
        firsts = np.cumsum([0, *map(len, parts[:-1])])
        sums: Floats = np.add.reduceat(vectors, firsts, axis=0)
        return sums

    def _windows(self, samples: Samples) -> Floats:
        """Return the mel spectra of the windows of a piece, shape (windows, frames, bands)."""
        level = 10 * math.log10(max(1e-12, float(np.square(samples, dtype=np.float64).mean())))
        loud = samples * np.float32(10 ** (max(0.0, self._LEVEL - level) / 20))
        frames = len(samples) // _HOP + 1
        starts = list(range(0, max(1, frames - self._WINDOW + self._STEP + 1), self._STEP))
        if len(starts) > 1 and len(samples) / _HOP - starts[-1] < self._COVERED * self._WINDOW:
            starts.pop()
        needed = (starts[-1] + self._WINDOW) * _HOP
        mel = _slaney_spectrum(np.pad(loud, (0, max(0, needed - len(loud)))), self._BANDS)
        return np.stack([mel[start : start + self._WINDOW] for start in starts])

    def _of_windows(self, windows: Floats) -> Floats:
        """Return the unit vectors of at most ``_BATCH`` windows; each depends on its own window alone."""
        weights, count = self._network, len(windows)
        values = np.zeros((self._WINDOW, self._BATCH, self._BANDS), dtype=np.float32)
        values[:, :count] = windows.transpose(1, 0, 2)
        for layer in range(self._LAYERS):
            given = _product(values, weights[f"ih{layer}"]) + weights[f"bias{layer}"]
            hidden = cell = np.zeros((self._BATCH, 256), dtype=np.float32)
            values = np.empty((len(given), *hidden.shape), dtype=np.float32)
            for time, gates in enumerate(given):
                enters, keeps, fresh, leaves = np.split(gates + _product(hidden, weights[f"hh{layer}"]), 4, axis=1)
                cell = _sigmoid(keeps) * cell + _sigmoid(enters) * np.tanh(fresh)
                values[time] = hidden = _sigmoid(leaves) * np.tanh(cell)
        raw = np.maximum(values[-1, :count] @ weights["linear.weight"].T + weights["linear.bias"], 0)
        unit: Floats = raw / np.maximum(np.linalg.norm(raw, axis=1, keepdims=True), 1e-6)
        return unit


def _product(values: Floats, blocks: Floats) -> Floats:
    """Return the product of values (..., rows, k) with a matrix in blocks of columns (blocks, k, columns): (..., rows, all columns).

    The blocks are too small for the library to divide among threads, which would take longer than such a product.
    """
    parts = values[..., None, :, :] @ blocks
    found: Floats = np.moveaxis(parts, -3, -2).reshape(*values.shape[:-1], -1)
    return found


def _sigmoid(values: Floats) -> Floats:
    found: Floats = np.float32(0.5) * (np.tanh(np.float32(0.5) * values) + np.float32(1))
    return found


def _slaney_spectrum(samples: Samples, bands: int) -> Floats:
    """Return mel power spectra, shape (frames, bands); frame n is centred at ``n * _HOP``."""
    framed = sliding_window_view(np.pad(samples, _FRAME // 2), _FRAME)[::_HOP]
    window = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_FRAME) / _FRAME)).astype(np.float32)
    power = np.abs(np.fft.rfft(framed * window, axis=1)) ** 2
    spectrum: Floats = (power @ _slaney_bands(bands)).astype(np.float32)
    return spectrum


@cache
def _slaney_bands(bands: int) -> NDArray[np.float64]:
    """Return the triangular bands from 0 Hz to half the rate, each with the area 1, shape (frequencies, bands)."""
    step, knee, growth = 200 / 3, 1000.0, math.log(6.4) / 27  # linear up to the knee, logarithmic beyond it
    top = knee / step + math.log(SAMPLE_RATE / 2 / knee) / growth
    mels = np.linspace(0.0, top, bands + 2)
    edges = np.where(mels < knee / step, step * mels, knee * np.exp(growth * (mels - knee / step)))
    return _triangles(edges, np.linspace(0.0, SAMPLE_RATE / 2, _FRAME // 2 + 1, dtype=np.float64)) * (
        2 / (edges[2:] - edges[:-2])
    )


def _triangles(edges: NDArray[np.float64], places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the heights of triangles between edges (n + 2) at places (m): shape (m, n)."""
    rising = (places[:, None] - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - places[:, None]) / (edges[2:] - edges[1:-1])
    return np.maximum(0.0, np.minimum(rising, falling))


# --- encoders of users ------------------------------------------------------------------------------------------------


class OnnxVoiceEncoder(_Encoder):
    """An ONNX export of a speaker encoder that takes Kaldi's log mel energies without their mean over time."""

    @cached_property
    def _session(self) -> Any:
        return open_session(self.model.parts[0])

    def _vectors(self, pieces: Sequence[Samples]) -> Floats:
        file, inputs = self.model.parts[0], self._session.get_inputs()
        shape = inputs[0].shape
        if len(inputs) != 1 or len(shape) != 3:
            raise unusable(file, f"its input has the shape {shape} instead of batch x frames x bands")
        bins = shape[2] if isinstance(shape[2], int) else self.options.bins
        found: list[Floats] = []
        for piece in pieces:  # of different lengths
            features = _kaldi_energies(piece, bins, self.options.window)
            try:
                outputs = self._session.run(None, {inputs[0].name: features[None]})
            except Exception as error:  # its exceptions have no common class
                raise unusable(file, str(error).splitlines()[0][:200]) from error
            vector = np.asarray(outputs[-1], dtype=np.float32)  # WeSpeaker's vector is the last of its outputs
            if vector.size != vector.shape[-1] or vector.size < 2:
                raise unusable(file, f"its output has the shape {list(vector.shape)} instead of one vector")
            found.append(vector.reshape(-1))
        return np.stack(found)


def _kaldi_energies(samples: Samples, bins: int, window: str) -> Floats:
    """Return log mel energies from 20 Hz on without their mean over time, shape (frames, bins)."""
    framed = sliding_window_view(samples.astype(np.float64) * 32768, _FRAME)[::_HOP]
    framed = framed - framed.mean(axis=1, keepdims=True)
    framed = framed - 0.97 * np.concatenate([framed[:, :1], framed[:, :-1]], axis=1)
    turn = 2 * np.pi * np.arange(_FRAME) / (_FRAME - 1)
    shape = 0.54 - 0.46 * np.cos(turn) if window == "hamming" else (0.5 - 0.5 * np.cos(turn)) ** 0.85
    power = np.abs(np.fft.rfft(framed * shape, 512, axis=1)) ** 2
    energies = np.log(np.maximum(power @ _kaldi_bands(bins), float(np.finfo(np.float32).eps)))
    found: Floats = (energies - energies.mean(axis=0)).astype(np.float32)
    return found


@cache
def _kaldi_bands(bins: int) -> NDArray[np.float64]:
    def mel(frequency: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(1127.0 * np.log1p(frequency / 700.0))

    low, high = mel(np.array([20.0, SAMPLE_RATE / 2]))
    return _triangles(np.linspace(low, high, bins + 2), mel(np.linspace(0.0, SAMPLE_RATE / 2, 257, dtype=np.float64)))


#: ``kind`` -> the encoder of a model with these options.
KINDS: Mapping[str, Callable[[PictureModel[VoiceOptions]], VoiceEmbedder]] = {
    "resemblyzer": ResemblyzerEncoder,
    "onnx": OnnxVoiceEncoder,
}


def try_voice_embedder(embedder: VoiceEmbedder) -> None:
    """Embed two buzzing sounds and a part of the first one.

    Raises BackendFault: ``model_unusable`` if the part is not nearer the whole than the other sound; those of ``VoiceEmbedder.embed``.
    """
    time, tones = np.arange(3 * SAMPLE_RATE) / SAMPLE_RATE, np.arange(1, 20)
    low, high = (
        (np.sin(2 * np.pi * pitch * np.outer(time, tones)) * (0.1 / tones)).sum(axis=1).astype(np.float32)
        for pitch in (110.0, 230.0)
    )
    one, part, other = embedder.embed([low, low[: 2 * SAMPLE_RATE], high])
    if not one.any() or one @ part <= one @ other:
        what = f"for the model {embedder.producer} a sound is no nearer a part of it than another sound"
        raise BackendFault("model_unusable", what, hint="check its file, and --set bins=... and window=...")

"""Sound tagging with YAMNet: log-mel spectra in NumPy, and a TFLite model that takes patches of them.

The model and the names of its classes are files of the catalogue; the package ``ai-edge-litert`` is imported when sound is tagged.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from world_api.core.faults import BackendFault
from world_api.core.files import hash_file
from world_api.core.ports import SAMPLE_RATE, Samples, TaggedSound
from world_api.installation import install_command, installed

LITERT = "ai-edge-litert"
#: Samples of a window of the spectrum, of the step between two, and of the Fourier transform.
_WINDOW, _STEP, _FFT = 400, 160, 512
#: Mel bands, their range in Hz, and what is added before the logarithm.
_BANDS, _LOW, _HIGH, _OFFSET = 64, 125.0, 7500.0, 0.001
#: Windows of a patch, and of the step between two patches.
_PATCH, _HOP = 96, 48
#: Patches that are tagged at once: what is in memory does not grow with the sound.
_AT_ONCE = 64

Spectra = NDArray[np.float32]


class SoundOptions(BaseModel):
    """The options of a sound tagger in the catalogue.

    Attributes:
        names: The model of the catalogue that is the table of class names (CSV with a column ``display_name``).
        without: Names in that table that are no class of the model.
        ignored: Classes that are no sound event, such as silence.
        sure: The least score of a class that counts as heard.
        missed: Class -> labelled samples in which it was missed, and of how many. Only of these is it said that none was heard.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    names: str
    without: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    sure: float = Field(gt=0, lt=1)
    missed: dict[str, tuple[int, PositiveInt]] = {}


@dataclass(frozen=True, kw_only=True)
class SoundModel:
    """The files of a sound tagger with their hashes, and its options."""

    name: str
    path: Path
    sha256: str
    names_path: Path
    names_sha256: str
    options: SoundOptions


class YamnetTagger:
    """Tags sounds with YAMNet (AudioSet classes), a TFLite model whose input is a patch of a log-mel spectrum (96 x 64).

    Raises BackendFault: ``extra_missing``; ``model_damaged``, ``model_unusable``: the table of names.
    """

    hop = _HOP * _STEP / SAMPLE_RATE
    window = (_STEP * (_PATCH - 1) + _WINDOW) / SAMPLE_RATE

    def __init__(self, model: SoundModel) -> None:
        version = installed(LITERT)
        if version is None:
            what = f"{LITERT}, which runs {model.name}, is not installed"
            raise BackendFault("extra_missing", what, hint=f"install the extra: {install_command('sounds')}")
        self._model = model
        self.labels = _labels(model)
        options = model.options
        self.parameters: Mapping[str, Any] = {
            "tagger": f"{model.name}/{model.sha256[:16]}/{model.names_sha256[:16]}/{LITERT}-{version}/1",
            "sure": options.sure,
            "ignored": list(options.ignored),
            "missed": {label: list(counts) for label, counts in options.missed.items()},
        }

    def tag(self, samples: Samples) -> Sequence[TaggedSound]:
        """Return the classes that are heard in each patch of the sound, in time order."""
        found: list[TaggedSound] = []
        size = (_AT_ONCE - 1) * _HOP * _STEP + round(self.window * SAMPLE_RATE)
        for first in range(0, len(samples), _AT_ONCE * _HOP * _STEP):
            scores = self.scores(samples[first : first + size])
            for place, number in zip(*np.nonzero(scores >= self._model.options.sure), strict=True):
                label = self.labels[number]
                if label not in self._model.options.ignored:
                    start = first / SAMPLE_RATE + place * self.hop
                    found.append(TaggedSound(start=start, label=label, score=float(scores[place, number])))
        return found

    def scores(self, samples: Samples) -> Spectra:
        """Return the score (0 to 1) of each class in each patch, shape (patches, classes); 0 where there is no sound at all."""
        patches = patches_of(log_mel_spectrum(samples))
        found = np.zeros((len(patches), len(self.labels)), dtype=np.float32)
        runner = self._runner
        given, made = runner.get_input_details()[0]["index"], runner.get_output_details()[0]["index"]
        quietest = np.float32(np.log(_OFFSET))
        for place, patch in enumerate(patches):
            if (patch > quietest).any():
                runner.set_tensor(given, patch[np.newaxis])
                runner.invoke()
                found[place] = runner.get_tensor(made)[0]
        return found

    @cached_property
    def _runner(self) -> Any:
        model = self._model
        if not model.path.is_file():
            raise BackendFault(
                "model_missing", f"there is no file {model.path.name}", hint="`videoworld models pull yamnet`"
            )
        if hash_file(model.path) != model.sha256:
            what = f"{model.path.name} is not the file of the model {model.name}: its hash differs"
            raise BackendFault("model_damaged", what, hint=f"`videoworld models pull {model.name}` fetches it again")
        try:
            from ai_edge_litert.interpreter import Interpreter

            runner = Interpreter(model_path=str(model.path), num_threads=1)
            runner.allocate_tensors()
        except (ImportError, OSError, ValueError, RuntimeError) as error:
            raise BackendFault("model_unusable", f"{model.name} cannot be loaded: {error}") from error
        shapes = [list(runner.get_input_details()[0]["shape"]), list(runner.get_output_details()[0]["shape"])]
        if shapes != [[1, _PATCH, _BANDS], [1, len(self.labels)]]:
            raise BackendFault("model_unusable", f"{model.name} takes and gives arrays of other shapes: {shapes}")
        return runner


def _labels(model: SoundModel) -> tuple[str, ...]:
    """Return the names of the classes, in the order of the model's output."""
    try:
        if hash_file(model.names_path) != model.names_sha256:
            what = f"{model.names_path.name} is not the table of names of {model.name}: its hash differs"
            raise BackendFault(
                "model_damaged", what, hint=f"`videoworld models pull {model.options.names}` fetches it again"
            )
        with model.names_path.open(encoding="utf-8", newline="") as file:
            names = [row["display_name"] for row in csv.DictReader(file)]
    except (OSError, KeyError, UnicodeDecodeError) as error:
        raise BackendFault("model_unusable", f"{model.names_path.name} is no table of class names: {error}") from error
    return tuple(name for name in names if name not in model.options.without)


def log_mel_spectrum(samples: Samples) -> Spectra:
    """Return the log-mel spectrum of a sound as YAMNet takes it, shape (windows, 64), 100 windows a second.

    The sound is continued by silence to the end of a patch; one shorter than a patch gives one patch.
    """
    patch = _STEP * (_PATCH - 1) + _WINDOW
    more = max(0, -(-(len(samples) - patch) // (_STEP * _HOP)))
    padded = np.zeros(patch + more * _STEP * _HOP, dtype=np.float32)
    padded[: len(samples)] = samples
    windows = sliding_window_view(padded, _WINDOW)[::_STEP]
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_WINDOW) / _WINDOW)
    magnitudes = np.abs(np.fft.rfft(windows * hann.astype(np.float32), _FFT, axis=1))
    spectrum: Spectra = np.log(magnitudes.astype(np.float32) @ _MEL + np.float32(_OFFSET))
    return spectrum


def _mel_matrix() -> Spectra:
    """Return the weights of 257 frequencies in 64 overlapping triangles, equally spaced on the HTK mel scale, shape (257, 64)."""

    def mel(hertz: NDArray[np.float64] | float) -> NDArray[np.float64]:
        return np.asarray(1127.0 * np.log1p(np.asarray(hertz) / 700.0))

    frequencies = mel(np.linspace(0.0, SAMPLE_RATE / 2, _FFT // 2 + 1))[:, np.newaxis]
    edges = np.linspace(float(mel(_LOW)), float(mel(_HIGH)), _BANDS + 2)
    low, middle, high = edges[:-2], edges[1:-1], edges[2:]
    rising, falling = (frequencies - low) / (middle - low), (high - frequencies) / (high - middle)
    weights = np.maximum(0.0, np.minimum(rising, falling))
    weights[0] = 0.0
    return weights.astype(np.float32)


_MEL = _mel_matrix()


def patches_of(spectrum: Spectra) -> Spectra:
    """Return the patches of a log-mel spectrum, shape (patches, 96, 64): one every 48 windows."""
    windows = sliding_window_view(spectrum, _PATCH, axis=0)[::_HOP]
    return np.ascontiguousarray(windows.transpose(0, 2, 1))

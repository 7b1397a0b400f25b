"""Speech recognition and voice activity detection with faster-whisper; models come from this machine, never from a network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from world_api.core.faults import BackendFault
from world_api.core.ports import SAMPLE_RATE, Samples, SpokenLine, SpokenWord
from world_api.core.spans import TimeSpan

DISTRIBUTION = "faster-whisper"
#: The model that is looked for where none is named.
USUAL_MODEL = "small"
#: What a folder with a model holds; without its tokenizer the package would ask a network for one.
_FILES = ("model.bin", "config.json", "tokenizer.json")
#: Pauses (milliseconds) that part stretches of voice, and what is kept around each.
_PAUSE, _AROUND = 400, 150
#: Numbers a model computes with, by device, the preferred first. A model's own are usually those it was trained with, which a
#: CPU computes several times slower than ``int8``.
_COMPUTE_TYPES = {"cuda": ("float16", "int8", "float32"), "cpu": ("int8", "float32")}


class WhisperRecogniser:
    """Reads speech with a Whisper model in CTranslate2's form. The model is loaded at the first call.

    Decoding is greedy in temperature and knows nothing of what was said before, so that a stretch gives the same words
    whatever its neighbours are.
    """

    def __init__(self, model: str | None = None, compute_type: str = "auto") -> None:
        """``model``: a folder with a converted model, or the name of one that was fetched before.

        ``compute_type``: ``int8``, ``float16`` or ``float32``; ``auto`` is ``int8`` on a CPU and ``float16`` on a GPU.

        Raises:
            BackendFault: ``speech_model_missing``, ``speech_compute_type``.
        """
        self._folder = find_model(model or USUAL_MODEL)
        self._device, self._compute_type = _computing(compute_type)
        size = (self._folder / "model.bin").stat().st_size
        name = Path(model or USUAL_MODEL).name
        self.producer = f"{DISTRIBUTION}-{version(DISTRIBUTION)}/{name}-{size}/{self._compute_type}"

    def transcribe(self, samples: Samples, language: str) -> Sequence[SpokenLine]:
        """The lines spoken in a stretch of at most thirty seconds, in time order."""
        if not len(samples):
            return []
        segments, info = self._model.transcribe(
            samples,
            language=language or None,
            word_timestamps=True,
            condition_on_previous_text=False,
            temperature=0.0,
            vad_filter=False,
        )
        lines = (_line(segment, language or info.language, len(samples) / SAMPLE_RATE) for segment in segments)
        return [line for line in lines if line is not None]

    @cached_property
    def _model(self) -> Any:
        from faster_whisper import WhisperModel

        try:
            return WhisperModel(
                str(self._folder), device=self._device, compute_type=self._compute_type, local_files_only=True
            )
        except (RuntimeError, ValueError, OSError) as error:
            raise _missing(f"the model in {self._folder.name} cannot be loaded ({error})") from error


class SileroVoiceDetector:
    """The Silero detector that faster-whisper carries."""

    hang_over = (_PAUSE + _AROUND) / 1000

    def __init__(self) -> None:
        self.producer = f"silero-{DISTRIBUTION}-{_installed_version()}/1"

    def voiced(self, samples: Samples) -> Sequence[TimeSpan]:
        """Where somebody may be speaking: seconds from the first sample, apart and in order."""
        from faster_whisper.vad import get_speech_timestamps

        if not len(samples):
            return []
        found = get_speech_timestamps(samples, min_silence_duration_ms=_PAUSE, speech_pad_ms=_AROUND)
        return [TimeSpan(start=part["start"] / SAMPLE_RATE, end=part["end"] / SAMPLE_RATE) for part in found]


def is_installed() -> bool:
    """Whether the package is there; it is not imported for that."""
    try:
        _installed_version()
    except BackendFault:
        return False
    return True


def find_model(model: str) -> Path:
    """The folder of a model: the folder itself, or where one of that name was stored before.

    Raises:
        BackendFault: ``speech_model_missing``.
    """
    _installed_version()
    folder = Path(model).expanduser()
    if not folder.is_dir():
        if folder.parent != Path():
            raise _missing(f"there is no folder {folder}")
        from faster_whisper.utils import download_model

        try:
            folder = Path(download_model(model, local_files_only=True))
        except (OSError, ValueError) as error:
            raise _missing(f"no model {model!r} is stored on this machine") from error
    lacking = [name for name in _FILES if not (folder / name).is_file()]
    if lacking:
        raise _missing(f"the folder {folder.name} lacks {', '.join(lacking)}")
    return folder


def _computing(wanted: str) -> tuple[str, str]:
    """The device that a model runs on, and the numbers it computes with.

    Raises:
        BackendFault: ``speech_model_missing``, ``speech_compute_type``.
    """
    try:
        import ctranslate2
    except (ImportError, OSError) as error:
        raise _missing(f"ctranslate2 cannot be loaded ({error})") from error
    device = "cuda" if ctranslate2.get_cuda_device_count() else "cpu"
    able = [name for name in _COMPUTE_TYPES[device] if name in ctranslate2.get_supported_compute_types(device)]
    chosen = next(iter(able), None) if wanted == "auto" else wanted if wanted in able else None
    if chosen is None:
        raise BackendFault(
            "speech_compute_type",
            f"a Whisper model cannot compute with {wanted} on this machine's {'GPU' if device == 'cuda' else 'CPU'}",
            hint=f"give --speech-compute auto or one of: {', '.join(able)}",
        )
    return device, chosen


def _installed_version() -> str:
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError as error:
        raise BackendFault(
            "speech_model_missing",
            "faster-whisper is not installed",
            hint="install the extra: pip install 'video-world-api[speech]', and give a model with --speech-model",
        ) from error


def _missing(why: str) -> BackendFault:
    return BackendFault(
        "speech_model_missing",
        f"speech cannot be recognised: {why}",
        hint="give a folder with model.bin, config.json and tokenizer.json by --speech-model; nothing is downloaded",
    )


def _line(segment: Any, language: str, duration: float) -> SpokenLine | None:
    words = tuple(
        SpokenWord(
            start=_within(word.start, duration),
            end=_within(word.end, duration),
            text=word.word.strip(),
            confidence=round(min(1.0, max(0.0, float(word.probability))), 3),
        )
        for word in segment.words or ()
        if word.word.strip()
    )
    text = " ".join(segment.text.split())
    if not text:
        return None
    return SpokenLine(
        start=words[0].start if words else _within(segment.start, duration),
        end=words[-1].end if words else _within(segment.end, duration),
        text=text,
        language=language,
        confidence=round(math.exp(min(0.0, float(segment.avg_logprob))), 3),
        words=words,
    )


def _within(time: float, duration: float) -> float:
    return min(duration, max(0.0, float(time)))

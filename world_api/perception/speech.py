"""Speech: recognition with faster-whisper or pocketsphinx, voice activity detection with Silero or without a model.

Models are loaded from this machine and never downloaded; each package is imported when its adapter is used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from world_api.core.faults import BackendFault
from world_api.core.ports import SAMPLE_RATE, Samples, SpokenLine, SpokenWord
from world_api.core.spans import TimeSpan, merge_spans
from world_api.installation import install_command, installed

WHISPER = "faster-whisper"
#: The default model.
_USUAL_MODEL = "small"
#: Files of a model; without its tokenizer the package would download one.
_MODEL_FILES = ("model.bin", "config.json", "tokenizer.json")
#: Pauses (milliseconds) that separate intervals of voice, and padding around each.
_SILERO_PAUSE, _SILERO_AROUND = 400, 150
#: Hypotheses that the decoder keeps, and the least probability of a language for it to be named.
_BEAM, _SURE_LANGUAGE = 5, 0.5
#: Words that a model invents come with this probability that there is no speech, and with this mean log-probability.
_NO_SPEECH, _LOG_PROBABILITY = 0.6, -1.0
#: A phrase of up to so many words that is said at least so many times in succession is one that a model repeats by itself.
_PHRASE, _REPEATS = 6, 4
#: A pause between two words that ends a line (seconds), and the longest line that goes on over the end of a Whisper segment.
_LINE_PAUSE, _LONGEST_LINE = 0.8, 15.0
#: The end of a sentence, and what looks like one: initials and titles.
_SENTENCE_END = re.compile(r"[.?!。？！…]+[\"'”’»)）」』]*$")
_NO_END = re.compile(r"^(?:[A-HJ-Z]|Mrs?|Ms|Dr|St|Prof|vs|etc|e\.g|i\.e)\.$")
#: Number formats by device, the preferred first. The format of a model's file is usually that of its training, with
#: which a CPU is several times slower than with ``int8``.
_COMPUTE_TYPES = {"cuda": ("float16", "int8", "float32"), "cpu": ("int8", "float32")}

SPHINX = "pocketsphinx"
#: About this share of its words is right in clean speech, far less in other speech; its own confidence is not usable.
_SPHINX_CONFIDENCE = 0.3
_SPHINX_FRAMES = 100.0  #: its frames a second

Values = NDArray[np.float64]

#: Samples per step and per window around it; steps per second.
_STEP, _WINDOW = 256, 640
_STEPS = SAMPLE_RATE / _STEP
#: Loud: dB above the quietest half second of the last seconds, and above the noise of converters (dBFS).
_ABOVE, _LEAST, _LOOK_BACK, _SMOOTH = 9.0, -55.0, 8.0, 0.5
#: Pitch of a voice (Hz), and least similarity of a window to itself one period later.
_PITCH, _VOICED = (70.0, 400.0), 0.5
#: Seconds before and after a moment in which it is judged; the least voiced share of them and the least standard
#: deviation of the level (dB): speech has syllables, hum and hiss do not.
_BEFORE, _AFTER, _SHARE, _SYLLABLES = 0.7, 0.3, 0.2, 2.5
#: Longest pause inside speech, shortest speech, and padding around it (seconds).
_PAUSE, _SHORTEST, _AROUND = 0.4, 0.2, 0.15


class WhisperRecogniser:
    """Recognises speech with a Whisper model in CTranslate2's format. The model is loaded at the first call.

    Decoding has no context of other intervals and no randomness, so that the words of an interval depend on its sound alone.
    Intervals are not decoded in batches, which divides the sound again by its own rules.

    Args:
        model: A folder with a converted model, or the name of one that was downloaded before; ``small`` by default.
        compute_type: ``int8``, ``float16`` or ``float32``; ``auto`` is ``int8`` on a CPU and ``float16`` on a GPU.

    Raises BackendFault: ``speech_model_missing``, ``speech_compute_type``.
    """

    def __init__(self, model: str | None = None, compute_type: str = "auto") -> None:
        model = model or _USUAL_MODEL
        self._folder = _model_folder(model)
        self._device, self._compute_type = _computing(compute_type)
        size = (self._folder / "model.bin").stat().st_size
        self.producer = f"{WHISPER}-{version(WHISPER)}/{Path(model).name}-{size}/{self._compute_type}/beam-{_BEAM}"

    def transcribe(self, samples: Samples, language: str) -> Sequence[SpokenLine]:
        """Return the sentences in at most thirty seconds of sound, in time order; an empty ``language`` is detected.

        A language that was not detected surely is used, but the lines do not name it.
        """
        if not len(samples):
            return []
        segments, info = self._model.transcribe(
            samples, language=language or None, beam_size=_BEAM, word_timestamps=True, condition_on_previous_text=False,
            temperature=0.0, no_speech_threshold=_NO_SPEECH, log_prob_threshold=_LOG_PROBABILITY, vad_filter=False,
        )  # fmt: skip
        heard = language or (info.language if info.language_probability >= _SURE_LANGUAGE else "")
        duration = len(samples) / SAMPLE_RATE
        sentences = _sentences(word for segment in segments for word in _words(segment))
        return [line for words in sentences if (line := _line(words, heard, duration)) is not None]

    @cached_property
    def _model(self) -> Any:
        from faster_whisper import WhisperModel

        try:
            return WhisperModel(
                str(self._folder), device=self._device, compute_type=self._compute_type, local_files_only=True
            )
        except (RuntimeError, ValueError, OSError) as error:
            raise _whisper_missing(f"the model in {self._folder.name} cannot be loaded ({error})") from error


class SileroVoiceDetector:
    """The Silero voice detector that faster-whisper contains."""

    hang_over = (_SILERO_PAUSE + _SILERO_AROUND) / 1000

    def __init__(self) -> None:
        self.producer = f"silero-{WHISPER}-{version(WHISPER)}/1"

    def voiced(self, samples: Samples) -> Sequence[TimeSpan]:
        """Return the spans with speech: seconds from the first sample, disjoint and in order."""
        from faster_whisper.vad import get_speech_timestamps

        if not len(samples):
            return []
        found = get_speech_timestamps(samples, min_silence_duration_ms=_SILERO_PAUSE, speech_pad_ms=_SILERO_AROUND)
        return [TimeSpan(start=part["start"] / SAMPLE_RATE, end=part["end"] / SAMPLE_RATE) for part in found]


def whisper_is_installed() -> bool:
    """Whether faster-whisper is installed; the package is not imported."""
    return installed(WHISPER) is not None


def _version_of(package: str, extra: str, more: str = "") -> str:
    """Return the version of a package. For the fault's hint: ``extra`` is the extra to install, ``more`` further text.

    Raises BackendFault: ``speech_model_missing``, if it is not installed.
    """
    if (found := installed(package)) is not None:
        return found
    hint = f"install the extra: {install_command(extra)}{more}"
    raise BackendFault("speech_model_missing", f"{package} is not installed", hint=hint)


def _model_folder(model: str) -> Path:
    """Return the folder of a model: ``model`` itself, or the folder of an earlier download of the model of that name.

    Raises BackendFault: ``speech_model_missing``, if there is none or files are missing in it.
    """
    _version_of(WHISPER, "speech", ", and a model: `videoworld models pull whisper-base`, or --speech-model FOLDER")
    folder = Path(model).expanduser()
    if not folder.is_dir():
        if folder.parent != Path():
            raise _whisper_missing(f"there is no folder {folder}")
        from faster_whisper.utils import download_model

        try:
            folder = Path(download_model(model, local_files_only=True))
        except (OSError, ValueError) as error:
            raise _whisper_missing(f"no model {model!r} is stored on this machine") from error
    lacking = [name for name in _MODEL_FILES if not (folder / name).is_file()]
    if lacking:
        raise _whisper_missing(f"the folder {folder.name} lacks {', '.join(lacking)}")
    return folder


def _computing(wanted: str) -> tuple[str, str]:
    """Return the device for a Whisper model (``cuda`` or ``cpu``) and its number format; ``wanted`` may be ``auto``.

    Raises BackendFault: ``speech_model_missing``, ``speech_compute_type``.
    """
    try:
        import ctranslate2
    except (ImportError, OSError) as error:
        raise _whisper_missing(f"ctranslate2 cannot be loaded ({error})") from error
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


def _whisper_missing(why: str) -> BackendFault:
    return BackendFault(
        "speech_model_missing",
        f"speech cannot be recognised: {why}",
        hint="`videoworld models pull whisper-base` fetches a model (150 MB); or give a folder with model.bin, config.json "
        "and tokenizer.json by --speech-model; a build downloads nothing",
    )


@dataclass(frozen=True, kw_only=True)
class _Heard:
    """A word of a segment: its text with the space before it, times (seconds), probability; ``last``: it ends its segment."""

    text: str
    start: float
    end: float
    probability: float
    last: bool


def _words(segment: Any) -> list[_Heard]:
    """Return the words of a segment; none if it repeats one phrase over and over."""
    words = [word for word in segment.words or () if any(map(str.isalnum, word.word))]  # not the notes of music
    if _repeats([word.word.strip().casefold() for word in words]):
        return []
    return [
        _Heard(
            text=word.word, start=float(word.start), end=float(word.end), probability=float(word.probability),
            last=word is words[-1],
        )
        for word in words
    ]  # fmt: skip


def _repeats(words: Sequence[str]) -> bool:
    """Whether more than half of the words are one phrase that is repeated in succession."""
    for size in range(1, _PHRASE + 1):
        run = 0  # words that equal the one a phrase before
        for at in range(size, len(words)):
            run = run + 1 if words[at] == words[at - size] else 0
            repeated = run + size
            if repeated >= _REPEATS * size and 2 * repeated > len(words):
                return True
    return False


def _sentences(words: Iterable[_Heard]) -> Iterator[list[_Heard]]:
    """Yield the words of each line: a sentence, or what is said between two pauses.

    The end of a segment ends a line, too, unless the next word begins with a small letter and the line is not long.
    """
    line: list[_Heard] = []
    for word in words:
        if line and _ends(line, word):
            yield line
            line = []
        line.append(word)
    if line:
        yield line


def _ends(line: Sequence[_Heard], following: _Heard) -> bool:
    last = line[-1]
    text = last.text.strip()
    if following.start - last.end >= _LINE_PAUSE or (_SENTENCE_END.search(text) and not _NO_END.match(text)):
        return True
    goes_on = following.text.strip()[:1].islower() and following.end - line[0].start <= _LONGEST_LINE
    return last.last and not goes_on


def _line(heard: Sequence[_Heard], language: str, duration: float) -> SpokenLine | None:
    """Return the line of some words; None if it takes no time. ``duration``: of the sound, in seconds."""
    words = tuple(
        SpokenWord(
            start=min(duration, max(0.0, word.start)),
            end=min(duration, max(0.0, word.end)),
            text=word.text.strip(),
            confidence=round(min(1.0, max(0.0, word.probability)), 3),
        )
        for word in heard
    )
    text = " ".join("".join(word.text for word in heard).split())
    start, end = words[0].start, max(word.end for word in words)
    mean = sum(math.log(max(word.confidence, 1e-3)) for word in words) / len(words)
    if end <= start:
        return None
    return SpokenLine(
        start=start, end=end, text=text, language=language, confidence=round(math.exp(mean), 3), words=words
    )


class SphinxRecogniser:
    """Recognises English, with many errors, using the model that pocketsphinx contains: nothing is downloaded.

    It is used only if the user names it. Its lines have a low confidence.

    Raises BackendFault: ``speech_model_missing``.
    """

    def __init__(self) -> None:
        self.producer = f"{SPHINX}-{_version_of(SPHINX, 'speech-lite')}/1"

    def transcribe(self, samples: Samples, language: str) -> Sequence[SpokenLine]:
        """Return one line for an interval; none without words or if ``language`` is neither empty nor ``en``."""
        if language not in ("", "en") or not len(samples):
            return []
        from pocketsphinx import Decoder

        # A fresh one, which loads in a fifth of a second: its state would change the words of the next interval.
        decoder = Decoder(samprate=SAMPLE_RATE, cmn="batch", loglevel="FATAL")
        decoder.start_utt()
        sound = (np.clip(samples, -1.0, 1.0) * 32767).astype("<i2")
        decoder.process_raw(sound.tobytes(), no_search=False, full_utt=True)
        decoder.end_utt()
        duration = len(samples) / SAMPLE_RATE
        words = tuple(
            SpokenWord(
                start=min(duration, part.start_frame / _SPHINX_FRAMES),
                end=min(duration, (part.end_frame + 1) / _SPHINX_FRAMES),
                text=part.word.partition("(")[0],  # other ways to say a word are numbered: the(2)
                confidence=_SPHINX_CONFIDENCE,
            )
            for part in decoder.seg() or ()
            if part.word[:1] not in "<[+"  # silence and noises
        )
        if not words:
            return []
        text = " ".join(word.text for word in words)
        times = {"start": words[0].start, "end": words[-1].end}
        return [SpokenLine(**times, text=text, language="en", confidence=_SPHINX_CONFIDENCE, words=words)]


class EnergyVoiceDetector:
    """Detects speech by level, pitch and syllables, without a model. Singing and some music are detected as speech."""

    producer = "voice-energy/1"
    hang_over = 0.8  #: seconds: the pause that ends an interval, and the sound needed after a moment to judge it

    def voiced(self, samples: Samples) -> Sequence[TimeSpan]:
        """Return the spans with speech: seconds from the first sample, disjoint and in order."""
        if len(samples) < _WINDOW:
            return []
        windows = sliding_window_view(samples, _WINDOW)[::_STEP].astype(np.float64)
        windows = windows - windows.mean(axis=1, keepdims=True)
        level = 10 * np.log10((windows**2).mean(axis=1) + 1e-10)
        loud = (level > _LEAST) & (level > _floor(level) + _ABOVE)
        voiced = loud & (_periodicity(windows) >= _VOICED)
        heard = np.maximum(level, _LEAST)
        changes = np.sqrt(np.maximum(0.0, _around(heard**2) - _around(heard) ** 2))
        speech = loud & (_around(voiced.astype(np.float64)) >= _SHARE) & (changes >= _SYLLABLES)
        return _spans(speech, len(samples) / SAMPLE_RATE)


def _floor(level: Values) -> Values:
    """Return, for each step of ``level`` (dB), the mean of the quietest half second of the last eight seconds."""
    smooth, back = round(_SMOOTH * _STEPS), round(_LOOK_BACK * _STEPS)
    means = np.convolve(level, np.ones(smooth) / smooth)[: len(level)]
    means[: smooth - 1] = np.cumsum(level)[: smooth - 1] / np.arange(1, len(level) + 1)[: smooth - 1]
    padded = np.concatenate([np.full(back - 1, np.inf), means])
    return np.asarray(sliding_window_view(padded, back).min(axis=1))


def _periodicity(windows: Values) -> Values:
    """Return for each window its highest autocorrelation (about -1 to 1) at a lag within the pitch range of voices."""
    size = 2 * _WINDOW
    shortest, longest = int(SAMPLE_RATE / _PITCH[1]), int(SAMPLE_RATE / _PITCH[0])
    found = np.empty(len(windows))
    for first in range(0, len(windows), 1024):  # a minute at once would be large
        part = windows[first : first + 1024]
        spectrum = np.fft.rfft(part, size, axis=1)
        likeness = np.fft.irfft(np.abs(spectrum) ** 2, size, axis=1)[:, : longest + 1]
        shared = _WINDOW / (_WINDOW - np.arange(longest + 1))  # fewer samples overlap at longer periods
        found[first : first + 1024] = (likeness * shared)[:, shortest:].max(axis=1) / (likeness[:, 0] + 1e-9)
    return found


def _around(values: Values) -> Values:
    """Return for each step the mean of the values from ``_BEFORE`` seconds before it to ``_AFTER`` seconds after it."""
    before, after = round(_BEFORE * _STEPS), round(_AFTER * _STEPS)
    sums = np.concatenate([[0.0], np.cumsum(values)])
    at = np.arange(len(values))
    first, last = np.maximum(0, at - before), np.minimum(len(values), at + after + 1)
    return np.asarray((sums[last] - sums[first]) / (last - first))


def _spans(speech: NDArray[np.bool_], duration: float) -> list[TimeSpan]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], speech.astype(np.int8), [0]]))).reshape(-1, 2)
    found = [TimeSpan(start=first / _STEPS, end=(last - 1) / _STEPS + _WINDOW / SAMPLE_RATE) for first, last in edges]
    return [
        TimeSpan(start=max(0.0, span.start - _AROUND), end=min(duration, span.end + _AROUND))
        for span in merge_spans(found, gap=_PAUSE)
        if span.duration >= _SHORTEST
    ]

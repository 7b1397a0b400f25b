"""Where the words that are said in a video come from: its subtitles, or a recogniser that is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from world_api.core.faults import BackendFault

if TYPE_CHECKING:
    from world_api.build.stage import Stage
    from world_api.core.ports import SpeechRecogniser, VoiceDetector
    from world_api.media.decode_pass import LossNote
    from world_api.media.decoder import MediaWorker

AUTO, OFF, NONE = "auto", "off", "none"
WHISPER, SPHINX = "faster-whisper", "pocketsphinx"


@dataclass(frozen=True, kw_only=True)
class Listening:
    """What a caller wants.

    ``subtitles``: ``auto``, ``none``, a language's code or a file's path. ``speech``: ``auto`` (recognise what has no
    subtitles, with faster-whisper where it and a model are on this machine), ``off``, or the name of a recogniser,
    which is then used instead of subtitles. ``model`` and ``language`` are the recogniser's; empty: the usual one, and
    whatever is spoken. ``compute``: the numbers a Whisper model computes with, ``int8``, ``float16`` or ``float32``; ``auto``
    is ``int8`` on a CPU and ``float16`` on a GPU.
    """

    subtitles: str = AUTO
    speech: str = AUTO
    model: str = ""
    language: str = ""
    compute: str = AUTO


def speech_stage(video: Path, listening: Listening, worker: MediaWorker) -> Stage:
    """The stage that writes what is said; the video is looked into by ``worker``.

    Raises:
        BackendFault: ``no_such_recogniser``, ``speech_model_missing``, ``speech_compute_type``, ``subtitles_or_speech``.
        MediaFault: ``no_such_subtitles``; as opening the video.
    """
    from world_api.build.speech import SubtitleLines
    from world_api.media.subtitle_choice import choose_subtitles

    if listening.speech not in (AUTO, OFF):
        if listening.subtitles not in (AUTO, NONE):
            raise BackendFault(
                "subtitles_or_speech",
                "subtitles and a recogniser were both named, and only one of them can give the words",
                hint="leave out one of the two",
            )
        return _recognised(listening)
    subtitles = choose_subtitles(video, listening.subtitles, worker)
    if subtitles.source is not None or listening.speech == OFF:
        return SubtitleLines(subtitles)
    try:
        return _recognised(listening)
    except BackendFault as fault:
        if listening.model:
            raise
        return SubtitleLines(subtitles, losses=_unheard(video, fault, worker))


def _recognised(listening: Listening) -> Stage:
    from world_api.build.speech import RecognisedSpeech

    recogniser = _sphinx() if listening.speech == SPHINX else _whisper(listening)
    return RecognisedSpeech(lambda: recogniser, _detector(), language=listening.language)


def _whisper(listening: Listening) -> SpeechRecogniser:
    from world_api.backends.speech.whisper import WhisperRecogniser

    if listening.speech not in (AUTO, WHISPER):
        raise BackendFault(
            "no_such_recogniser",
            f"there is no recogniser {listening.speech!r}",
            hint=f"the recognisers are {WHISPER} and {SPHINX}",
        )
    return WhisperRecogniser(listening.model or None, listening.compute)


@cache
def _sphinx() -> SpeechRecogniser:
    from world_api.backends.speech.sphinx import SphinxRecogniser

    return SphinxRecogniser()


def _detector() -> Callable[[], VoiceDetector]:
    """The Silero detector where faster-whisper brings it, else our own."""
    from world_api.backends.speech import whisper
    from world_api.backends.speech.voice_activity import EnergyVoiceDetector

    return whisper.SileroVoiceDetector if whisper.is_installed() else EnergyVoiceDetector


def _unheard(video: Path, fault: BackendFault, worker: MediaWorker) -> list[LossNote]:
    """A video with sound and without words is worth a note."""
    from world_api.media.decode_pass import LossNote
    from world_api.media.subtitle_choice import look_into

    if not look_into(video, worker).has_sound:
        return []
    message = f"what is said was not written down: there are no subtitles, and {fault.message}"
    return [LossNote(code="speech_unheard", message=message)]

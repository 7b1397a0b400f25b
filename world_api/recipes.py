"""Recipes: the stages, with their adapters, that each profile builds worlds with.

The stage of spoken words takes subtitles, or a speech recogniser if there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from world_api.build.media.limits import DEFAULT_LIMITS, Limits
from world_api.build.recipe import Recipe, leave_out
from world_api.build.stage import Stage
from world_api.core.faults import BackendFault
from world_api.options import AUTO, NONE, OFF, SPHINX, WHISPER, Listening

if TYPE_CHECKING:
    from world_api.backends.classical import ClassicalDetector, RapidOcrReader
    from world_api.build.media.apart.worker import MediaWorker
    from world_api.build.media.losses import LossNote
    from world_api.build.stage import Stage
    from world_api.core.ports import SpeechRecogniser, VoiceDetector


#: Stages that take as long as all others together, and who makes them in a process of their own.
_APART = {"moving_things": "world_api.recipes:moving_things"}


def recipe_for(
    profile: str,
    listening: Listening | None = None,
    *,
    without: Collection[str] = (),
    limits: Limits = DEFAULT_LIMITS,
) -> Recipe:
    """The recipe of a profile, without the stages of those names; ``listening`` says where words that are said come from.

    ``limits`` bound what a video may ask of the machine that is looked into while its stages are made.

    Raises:
        BackendFault: ``no_such_profile``, ``profile_not_ready``; ``no_such_stage``, ``stage_needed`` once the stages
            are made.
    """
    if profile == "classical":
        said = listening or Listening()
        return Recipe(
            profile=profile,
            stages=lambda video: leave_out(_classical(video, listening=said, limits=limits), without),
            reading=lambda video, worker: leave_out(
                _classical(video, listening=said, limits=limits, worker=worker), without
            ),
            load=_load_classical,
            apart={name: maker for name, maker in _APART.items() if name not in without},
        )
    if profile == "oracle":
        return Recipe(profile=profile, stages=lambda video: leave_out(_oracle(video), without))
    if profile == "neural":
        # Stages for it need model weights that nothing here downloads; until they exist, no package would help.
        raise BackendFault(
            "profile_not_ready", "the neural profile has no stages yet", hint="use the classical profile"
        )
    raise BackendFault(
        "no_such_profile", f"there is no profile {profile!r}", hint="the profiles are classical, neural and oracle"
    )


def _load_classical() -> None:
    """Import those stages whose libraries take long to load."""
    import world_api.build.stages.cuts
    import world_api.build.tracking.stage  # noqa: F401 - for what it brings along


def _classical(video: Path, *, listening: Listening, limits: Limits, worker: MediaWorker | None = None) -> list[Stage]:
    from world_api.build.linking.look_links import LookLinks
    from world_api.build.linking.stitches import Stitches
    from world_api.build.stages.cuts import Cuts
    from world_api.build.stages.key_frames import KeyFrames
    from world_api.build.stages.looks import Looks
    from world_api.build.stages.scene_cuts import SceneCuts
    from world_api.build.stages.words.screen_texts import ScreenTexts

    return [
        Cuts(),
        Looks(),
        KeyFrames(),
        moving_things(),
        ScreenTexts(_reader),
        SceneCuts(),
        Stitches(),
        LookLinks(),
        speech_stage(video, listening, limits=limits, worker=worker),
    ]


def moving_things() -> Stage:
    """The stage that follows moving things."""
    from world_api.build.tracking.stage import MovingThings

    return MovingThings(_detector)


def _oracle(video: Path) -> list[Stage]:
    from world_api.build.stages.key_frames import KeyFrames
    from world_api.build.stages.looks import Looks
    from world_api.build.stages.oracle import Oracle

    return [Oracle(video), Looks(), KeyFrames()]


@cache
def _detector() -> ClassicalDetector:
    from world_api.backends.classical import ClassicalDetector

    return ClassicalDetector()


@cache
def _reader() -> RapidOcrReader:
    from world_api.backends.classical import RapidOcrReader

    return RapidOcrReader()


def speech_stage(
    video: Path, listening: Listening, *, limits: Limits = DEFAULT_LIMITS, worker: MediaWorker | None = None
) -> Stage:
    """The stage that writes what is said; the video is looked into by ``worker``, or within ``limits`` by another process.

    Raises:
        BackendFault: ``no_such_recogniser``, ``speech_model_missing``, ``speech_compute_type``, ``subtitles_or_speech``.
        MediaFault: ``no_such_subtitles``; as opening the video.
    """
    from world_api.build.media.subtitles.choice import choose_subtitles
    from world_api.build.stages.words.subtitle_lines import SubtitleLines

    if listening.speech not in (AUTO, OFF):
        if listening.subtitles not in (AUTO, NONE):
            raise BackendFault(
                "subtitles_or_speech",
                "subtitles and a recogniser were both named, and only one of them can give the words",
                hint="leave out one of the two",
            )
        return _recognised(listening)
    subtitles = choose_subtitles(video, listening.subtitles, limits=limits, worker=worker)
    if subtitles.source is not None or listening.speech == OFF:
        return SubtitleLines(subtitles)
    try:
        return _recognised(listening)
    except BackendFault as fault:
        if listening.model:
            raise
        return SubtitleLines(subtitles, losses=_unheard(video, fault, limits, worker))


def _recognised(listening: Listening) -> Stage:
    from world_api.build.stages.words.recognised_speech import RecognisedSpeech

    recogniser = _sphinx() if listening.speech == SPHINX else _whisper(listening)
    return RecognisedSpeech(lambda: recogniser, _voice_detector(), language=listening.language)


def _whisper(listening: Listening) -> SpeechRecogniser:
    from world_api.backends.speech import WhisperRecogniser

    if listening.speech not in (AUTO, WHISPER):
        raise BackendFault(
            "no_such_recogniser",
            f"there is no recogniser {listening.speech!r}",
            hint=f"the recognisers are {WHISPER} and {SPHINX}",
        )
    return WhisperRecogniser(listening.model or None, listening.compute)


@cache
def _sphinx() -> SpeechRecogniser:
    from world_api.backends.speech import SphinxRecogniser

    return SphinxRecogniser()


def _voice_detector() -> Callable[[], VoiceDetector]:
    """The Silero detector where faster-whisper brings it, else our own."""
    from world_api.backends import speech

    return speech.SileroVoiceDetector if speech.whisper_is_installed() else speech.EnergyVoiceDetector


def _unheard(video: Path, fault: BackendFault, limits: Limits, worker: MediaWorker | None) -> list[LossNote]:
    """A video with sound and without words is worth a note."""
    from world_api.build.media.losses import LossNote
    from world_api.build.media.subtitles.apart import SubtitleReader

    with closing(SubtitleReader(limits, worker=worker)) as reader:
        if not reader.look_into(video).has_sound:
            return []
    message = f"what is said was not written down: there are no subtitles, and {fault.message}"
    return [LossNote(code="speech_unheard", message=message)]

"""Recipes: the build stages of each profile, with the adapters that ``world_api.perception`` lists.

The stage of spoken words uses subtitles, else a speech recogniser if one is available.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from world_api.build.stage import FrameStage, Recipe, leave_out
from world_api.core.faults import BackendFault
from world_api.options import AUTO, BOTH, NEURAL, NONE, OFF, SPHINX, WHISPER, Listening
from world_api.perception import adapter, adapter_class

if TYPE_CHECKING:
    from world_api.build.stage import Stage
    from world_api.core.ports import PictureTagger, SoundTagger, VoiceDetector, VoiceEmbedder
    from world_api.media.decode_pass import LossNote
    from world_api.media.decoder import MediaWorker
    from world_api.perception.detector import DetectorModel
    from world_api.perception.identification import PeopleModels


#: Slow stages, which run in a process of their own -> the functions that make them, as ``module:function``.
_APART = {"moving_things": "world_api.recipes:moving_things"}
#: profile -> stages that it has only with some models, packages or options; to leave out one that is not there is no fault.
_SOMETIMES = {
    "classical": ("subtitles", "recognised_speech", "sounds"),
    NEURAL: ("bodies", "faces", "identities", "pictures", "subtitles", "recognised_speech", "voices", "sounds"),
}


def recipe_for(
    profile: str,
    listening: Listening | None = None,
    *,
    without: Collection[str] = (),
    detector: DetectorModel | None = None,
    people: PeopleModels | None = None,
    tagger: PictureTagger | None = None,
    sounds: SoundTagger | None = None,
    voices: VoiceEmbedder | None = None,
) -> Recipe:
    """Return the recipe of a profile, without the stages named in ``without``.

    ``listening`` chooses the source of the spoken words; ``detector``, ``people``, ``tagger`` and ``voices`` are the models of
    the profile ``neural``, ``sounds`` is that of ``classical`` and ``neural``.

    Raises BackendFault: ``no_such_profile``, ``profile_not_ready``: there is no detector for ``neural``. Making the stages
    may raise ``no_such_stage`` and ``stage_needed``.
    """
    if profile == "classical":
        words = listening or Listening()
        return Recipe(
            profile=profile,
            stages=lambda video, worker: leave_out(
                [*_classical(video, worker, listening=words), *_sounds(sounds)], without, absent=_SOMETIMES[profile]
            ),
            apart={name: maker for name, maker in _APART.items() if name not in without},
        )
    if profile == "oracle":
        return Recipe(profile=profile, stages=lambda video, _: leave_out(_oracle(video), without))
    if profile == NEURAL:
        if detector is None:
            raise BackendFault(
                "profile_not_ready",
                "the weights of a detector, which profile neural needs, are not on this machine",
                hint="`videoworld models pull` fetches them, `videoworld models list` shows what is here",
            )
        words, model = listening or Listening(), detector
        return Recipe(
            profile=profile,
            stages=lambda video, worker: leave_out(
                [
                    *_neural(video, worker, listening=words, model=model),
                    *_people(worker, people),
                    *_pictures(worker, tagger),
                    *_voices(words, voices),
                    *_sounds(sounds),
                ],
                without,
                absent=_SOMETIMES[profile],
            ),
        )
    raise BackendFault(
        "no_such_profile",
        f"there is no profile {profile!r}",
        hint="profiles of a build are auto, classical, neural and oracle",
    )


def _classical(video: Path, worker: MediaWorker, *, listening: Listening) -> list[Stage]:
    from world_api.build.key_frames import KeyFrames, Looks
    from world_api.build.look_links import LookLinks
    from world_api.build.screen_texts import ScreenTexts
    from world_api.build.shots import Cuts, SceneCuts
    from world_api.build.stitches import Stitches

    return [
        Cuts(),
        Looks(),
        KeyFrames(),
        moving_things(),
        ScreenTexts(adapter("text_reader")),
        SceneCuts(),
        Stitches(),
        LookLinks(),
        *speech_stages(video, listening, worker),
    ]


def _neural(video: Path, worker: MediaWorker, *, listening: Listening, model: DetectorModel) -> list[Stage]:
    from world_api.build.detections import Detections
    from world_api.build.key_frames import KeyFrames, Looks
    from world_api.build.screen_texts import ScreenTexts
    from world_api.build.shots import Cuts, SceneCuts
    from world_api.build.stitches import Stitches

    return [
        Cuts(),
        Looks(),
        KeyFrames(),
        Detections(adapter_class("detector", profile=NEURAL)(model)),
        ScreenTexts(adapter("text_reader")),
        SceneCuts(),
        Stitches("detections"),
        *speech_stages(video, listening, worker),
    ]


def _people(worker: MediaWorker, models: PeopleModels | None) -> list[Stage]:
    """Return the stages that judge what people look like and who is the same, as far as their models are there."""
    from world_api.build.identities import Identities, IdentityLimits
    from world_api.build.person_looks import BodyJudge, ClothesJudge, FaceJudge, Judge, PersonLooks
    from world_api.media.decoder import VideoFrames

    judges: list[Judge] = [ClothesJudge(None if models is None else models.face_detector)]
    limits: dict[str, IdentityLimits] = {}
    if models is not None and models.body_embedder is not None:
        judges.append(BodyJudge(models.body_embedder))
        limits["body"] = IdentityLimits(sure=models.body_embedder.sure, doubtful=models.body_embedder.doubtful)
    if models is not None and models.face_detector is not None:
        judges.append(FaceJudge(models.face_detector, models.face_embedder))
    if models is not None and models.face_detector is not None and models.face_embedder is not None:
        limits["face"] = IdentityLimits(sure=models.face_embedder.sure, doubtful=models.face_embedder.doubtful)
    stages: list[Stage] = [
        PersonLooks(judge, lambda path: VideoFrames(path, worker), needs=("detections",)) for judge in judges
    ]
    if limits:
        stages.append(Identities(limits, needs=("detections", "stitches", *(judge.name for judge in judges[1:]))))
    return stages


def _pictures(worker: MediaWorker, tagger: PictureTagger | None) -> list[Stage]:
    """Return the stage that says what pictures may show; none without a model of it."""
    from world_api.build.pictures import Pictures
    from world_api.media.decoder import VideoFrames

    needs = ("key_frames", "detections")
    return [] if tagger is None else [Pictures(tagger, lambda path: VideoFrames(path, worker), needs=needs)]


def _voices(listening: Listening, embedder: VoiceEmbedder | None) -> list[Stage]:
    """Return the stage that says who speaks; none without a model of it, and where no speech is wanted."""
    from world_api.build.voices import Voices

    return [] if embedder is None or listening.speech == OFF else [Voices(embedder, _voice_detector())]


def _sounds(tagger: SoundTagger | None) -> list[Stage]:
    """Return the stage that tags sounds; none without a model of it."""
    from world_api.build.sounds import Sounds

    return [] if tagger is None else [Sounds(tagger)]


def moving_things() -> FrameStage:
    """Return the stage that tracks moving things."""
    from world_api.build.moving_things import MovingThings

    return MovingThings(adapter("people"), adapter("appearance"))


def _oracle(video: Path) -> list[Stage]:
    from world_api.build.key_frames import KeyFrames, Looks
    from world_api.build.truth import Oracle

    return [Oracle(video), Looks(), KeyFrames()]


def speech_stages(video: Path, listening: Listening, worker: MediaWorker) -> list[Stage]:
    """Return the stages of spoken words: subtitles, else recognised speech, or both. ``worker`` opens the video.

    Raises BackendFault: ``no_such_recogniser``, ``speech_model_missing``, ``speech_compute_type``, ``model_missing``,
    ``model_damaged``, ``subtitles_or_speech``; MediaFault: ``no_such_subtitles``, and those of opening the video.
    """
    from world_api.build.speech import SubtitleLines
    from world_api.media.subtitles import choose_subtitles

    if listening.speech not in (AUTO, OFF, BOTH):
        if listening.subtitles not in (AUTO, NONE):
            raise BackendFault(
                "subtitles_or_speech",
                "subtitles and a recogniser were both named, and only one of them can give the words",
                hint="leave out one of the two",
            )
        return [_recognised(listening)]
    subtitles = choose_subtitles(video, listening.subtitles, worker)
    if listening.speech == BOTH:
        return [SubtitleLines(subtitles), _recognised(listening)]
    if subtitles.source is not None or listening.speech == OFF:
        return [SubtitleLines(subtitles)]
    try:
        return [_recognised(listening)]
    except BackendFault as fault:
        if listening.model:
            raise
        return [SubtitleLines(subtitles, losses=_unheard(video, fault, worker))]


def _recognised(listening: Listening) -> Stage:
    from world_api.build.speech import RecognisedSpeech

    if listening.speech not in (AUTO, BOTH, WHISPER, SPHINX):
        raise BackendFault(
            "no_such_recogniser",
            f"there is no recogniser {listening.speech!r}",
            hint=f"the recognisers are {WHISPER} and {SPHINX}",
        )
    is_sphinx = listening.speech == SPHINX
    recogniser = adapter(SPHINX) if is_sphinx else adapter_class(WHISPER)(_speech_model(listening), listening.compute)
    return RecognisedSpeech(recogniser, _voice_detector(), language=listening.language)


def _speech_model(listening: Listening) -> str | None:
    """Return the folder of a model of ``listening.models``, else what was named; None for the adapter's default."""
    from world_api.perception.models import ModelFolder
    from world_api.perception.speech import whisper_is_installed

    named = listening.model or None
    if listening.models is None or not whisper_is_installed():
        return named
    found = ModelFolder(listening.models).speech_model(named)
    return named if found is None else str(found)


def _voice_detector() -> VoiceDetector:
    """Return the Silero detector if faster-whisper is installed, else our own without a model."""
    from world_api.perception.speech import whisper_is_installed

    detector: VoiceDetector = adapter("voices_with_whisper" if whisper_is_installed() else "voices")
    return detector


def _unheard(video: Path, fault: BackendFault, worker: MediaWorker) -> list[LossNote]:
    """Return a note of the loss ``speech_unheard`` if the video has sound; empty if not. ``fault`` is the reason."""
    from world_api.media.decode_pass import LossNote
    from world_api.media.subtitles import look_into

    if not look_into(video, worker).has_sound:
        return []
    message = f"what is said was not written down: there are no subtitles, and {fault.message}"
    return [LossNote(code="speech_unheard", message=message)]

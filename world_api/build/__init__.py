"""Building worlds: stages turn a video into rows of tables, clip by clip.

``build_world`` runs the stages of a ``Recipe`` over one decode pass and writes the manifest last; ``follow_world`` does
the same while the file is still being written. To add a stage, implement ``FrameStage`` or ``RowStage`` and add it to a
``Recipe``. The stages of the built-in profiles are in this package, too: shots and scenes, key frames, moving things
and their links, what people look like and who is the same, screen texts, speech, and the oracle.

Names are imported when they are first used, so that importing the package is cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.execution import lazy_names

if TYPE_CHECKING:
    from world_api.build.association import Association, least_cost
    from world_api.build.builder import BuildReport, Job, build_world
    from world_api.build.colours import lab_of, near_names, usual_names
    from world_api.build.detections import Detections
    from world_api.build.following import Following, follow_world
    from world_api.build.identities import Identities, IdentityLimits, Sighted, find_matches
    from world_api.build.key_frames import KeyFrames, Looks
    from world_api.build.look_links import LookLinks
    from world_api.build.moving_things import MovingThings
    from world_api.build.person_looks import BodyJudge, ClothesJudge, FaceJudge, Figure, PersonLooks
    from world_api.build.pictures import Pictures
    from world_api.build.processes import BuildProcesses
    from world_api.build.scheduler import Progress
    from world_api.build.screen_texts import ScreenTexts
    from world_api.build.shots import Cuts, SceneCuts
    from world_api.build.sounds import Sounds
    from world_api.build.source import clear_beside, find_beside, recording_of, remembered_source
    from world_api.build.speech import RecognisedSpeech, SubtitleLines
    from world_api.build.stage import (
        Clip,
        FrameStage,
        Recipe,
        Record,
        Records,
        RowStage,
        Sampling,
        Stage,
        StageSpec,
        Worker,
        clip_span,
        keys_of,
    )
    from world_api.build.stitches import Stitches
    from world_api.build.truth import Truth, read_truth
    from world_api.build.voices import Voices

__getattr__, __dir__, __all__ = lazy_names(__name__)

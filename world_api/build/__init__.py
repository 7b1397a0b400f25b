"""Building worlds: stages turn a video into rows of tables, clip by clip.

``build_world`` runs the stages of a ``Recipe`` over one decode pass and writes the manifest last; ``follow_world`` does
the same while the file is still being written. To add a stage, implement ``FrameStage`` or ``RowStage`` and add it to a
``Recipe``. The stages of the built-in profiles are in this package, too: shots and scenes, key frames, moving things
and their links, screen texts, speech, and the oracle.

Names are imported when they are first used, so that importing the package is cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.lazy import lazy_names

if TYPE_CHECKING:
    from world_api.build.builder import BuildReport as BuildReport, Job as Job, build_world as build_world
    from world_api.build.following import Following as Following, follow_world as follow_world
    from world_api.build.key_frames import KeyFrames as KeyFrames, Looks as Looks
    from world_api.build.look_links import LookLinks as LookLinks
    from world_api.build.moving_things import MovingThings as MovingThings
    from world_api.build.scheduler import Progress as Progress
    from world_api.build.screen_texts import ScreenTexts as ScreenTexts
    from world_api.build.shots import Cuts as Cuts, SceneCuts as SceneCuts
    from world_api.build.source import (
        clear_beside as clear_beside,
        find_beside as find_beside,
        recording_of as recording_of,
        remembered_source as remembered_source,
    )
    from world_api.build.speech import RecognisedSpeech as RecognisedSpeech, SubtitleLines as SubtitleLines
    from world_api.build.stage import (
        Clip as Clip,
        FrameStage as FrameStage,
        Recipe as Recipe,
        Record as Record,
        Records as Records,
        RowStage as RowStage,
        Sampling as Sampling,
        Stage as Stage,
        StageSpec as StageSpec,
        Worker as Worker,
        clip_span as clip_span,
        keys_of as keys_of,
    )
    from world_api.build.stage_process import BuildProcesses as BuildProcesses
    from world_api.build.stitches import Stitches as Stitches
    from world_api.build.truth import Truth as Truth, read_truth as read_truth

__getattr__, __dir__, __all__ = lazy_names(__name__)

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
    from world_api.build.builder import BuildReport as BuildReport
    from world_api.build.builder import Job as Job
    from world_api.build.builder import build_world as build_world
    from world_api.build.following import Following as Following
    from world_api.build.following import follow_world as follow_world
    from world_api.build.key_frames import KeyFrames as KeyFrames
    from world_api.build.key_frames import Looks as Looks
    from world_api.build.look_links import LookLinks as LookLinks
    from world_api.build.moving_things import MovingThings as MovingThings
    from world_api.build.scheduler import Progress as Progress
    from world_api.build.screen_texts import ScreenTexts as ScreenTexts
    from world_api.build.shots import Cuts as Cuts
    from world_api.build.shots import SceneCuts as SceneCuts
    from world_api.build.source import clear_beside as clear_beside
    from world_api.build.source import find_beside as find_beside
    from world_api.build.source import recording_of as recording_of
    from world_api.build.source import remembered_source as remembered_source
    from world_api.build.speech import RecognisedSpeech as RecognisedSpeech
    from world_api.build.speech import SubtitleLines as SubtitleLines
    from world_api.build.stage import Clip as Clip
    from world_api.build.stage import FrameStage as FrameStage
    from world_api.build.stage import Recipe as Recipe
    from world_api.build.stage import Record as Record
    from world_api.build.stage import Records as Records
    from world_api.build.stage import RowStage as RowStage
    from world_api.build.stage import Sampling as Sampling
    from world_api.build.stage import Stage as Stage
    from world_api.build.stage import StageSpec as StageSpec
    from world_api.build.stage import Worker as Worker
    from world_api.build.stage import clip_span as clip_span
    from world_api.build.stage import keys_of as keys_of
    from world_api.build.stage_process import BuildProcesses as BuildProcesses
    from world_api.build.stitches import Stitches as Stitches
    from world_api.build.truth import Truth as Truth
    from world_api.build.truth import read_truth as read_truth

__getattr__, __dir__, __all__ = lazy_names(__name__)

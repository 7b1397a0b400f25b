"""Building worlds: stages turn a video into rows of tables, clip by clip.

``build_world`` runs the stages of a ``Recipe`` over one decode pass and writes the manifest last; ``follow_world`` does the same
while the file is still being written. A stage of one's own is a ``FrameStage`` or a ``RowStage`` in a ``Recipe``. The stages of
the profiles are here, too: shots and scenes, key frames, moving things and their links, screen texts, speech, the oracle.

Names are imported when they are first used, so that importing the package is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from world_api.build.builder import BuildReport, Job, build_world
    from world_api.build.following import Following, follow_world
    from world_api.build.key_frames import KeyFrames, Looks
    from world_api.build.look_links import LookLinks
    from world_api.build.moving_things import MovingThings
    from world_api.build.scheduler import Progress
    from world_api.build.screen_texts import ScreenTexts
    from world_api.build.shots import Cuts, SceneCuts
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
    from world_api.build.stage_process import BuildProcesses
    from world_api.build.stitches import Stitches
    from world_api.build.truth import Truth, read_truth

#: The module of each name; it is imported when the name is first used.
_HOMES = {
    "builder": "BuildReport Job build_world",
    "following": "Following follow_world",
    "key_frames": "KeyFrames Looks",
    "look_links": "LookLinks",
    "moving_things": "MovingThings",
    "scheduler": "Progress",
    "screen_texts": "ScreenTexts",
    "shots": "Cuts SceneCuts",
    "source": "clear_beside find_beside recording_of remembered_source",
    "speech": "RecognisedSpeech SubtitleLines",
    "stage": "Clip FrameStage Recipe Record Records RowStage Sampling Stage StageSpec Worker clip_span keys_of",
    "stage_process": "BuildProcesses",
    "stitches": "Stitches",
    "truth": "Truth read_truth",
}

__all__ = [
    "BuildProcesses", "BuildReport", "Clip", "Cuts", "Following", "FrameStage", "Job", "KeyFrames", "LookLinks", "Looks",
    "MovingThings", "Progress", "Recipe", "RecognisedSpeech", "Record", "Records", "RowStage", "Sampling", "SceneCuts",
    "ScreenTexts", "Stage", "StageSpec", "Stitches", "SubtitleLines", "Truth", "Worker", "build_world", "clear_beside",
    "clip_span", "find_beside", "follow_world", "keys_of", "read_truth", "recording_of", "remembered_source",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names.split():
            return getattr(import_module(f"world_api.build.{module}"), name)
    raise AttributeError(f"module 'world_api.build' has no attribute {name!r}")

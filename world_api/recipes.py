"""Recipes: which stages, with which adapters, each profile builds worlds with."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from world_api.build.stage import FrameStage, Recipe, Stage, leave_out
from world_api.core.faults import BackendFault
from world_api.listening import Listening, speech_stage

if TYPE_CHECKING:
    from world_api.backends.classical.detector import ClassicalDetector
    from world_api.backends.classical.ocr import RapidOcrReader
    from world_api.media.decoder import MediaWorker


#: Stages that take as long as all others together, and who makes them in a process of their own.
_APART = {"moving_things": "world_api.recipes:moving_things"}


def recipe_for(
    profile: str,
    listening: Listening | None = None,
    *,
    without: Collection[str] = (),
) -> Recipe:
    """The recipe of a profile, without the stages of those names; ``listening`` says where words that are said come from.

    Raises:
        BackendFault: ``no_such_profile``, ``profile_not_ready``; ``no_such_stage``, ``stage_needed`` once the stages
            are made.
    """
    if profile == "classical":
        said = listening or Listening()
        return Recipe(
            profile=profile,
            stages=lambda video, worker: leave_out(_classical(video, worker, listening=said), without),
            apart={name: maker for name, maker in _APART.items() if name not in without},
        )
    if profile == "oracle":
        return Recipe(profile=profile, stages=lambda video, _: leave_out(_oracle(video), without))
    if profile == "neural":
        # Stages for it need model weights that nothing here downloads; until they exist, no package would help.
        raise BackendFault(
            "profile_not_ready", "the neural profile has no stages yet", hint="use the classical profile"
        )
    raise BackendFault(
        "no_such_profile", f"there is no profile {profile!r}", hint="the profiles are classical, neural and oracle"
    )


def _classical(video: Path, worker: MediaWorker, *, listening: Listening) -> list[Stage]:
    from world_api.build.key_frames import KeyFrames
    from world_api.build.look_links import LookLinks
    from world_api.build.looks import Looks
    from world_api.build.scenes import SceneCuts
    from world_api.build.screen_texts import ScreenTexts
    from world_api.build.shots import Cuts
    from world_api.build.track_links import Stitches

    return [
        Cuts(),
        Looks(),
        KeyFrames(),
        moving_things(),
        ScreenTexts(_reader),
        SceneCuts(),
        Stitches(),
        LookLinks(),
        speech_stage(video, listening, worker),
    ]


def moving_things() -> FrameStage:
    """The stage that follows moving things."""
    from world_api.build.moving_things import MovingThings

    return MovingThings(_detector)


def _oracle(video: Path) -> list[Stage]:
    from world_api.build.key_frames import KeyFrames
    from world_api.build.looks import Looks
    from world_api.build.truth import Oracle

    return [Oracle(video), Looks(), KeyFrames()]


@cache
def _detector() -> ClassicalDetector:
    from world_api.backends.classical.detector import ClassicalDetector

    return ClassicalDetector()


@cache
def _reader() -> RapidOcrReader:
    from world_api.backends.classical.ocr import RapidOcrReader

    return RapidOcrReader()

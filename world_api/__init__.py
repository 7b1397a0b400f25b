"""The world of a video and its sixteen atomic operations.

The public names are those of ``__all__``. Each is imported at its first use, so that importing the package is fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.execution import lazy_names

if TYPE_CHECKING:
    from world_api.api import (
        build_world as build_world,
        ensure_world as ensure_world,
        open_session as open_session,
        vision_config as vision_config,
    )
    from world_api.build.following import Following as Following
    from world_api.core.execution import SystemClock as SystemClock
    from world_api.media.container import Limits as Limits
    from world_api.operations import OPERATIONS as OPERATIONS, Operation as Operation, run as run
    from world_api.options import BuildOptions as BuildOptions, Listening as Listening, VisionChoices as VisionChoices
    from world_api.session.session import Session as Session
    from world_api.world.store import World as World, list_worlds as list_worlds, open_world as open_world

__getattr__, __dir__, __all__ = lazy_names(__name__)

"""The world of a video and its sixteen atomic operations.

The public names are those of ``__all__``. Each is imported at its first use, so that importing the package is fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.lazy import lazy_names

if TYPE_CHECKING:
    from world_api.api import build_world, ensure_world, open_session, vision_config
    from world_api.build.following import Following
    from world_api.core.execution import SystemClock
    from world_api.media.container import Limits
    from world_api.operations import OPERATIONS, Operation, run
    from world_api.options import BuildOptions, Listening, VisionChoices
    from world_api.session.session import Session
    from world_api.world.store import World, list_worlds, open_world

__getattr__, __dir__, __all__ = lazy_names(__name__)

"""The world of a video and its sixteen atomic operations.

The public surface is what ``__all__`` names; it loads when it is first used, so that importing the package is cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.lazy import lazy_names

if TYPE_CHECKING:
    from world_api.api import build_world as build_world
    from world_api.api import ensure_world as ensure_world
    from world_api.api import open_session as open_session
    from world_api.api import vision_config as vision_config
    from world_api.build.following import Following as Following
    from world_api.core.ports import SystemClock as SystemClock
    from world_api.media.container import Limits as Limits
    from world_api.operations import OPERATIONS as OPERATIONS
    from world_api.operations import Operation as Operation
    from world_api.operations import run as run
    from world_api.options import BuildOptions as BuildOptions
    from world_api.options import Listening as Listening
    from world_api.options import VisionChoices as VisionChoices
    from world_api.session.session import Session as Session
    from world_api.world.store import World as World
    from world_api.world.store import list_worlds as list_worlds
    from world_api.world.store import open_world as open_world

__getattr__, __dir__, __all__ = lazy_names(__name__)

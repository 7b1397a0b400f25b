"""The world of a video and its sixteen atomic operations.

The public surface is what ``__all__`` names; it loads when it is first used, so that importing the package is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from world_api.build.following import Following
    from world_api.listening import Listening
    from world_api.media.container import Limits
    from world_api.operations import OPERATIONS, Operation, run
    from world_api.options import BuildOptions
    from world_api.profiles import build_world, ensure_world, open_session
    from world_api.world.disk.stored import World, list_worlds, open_world
    from world_api.world.sessions.session import Session

_HOMES = {
    "BuildOptions": "world_api.options",
    "Following": "world_api.build.following",
    "Limits": "world_api.media.container",
    "Listening": "world_api.listening",
    "OPERATIONS": "world_api.operations",
    "Operation": "world_api.operations",
    "Session": "world_api.world.sessions.session",
    "World": "world_api.world.disk.stored",
    "build_world": "world_api.profiles",
    "ensure_world": "world_api.profiles",
    "list_worlds": "world_api.world.disk.stored",
    "open_session": "world_api.profiles",
    "open_world": "world_api.world.disk.stored",
    "run": "world_api.operations",
}

__all__ = [
    "OPERATIONS",
    "BuildOptions",
    "Following",
    "Limits",
    "Listening",
    "Operation",
    "Session",
    "World",
    "build_world",
    "ensure_world",
    "list_worlds",
    "open_session",
    "open_world",
    "run",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'world_api' has no attribute {name!r}")
    return getattr(import_module(home), name)

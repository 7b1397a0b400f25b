"""The world of a video and its sixteen atomic operations.

The public surface is what ``__all__`` names; it loads when it is first used, so that importing the package is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from world_api.api import build_world, ensure_world, open_session
    from world_api.build.following import Following
    from world_api.media.container import Limits
    from world_api.operations import OPERATIONS, Operation, run
    from world_api.options import BuildOptions, Listening
    from world_api.session.session import Session
    from world_api.world.store import World, list_worlds, open_world

_HOMES = {
    "BuildOptions": "world_api.options",
    "Following": "world_api.build.following",
    "Limits": "world_api.media.container",
    "Listening": "world_api.options",
    "OPERATIONS": "world_api.operations",
    "Operation": "world_api.operations",
    "Session": "world_api.session.session",
    "World": "world_api.world.store",
    "build_world": "world_api.api",
    "ensure_world": "world_api.api",
    "list_worlds": "world_api.world.store",
    "open_session": "world_api.api",
    "open_world": "world_api.world.store",
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

"""The world of a video and its sixteen atomic operations.

The public surface is what ``__all__`` names; it loads when it is first used, so that importing the package is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from world_api.api import build_world, ensure_world, open_session, vision_config
    from world_api.build.following import Following
    from world_api.core.ports import SystemClock
    from world_api.media.container import Limits
    from world_api.operations import OPERATIONS, Operation, run
    from world_api.options import BuildOptions, Listening, VisionChoices
    from world_api.session.session import Session
    from world_api.world.store import World, list_worlds, open_world

__all__ = [
    "OPERATIONS", "BuildOptions", "Following", "Limits", "Listening", "Operation", "Session", "SystemClock", "VisionChoices", "World",
    "build_world", "ensure_world", "list_worlds", "open_session", "open_world", "run", "vision_config",
]  # fmt: skip

_NAMES = {
    "api": "build_world ensure_world open_session vision_config",
    "build.following": "Following",
    "core.ports": "SystemClock",
    "media.container": "Limits",
    "operations": "OPERATIONS Operation run",
    "options": "BuildOptions Listening VisionChoices",
    "session.session": "Session",
    "world.store": "World list_worlds open_world",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)

"""The systems that are compared, behind one protocol: a question and a session in, an episode out."""

from controller.systems.base import (
    LoopSystem,
    Options,
    OwnCalls,
    Setup,
    System,
    SystemBuilder,
    SystemContext,
    refuse_shown,
)
from controller.systems.registry import ENTRY_POINT_GROUP, build_system, own_system, system_names
from controller.systems.tool_systems import flat, hier

__all__ = [
    "ENTRY_POINT_GROUP",
    "LoopSystem",
    "Options",
    "OwnCalls",
    "Setup",
    "System",
    "SystemBuilder",
    "SystemContext",
    "build_system",
    "flat",
    "hier",
    "own_system",
    "refuse_shown",
    "system_names",
]

"""The systems that are compared, behind one protocol: a question and a session in, an episode out."""

from controller.systems.context import System, SystemBuilder, SystemContext
from controller.systems.looping import LoopSystem, OwnCalls, Setup
from controller.systems.options import Options, refuse_shown
from controller.systems.registry import ENTRY_POINT_GROUP, build_system, own_system, system_names
from controller.systems.tool_users import flat, hier

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

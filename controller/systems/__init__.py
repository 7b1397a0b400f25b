"""The compared systems, behind one protocol: each takes a question and a session and returns an episode.

``build_system`` builds one by name from a ``SystemContext``. Other packages add systems under ``ENTRY_POINT_GROUP``; a
system that runs the loop derives from ``LoopSystem`` and implements ``setup``, which returns what the loop gets.
"""

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
from controller.systems.baselines import USUAL_TOKENS, clips
from controller.systems.tool_systems import ENTRY_POINT_GROUP, build_system, flat, hier, own_system, system_names

__all__ = [
    "ENTRY_POINT_GROUP", "USUAL_TOKENS", "LoopSystem", "Options", "OwnCalls", "Setup", "System", "SystemBuilder",
    "SystemContext", "build_system", "clips", "flat", "hier", "own_system", "refuse_shown", "system_names",
]  # fmt: skip

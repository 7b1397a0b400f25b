"""The systems that are compared, behind one protocol: a question and a session in, an episode out.

``build_system`` makes one by name from a ``SystemContext``. Other packages add systems under ``ENTRY_POINT_GROUP``; one that runs
the loop derives from ``LoopSystem`` and says in ``setup`` what the loop is given.
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
from controller.systems.registry import ENTRY_POINT_GROUP, build_system, own_system, system_names
from controller.systems.tool_systems import flat, hier

__all__ = [
    "ENTRY_POINT_GROUP", "USUAL_TOKENS", "LoopSystem", "Options", "OwnCalls", "Setup", "System", "SystemBuilder",
    "SystemContext", "build_system", "clips", "flat", "hier", "own_system", "refuse_shown", "system_names",
]  # fmt: skip

"""Which operations some tools call, and which optional groups must be on for that."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tool_induction.compiler.compilation import CompiledTool
from tool_induction.language.model import Call, walk_steps
from world_api.core.faults import ToolFault
from world_api.operations import EVERY_OPERATION


def operations_used(tools: Mapping[str, CompiledTool]) -> list[str]:
    """The operations that some tools call, sorted."""
    steps = (step for item in tools.values() for step in walk_steps(item.tool.steps))
    return sorted({step.target for step in steps if isinstance(step, Call) and step.kind == "api"})


def groups_needed(operations: Collection[str]) -> list[str]:
    """The optional groups that some operations belong to, sorted; what there is no operation of is left to others to name."""
    found = {EVERY_OPERATION[name].group for name in operations if name in EVERY_OPERATION}
    return sorted(found - {""})


def check_switched_on(name: str, needed: Collection[str], groups: Collection[str]) -> None:
    """Refuse tools that call operations of groups which are off.

    Raises:
        ToolFault: ``operations_off``.
    """
    off = sorted(set(needed) - set(groups))
    if off:
        raise ToolFault(
            "operations_off",
            f"{name} calls operations of the optional group {', '.join(map(repr, off))}, which is off",
            hint="switch it on for all systems that are compared: " + " ".join(f"--with {group}" for group in off),
        )

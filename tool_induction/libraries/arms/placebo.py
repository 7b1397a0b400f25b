"""Placebo tools: told to the model word for word like the real ones, and of no use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tool_induction import limits
from tool_induction.compiler.compilation import CompiledTool
from tool_induction.language.model import walk_steps
from world_api.core.faults import ToolFault

#: False, whatever is asked: each run ends at once, with nothing found.
_NEVER = {"type": "require", "condition": "{{ 1 > 2 }}", "status": "empty", "reason": "nothing was found"}


def placebo_of(tools: Mapping[str, CompiledTool]) -> dict[str, Any]:
    """A document of tools that find nothing.

    Each keeps its name, its description, its inputs and outputs, and its steps, which are never reached: so its declaration, with the
    calls it says it may cost, is that of the real tool. One that has as many steps as a tool may have keeps so many.

    Raises:
        ToolFault: ``no_placebo``.
    """
    return {"tools": [{**item.frozen, "steps": _ended_at_once(item)} for item in tools.values()]}


def _ended_at_once(tool: CompiledTool) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = tool.frozen["steps"]
    room = limits.MAX_TOOL_STEPS - sum(1 for _ in walk_steps(tool.tool.steps))
    if len(steps) < limits.MAX_STEPS and room >= 1:
        return [_NEVER, *steps]
    first, *rest = steps
    if first["type"] == "require":
        # What the steps after it know from the condition they go on knowing.
        condition = first["condition"].removeprefix("{{").removesuffix("}}").strip()
        return [{**_NEVER, "condition": f"{{{{ 1 > 2 and ({condition}) }}}}"}, *rest]
    grown = sum(1 for _ in walk_steps(tool.tool.steps[:1])) + 2
    if room < grown:
        raise ToolFault(
            "no_placebo",
            f"{tool.name!r} has {limits.MAX_TOOL_STEPS - room} steps: there is no room for what ends it at once",
            hint=f"make the arms of a fork without it, or of one in which it has at most {limits.MAX_TOOL_STEPS - grown} steps",
        )
    # Both branches bind what the first step binds, at the same price; the one that is taken ends before.
    return [{"type": "if", "condition": "{{ 1 < 2 }}", "then": [_NEVER, first], "else": [first]}, *rest]

"""Placebo tools: told to the model word for word like the real ones, and of no use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tool_induction.compiler.compiling import CompiledTool

#: False, whatever is asked: each run ends at once, with nothing found.
_NEVER = {"type": "require", "condition": "{{ 1 > 2 }}", "status": "empty", "reason": "nothing was found"}


def placebo_of(tools: Mapping[str, CompiledTool]) -> dict[str, Any]:
    """A document of tools that find nothing.

    Each keeps its name, its description, its inputs and outputs, and its steps, which are never reached: so its declaration, with the
    calls it says it may cost, is that of the real tool.
    """
    return {"tools": [{**item.frozen, "steps": [_NEVER, *item.frozen["steps"]]} for item in tools.values()]}

"""Exposures: which operations and tools the requests of an episode declare, and operations called on demand.

What is hidden follows from the calls so far alone, so that a replay declares the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from controller.episode import CallRecord
from controller.episode_tools import JudgedItems, Toolset, refused
from tool_induction.library_tools import ToolDeclaration
from world_api.core.canonical import closed_object
from world_api.core.faults import INTERNAL_FAULT
from world_api.operations import EVERY_OPERATION
from world_api.schemas.formats import lean_schema

#: all: operations and tools; tools: the library's tools only; tools-first: operations are declared once the tools did not help;
#: on-demand: operations are described and called through two fixed tools
Exposure = Literal["all", "tools", "tools-first", "on-demand"]


def exposure_named(name: Any) -> Any:
    """Return the name of an exposure as it is written today: records from before have ``tools_first``."""
    return name.replace("_", "-") if isinstance(name, str) else name


#: Returns the names of the tools that the next request does not declare, given the calls so far.
Hidden = Callable[[Sequence[CallRecord]], Collection[str]]

#: The status of a tool that found nothing or could not do its work.
_FRUITLESS = frozenset({"empty", "error", "budget_exhausted"})


def nothing_hidden(calls: Sequence[CallRecord]) -> Collection[str]:
    """Return no names: every tool is declared in every request."""
    return ()


def operations_hidden(calls: Sequence[CallRecord], *, after: int | None = None) -> Collection[str]:
    """Return the names of the operations, which are not declared until the tools did not help.

    That is so once a tool found nothing or failed, or ``after`` tools ran; never if ``after`` is None. A call that was itself wrong
    (an unknown tool, bad arguments) ran nothing, and neither judging nor an operation is a tool.
    """
    if after is None:
        return EVERY_OPERATION.keys()
    ran = 0
    for call in calls:
        error = call.result.get("error")
        # Another call would not avoid a defect. A result without a status says what was wrong with the call.
        is_defect = isinstance(error, Mapping) and error.get("code") == INTERNAL_FAULT
        if call.ran and call.tool not in _NO_TOOLS and (is_defect or "status" in call.result):
            ran += 1
            if is_defect or call.result.get("status") in _FRUITLESS or ran >= after:
                return ()
    return EVERY_OPERATION.keys()


DESCRIBE_OPERATION, CALL_OPERATION = "describe_operation", "call_operation"
_NO_TOOLS = frozenset({*EVERY_OPERATION, JudgedItems.name, DESCRIBE_OPERATION, CALL_OPERATION})


@dataclass(frozen=True)
class OperationsOnDemand:
    """Describes the operations, and lets them be called through ``call_operation``: two declarations that stay the same.

    The loop runs a call of ``call_operation`` as the call of the operation (``operation_called``); only one that names none
    comes here.
    """

    operations: Toolset

    def get_tools(self) -> Sequence[ToolDeclaration]:
        """Return the declarations of the two tools; the first lists the names of the operations."""
        names = {"type": "string", "enum": [tool.name for tool in self.operations.get_tools()]}
        call = closed_object({"name": {"type": "string"}, "arguments": {"type": "object"}})
        describe = "Describe a single operation: what it does, and its parameters."
        return [
            ToolDeclaration(name=DESCRIBE_OPERATION, description=describe, parameters=closed_object({"name": names})),
            ToolDeclaration(name=CALL_OPERATION, description="Call a single operation.", parameters=call),
        ]

    def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the declaration of an operation, or a fault."""
        declared = {tool.name: tool for tool in self.operations.get_tools()}
        tool = declared.get(str(arguments.get("name")))
        if tool is None:
            return refused("unknown_operation", "name is not that of an operation", f"one of: {', '.join(declared)}")
        if name == CALL_OPERATION:
            what = f"{tool.name} needs its arguments as an object"
            return refused("bad_arguments", what, f"send name and arguments; {DESCRIBE_OPERATION} names the parameters")
        about = EVERY_OPERATION[tool.name].description
        return {"name": tool.name, "description": about, "parameters": lean_schema(tool.parameters)}


def operation_called(
    name: str, arguments: Mapping[str, Any], known: Collection[str]
) -> tuple[str, dict[str, Any]] | None:
    """Return operation and arguments of a call of ``call_operation``; None for other calls, and if it names none of ``known``."""
    operation, given = arguments.get("name"), arguments.get("arguments")
    if name != CALL_OPERATION or not isinstance(given, dict) or operation not in EVERY_OPERATION.keys() & set(known):
        return None
    return str(operation), given

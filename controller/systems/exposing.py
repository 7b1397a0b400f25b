"""Which of the operations and the library's tools a model may call, and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from controller.toolsets import Toolset
from tool_induction.toolset import ToolDeclaration
from world_api.core.faults import OperationFault
from world_api.core.last_resort import INTERNAL_FAULT

#: all: operations and tools; tools: the library's tools only; tools_first: operations as a fallback
Exposure = Literal["all", "tools", "tools_first"]

#: What a tool says when it has found nothing or could not do its work.
_FRUITLESS = frozenset({"empty", "error", "budget_exhausted"})
#: The state of a tool that ran; a result without one says what was wrong with the call.
_STATUS = "status"


class FallbackTools:
    """A library's tools, and the operations once these have not helped.

    The operations are on offer from the start, so that what is sent stays the same from round to round; a call of one is
    refused until a tool found nothing or failed, or ``patience`` tools ran. A call that was itself wrong (an unknown tool, bad
    arguments) ran nothing: it neither opens them nor counts. For the order of calls to decide that, and not the order in which
    they end, all of them are made one after the other.
    """

    def __init__(self, first: Toolset, fallback: Toolset, *, patience: int) -> None:
        self._first = first
        self._fallback = fallback
        self._later = frozenset(tool.name for tool in fallback.get_tools())
        self._patience = patience
        self._ran = 0
        self._is_open = False

    def get_tools(self) -> Sequence[ToolDeclaration]:
        """The tools, then the operations."""
        return [replace(tool, writes=True) for tool in (*self._first.get_tools(), *self._fallback.get_tools())]

    def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Run the call; an operation only where the tools have been tried."""
        if name in self._later:
            if not (self._is_open or self._ran >= self._patience):
                return {**_not_yet(name).record()}
            return self._fallback.call_tool(name, arguments)
        result = self._first.call_tool(name, arguments)
        self._ran += _has_run(result)
        self._is_open = self._is_open or _is_fruitless(result)
        return result


def _has_run(result: Mapping[str, Any]) -> bool:
    return _STATUS in result or _is_defect(result)


def _is_fruitless(result: Mapping[str, Any]) -> bool:
    return result.get(_STATUS) in _FRUITLESS or _is_defect(result)


def _is_defect(result: Mapping[str, Any]) -> bool:
    """Whether the tool broke down for a reason that no other call of it would mend."""
    error = result.get("error")
    return isinstance(error, Mapping) and error.get("code") == INTERNAL_FAULT


def _not_yet(name: str) -> OperationFault:
    return OperationFault(
        "operation_not_open",
        f"{name} can be called once a tool has found nothing or failed",
        hint="call the tool that fits the question best first",
    )

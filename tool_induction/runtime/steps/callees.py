"""Tools that are called by tools: what goes in, and what the caller sees of what comes out."""

from __future__ import annotations

from collections.abc import Mapping

from tool_induction.language.evaluation import Json
from tool_induction.language.model import Tool
from tool_induction.runtime.values import Unfit, fitted
from world_api.core.faults import ToolFault


def fitting(tool: Tool, arguments: Mapping[str, Json]) -> dict[str, Json]:
    """The arguments of a call as the called tool's inputs have them.

    Raises:
        ToolFault: ``bad_arguments``.
    """
    types = {item.name: item.type for item in tool.inputs}
    try:
        return {key: fitted(value, types[key], place=key) for key, value in arguments.items()}
    except Unfit as why:
        raise ToolFault("bad_arguments", f"{tool.name}: {why}", hint="a called tool takes what it declares") from None


def as_callee_record(outputs: dict[str, Json], status: str, summary: str, evidence: list[Json]) -> dict[str, Json]:
    """What a tool's caller sees: the outputs and what the runtime adds."""
    record: dict[str, Json] = dict(outputs)
    start, end = outputs.get("start_time"), outputs.get("end_time")
    if "center_time" not in outputs and isinstance(start, int | float) and isinstance(end, int | float):
        record["center_time"] = round((start + end) / 2, 3)
    return record | {"status": status, "summary": summary, "evidence": evidence}

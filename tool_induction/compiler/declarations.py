"""Pass 7: declarations of a compiled tool: JSON Schemas, OpenAI and MCP declarations, a signature card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tool_induction.checker.steps import STATUSES, evidence_list
from tool_induction.compiler.compilation import CompiledTool, calls_of
from tool_induction.language import types as ty
from tool_induction.language.model import Call, JudgeStep, Tool, walk_steps
from world_api.core.identifiers import plural
from world_api.operations import EVERY_OPERATION
from world_api.schemas.formats import mcp_tool, openai_tool


def inputs_schema(tool: Tool) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments."""
    properties: dict[str, Any] = {}
    for item in tool.inputs:
        schema = ty.type_to_schema(item.type)
        if item.name == "video_id" and not item.description:
            schema["description"] = "Which video: the id the question gives."
        if item.description:
            unit = schema.get("description", "")
            schema["description"] = f"{item.description} ({unit.rstrip('.').lower()})" if unit else item.description
        if item.default is not None:
            schema["default"] = item.default.value
        properties[item.name] = schema
    return {
        "type": "object",
        "properties": properties,
        "required": [item.name for item in tool.inputs if item.required],
        "additionalProperties": False,
    }


def result_schema(tool: Tool) -> dict[str, Any]:
    """Return the JSON Schema of a tool's result record; an output is null if the tool found no value."""
    outputs: dict[str, Any] = {}
    for item in tool.outputs:
        schema = ty.type_to_schema(_visible(ty.optional(item.type)))
        outputs[item.name] = {"description": item.description} | schema if item.description else schema
    count = {"type": "integer", "minimum": 0}
    words, intervals = ({"type": "array", "items": ty.type_to_schema(item)} for item in (ty.STRING, ty.INTERVAL))
    # what a result rests on: words that were judged or not, intervals without a match or not examined
    judged = dict.fromkeys(("matched", "unmatched", "not_judged"), words) | dict.fromkeys(
        ("not_found", "not_examined"), intervals
    )
    return {
        "type": "object",
        "properties": {
            "status": {"type": "string", "enum": list(STATUSES)},
            "summary": ty.type_to_schema(ty.STRING),
            "outputs": {
                "type": "object",
                "properties": outputs,
                "required": list(outputs),
                "additionalProperties": False,
            },
            "evidence": ty.type_to_schema(evidence_list()),
            "calls": {"type": "object", "properties": {"logical": count, "physical": count}},
            "cost": {"type": "object", "additionalProperties": {"type": "number"}},
            "warnings": {"type": "array", "items": ty.type_to_schema(ty.STRING)},
            "unsure": {"type": "object", "additionalProperties": {"type": "object", "required": ["why"]}},
            "judged": {"type": "object", "properties": judged, "additionalProperties": False},
            "error": {"type": "object"},
        },
        "required": ["status", "summary", "outputs", "evidence", "calls", "cost", "warnings"],
    }


def _visible(type_: ty.Type) -> ty.Type:
    """Return a type without the fields that a presented result omits (``parent`` and ``evidence``)."""
    match type_:
        case ty.OptionalType(item):
            return ty.optional(_visible(item))
        case ty.ListType():
            return replace(type_, item=_visible(type_.item))
        case ty.RecordType():
            kept = tuple((key, _visible(value)) for key, value in type_.fields if key not in ("parent", "evidence"))
            return replace(type_, fields=kept)
    return type_


def openai_declaration(compiled: CompiledTool, *, strict: bool) -> dict[str, Any]:
    """Return the tool as an OpenAI function tool, in strict mode or not.

    Raises:
        ToolFault: ``not_strict``, if strict mode is requested and an input has no closed type.
    """
    return openai_tool(compiled.name, description_of(compiled), inputs_schema(compiled.tool), strict=strict)


def mcp_declaration(compiled: CompiledTool, *, writes: bool) -> dict[str, Any]:
    """Return the tool as an MCP tool, with output schema and annotations."""
    parameters, result = inputs_schema(compiled.tool), result_schema(compiled.tool)
    return mcp_tool(compiled.name, description_of(compiled), parameters, result, writes=writes)


def writes_of(name: str, tools: Mapping[str, CompiledTool]) -> bool:
    """Whether a tool, or one it calls, writes to the session."""
    calls = [step for step in walk_steps(tools[name].tool.steps) if isinstance(step, Call)]
    return any(
        EVERY_OPERATION[step.target].state == "writes" if step.kind == "api" else writes_of(step.target, tools)
        for step in calls
    )


def asks_judge(name: str, tools: Mapping[str, CompiledTool]) -> bool:
    """Whether a tool, or one it calls, has a judge step."""
    tool = tools[name].tool
    judges = any(isinstance(step, JudgeStep) for step in walk_steps(tool.steps))
    return judges or any(asks_judge(one, tools) for one in calls_of(tool))


def description_of(compiled: CompiledTool) -> str:
    """Return the description that a model reads: the tool's own, and its maximum cost."""
    most = compiled.price.most
    tokens = f", up to {most.tokens} tokens" if most.tokens else ""
    return f"{compiled.tool.description} (Up to {plural(most.calls, 'atomic call')}{tokens}.)"


def signature_card(compiled: CompiledTool) -> str:
    """Return the tool in three lines of text: signature, description and price."""
    tool = compiled.tool
    inputs = ", ".join(f"{item.name}{'' if item.required else '?'}: {ty.show(item.type)}" for item in tool.inputs)
    outputs = ", ".join(f"{item.name}: {_short(item.type)}" for item in tool.outputs)
    price = compiled.price
    cost = f"{price.least.calls} to {price.most.calls} calls, usually {price.expected.calls}"
    cost += f", up to {price.most.tokens} tokens" if price.most.tokens else ""
    return f"{tool.name}({inputs}) -> {{{outputs}}}\n  {tool.description}\n  cost: {cost}"


def _short(type_: ty.Type) -> str:
    text = ty.show(type_)
    if len(text) <= 40:
        return text
    inner = ty.plain(type_)
    word = (
        f"list<{ty.show(inner.item).split(' ')[0]}>" if isinstance(inner, ty.ListType) else ty.show(inner).split(" ")[0]
    )
    return f"optional<{word}>" if isinstance(type_, ty.OptionalType) else word

"""A library as other programs want it: OpenAI tools, MCP tools, signature cards with one example call each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from tool_induction.compiler.compilation import CompiledTool
from tool_induction.compiler.faces import mcp_face, openai_face, signature_card, writes_of
from tool_induction.libraries.examples import IMAGINED, example_arguments
from world_api.core.faults import ToolFault

Format = Literal["openai", "openai-strict", "mcp", "cards"]


def openai_faces(tools: Mapping[str, CompiledTool], *, strict: bool) -> list[dict[str, Any]]:
    """The tools as OpenAI function tools. Where strict mode cannot say an input, that tool is offered without it."""
    return [_openai(item, strict=strict) for item in tools.values()]


def _openai(item: CompiledTool, *, strict: bool) -> dict[str, Any]:
    try:
        return openai_face(item, strict=strict)
    except ToolFault as fault:
        if fault.code != "not_strict":
            raise
        return openai_face(item, strict=False)


def mcp_faces(tools: Mapping[str, CompiledTool]) -> list[dict[str, Any]]:
    """The tools as MCP tools, with input and output schemas and annotations."""
    return [mcp_face(item, writes=writes_of(name, tools)) for name, item in tools.items()]


def card(item: CompiledTool) -> str:
    """A tool in a few lines: signature, description, price, one example call."""
    return f"{signature_card(item)}\n  example: {call_text(item.name, example_arguments(item.tool, IMAGINED))}"


def call_text(name: str, arguments: Mapping[str, Any]) -> str:
    """A call as a person writes it down."""
    given = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in arguments.items())
    return f"{name}({given})"


def faces(tools: Mapping[str, CompiledTool], wanted: Format) -> list[dict[str, Any]] | list[str]:
    """All tools in one format, in library order."""
    match wanted:
        case "openai" | "openai-strict":
            return openai_faces(tools, strict=wanted == "openai-strict")
        case "mcp":
            return mcp_faces(tools)
        case "cards":
            return [card(item) for item in tools.values()]

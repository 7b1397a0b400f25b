"""Declarations of operations and tools in the formats of other programs: JSON Schema, OpenAI and MCP tools, a Markdown table.

Each format is made from the registry alone: the sixteen operations and those of optional groups.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal, get_args

from world_api.chat.prompts import DATA
from world_api.core.cost import Cost
from world_api.core.faults import ToolFault
from world_api.operations import OPERATIONS, Operation
from world_api.operations.registry import BESIDE
from world_api.schemas.json_schema import Schema, plain_schema, strict_schema

Format = Literal["table", "json-schema", "openai", "openai-strict", "mcp"]
FORMATS: tuple[Format, ...] = get_args(Format)

_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def render(chosen: Format, operations: Mapping[str, Operation] = OPERATIONS) -> str:
    """Return the declarations of operations in one format, as text: a Markdown table, or indented JSON."""
    if chosen == "table":
        return markdown_table(operations)
    if chosen == "json-schema":
        documents = json_schemas(operations)
    elif chosen == "mcp":
        documents = mcp_tools(operations)
    else:
        documents = openai_tools(operations, strict=chosen == "openai-strict")
    return json.dumps(documents, indent=2, ensure_ascii=False) + "\n"


def json_schemas(operations: Mapping[str, Operation] = OPERATIONS) -> list[Schema]:
    """Return the JSON form of each operation, with self-contained JSON Schemas of its parameters and its result."""
    return [
        {
            "name": item.name,
            "category": item.category,
            "description": item.description,
            "state": item.state,
            "price": item.price.record(),
            "looks": item.looks,
            "parameters": plain_schema(item.parameters_schema()),
            "result": plain_schema(item.result_schema()),
        }
        for item in operations.values()
    ]


def openai_tools(operations: Mapping[str, Operation] = OPERATIONS, *, strict: bool) -> list[Schema]:
    """Return each operation as a function tool of the Chat Completions API."""
    return [
        openai_tool(item.name, item.description, item.parameters_schema(), strict=strict)
        for item in operations.values()
    ]


def mcp_tools(operations: Mapping[str, Operation] = OPERATIONS) -> list[Schema]:
    """Return each operation as a tool of the Model Context Protocol."""
    return [
        mcp_tool(
            item.name,
            item.description,
            item.parameters_schema(),
            item.result_schema(),
            writes=item.state == "writes",
        )
        for item in operations.values()
    ]


def openai_tool(name: str, description: str, parameters: Mapping[str, Any], *, strict: bool) -> Schema:
    """Return a function tool in the form of the Chat Completions API.

    Raises ToolFault: ``bad_tool_name``; ``not_strict`` if strict mode cannot express the schema.
    """
    if not _TOOL_NAME.fullmatch(name):
        raise ToolFault(
            "bad_tool_name", f"{name[:80]!r} cannot name a function tool", hint="use 1 to 64 of A-Za-z0-9_-"
        )
    schema = strict_schema(parameters) if strict else plain_schema(parameters)
    function = {"name": name, "description": description, "parameters": schema, "strict": strict}
    return {"type": "function", "function": function}


def mcp_tool(
    name: str, description: str, parameters: Mapping[str, Any], result: Mapping[str, Any], *, writes: bool
) -> Schema:
    """Return a tool in the form of the Model Context Protocol, with output schema and all four annotations.

    The output schema has one field, ``data_from_video``, that contains the result, as in the controller's
    conversations. No tool is destructive (writing only adds to a session's overlay) or uses anything outside the video.
    """
    return {
        "name": name,
        "description": description,
        "inputSchema": plain_schema(parameters),
        "outputSchema": {"type": "object", "properties": {DATA: plain_schema(result)}, "required": [DATA]},
        "annotations": {
            "readOnlyHint": not writes,
            "destructiveHint": False,
            "idempotentHint": not writes,
            "openWorldHint": False,
        },
    }


def markdown_table(operations: Mapping[str, Operation] = OPERATIONS) -> str:
    """Return the table of operations in Markdown; its columns are aligned, so that it is readable in a terminal."""
    rows = operation_rows(operations)
    cells = [list(rows[0]), *(list(row.values()) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in cells]
    lines.insert(1, "| " + " | ".join("-" * width for width in widths) + " |")
    return "\n".join(lines) + "\n"


def operation_rows(operations: Mapping[str, Operation] = OPERATIONS) -> list[dict[str, str]]:
    """Return the rows of the table: heading -> cell. Operations of a group have its name instead of a number."""
    numbers = {name: str(number) for number, name in enumerate(OPERATIONS, start=1)}
    return [
        {
            "#": numbers.get(name, item.group),
            "operation": name,
            "parameters": ", ".join(item.signature()),
            "result": ", ".join(result_fields(item)),
            "state": item.state,
            "price": price_text(item.price),
        }
        for name, item in operations.items()
    ]


def result_fields(item: Operation) -> list[str]:
    """Return the fields of a result, objects and lists with their fields: ``scenes: [{scene_id, start_time}]``."""
    properties = plain_schema(item.result_schema())["properties"]
    return [name + _shape(schema) for name, schema in properties.items() if name not in BESIDE]


def _shape(schema: Mapping[str, Any]) -> str:
    if "properties" in schema:
        return ": {" + ", ".join(schema["properties"]) + "}"
    if "properties" in schema.get("items", {}):
        return ": [{" + ", ".join(schema["items"]["properties"]) + "}]"
    return ""


def price_text(price: Cost) -> str:
    """Describe a price: ``1 call, 5 ms``; model calls and tokens only if there are any."""
    counts = {"call": price.calls, "model call": price.model_calls, "token": price.tokens}
    parts = [f"{number} {noun}{'s' * (number != 1)}" for noun, number in counts.items() if number]
    return ", ".join([*parts, f"{price.seconds * 1000:g} ms"])

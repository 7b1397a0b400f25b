"""The registry as others see it: JSON Schema, OpenAI tools, MCP tools, tables."""

from world_api.exposure.faces import (
    FACES,
    Face,
    OperationRow,
    json_schemas,
    markdown_table,
    mcp_tools,
    openai_tools,
    operation_rows,
    render,
)
from world_api.exposure.schemas import drop_unset, mcp_tool, openai_tool, plain_schema, strict_schema
from world_api.exposure.strict_rules import strict_violations

__all__ = [
    "FACES",
    "Face",
    "OperationRow",
    "drop_unset",
    "json_schemas",
    "markdown_table",
    "mcp_tool",
    "mcp_tools",
    "openai_tool",
    "openai_tools",
    "operation_rows",
    "plain_schema",
    "render",
    "strict_schema",
    "strict_violations",
]

"""Declarations of operations and tools for other programs.

``formats`` makes self-contained and strict JSON Schemas, checks strict ones, and renders the registry as a table, JSON
Schema, OpenAI or MCP tools; ``mcp`` serves the operations.
Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.execution import lazy_names

if TYPE_CHECKING:
    from world_api.schemas.formats import (
        FORMATS,
        Format,
        drop_unset,
        json_schemas,
        lean_schema,
        mcp_tool,
        mcp_tools,
        openai_tool,
        openai_tools,
        operation_rows,
        plain_schema,
        render,
        strict_schema,
        strict_violations,
    )
    from world_api.schemas.mcp import mcp_server

__getattr__, __dir__, __all__ = lazy_names(__name__)

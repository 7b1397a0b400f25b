"""Declarations of operations and tools for other programs.

``json_schema`` makes self-contained and strict JSON Schemas and checks strict ones, ``formats`` renders the registry as a table, JSON
Schema, OpenAI and MCP tools, ``pages`` writes the generated documentation, ``mcp`` serves the operations. Each name is imported
when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.lazy import lazy_names

if TYPE_CHECKING:
    from world_api.schemas.formats import FORMATS as FORMATS
    from world_api.schemas.formats import Format as Format
    from world_api.schemas.formats import json_schemas as json_schemas
    from world_api.schemas.formats import mcp_tool as mcp_tool
    from world_api.schemas.formats import mcp_tools as mcp_tools
    from world_api.schemas.formats import openai_tool as openai_tool
    from world_api.schemas.formats import openai_tools as openai_tools
    from world_api.schemas.formats import operation_rows as operation_rows
    from world_api.schemas.formats import render as render
    from world_api.schemas.json_schema import drop_unset as drop_unset
    from world_api.schemas.json_schema import plain_schema as plain_schema
    from world_api.schemas.json_schema import strict_schema as strict_schema
    from world_api.schemas.json_schema import strict_violations as strict_violations
    from world_api.schemas.mcp import mcp_server as mcp_server
    from world_api.schemas.pages import operations_page as operations_page
    from world_api.schemas.pages import type_text as type_text
    from world_api.schemas.pages import write_pages as write_pages

__getattr__, __dir__, __all__ = lazy_names(__name__)

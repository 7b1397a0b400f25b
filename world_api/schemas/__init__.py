"""Declarations of operations and tools for other programs.

``json_schema`` makes self-contained and strict JSON Schemas and checks strict ones, ``formats`` renders the registry as a table, JSON
Schema, OpenAI and MCP tools, ``pages`` writes the generated documentation, ``mcp`` serves the operations. Each name is imported
when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_NAMES = {
    "json_schema": "Schema drop_unset plain_schema strict_schema strict_violations",
    "formats": (
        "FORMATS Format json_schemas markdown_table mcp_tool mcp_tools openai_tool openai_tools operation_rows render"
    ),
    "pages": "operations_page type_text write_pages",
    "mcp": "mcp_server serve_stdio",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "FORMATS", "Format", "Schema", "drop_unset", "json_schemas", "markdown_table", "mcp_server", "mcp_tool",
    "mcp_tools", "openai_tool", "openai_tools", "operation_rows", "operations_page", "plain_schema", "render",
    "serve_stdio", "strict_schema", "strict_violations", "type_text", "write_pages",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)

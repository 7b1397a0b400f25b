"""The leaderboard's function declarations as ours: its type words as JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tool_induction.library_tools import ToolDeclaration

Schema = dict[str, Any]

#: The leaderboard names types by Python's and other languages' words.
TYPE_WORDS = {
    "string": "string",
    "integer": "integer",
    "float": "number",
    "number": "number",
    "boolean": "boolean",
    "array": "array",
    "tuple": "array",
    "dict": "object",
    "object": "object",
    "any": "",
}
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
_KEPT = ("description", "enum", "default", "format", "minimum", "maximum")


def declaration(function: Mapping[str, Any]) -> ToolDeclaration:
    """The function as one of our tools; dots of its name become underscores, since no endpoint takes them."""
    return ToolDeclaration(
        name=tool_name(function["name"]),
        description=function["description"],
        parameters=schema_of(function["parameters"]),
    )


def tool_name(name: str) -> str:
    """The name under which a function is offered."""
    return _NOT_IN_A_NAME.sub("_", name)


def schema_of(node: Mapping[str, Any]) -> Schema:
    """A declared type as JSON Schema. What has properties is closed; a dict without any is free-form."""
    kind = TYPE_WORDS[node["type"]]
    schema: Schema = {"type": kind} if kind else {}
    schema |= {key: node[key] for key in _KEPT if key in node}
    if kind == "array":
        schema |= {key: node[key] for key in ("minItems", "maxItems") if key in node}
        schema["items"] = schema_of(node["items"]) if "items" in node else {}
    if kind == "object" and "properties" in node:
        schema["properties"] = {name: schema_of(child) for name, child in node["properties"].items()}
        schema["required"] = [name for name in node.get("required", ()) if name in node["properties"]]
        schema["additionalProperties"] = False
    return schema

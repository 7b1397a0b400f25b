"""The rules of OpenAI's strict mode for function parameters, and a checker for them.

Source: the "Supported schemas" section of OpenAI's structured outputs guide. What a strict schema may not say
(lengths of strings, defaults) is still checked when the operation is called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

MAX_NESTING = 10
MAX_PROPERTIES = 5000
MAX_NAME_AND_ENUM_CHARACTERS = 120_000
MAX_ENUM_VALUES = 1000
LARGE_ENUM_VALUES = 250  #: from here on one enum's strings may hold LARGE_ENUM_CHARACTERS together
LARGE_ENUM_CHARACTERS = 15_000

TYPES = frozenset({"string", "number", "boolean", "integer", "object", "array", "null"})
FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
KEYWORDS = frozenset(
    {
        *("type", "description", "enum", "anyOf"),
        *("properties", "required", "additionalProperties", "items", "minItems", "maxItems"),
        *("pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    }
)


def strict_violations(schema: Mapping[str, Any]) -> list[str]:
    """Every rule of strict mode that a parameters schema breaks, one sentence each; empty when it meets them all.

    The schema must be self-contained: ``$ref`` and ``$defs`` count as unsupported keywords here, though
    OpenAI accepts them, because many compatible servers do not.
    """
    found: list[str] = []
    if schema.get("type") != "object":
        found.append("root: must be an object")
    if "anyOf" in schema:
        found.append("root: must not be anyOf")
    nodes = list(_nodes(schema, "root", 1))
    for where, node, _ in nodes:
        found += [f"{where}: {problem}" for problem in _node_problems(node)]
    found += _size_problems(nodes)
    return found


def _nodes(schema: Mapping[str, Any], where: str, depth: int) -> Iterator[tuple[str, Mapping[str, Any], int]]:
    yield where, schema, depth
    for name, child in schema.get("properties", {}).items():
        yield from _nodes(child, f"{where}.{name}", depth + 1)
    if isinstance(schema.get("items"), Mapping):
        yield from _nodes(schema["items"], f"{where}[]", depth + 1)
    for index, child in enumerate(schema.get("anyOf", ())):
        yield from _nodes(child, f"{where}|{index}", depth)


def _node_problems(node: Mapping[str, Any]) -> Iterator[str]:
    for keyword in sorted(set(node) - KEYWORDS):
        yield f"keyword {keyword!r} is not supported"
    kinds = types_of(node)
    if not kinds and "anyOf" not in node and "enum" not in node:
        yield "has no type"
    for kind in sorted(kinds - TYPES):
        yield f"type {kind!r} is not supported"
    if node.get("format", "date") not in FORMATS:
        yield f"format {node['format']!r} is not supported"
    if "object" in kinds:
        yield from _object_problems(node)
    if "array" in kinds and not isinstance(node.get("items"), Mapping):
        yield "an array needs items"
    if len(node.get("enum", ())) > LARGE_ENUM_VALUES and _enum_characters(node) > LARGE_ENUM_CHARACTERS:
        yield f"an enum of over {LARGE_ENUM_VALUES} values may hold {LARGE_ENUM_CHARACTERS} characters"


def _object_problems(node: Mapping[str, Any]) -> Iterator[str]:
    if node.get("additionalProperties") is not False:
        yield "additionalProperties must be false"
    properties = set(node.get("properties", {}))
    required = set(node.get("required", ()))
    if properties - required:
        yield "every property must be required: " + ", ".join(sorted(properties - required))
    if required - properties:
        yield "required names no property: " + ", ".join(sorted(required - properties))


def _size_problems(nodes: list[tuple[str, Mapping[str, Any], int]]) -> Iterator[str]:
    if max(depth for _, _, depth in nodes) > MAX_NESTING:
        yield f"root: nested deeper than {MAX_NESTING} levels"
    names = [name for _, node, _ in nodes for name in node.get("properties", {})]
    if len(names) > MAX_PROPERTIES:
        yield f"root: more than {MAX_PROPERTIES} properties"
    if sum(len(node.get("enum", ())) for _, node, _ in nodes) > MAX_ENUM_VALUES:
        yield f"root: more than {MAX_ENUM_VALUES} enum values"
    if sum(map(len, names)) + sum(_enum_characters(node) for _, node, _ in nodes) > MAX_NAME_AND_ENUM_CHARACTERS:
        yield f"root: names and enum values hold more than {MAX_NAME_AND_ENUM_CHARACTERS} characters"


def types_of(node: Mapping[str, Any]) -> set[str]:
    """The type names a schema node lists, as a set; empty when it has none."""
    kind = node.get("type", [])
    return {kind} if isinstance(kind, str) else set(kind)


def _enum_characters(node: Mapping[str, Any]) -> int:
    return sum(len(value) for value in node.get("enum", ()) if isinstance(value, str))

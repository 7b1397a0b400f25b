"""Declarations of operations and tools for other programs: JSON Schema, OpenAI and MCP tools, a Markdown table.

Each format is made from the registry alone: the sixteen operations and those of optional groups. Limits that OpenAI's
strict mode cannot express (lengths of texts, defaults) are still checked when an operation is called.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args

from world_api.chat.messages import DATA
from world_api.core.cost import Cost
from world_api.core.faults import ToolFault
from world_api.operations import OPERATIONS, Operation
from world_api.operations.registry import BESIDE
from world_api.operations.schema import IMPLIED

# --- JSON Schemas ---------------------------------------------------------------------------------------------------

Schema = dict[str, Any]

_ANNOTATIONS = frozenset({"x-type", "title", "$defs", "definitions"})
_SCHEMA_KEYWORDS = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_SCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SCHEMA_MAPS = ("properties", "patternProperties", "dependentSchemas")
#: Greatest nesting in OpenAI's strict mode ("Supported schemas" in its structured outputs guide). Its limits on the numbers of
#: properties and enum values are far above what an operation or a tool has.
MAX_NESTING = 10

TYPES = frozenset({"string", "number", "boolean", "integer", "object", "array", "null"})
KEYWORDS = frozenset(
    {
        *("type", "description", "enum", "anyOf"),
        *("properties", "required", "additionalProperties", "items", "minItems", "maxItems"),
        *("pattern", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    }
)
_LIMIT_WORDS = {"minLength": "at least {} characters", "maxLength": "at most {} characters"}


def plain_schema(schema: Mapping[str, Any]) -> Schema:
    """Return the same JSON Schema, self-contained: ``$defs`` inlined, ``x-type`` and ``title`` removed.

    Raises ToolFault: ``recursive_schema`` or ``bad_schema_reference``, which no inlined schema can express.
    """
    definitions = {
        f"#/{place}/{name}": body for place in ("$defs", "definitions") for name, body in schema.get(place, {}).items()
    }
    plain: Schema = _plain(schema, definitions, ())
    return plain


def _plain(node: Any, definitions: Mapping[str, Any], inside: tuple[str, ...]) -> Any:
    if not isinstance(node, Mapping):
        return node  # true and false are schemas too
    if "$ref" in node:
        reference = node["$ref"]
        if reference in inside:
            raise ToolFault("recursive_schema", f"{reference} contains itself", hint="describe a bounded structure")
        if reference not in definitions:
            raise ToolFault("bad_schema_reference", f"{reference} is not defined", hint="refer to a name under $defs")
        target = _plain(definitions[reference], definitions, (*inside, reference))
        siblings = {key: value for key, value in node.items() if key != "$ref"}
        return {**target, **_plain(siblings, definitions, inside)}
    plain: Schema = {}
    for key, value in node.items():
        if key in _ANNOTATIONS:
            continue
        if key in _SCHEMA_KEYWORDS:
            plain[key] = _plain(value, definitions, inside)
        elif key in _SCHEMA_LISTS:
            plain[key] = [_plain(item, definitions, inside) for item in value]
        elif key in _SCHEMA_MAPS:  # keys are names here: a property may be called title
            plain[key] = {name: _plain(item, definitions, inside) for name, item in value.items()}
        else:
            plain[key] = value
    return plain


#: What chat models get of a schema; what is wrong with arguments beyond that, the fault of a call names.
_LEAN = ("type", "description", "enum", "default", "properties", "items", "anyOf")


def lean_schema(schema: Mapping[str, Any]) -> Schema:
    """Return the schema as chat models read it: no limits, no descriptions that the instructions give, no null for "not given".

    A lean schema remains as it is.

    Raises ToolFault: as ``plain_schema``.
    """
    plain = plain_schema(schema)
    properties = {name: _lean(part) for name, part in plain.get("properties", {}).items()}
    lean: Schema = {"type": "object", "properties": properties}
    if required := plain.get("required"):
        lean["required"] = list(required)
    return lean


#: The fields of a span inside arguments; the instructions give its form.
_SPAN = frozenset({"start_time", "end_time"})


def _lean(node: Any, *, may_be_null: bool = False) -> Schema:
    """Return a node without what chat models need not read; ``may_be_null``: null is no other way of leaving it out."""
    if not isinstance(node, Mapping):
        return {}
    choices = [one for one in node.get("anyOf", ()) if may_be_null or one.get("type") != "null"]
    if len(choices) == 1:
        node = {**choices[0], **{key: value for key, value in node.items() if key != "anyOf"}}
    elif choices:
        node = {**node, "anyOf": [_lean(one, may_be_null=True) for one in choices]}
    lean = {key: node[key] for key in _LEAN if key in node}
    if not may_be_null and isinstance(kind := lean.get("type"), list):
        kinds = [one for one in kind if one != "null"]
        lean["type"] = kinds[0] if len(kinds) == 1 else kinds
    if lean.get("description") in IMPLIED:
        del lean["description"]
    if lean.get("default", 0) is None:
        del lean["default"]
    if lean.get("properties", {}).keys() == _SPAN:
        del lean["properties"]
    if "properties" in lean:
        lean["properties"] = {name: _lean(part) for name, part in lean["properties"].items()}
    if "items" in lean:
        lean["items"] = _lean(lean["items"], may_be_null=True)
    return lean


def strict_schema(schema: Mapping[str, Any]) -> Schema:
    """Return the schema in the form of OpenAI's strict mode: all properties are required, optional ones nullable.

    Unsupported limits and defaults are moved into the description.

    Raises:
        ToolFault: ``not_strict``, if strict mode cannot express it (free-form objects, values of any type, too deep).
    """
    plain = plain_schema(schema)
    plain.setdefault("properties", {})  # a function without parameters is not free-form
    strict = _strict(plain)
    problems = strict_violations(strict)
    if problems:
        raise ToolFault("not_strict", "; ".join(problems[:5]), hint="offer this tool without strict mode")
    return strict


def _strict(node: Any) -> Schema:
    if not isinstance(node, Mapping):
        return {}  # "anything" has no strict form; the checker reports it
    strict: Schema = {key: value for key, value in node.items() if key in KEYWORDS}
    if "properties" in node:
        required = set(node.get("required", ()))
        strict["properties"] = {
            name: _strict(child) if name in required else _nullable(_strict(child))
            for name, child in node["properties"].items()
        }
    if "object" in types_of(node):
        # Without properties it is free-form: to close it would forbid what its own schema allows.
        strict.setdefault("additionalProperties", "properties" not in node)
        strict["required"] = list(strict.setdefault("properties", {}))
    if "items" in node:
        strict["items"] = _strict(node["items"])
    if "anyOf" in node:
        strict["anyOf"] = [_strict(child) for child in node["anyOf"]]
    return _with_notes(strict, node)


def _nullable(node: Schema) -> Schema:
    if _accepts_null(node):
        return node
    if "anyOf" in node:
        return {**node, "anyOf": [*node["anyOf"], {"type": "null"}]}
    if types_of(node) & {"object", "array"} or "enum" in node or not types_of(node):
        inner = {key: value for key, value in node.items() if key != "description"}
        outer = {key: value for key, value in node.items() if key == "description"}
        return {**outer, "anyOf": [inner, {"type": "null"}]}
    return {**node, "type": [*sorted(types_of(node)), "null"]}


def _accepts_null(node: Mapping[str, Any]) -> bool:
    if "null" in types_of(node) or (not types_of(node) and None in node.get("enum", ())):
        return True
    return any(_accepts_null(child) for child in node.get("anyOf", ()))


def _with_notes(strict: Schema, node: Mapping[str, Any]) -> Schema:
    """Return ``strict`` with the length limits of a text and the default in ``node``, which strict mode lacks, described in words."""
    notes = [words.format(node[key]) for key, words in _LIMIT_WORDS.items() if node.get(key, 1) > 1]
    if node.get("default") is not None:
        notes.append(f"default {json.dumps(node['default'], ensure_ascii=False)}")
    if not notes:
        return strict
    sentence = ", ".join(notes)
    described = f"{strict.get('description', '')} {sentence[0].upper()}{sentence[1:]}.".strip()
    return {**strict, "description": described}


def drop_unset(arguments: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a strict call without the nulls that mean "not given", at any depth.

    A null is kept if the schema requires the property, does not define it, or allows null as a value.
    """
    given: dict[str, Any] = _without_unset(dict(arguments), plain_schema(parameters))
    return given


def _without_unset(value: Any, schema: Mapping[str, Any]) -> Any:
    branches = [schema, *schema.get("anyOf", ())]
    if isinstance(value, list):
        items: Schema = next((branch["items"] for branch in branches if "items" in branch), {})
        return [_without_unset(item, items) for item in value]
    if not isinstance(value, dict):
        return value
    node: Schema = next((branch for branch in branches if "properties" in branch), {})
    optional = {name: part for name, part in node.get("properties", {}).items() if name not in node.get("required", ())}
    unset = {name for name, part in optional.items() if not _accepts_null(part)}
    return {
        name: _without_unset(item, node.get("properties", {}).get(name, {}))
        for name, item in value.items()
        if item is not None or name not in unset
    }


def strict_violations(schema: Mapping[str, Any]) -> list[str]:
    """Return the rules of strict mode that a parameters schema breaks, one sentence each.

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
    if max(depth for _, _, depth in nodes) > MAX_NESTING:
        found.append(f"root: nested deeper than {MAX_NESTING} levels")
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
    if "object" in kinds:
        yield from _object_problems(node)
    if "array" in kinds and not isinstance(node.get("items"), Mapping):
        yield "an array needs items"


def _object_problems(node: Mapping[str, Any]) -> Iterator[str]:
    if node.get("additionalProperties") is not False:
        yield "additionalProperties must be false"
    properties = set(node.get("properties", {}))
    required = set(node.get("required", ()))
    if properties - required:
        yield "every property must be required: " + ", ".join(sorted(properties - required))
    if required - properties:
        yield "required names no property: " + ", ".join(sorted(required - properties))


def types_of(node: Mapping[str, Any]) -> set[str]:
    """Return the names in ``type`` of a schema node, such as ``string`` and ``null``; empty without ``type``."""
    kind = node.get("type", [])
    return {kind} if isinstance(kind, str) else set(kind)


# --- formats --------------------------------------------------------------------------------------------------------

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
        openai_tool(item.name, item.description if strict else item.summary, item.parameters_schema(), strict=strict)
        for item in operations.values()
    ]


#: The parameter of operations and tools that names the video.
VIDEO = "video_id"


def without_video(parameters: Mapping[str, Any]) -> Schema:
    """Return a schema of arguments without the parameter ``video_id``, which a session of one video fills in."""
    parts = {name: part for name, part in parameters.get("properties", {}).items() if name != VIDEO}
    required = [name for name in parameters.get("required", ()) if name != VIDEO]
    return {**parameters, "properties": parts, "required": required}


def mcp_tools(operations: Mapping[str, Operation] = OPERATIONS) -> list[Schema]:
    """Return each operation as a tool of the Model Context Protocol."""
    return [
        mcp_tool(
            item.name, item.description, item.parameters_schema(), item.result_schema(), writes=item.state == "writes"
        )
        for item in operations.values()
    ]


def openai_tool(name: str, description: str, parameters: Mapping[str, Any], *, strict: bool) -> Schema:
    """Return a function tool in the form of the Chat Completions API; without strict mode its schema is lean.

    Raises ToolFault: ``bad_tool_name``; ``not_strict`` if strict mode cannot express the schema.
    """
    if not _TOOL_NAME.fullmatch(name):
        raise ToolFault(
            "bad_tool_name", f"{name[:80]!r} cannot name a function tool", hint="use 1 to 64 of A-Za-z0-9_-"
        )
    schema = strict_schema(parameters) if strict else lean_schema(parameters)
    function = {"name": name, "description": description, "parameters": schema}
    return {"type": "function", "function": {**function, "strict": True} if strict else function}


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
    """Return an operation's result fields, without those of every result, as texts such as ``scenes: [{scene_id, start_time}]``."""
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

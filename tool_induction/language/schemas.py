"""Types from JSON Schema (the operations' own) and JSON Schema from types (for the emitted tools)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tool_induction.language.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    INTERVAL,
    NULL,
    SCORE,
    STRING,
    TIME,
    AnyType,
    EnumType,
    ListType,
    OptionalType,
    RecordType,
    ScalarType,
    Type,
    join,
    plain,
)
from world_api.operations import EVERY_OPERATION

Schema = Mapping[str, Any]
_SCALARS: dict[str, Type] = {"boolean": BOOL, "integer": INT, "number": FLOAT, "string": STRING, "null": NULL}


def type_from_schema(schema: Schema, root: Schema | None = None) -> Type:
    """The type that a JSON Schema describes; ``root`` holds its ``$defs``. What it cannot say becomes ``any``."""
    root = schema if root is None else root
    if "$ref" in schema:
        target = root.get("$defs", {}).get(str(schema["$ref"]).rsplit("/", 1)[-1])
        return ANY if target is None else type_from_schema(target, root)
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return _union([type_from_schema(part, root) for part in schema[word]])
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        texts = tuple(value for value in values if isinstance(value, str))
        return EnumType(texts) if len(texts) == len(values) else ANY
    if schema.get("x-type") == "Time":
        return TIME
    if schema.get("x-type") == "Score":
        return SCORE
    match schema.get("type"):
        case "array":
            return _list(schema, root)
        case "object":
            return _record(schema, root)
        case str() as name:
            return _SCALARS.get(name, ANY)
    return ANY


def _union(parts: list[Type]) -> Type:
    result: Type | None = parts[0] if parts else ANY
    for part in parts[1:]:
        result = None if result is None else join(result, part)
    return ANY if result is None else result


def _list(schema: Schema, root: Schema) -> Type:
    item = type_from_schema(schema.get("items", {}), root)
    bound = schema.get("maxItems")
    return ListType(
        item=item,
        bound=bound,
        typical=bound,
        stated=bound is not None,
        filled=bool(schema.get("minItems", 0)),
        name=str(schema.get("x-type", "")),
    )


def _record(schema: Schema, root: Schema) -> Type:
    properties = schema.get("properties", {})
    return RecordType(
        fields=tuple((key, type_from_schema(value, root)) for key, value in properties.items()),
        name=str(schema.get("x-type", "")),
        is_open=not properties,
        is_result=bool(properties),
    )


@dataclass(frozen=True, kw_only=True)
class OperationTypes:
    """An operation as the language sees it; made from its JSON Schemas once."""

    parameters: Mapping[str, Type]
    required: frozenset[str]
    result: Type
    parameters_schema: Schema


@lru_cache(maxsize=64)
def operation_types(name: str) -> OperationTypes:
    """The types of one operation."""
    parameters = EVERY_OPERATION[name].parameters_schema()
    return OperationTypes(
        parameters={
            key: type_from_schema(value, parameters) for key, value in parameters.get("properties", {}).items()
        },
        required=frozenset(parameters.get("required", ())),
        result=type_from_schema(EVERY_OPERATION[name].result_schema()),
        parameters_schema=parameters,
    )


def type_to_schema(type_: Type, *, depth: int = 0) -> dict[str, Any]:
    """JSON Schema of a type; times say their unit."""
    match type_:
        case ScalarType(name):
            return _scalar_schema(name)
        case EnumType(values):
            return {"type": "string", "enum": list(values)}
        case AnyType():
            return {}
        case OptionalType(item):
            inner = type_to_schema(item, depth=depth)
            return {"anyOf": [inner, {"type": "null"}]} if inner else {}
        case ListType():
            return {"type": "array", "items": type_to_schema(type_.item, depth=depth + 1)}
        case RecordType() if type_.name == INTERVAL.name:
            times = {key: _scalar_schema("Time") for key in INTERVAL.keys}
            return {"type": "object", "properties": times, "required": list(times)}
        case RecordType():
            properties = {key: type_to_schema(value, depth=depth + 1) for key, value in type_.fields}
            record = {"type": "object"} | ({"properties": properties} if properties else {})
            # said aloud, since strict mode would close an object that says nothing, and nothing could be given
            return record | ({"additionalProperties": True} if type_.is_open else {})


def _scalar_schema(name: str) -> dict[str, Any]:
    if name == "Time":
        return {"type": "number", "minimum": 0, "description": "Seconds."}
    return {"type": {"bool": "boolean", "int": "integer", "float": "number", "Score": "number"}.get(name, name)}


def takes_words(operation: str, parameter: str) -> bool:
    """Whether a parameter of an operation takes one of a closed list of words."""
    if operation not in EVERY_OPERATION:
        return False
    return isinstance(plain(operation_types(operation).parameters.get(parameter, ANY)), EnumType)

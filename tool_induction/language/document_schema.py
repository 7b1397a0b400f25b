"""The JSON Schema of a tool document.

Steps are dispatched on ``type`` with ``if`` / ``then``: a fault is then reported against the step that was meant,
where ``oneOf`` would report it against every other kind of step as well.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tool_induction.language import limits

#: what a step of each type may hold: key -> required?
STEP_KEYS: dict[str, dict[str, bool]] = {
    "call_world_api": {"api": True, "params": False, "save_as": True, "on_error": False},
    "call_tool": {"tool": True, "params": False, "save_as": True, "on_error": False},
    "loop": {"do": True, "loop_over": True, "save_as": True, "on_error": False},
    "filter": {"inputs": True, "where": True, "save_as": True},
    "project": {"inputs": True, "fields": True, "save_as": True},
    "aggregate": {"operation": True, "inputs": False, "params": False, "save_as": True},
    "set": {"value": True, "save_as": True},
    "if": {"condition": True, "then": True, "else": False},
    "judge": {"inputs": True, "question": True, "answers": True, "max_items": False, "save_as": True},
    "require": {"condition": True, "status": False, "reason": False},
}
LOOP_KEYS = ("loop_over", "as", "max_items", "until")
LOOPING = ("call_world_api", "call_tool", "loop")
STOP_STATUSES = ("empty", "ambiguous", "partial", "error", "ok")
ON_ERROR = ("fail", "skip", "null")
# Python lets "$" stand before a last line break as well; "\Z" is not in every reader of JSON Schema.
NAME = r"^[A-Za-z][A-Za-z0-9_]{0,63}$(?!\n)"
TOOL_NAME = r"^[a-z][a-z0-9_]{0,63}$(?!\n)"

_VALUE = {"description": "a constant, a string with {{ expressions }}, a record or a list of values"}
#: words of the expression language, and the loop's own name
RESERVED = ("and", "or", "not", "in", "is", "if", "else", "true", "false", "none", "True", "False", "None", "item")
_NAME_SCHEMA = {"pattern": NAME, "not": {"enum": list(RESERVED)}}
_BOUND_NAME = {"type": "string", **_NAME_SCHEMA}
_LOOP_NAME = {"type": "string", "pattern": NAME, "not": {"enum": [word for word in RESERVED if word != "item"]}}
_CONDITION = {"type": ["string", "boolean"]}
_STEP_VALUES: dict[str, Any] = {
    "api": {"type": "string"},
    "tool": {"type": "string"},
    "params": {"type": "object", "additionalProperties": _VALUE},
    "save_as": _BOUND_NAME,
    "on_error": {"enum": list(ON_ERROR)},
    "loop_over": {"type": ["string", "array"]},
    "as": _LOOP_NAME,
    "max_items": {"type": "integer", "minimum": 1, "maximum": limits.MAX_LOOP_ITEMS},
    "until": _CONDITION,
    "do": {"$ref": "#/$defs/block"},
    "inputs": {"type": ["string", "array", "object"]},
    "where": _CONDITION,
    "fields": {"type": "object", "minProperties": 1, "propertyNames": {"pattern": NAME}},
    "operation": {"type": "string"},
    "value": _VALUE,
    "condition": _CONDITION,
    "then": {"$ref": "#/$defs/block"},
    "else": {"$ref": "#/$defs/block"},
    "question": {"type": "string"},
    "answers": {"type": "array"},
    "status": {"enum": list(STOP_STATUSES)},
    "reason": {"type": "string"},
}


@lru_cache(maxsize=1)
def tool_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of one tool."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "tool",
        "type": "object",
        "required": ["tool_name", "description", "inputs", "outputs", "steps"],
        "additionalProperties": False,
        "properties": {
            "tool_name": {"type": "string", "pattern": TOOL_NAME},
            "description": {"type": "string", "minLength": 1, "maxLength": 2000},
            "inputs": _declarations(limits.MAX_INPUTS, "input"),
            "outputs": _declarations(limits.MAX_OUTPUTS, "output") | {"minProperties": 1},
            "steps": {"$ref": "#/$defs/block"},
        },
        "$defs": {
            "block": {"type": "array", "minItems": 1, "maxItems": limits.MAX_STEPS, "items": {"$ref": "#/$defs/step"}},
            "step": _step(),
            "input": {
                "type": ["string", "object"],
                "maxLength": 80,
                "required": ["type"],
                "additionalProperties": False,
                "properties": {
                    "type": {"type": "string", "maxLength": 80},
                    "description": {"type": "string", "maxLength": 500},
                    "default": {},
                    "enum": {"type": "array", "minItems": 1, "maxItems": 50, "items": {"type": "string"}},
                },
            },
            "output": {
                "type": ["string", "object"],
                "maxLength": 80,
                "required": ["type"],
                "additionalProperties": False,
                "properties": {
                    "type": {"type": "string", "maxLength": 80},
                    "description": {"type": "string", "maxLength": 500},
                    "from": _VALUE,
                },
            },
        },
    }


def _declarations(most: int, kind: str) -> dict[str, Any]:
    return {
        "type": "object",
        "maxProperties": most,
        "propertyNames": _NAME_SCHEMA,
        "additionalProperties": {"$ref": f"#/$defs/{kind}"},
    }


def _step() -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"enum": list(STEP_KEYS)}},
        "allOf": [
            {"if": {"properties": {"type": {"const": kind}}, "required": ["type"]}, "then": _step_of(kind)}
            for kind in STEP_KEYS
        ],
    }


def _step_of(kind: str) -> dict[str, Any]:
    keys = STEP_KEYS[kind]
    loop_keys = LOOP_KEYS if kind in LOOPING else ()
    schema: dict[str, Any] = {
        "required": [key for key, needed in keys.items() if needed],
        "additionalProperties": False,
        "properties": {"type": {}} | {key: _STEP_VALUES[key] for key in (*keys, *loop_keys)},
    }
    if kind in LOOPING:
        schema["dependentRequired"] = {key: ["loop_over"] for key in ("as", "max_items", "until")}
    return schema

"""The JSON Schema (2020-12) of the language, made from the models.

Steps are dispatched on ``type`` with ``if`` / ``then``: a fault is then reported against the step that was meant, where
``oneOf`` would report it against every other kind of step as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from tool_induction.documents.parts import Part
from tool_induction.documents.steps import STEP_MODELS
from tool_induction.documents.tools import InputDeclaration, OutputDeclaration, ToolDocument, ToolFile
from tool_induction.language import limits
from tool_induction.language.typenames import known_types

Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
LOOP_KEYS = ("loop_over", "as", "max_items", "until")
#: steps that may carry loop keys
LOOPING = ("call_world_api", "call_tool", "loop")


@lru_cache(maxsize=1)
def tool_schema() -> Schema:
    """JSON Schema of one tool."""
    return {"$schema": DIALECT, "title": "tool", **_plain(ToolDocument), "$defs": _definitions()}


@lru_cache(maxsize=1)
def language_schema() -> Schema:
    """JSON Schema of a whole document: one tool, a list of tools, or ``{"tools": [...]}``."""
    tools = {
        "description": "Several tools.",
        "type": "array",
        "minItems": 1,
        "maxItems": limits.MAX_TOOLS,
        "items": {"$ref": "#/$defs/tool"},
    }
    file = {
        "description": (ToolFile.__doc__ or "").replace("``", "'"),
        "type": "object",
        "required": ["tools"],
        "properties": {"tools": {"$ref": "#/$defs/tools"}},
    }
    return {
        "$schema": DIALECT,
        "title": "High-level tools of video-world-api",
        "description": "One tool, a list of tools, or an object with the key 'tools'.",
        "type": ["object", "array"],
        "if": {"type": "array"},
        "then": {"$ref": "#/$defs/tools"},
        "else": {
            "if": {"required": ["tools"], "not": {"required": ["steps"]}},
            "then": {"$ref": "#/$defs/file"},
            "else": {"$ref": "#/$defs/tool"},
        },
        "$defs": {"tool": _plain(ToolDocument), "tools": tools, "file": file, **_definitions()},
    }


def step_keys(kind: str) -> dict[str, bool]:
    """The keys of a step of one type, those of a loop left out, and whether each is needed."""
    schema = _step_schema(kind)
    own = [key for key in schema["properties"] if key != "type" and (key not in LOOP_KEYS or kind not in LOOPING)]
    if kind == "loop":
        own = [*own, "loop_over"]
    return {key: key in schema["required"] for key in own}


def _definitions() -> Schema:
    steps = {f"{kind}_step": _step_schema(kind) for kind in STEP_MODELS}
    return {
        "block": {
            "description": "Steps, in order.",
            "type": "array",
            "minItems": 1,
            "maxItems": limits.MAX_STEPS,
            "items": {"$ref": "#/$defs/step"},
        },
        "step": _dispatch(),
        "input": _declaration(InputDeclaration),
        "output": _declaration(OutputDeclaration),
        **steps,
    }


def _dispatch() -> Schema:
    """A step with ``do`` is a loop whatever its type says; any other goes by its type."""
    kinds = [
        {"if": {"properties": {"type": {"const": kind}}, "required": ["type"]}, "then": _of(kind)}
        for kind in STEP_MODELS
    ]
    with_do = {"required": ["do"], "properties": {"type": {"enum": list(LOOPING)}}}
    return {
        "description": "One step; its type says which keys it has.",
        "type": "object",
        "if": with_do,
        "then": _of("loop"),
        "else": {
            "required": ["type"],
            "properties": {"type": {"enum": list(STEP_MODELS)}},
            "allOf": kinds,
        },
    }


def _of(kind: str) -> Schema:
    return {"$ref": f"#/$defs/{kind}_step"}


@lru_cache(maxsize=32)
def _step_schema(kind: str) -> Schema:
    schema = _plain(STEP_MODELS[kind])
    properties = schema["properties"]
    last = LOOP_KEYS if kind in LOOPING else ()
    ordered = ["type", *(key for key in properties if key != "type" and key not in last), *last]
    words = list(LOOPING) if kind == "loop" else [kind]
    head = {"type": {"description": properties["type"]["description"], "enum": words}}
    schema["properties"] = {key: properties[key] for key in ordered} | head
    for key, words in _examples().items():
        if key in schema["properties"]:
            schema["properties"][key] = schema["properties"][key] | {"examples": words}
    if last:
        schema["dependentRequired"] = {key: ["loop_over"] for key in last[1:]}
    return schema


@lru_cache(maxsize=1)
def _examples() -> dict[str, list[str]]:
    """Words that an editor may offer; that there are no others is for the compiler to say, with a suggestion."""
    from tool_induction.aggregates import AGGREGATES
    from world_api.operations import OPERATIONS

    return {"api": list(OPERATIONS), "operation": list(AGGREGATES)}


def _declaration(model: type[Part]) -> Schema:
    """A type's name, or a record that holds it: one schema that says what each of the two may be."""
    schema = _plain(model)
    schema["properties"]["type"] = schema["properties"]["type"] | {"examples": known_types()}
    described = {"description": f"{schema.pop('description')} Or just the name of a type."}
    return (
        described | {"type": ["string", "object"], "maxLength": 80} | {k: v for k, v in schema.items() if k != "type"}
    )


def _plain(model: type[Part]) -> Schema:
    """A model's schema in few words: no titles, no null for what is left out, parts by reference."""
    made = model.model_json_schema(by_alias=True)
    definitions = made.pop("$defs", {})
    whole: Schema = _tidy(made, definitions)
    whole["description"] = (model.__doc__ or "").split("\n\n")[0].replace("``", "'").replace("\n    ", " ").strip()
    kept = ("description", "type", "required", "additionalProperties", "properties", "if", "then")
    return {key: whole[key] for key in kept if key in whole}


_REFERENCES = {"InputDeclaration": "input", "OutputDeclaration": "output"}


def _tidy(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_tidy(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if node.get("x-part") == "step":
        return {"$ref": "#/$defs/step"}
    name = str(node.get("$ref", "")).rsplit("/", 1)[-1]
    if name:
        rest = _tidy({key: value for key, value in node.items() if key != "$ref"}, definitions)
        return rest | ({"$ref": f"#/$defs/{_REFERENCES[name]}"} if name in _REFERENCES else {})
    kept: Schema = {}
    for key, value in node.items():
        if key == "properties":
            kept[key] = {inner: _tidy(part, definitions) for inner, part in value.items()}
        elif key not in ("title", "default", "anyOf", "patternProperties"):
            kept[key] = _tidy(value, definitions) if key not in ("enum", "const", "required") else value
    if "patternProperties" in node:
        ((pattern, values),) = node["patternProperties"].items()
        kept["propertyNames"] = {"pattern": pattern, **kept.get("propertyNames", {})}
        kept["additionalProperties"] = _tidy(values, definitions)
    if "anyOf" in node:
        kept = _merged([_tidy(part, definitions) for part in node["anyOf"]]) | kept
    if "enum" in kept:
        kept.pop("type", None)  # the words say it; a second fault about the same value helps nobody
    if kept.get("type") == "array" and kept.get("items") == {"$ref": "#/$defs/step"}:
        return {key: value for key, value in kept.items() if key == "description"} | {"$ref": "#/$defs/block"}
    return kept


def _merged(parts: list[Schema]) -> Schema:
    """Alternatives of different JSON types as one schema: what each keyword says concerns only its own type."""
    parts = [part for part in parts if part != {"type": "null"}]
    reference = next((part for part in parts if "$ref" in part), None)
    if reference is not None:  # a declaration says itself that a string will do
        return {"$ref": reference["$ref"]}
    together: Schema = {}
    for part in parts:
        together |= {key: value for key, value in part.items() if key != "type"}
    kinds = [part["type"] for part in parts if "type" in part]
    if kinds:
        together["type"] = kinds[0] if len(kinds) == 1 else kinds
    return together

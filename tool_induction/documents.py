"""Tool documents: the models with which a tool can be written in Python, and the JSON Schemas made from them.

``language_schema`` is the language as JSON Schema (2020-12). The schema of a step is chosen by its ``type`` with
``if`` / ``then``, so that a fault is reported for that kind of step only; ``oneOf`` would report it for every kind.

``emission_schema`` is for constrained decoding and uses only keywords that decoders support (``anyOf`` and ``$ref``).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tool_induction import limits
from tool_induction.aggregates import AGGREGATES
from tool_induction.language.keys import Key
from tool_induction.language.model import (
    LOOP_KEYS,
    LOOPING,
    STEP_MODELS,
    Aggregate as Aggregate,
    Block as Block,
    CallTool as CallTool,
    CallWorldApi as CallWorldApi,
    DocumentPart,
    Filter as Filter,
    If as If,
    Input as Input,
    JudgeStep as JudgeStep,
    Loop as Loop,
    Output as Output,
    Project as Project,
    Require as Require,
    Set as Set,
    Tool as Tool,
    keys_of,
)
from tool_induction.language.types import known_types
from world_api.operations import OPERATIONS, operations_for

Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"


@lru_cache(maxsize=1)
def tool_schema() -> Schema:
    """Return the JSON Schema of one tool."""
    return {"$schema": DIALECT, "title": "tool", **_part_schema(Tool), "$defs": _definitions()}


@lru_cache(maxsize=1)
def language_schema() -> Schema:
    """Return the JSON Schema of a whole document: one tool, a list of tools, or ``{"tools": [...]}``."""
    tools = {
        "description": "Several tools.",
        "type": "array",
        "minItems": 1,
        "maxItems": limits.MAX_TOOLS,
        "items": {"$ref": "#/$defs/tool"},
    }
    file = {
        "description": "Several tools of one file. Other keys beside 'tools' are not looked at.",
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
        "$defs": {"tool": _part_schema(Tool), "tools": tools, "file": file, **_definitions()},
    }


def step_keys(kind: str) -> dict[str, bool]:
    """Return the keys of a type of step and whether each is required; of loop keys only ``loop_over`` of a ``loop``."""
    return {one.name: one.needed for one in keys_of(STEP_MODELS[kind])} | (
        {"loop_over": True} if kind == "loop" else {}
    )


def described(model: type[DocumentPart]) -> str:
    """Return the description of a part of documents: the first paragraph of its docstring, on one line."""
    return " ".join((model.__doc__ or "").split("\n\n")[0].split())


def _definitions() -> Schema:
    return {
        "block": {
            "description": "Steps, in order.",
            "type": "array",
            "minItems": 1,
            "maxItems": limits.MAX_STEPS,
            "items": {"$ref": "#/$defs/step"},
        },
        "step": _dispatch(),
        "input": _declaration_schema(Input)
        | {"if": {"properties": {"type": {"const": "enum"}}, "required": ["type"]}, "then": {"required": ["enum"]}},
        "output": _declaration_schema(Output),
        **{f"{kind}_step": _step_schema(kind) for kind in STEP_MODELS},
    }


def _dispatch() -> Schema:
    """Return the schema of any step: a step with ``do`` is a loop; otherwise its ``type`` selects the schema."""
    kinds = [
        {"if": {"properties": {"type": {"const": kind}}, "required": ["type"]}, "then": _of(kind)}
        for kind in STEP_MODELS
    ]
    return {
        "description": "One step; its type says which keys it has.",
        "type": "object",
        "if": {"required": ["do"], "properties": {"type": {"enum": list(LOOPING)}}},
        "then": _of("loop"),
        "else": {"required": ["type"], "properties": {"type": {"enum": list(STEP_MODELS)}}, "allOf": kinds},
    }


def _of(kind: str) -> Schema:
    return {"$ref": f"#/$defs/{kind}_step"}


def _step_schema(kind: str) -> Schema:
    model = STEP_MODELS[kind]
    schema = _part_schema(model)
    words = list(LOOPING) if model is Block else [kind]
    schema["properties"] = {"type": {"description": model.says, "enum": words}} | schema["properties"]
    if kind in LOOPING:
        schema["required"] = [*(LOOP_KEYS[:1] if model is Block else ()), *schema["required"]]
        schema["properties"] |= {one.name: _key_schema(one) for one in keys_of(Loop)}
        schema["dependentRequired"] = {key: [LOOP_KEYS[0]] for key in LOOP_KEYS[1:]}
    return schema


def _declaration_schema(model: type[DocumentPart]) -> Schema:
    """Return the schema of an input or output: the name of a type, or a record with the key ``type``."""
    schema = _part_schema(model)
    schema["properties"]["type"] |= {"examples": known_types()}
    return schema | {
        "description": f"{schema['description']} Or just the name of a type.",
        "type": ["string", "object"],
        "maxLength": 80,
    }


def _part_schema(model: type[DocumentPart]) -> Schema:
    return {
        "description": described(model).replace("``", "'"),
        "type": "object",
        "required": [one.name for one in keys_of(model) if one.needed],
        "additionalProperties": False,
        "properties": {one.name: _key_schema(one) for one in keys_of(model)},
    }


def _key_schema(key: Key) -> Schema:
    # names that an editor may offer; the compiler refuses others, with a suggestion
    words = {"api": list(OPERATIONS), "operation": list(AGGREGATES)}.get(key.name)
    return {"description": key.says, **key.kind.schema} | ({"examples": words} if words else {})


# --- structured outputs


@lru_cache(maxsize=8)
def emission_schema(*, groups: frozenset[str] = frozenset(), allow_judge: bool = False) -> Schema:
    """Return the JSON Schema of a model's reply with tools, ``{"tools": [...]}``, for ``response_format``.

    ``groups`` are the optional groups of operations that tools may call. The step ``judge`` is left out unless
    ``allow_judge``.
    """
    kinds = [kind for kind in STEP_MODELS if allow_judge or kind != "judge"]
    whole = language_schema()["$defs"]
    parts = {key: whole[key] for key in ("tool", "block", "input", "output")}
    parts["step"] = {"anyOf": [_of(kind) for kind in kinds]}
    parts |= {f"{kind}_step": _callable_step(kind, groups) for kind in kinds}
    made: Schema = _decodable(
        {
            "type": "object",
            "properties": {"tools": whole["tools"]},
            "required": ["tools"],
            "additionalProperties": False,
            "$defs": parts,
        }
    )
    return made


def _callable_step(kind: str, groups: frozenset[str]) -> Schema:
    """Return the schema of a step with a required ``type``, and with only existing operations and aggregates."""
    step = _step_schema(kind)
    words = {"type": [kind], "api": list(operations_for(groups)), "operation": list(AGGREGATES)}
    closed = {
        key: {"description": part["description"], "enum": words[key]}
        for key, part in step["properties"].items()
        if key in words
    }
    return {**step, "required": ["type", *step["required"]], "properties": step["properties"] | closed}


def _decodable(node: Any) -> Any:
    """Return the schema without keywords that constrained decoders do not support; the compiler checks those.

    Enumerations of strings get the type ``string``, which some servers need.
    """
    if isinstance(node, list):
        return [_decodable(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept: Schema = {"type": "string"} if all(isinstance(word, str) for word in node.get("enum", [None])) else {}
    for key, value in node.items():
        if key in ("properties", "$defs"):
            kept[key] = {name: _decodable(part) for name, part in value.items()}
        elif key == "pattern":
            kept[key] = value.replace(r"(?!\n)", "")
        elif key not in ("not", "if", "then", "dependentRequired", "propertyNames", "examples"):
            kept[key] = _decodable(value)
    return kept

"""Tool documents: the models with which a tool can be written in Python, and the JSON Schemas made from them.

``language_schema`` is the language as JSON Schema (2020-12). The schema of a step is chosen by its ``type`` with
``if`` / ``then``, so that a fault is reported for that kind of step only; ``oneOf`` would report it for every kind.

``emission_schema`` is for constrained decoding. Its loose form uses only keywords that decoders support (``anyOf`` and
``$ref``). Its strict form obeys OpenAI's strict mode, which has no maps with free keys: each such map becomes a list of
``{name, value}``, and ``document_from_emission`` converts these lists back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from tool_induction import limits
from tool_induction.aggregates import AGGREGATES
from tool_induction.language.keys import Key
from tool_induction.language.model import (
    LOOP_KEYS,
    LOOPING,
    STEP_MODELS,
    Aggregate,
    Block,
    CallTool,
    CallWorldApi,
    DocumentPart,
    Filter,
    If,
    Input,
    JudgeStep,
    Loop,
    Output,
    Project,
    Require,
    Set,
    Tool,
    keys_of,
)
from tool_induction.language.types import known_types
from world_api.operations import OPERATIONS, operations_for
from world_api.schemas.formats import strict_schema

__all__ = [
    "Aggregate",
    "Block",
    "CallTool",
    "CallWorldApi",
    "Filter",
    "If",
    "Input",
    "JudgeStep",
    "Loop",
    "Output",
    "Project",
    "Require",
    "Set",
    "Tool",
    "document_from_emission",
    "emission_schema",
    "language_schema",
    "tool_schema",
]


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


_SCALAR: Schema = {"type": ["string", "number", "boolean", "null"]}
_BLOCKS = ("do", "then", "else")
#: maps of a document that are lists of entries in the strict form
_ENTRY_KEYS = ("params", "fields")


@lru_cache(maxsize=8)
def emission_schema(*, strict: bool, groups: frozenset[str] = frozenset(), allow_judge: bool = False) -> Schema:
    """Return the JSON Schema of a model's reply with tools, ``{"tools": [...]}``, for ``response_format``.

    ``groups`` are the optional groups of operations that tools may call. The step ``judge`` is left out unless
    ``allow_judge``. ``document_from_emission`` converts a strict reply to a document.
    """
    kinds = tuple(kind for kind in STEP_MODELS if allow_judge or kind != "judge")
    steps = {kind: _callable_step(kind, groups) for kind in kinds}
    made: Schema = _typed(strict_schema(_entries_form(steps)) if strict else _loose_form(steps))
    return made


def document_from_emission(emission: Any) -> Any:
    """Return the document of an emission in the strict form; a value of any other form is unchanged."""
    if not isinstance(emission, Mapping) or not isinstance(emission.get("tools"), Sequence):
        return emission
    return {**emission, "tools": [_tool(tool) for tool in emission["tools"]]}


def _callable_step(kind: str, groups: frozenset[str]) -> Schema:
    """Return the schema of a step with a required ``type``, and with only existing operations and aggregates."""
    step = _step_schema(kind)
    words = {"type": [kind], "api": list(operations_for(groups)), "operation": list(AGGREGATES)}
    said = {key: {"description": part["description"]} for key, part in step["properties"].items()}
    properties = {
        key: said[key] | {"enum": words[key]} if key in words else part for key, part in step["properties"].items()
    }
    return {**step, "required": ["type", *step["required"]], "properties": properties}


def _loose_form(steps: Mapping[str, Schema]) -> Schema:
    whole = language_schema()["$defs"]
    parts = {key: whole[key] for key in ("tool", "block", "input", "output")}
    parts["step"] = {"anyOf": [_of(kind) for kind in steps]}
    parts |= {f"{kind}_step": step for kind, step in steps.items()}
    made: Schema = _decodable({**_record({"tools": whole["tools"]}), "$defs": parts})
    return made


def _decodable(node: Any) -> Any:
    """Return the schema without keywords that constrained decoders do not support; the compiler checks those."""
    if isinstance(node, list):
        return [_decodable(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept: Schema = {}
    for key, value in node.items():
        if key in ("properties", "$defs"):
            kept[key] = {name: _decodable(part) for name, part in value.items()}
        elif key == "pattern":
            kept[key] = value.replace(r"(?!\n)", "")
        elif key not in ("not", "if", "then", "dependentRequired", "propertyNames", "examples"):
            kept[key] = _decodable(value)
    return kept


def _typed(node: Any) -> Any:
    """Return the schema with the type ``string`` added to every enumeration of strings; some servers need it."""
    if isinstance(node, list):
        return [_typed(item) for item in node]
    if not isinstance(node, dict):
        return node
    words = node.get("enum")
    is_bare = isinstance(words, list) and "type" not in node and all(isinstance(word, str) for word in words)
    return ({"type": "string"} if is_bare else {}) | {key: _typed(value) for key, value in node.items()}


def _entries_form(steps: Mapping[str, Schema]) -> Schema:
    tool = tool_schema()
    plain = [_closed(kind, step, inner={}) for kind, step in steps.items() if kind not in ("loop", "if")]
    inner = {"type": "array", "items": {"anyOf": plain}}
    every = [_closed(kind, step, inner=inner) for kind, step in steps.items()]
    words = {key: _decodable(tool["properties"][key]) for key in ("tool_name", "description")}
    properties = words | {
        "inputs": _declared(tool["$defs"]["input"], tool["properties"]["inputs"]["description"]),
        "outputs": _declared(tool["$defs"]["output"], tool["properties"]["outputs"]["description"]),
        "steps": {"type": "array", "items": {"anyOf": every}},
    }
    return _record({"tools": {"type": "array", "items": _record(properties)}})


def _record(properties: Schema, required: Sequence[str] | None = None) -> Schema:
    needed = list(properties) if required is None else list(required)
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


def _declared(declaration: Schema, description: str) -> Schema:
    properties: Schema = {"name": {"type": "string", "description": "Its name."}}
    for key, part in declaration["properties"].items():
        properties[key] = _decodable(part) if "type" in part else {**part, **_SCALAR}
    return {"type": "array", "description": description, "items": _record(properties, ["name", "type"])}


def _closed(kind: str, step: Schema, *, inner: Schema) -> Schema:
    """Return the schema of a step in the strict form; ``inner`` is the schema of the blocks in it."""
    properties: Schema = {}
    for key, part in step["properties"].items():
        described = {"description": part["description"]}
        if key in _BLOCKS:
            properties[key] = {**described, **inner}
        elif key in _ENTRY_KEYS:
            entry = _record({"name": {"type": "string"}, "value": _SCALAR})
            properties[key] = {**described, "type": "array", "items": entry}
        elif kind == "aggregate" and key == "inputs":
            pair = _record({"a": {"type": "string"}, "b": {"type": "string"}})
            names = {"type": "array", "items": {"type": "string"}}
            properties[key] = {**described, "anyOf": [{"type": "string"}, names, pair]}
        elif "enum" in part or part.get("type") in ("integer", "array"):
            properties[key] = _decodable(part)
        else:
            properties[key] = {**described, **(_SCALAR if key == "value" else {"type": "string"})}
    needed = [*step["required"], *(("loop_over",) if kind == "loop" else ())]
    return _record(properties, [key for key in properties if key in needed])


def _tool(tool: Any) -> Any:
    if not isinstance(tool, Mapping):
        return tool
    return _lists_read(tool, {"inputs": _by_name, "outputs": _by_name, "steps": _steps})


def _lists_read(value: Mapping[str, Any], readers: Mapping[str, Callable[[list[Any]], Any]]) -> dict[str, Any]:
    """Return the value with each list under a key of ``readers`` replaced by what the reader returns for it."""
    read = {key: reader(value[key]) for key, reader in readers.items() if isinstance(value.get(key), list)}
    return {**value, **read}


def _steps(steps: list[Any]) -> list[Any]:
    return [_step(step) for step in steps]


def _named(entries: list[Any]) -> dict[str, Any]:
    return {one["name"]: one for one in entries if isinstance(one, Mapping) and isinstance(one.get("name"), str)}


def _by_name(entries: list[Any]) -> Any:
    """Return declarations as a map by name.

    If an entry has no name, or two have the same, the list is returned unchanged, and the compiler refuses it.
    """
    named = {
        name: {key: value for key, value in entry.items() if key != "name" and value is not None}
        for name, entry in _named(entries).items()
    }
    return named if len(named) == len(entries) else entries


def _step(step: Any) -> Any:
    if not isinstance(step, Mapping):
        return step
    whole = {key: value for key, value in step.items() if value is not None or key == "value"}
    whole = _lists_read(whole, dict.fromkeys(_BLOCKS, _steps) | {"params": _nested, "fields": _flat})
    if whole.get("type") in LOOPING and "loop_over" not in whole:
        whole.pop("as", None)  # required in strict mode; without a loop it has no meaning
    return whole


def _flat(entries: list[Any]) -> Any:
    named = {name: entry["value"] for name, entry in _named(entries).items() if "value" in entry}
    return named if len(named) == len(entries) else entries


def _nested(entries: list[Any]) -> Any:
    """Return parameters as a map in which dotted names (``span.start``, ``items.0``) are nested records and lists."""
    flat = _flat(entries)
    if not isinstance(flat, dict):
        return entries
    made: Schema = {}
    for name, value in flat.items():
        holder, parts = made, name.split(".")
        for part in parts[:-1]:
            inner = holder.setdefault(part, {})
            if not isinstance(inner, dict):
                return flat  # a name has both a value and inner names: the compiler refuses it
            holder = inner
        holder[parts[-1]] = value
    return {name: _lists(value) for name, value in made.items()}


def _lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    whole = {key: _lists(inner) for key, inner in value.items()}
    is_list = bool(whole) and list(whole) == [str(place) for place in range(len(whole))]
    return list(whole.values()) if is_list else whole

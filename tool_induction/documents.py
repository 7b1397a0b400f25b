"""Tool documents: the models with which a tool can be written in Python, and the JSON Schemas made from them.

``language_schema`` is the language as JSON Schema (2020-12). Steps are dispatched on ``type`` with ``if`` / ``then``: a fault is
then reported for the step that was meant, not for every other kind of step as ``oneOf`` would.

``emission_schema`` is for constrained decoding. ``loose`` is the language in the keywords that decoders know (``anyOf`` and
``$ref``). ``strict`` keeps to OpenAI's strict mode, which has no maps with free keys: a map of a document is there a list of
``{name, value}``, and ``document_from_emission`` makes the document of it.
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
from world_api.schemas.json_schema import strict_schema

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
    """JSON Schema of one tool."""
    return {"$schema": DIALECT, "title": "tool", **_part_schema(Tool), "$defs": _definitions()}


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
    """The keys of a step of one type, those of a loop left out, and whether each is needed."""
    return {one.name: one.needed for one in keys_of(STEP_MODELS[kind])} | (
        {"loop_over": True} if kind == "loop" else {}
    )


def described(model: type[DocumentPart]) -> str:
    """The description of a part, in a sentence."""
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
        | {
            "if": {"properties": {"type": {"const": "enum"}}, "required": ["type"]},
            "then": {"required": ["enum"]},
        },
        "output": _declaration_schema(Output),
        **{f"{kind}_step": _step_schema(kind) for kind in STEP_MODELS},
    }


def _dispatch() -> Schema:
    """A step with ``do`` is a loop; any other goes by its type."""
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
    """A type's name, or a record that holds it: one schema that says what each of the two may be."""
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
    # words that an editor may offer; that there are no others is for the compiler to say, with a suggestion
    words = {"api": list(OPERATIONS), "operation": list(AGGREGATES)}.get(key.name)
    return {"description": key.says, **key.kind.schema} | ({"examples": words} if words else {})


# --- structured outputs


_SCALAR: Schema = {"type": ["string", "number", "boolean", "null"]}
_BLOCKS = ("do", "then", "else")
#: maps of a document that are lists of entries in the strict form
_ENTRY_KEYS = ("params", "fields")


@lru_cache(maxsize=8)
def emission_schema(*, strict: bool, groups: frozenset[str] = frozenset(), allow_judge: bool = False) -> Schema:
    """JSON Schema of what a model writes when it is asked for tools: ``{"tools": [...]}``.

    ``groups`` are the optional groups of operations that tools may call.

    Pass it as ``response_format``; read what comes with ``document_from_emission``. The step ``judge`` is left out where it is not
    allowed.
    """
    kinds = tuple(kind for kind in STEP_MODELS if allow_judge or kind != "judge")
    steps = {kind: _callable_step(kind, groups) for kind in kinds}
    made: Schema = _typed(strict_schema(_entries_form(steps)) if strict else _loose_form(steps))
    return made


def document_from_emission(emission: Any) -> Any:
    """The document of an emission in the strict form; any other value comes back as it is."""
    if not isinstance(emission, Mapping) or not isinstance(emission.get("tools"), Sequence):
        return emission
    return {**emission, "tools": [_tool(tool) for tool in emission["tools"]]}


def _callable_step(kind: str, groups: frozenset[str]) -> Schema:
    """A step that says its type, and calls only what there is."""
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
    """The schema without keywords that constrained decoders do not know; the compiler checks those."""
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
    """The schema with a type on every list of words, which some servers need."""
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
    """A step of the strict form; ``inner`` is the schema of blocks in it."""
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
    """The value with the lists under some keys read."""
    read = {key: reader(value[key]) for key, reader in readers.items() if isinstance(value.get(key), list)}
    return {**value, **read}


def _steps(steps: list[Any]) -> list[Any]:
    return [_step(step) for step in steps]


def _named(entries: list[Any]) -> dict[str, Any]:
    return {one["name"]: one for one in entries if isinstance(one, Mapping) and isinstance(one.get("name"), str)}


def _by_name(entries: list[Any]) -> Any:
    """Declarations by name; entries that are none, or share a name, stay a list for the compiler to refuse."""
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
        whole.pop("as", None)  # strict mode makes a model say it; without a loop it says nothing
    return whole


def _flat(entries: list[Any]) -> Any:
    named = {name: entry["value"] for name, entry in _named(entries).items() if "value" in entry}
    return named if len(named) == len(entries) else entries


def _nested(entries: list[Any]) -> Any:
    """Parameters with dotted names as records and lists."""
    flat = _flat(entries)
    if not isinstance(flat, dict):
        return entries
    made: Schema = {}
    for name, value in flat.items():
        holder, parts = made, name.split(".")
        for part in parts[:-1]:
            inner = holder.setdefault(part, {})
            if not isinstance(inner, dict):
                return flat  # one name is a value and holds values: the compiler will not know it
            holder = inner
        holder[parts[-1]] = value
    return {name: _lists(value) for name, value in made.items()}


def _lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    whole = {key: _lists(inner) for key, inner in value.items()}
    is_list = bool(whole) and list(whole) == [str(place) for place in range(len(whole))]
    return list(whole.values()) if is_list else whole

"""Plain and strict schemas, and the forms of a tool."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from tool_induction import load_library
from tool_induction.library_tools import mcp_declarations
from world_api.core import ToolFault
from world_api.operations import EVERY_OPERATION
from world_api.schemas import (
    drop_unset,
    lean_schema,
    mcp_tool,
    openai_tool,
    plain_schema,
    strict_schema,
    strict_violations,
)


class Range(BaseModel):
    start: float
    end: float


class Parameters(BaseModel):
    title: Annotated[str, Field(max_length=20, description="A title.", json_schema_extra={"x-type": "Text"})]
    level: Literal["low", "high"] = "low"
    within: Range | None = None
    tags: Annotated[list[str], Field(min_length=1, max_length=3)] = ["a"]


SCHEMA = Parameters.model_json_schema()


def test_a_plain_schema_has_no_references_titles_or_tool_language_types() -> None:
    text = json.dumps(plain_schema(SCHEMA))
    assert "$ref" not in text
    assert "$defs" not in text
    assert "x-type" not in text
    assert '"title": "' not in text


def test_a_parameter_called_title_survives() -> None:
    assert set(plain_schema(SCHEMA)["properties"]) == {"title", "level", "within", "tags"}


def test_a_description_beside_a_reference_wins_over_the_definition() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A", "description": "here"}},
        "$defs": {"A": {"type": "string", "description": "there"}},
    }
    assert plain_schema(schema)["properties"]["a"] == {"type": "string", "description": "here"}


@pytest.mark.parametrize(
    ("definitions", "code"),
    [({"A": {"anyOf": [{"$ref": "#/$defs/A"}]}}, "recursive_schema"), ({}, "bad_schema_reference")],
)
def test_a_schema_that_cannot_be_inlined_is_refused(definitions: dict[str, Any], code: str) -> None:
    with pytest.raises(ToolFault) as caught:
        plain_schema({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": definitions})
    assert caught.value.code == code


def test_a_strict_schema_requires_every_property_and_meets_the_rules() -> None:
    strict = strict_schema(SCHEMA)
    Draft202012Validator.check_schema(strict)
    assert strict["required"] == ["title", "level", "within", "tags"]
    assert strict_violations(strict) == []


def test_optional_parameters_of_a_strict_schema_take_null_and_required_ones_do_not() -> None:
    check = Draft202012Validator(strict_schema(SCHEMA))
    assert check.is_valid({"title": "t", "level": None, "within": None, "tags": None})
    assert check.is_valid({"title": "t", "level": "high", "within": {"start": 0, "end": 1}, "tags": ["x"]})
    assert not check.is_valid({"title": None, "level": None, "within": None, "tags": None})
    assert not check.is_valid({"title": "t", "level": "middle", "within": None, "tags": None})


def test_what_strict_mode_cannot_check_is_told_in_the_description() -> None:
    properties = strict_schema(SCHEMA)["properties"]
    assert properties["title"]["description"] == "A title. At most 20 characters."
    assert 'Default "low".' in json.dumps(properties["level"]).replace('\\"', '"')
    assert properties["tags"]["anyOf"][0]["maxItems"] == 3


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "object", "additionalProperties": {"type": "string"}}}},
        {"type": "object", "properties": {"a": {"type": "object"}}},
        {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object"}}}},
        {"type": "object", "properties": {"a": {}}},
        {"type": "object", "properties": {"a": {"type": "array"}}},
        {"anyOf": [{"type": "object"}, {"type": "string"}]},
    ],
)
def test_what_strict_mode_cannot_say_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(ToolFault, match="not_strict"):
        strict_schema(schema)


def _nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels - 1):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"], "additionalProperties": False}
    return schema


def test_ten_levels_are_strict_and_eleven_are_not() -> None:
    assert strict_violations(_nested(10)) == []
    assert any("levels" in problem for problem in strict_violations(_nested(11)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"required": []}, "must be required"),
        ({"additionalProperties": True}, "additionalProperties"),
        ({"default": {}}, "'default' is not supported"),
        ({"required": ["a", "b"]}, "names no property"),
    ],
)
def test_the_checker_names_each_broken_rule(change: dict[str, Any], words: str) -> None:
    good = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert strict_violations(good) == []
    assert any(words in problem for problem in strict_violations({**good, **change}))


def test_nulls_that_mean_not_given_are_dropped_and_real_nulls_stay() -> None:
    arguments = {"title": "t", "level": None, "within": None, "unknown": None}
    assert drop_unset(arguments, SCHEMA) == {"title": "t", "within": None, "unknown": None}


def test_nulls_inside_objects_and_lists_are_dropped_too() -> None:
    box = {"type": "object", "properties": {"wide": {"type": "integer"}, "high": {"type": ["integer", "null"]}}}
    schema = {
        "type": "object",
        "properties": {"box": {"anyOf": [box, {"type": "string"}]}, "boxes": {"type": "array", "items": box}},
    }
    unset = {"wide": None, "high": None}
    assert drop_unset({"box": unset, "boxes": [unset, {"wide": 3}]}, schema) == {
        "box": {"high": None},
        "boxes": [{"high": None}, {"wide": 3}],
    }


def test_a_function_without_parameters_is_strict() -> None:
    strict = strict_schema({"type": "object"})
    assert strict == {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def test_an_openai_tool_has_the_form_of_chat_completions() -> None:
    tool = openai_tool("find", "Find it.", SCHEMA, strict=True)
    assert set(tool) == {"type", "function"}
    assert tool["function"]["parameters"] == strict_schema(SCHEMA)
    assert tool["function"]["strict"] is True


def test_without_strict_mode_a_tool_is_lean() -> None:
    assert openai_tool("find", "Find it.", SCHEMA, strict=False) == {
        "type": "function",
        "function": {"name": "find", "description": "Find it.", "parameters": lean_schema(SCHEMA)},
    }


def test_a_name_no_server_accepts_is_refused() -> None:
    with pytest.raises(ToolFault, match="bad_tool_name"):
        openai_tool("find it", "Find it.", SCHEMA, strict=False)


def test_an_mcp_tool_says_all_four_annotations() -> None:
    tool = mcp_tool("note", "Note it.", SCHEMA, SCHEMA, writes=True)
    assert tool["annotations"] == {
        "readOnlyHint": False,
        "destructiveHint": False,
        "idempotentHint": False,
        "openWorldHint": False,
    }
    assert tool["outputSchema"]["properties"] == {"data_from_video": plain_schema(SCHEMA)}
    assert tool["outputSchema"]["required"] == ["data_from_video"]


EVERYTHING: dict[str, Any] = {
    "type": "object",
    "properties": {
        "words": {"type": "string", "minLength": 1, "maxLength": 9, "description": "What to find.", "title": "Words"},
        "within": {
            "anyOf": [{"$ref": "#/$defs/Span"}, {"type": "null"}],
            "default": None,
            "description": "Where to look.",
        },
        "kind": {"anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "null"}], "default": "a"},
        "number": {"type": ["integer", "null"], "minimum": 1},
        "either": {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "integer"}, {"type": "null"}]},
        "many": {"type": "array", "minItems": 1, "items": {"type": ["string", "null"], "pattern": "a"}},
    },
    "required": ["words"],
    "additionalProperties": False,
    "$defs": {
        "Span": {
            "type": "object",
            "properties": {"start_time": {"type": "number"}, "end_time": {"type": "number"}},
            "required": ["start_time", "end_time"],
        }
    },
}


def test_a_lean_schema_holds_what_a_model_has_to_read_and_no_more() -> None:
    assert lean_schema(EVERYTHING) == {
        "type": "object",
        "properties": {
            "words": {"type": "string", "description": "What to find."},
            "within": {"type": "object", "description": "Where to look."},
            "kind": {"type": "string", "enum": ["a", "b"], "default": "a"},
            "number": {"type": "integer"},
            "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "many": {"type": "array", "items": {"type": ["string", "null"]}},
        },
        "required": ["words"],
    }
    assert lean_schema({"type": "object"}) == {"type": "object", "properties": {}}


def schemas_of_everything() -> dict[str, dict[str, Any]]:
    tools = load_library("hand_A").tools
    return {
        "everything": EVERYTHING,
        **{name: item.parameters_schema() for name, item in EVERY_OPERATION.items()},
        **{tool["name"]: tool["inputSchema"] for tool in mcp_declarations(tools)},
    }


@pytest.mark.parametrize("name", schemas_of_everything())
def test_a_lean_schema_stays_as_it_is_and_names_the_same_parameters(name: str) -> None:
    schema = schemas_of_everything()[name]
    lean = lean_schema(schema)
    assert lean_schema(lean) == lean
    assert lean["properties"].keys() == schema["properties"].keys()
    assert lean.get("required", []) == schema.get("required", [])
    assert len(str(lean)) < len(str(plain_schema(schema)))


def test_what_chat_models_are_not_given_of_the_sixteen_the_instructions_say() -> None:
    """Every description that is left out is one of few; a parameter with another one keeps it."""
    missing: dict[str, set[str]] = {}
    for item in EVERY_OPERATION.values():
        whole, lean = plain_schema(item.parameters_schema()), lean_schema(item.parameters_schema())
        for name, part in whole["properties"].items():
            if "description" not in lean["properties"][name]:
                missing.setdefault(name, set()).add(part["description"])
    assert set(missing) == {
        "video_id", "start_time", "end_time", "timestamp", "time", "time_range", "query", "top_k", "level", "entity_id",
    }  # fmt: skip
    assert all(len(described) == 1 for described in missing.values())

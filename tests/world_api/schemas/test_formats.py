"""The faces are made from one registry and say the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from world_api.operations import EVERY_OPERATION, OPERATIONS, Operation, group_names, operations_for, operations_of
from world_api.schemas import (
    FORMATS,
    Format,
    drop_unset,
    json_schemas,
    mcp_tools,
    openai_tools,
    operation_rows,
    render,
    strict_violations,
)

every_operation = pytest.mark.parametrize("operation", EVERY_OPERATION.values(), ids=lambda item: item.name)
EVERYTHING = operations_for(group_names())
SCHEMAS, MCP = json_schemas(EVERYTHING), mcp_tools(EVERYTHING)
OPENAI = {strict: openai_tools(EVERYTHING, strict=strict) for strict in (False, True)}


def _of(documents: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(item for item in documents if item.get("name", item.get("function", {}).get("name")) == name)


def test_there_are_sixteen_operations() -> None:
    assert len(OPERATIONS) == 16


def test_the_schemas_change_only_on_purpose(check_golden: Callable[[str, str], None]) -> None:
    check_golden("operations.json", render("json-schema"))


@pytest.mark.parametrize("group", group_names())
def test_the_schemas_of_a_group_change_only_on_purpose(check_golden: Callable[[str, str], None], group: str) -> None:
    check_golden(f"operations.{group}.json", render("json-schema", operations_of(group)))


@pytest.mark.parametrize("group", group_names())
@pytest.mark.parametrize("face", FORMATS)
def test_a_face_with_a_group_is_that_of_the_sixteen_and_then_the_group(face: Format, group: str) -> None:
    pattern = r"^\| (?:\d+|[a-z]+) +\| (\w+) +\|" if face == "table" else r'^ +"name": "(\w+)"'
    shown = re.findall(pattern, render(face, operations_for([group])), flags=re.MULTILINE)
    assert [name for name in shown if name != "operation"] == [*OPERATIONS, *operations_of(group)]


@pytest.mark.parametrize("face", FORMATS)
def test_every_face_shows_every_operation_in_the_published_order(face: Format) -> None:
    pattern = r"^\| \d+ +\| (\w+) +\|" if face == "table" else r'^ +"name": "(\w+)"'
    assert re.findall(pattern, render(face), flags=re.MULTILINE) == list(OPERATIONS)


@every_operation
def test_an_operation_has_one_to_six_described_parameters_and_the_first_is_the_video(operation: Operation) -> None:
    properties = operation.parameters_schema()["properties"]
    assert 1 <= len(properties) <= 6
    assert next(iter(properties)) == "video_id"
    assert all(schema.get("description") for schema in properties.values())


@every_operation
def test_parameters_that_are_times_say_that_they_are_seconds(operation: Operation) -> None:
    text = json.dumps(operation.parameters_schema())
    times = [schema for schema in operation.parameters_schema()["properties"].values() if "Time" in json.dumps(schema)]
    assert all("second" in schema["description"].lower() for schema in times), text


@every_operation
def test_an_operation_is_described_in_one_line(operation: Operation) -> None:
    assert operation.description
    assert "\n" not in operation.description
    assert "  " not in operation.description


@every_operation
def test_the_schemas_are_json_schema_2020_12(operation: Operation) -> None:
    for documents, keys in (
        (SCHEMAS, ("parameters", "result")),
        (MCP, ("inputSchema", "outputSchema")),
    ):
        for key in keys:
            Draft202012Validator.check_schema(_of(documents, operation.name)[key])


@every_operation
def test_the_strict_face_meets_strict_modes_rules(operation: Operation) -> None:
    schema = _of(OPENAI[True], operation.name)["function"]["parameters"]
    Draft202012Validator.check_schema(schema)
    assert strict_violations(schema) == []


@every_operation
def test_a_strict_call_that_leaves_options_null_is_a_call_the_operation_takes(operation: Operation) -> None:
    plain = operation.parameters_schema()
    loose = {name: _example(operation, name) for name in plain["required"]}
    strict = {name: loose.get(name) for name in plain["properties"]}
    schema = _of(OPENAI[True], operation.name)["function"]["parameters"]
    Draft202012Validator(schema).validate(strict)
    assert operation.validate(drop_unset(strict, plain)) == operation.validate(loose)


def _example(operation: Operation, name: str) -> Any:
    schema = _of(SCHEMAS, operation.name)["parameters"]["properties"][name]
    if "enum" in schema:
        return schema["enum"][0]
    examples: dict[str, Any] = {
        "string": "person",
        "number": 1.0,
        "integer": 3,
        "array": ["a", "b"],
        "object": {"start_time": 0.0, "end_time": 1.0},
    }
    return examples[schema["type"]]


@every_operation
def test_all_faces_offer_the_same_parameters(operation: Operation) -> None:
    expected = list(operation.parameters.model_fields)
    assert list(_of(SCHEMAS, operation.name)["parameters"]["properties"]) == expected
    assert list(_of(MCP, operation.name)["inputSchema"]["properties"]) == expected
    for strict in (False, True):
        assert list(_of(OPENAI[strict], operation.name)["function"]["parameters"]["properties"]) == expected
    row = next(row for row in operation_rows(EVERYTHING) if row["operation"] == operation.name)
    assert [text.rstrip("?") for text in row["parameters"].split(", ")] == expected


@every_operation
def test_only_writing_operations_are_marked_as_writing(operation: Operation) -> None:
    writes = operation.state == "writes"
    assert _of(MCP, operation.name)["annotations"]["readOnlyHint"] is not writes
    assert (
        next(row for row in operation_rows(EVERYTHING) if row["operation"] == operation.name)["state"]
        == operation.state
    )


def test_the_table_marks_optional_parameters_and_opens_lists() -> None:
    row = next(row for row in operation_rows() if row["operation"] == "list_scenes")
    assert row["parameters"] == "video_id, time_range?"
    assert row["result"].startswith("scenes: [{")
    assert row["price"] == "1 call, 2 ms"

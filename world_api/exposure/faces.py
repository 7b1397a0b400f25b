"""The faces of the operations, each made from the registry and nothing else: the sixteen, and what groups add to them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from world_api.core.cost import Cost
from world_api.exposure.schemas import Schema, mcp_tool, openai_tool, plain_schema
from world_api.operations import OPERATIONS, Operation

Face = Literal["table", "json-schema", "openai", "openai-strict", "mcp"]
FACES: tuple[Face, ...] = get_args(Face)

#: Every result carries these beside its answer; tables say so once instead of sixteen times.
COMMON_RESULT_FIELDS = ("evidence", "truncated", "hint")
_HEADINGS = ("#", "operation", "parameters", "result", "state", "price")


@dataclass(frozen=True, kw_only=True)
class OperationRow:
    """One line of the table of operations: texts, ready to be shown."""

    number: str  #: of the sixteen; of others the group
    name: str
    parameters: str
    result: str
    state: str
    price: str

    def cells(self) -> tuple[str, ...]:
        """The texts in the order of the columns."""
        return (self.number, self.name, self.parameters, self.result, self.state, self.price)


def render(face: Face, operations: Mapping[str, Operation] = OPERATIONS) -> str:
    """One face as text: a Markdown table, or indented JSON."""
    if face == "table":
        return markdown_table(operations)
    return json.dumps(_documents(face, operations), indent=2, ensure_ascii=False) + "\n"


def _documents(face: Face, operations: Mapping[str, Operation]) -> list[Schema]:
    if face == "json-schema":
        return json_schemas(operations)
    return mcp_tools(operations) if face == "mcp" else openai_tools(operations, strict=face == "openai-strict")


def json_schemas(operations: Mapping[str, Operation] = OPERATIONS) -> list[Schema]:
    """Each operation with self-contained JSON Schemas of its parameters and its result."""
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
    """Each operation as a function tool of the Chat Completions API."""
    return [
        openai_tool(item.name, item.description, item.parameters_schema(), strict=strict)
        for item in operations.values()
    ]


def mcp_tools(operations: Mapping[str, Operation] = OPERATIONS) -> list[Schema]:
    """Each operation as a tool of the Model Context Protocol."""
    return [
        mcp_tool(
            item.name,
            item.description,
            item.parameters_schema(),
            item.result_schema(),
            writes=item.state == "writes",
        )
        for item in operations.values()
    ]


def operation_rows(operations: Mapping[str, Operation] = OPERATIONS) -> list[OperationRow]:
    """The table of operations, in the published order; the sixteen have their numbers, what groups add has none."""
    numbers = {name: str(number) for number, name in enumerate(OPERATIONS, start=1)}
    return [_row(numbers.get(name, item.group), item) for name, item in operations.items()]


def _row(number: str, item: Operation) -> OperationRow:
    return OperationRow(
        number=number,
        name=item.name,
        parameters=", ".join(item.signature()),
        result=", ".join(result_fields(item)),
        state=item.state,
        price=price_text(item.price),
    )


def result_fields(item: Operation) -> list[str]:
    """The fields of an answer, lists and objects opened one level: ``scenes: [{scene_id, start_time}]``."""
    properties = plain_schema(item.result_schema())["properties"]
    return [name + _shape(schema) for name, schema in properties.items() if name not in COMMON_RESULT_FIELDS]


def _shape(schema: Mapping[str, Any]) -> str:
    if "properties" in schema:
        return ": {" + ", ".join(schema["properties"]) + "}"
    if "properties" in schema.get("items", {}):
        return ": [{" + ", ".join(schema["items"]["properties"]) + "}]"
    return ""


def price_text(price: Cost) -> str:
    """``1 call, 5 ms``; model calls and tokens only where there are any."""
    parts = [_counted(price.calls, "call"), _counted(price.model_calls, "model call"), _counted(price.tokens, "token")]
    return ", ".join([*filter(None, parts), f"{price.seconds * 1000:g} ms"])


def _counted(number: int, noun: str) -> str:
    if number == 0:
        return ""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def markdown_table(operations: Mapping[str, Operation] = OPERATIONS) -> str:
    """The table of operations in Markdown, its columns aligned so that it also reads well in a terminal."""
    cells = [_HEADINGS, *(row.cells() for row in operation_rows(operations))]
    widths = [max(len(row[column]) for row in cells) for column in range(len(_HEADINGS))]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in cells]
    lines.insert(1, "| " + " | ".join("-" * width for width in widths) + " |")
    return "\n".join(lines) + "\n"

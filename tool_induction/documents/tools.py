"""A tool, a file of tools: the outer models of a document."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, JsonValue, StringConstraints, TypeAdapter, model_validator

from tool_induction.documents.parts import TOOL_NAME, Name, Part, TypeName
from tool_induction.documents.steps import Block
from tool_induction.language import limits

Description = Annotated[str, StringConstraints(max_length=500)]


class InputDeclaration(Part):
    """An input with more than a type."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"type": {"const": "enum"}}, "required": ["type"]},
            "then": {"required": ["enum"]},
        }
    )

    type: Annotated[
        TypeName, Field(description="The type: string, number, int, bool, Time, Interval, enum, list<T>, ...")
    ]
    description: Annotated[Description | None, Field(description="What to give, with the unit.")] = None
    default: Annotated[
        JsonValue, Field(description="The value where none is given; without it the input is required.")
    ] = None
    enum: Annotated[
        list[str] | None, Field(min_length=1, max_length=50, description="The strings that may be given.")
    ] = None

    @classmethod
    def takes_null(cls) -> frozenset[str]:
        """A default may be null."""
        return frozenset({"default"})

    @model_validator(mode="after")
    def _names_its_values(self) -> Self:
        if self.type == "enum" and not self.enum:
            raise ValueError("an enum names its values")
        return self


class OutputDeclaration(Part):
    """An output with more than a type."""

    type: Annotated[TypeName, Field(description="The type; with '?' it may be missing.")]
    description: Annotated[Description | None, Field(description="What it tells, with the unit.")] = None
    source: Annotated[
        JsonValue, Field(alias="from", description='The value, for instance "{{ first_hit.start_time }}".')
    ] = None

    @classmethod
    def takes_null(cls) -> frozenset[str]:
        """An output may always be null."""
        return frozenset({"from", "source"})


class ToolDocument(Part):
    """A high-level tool: what it takes, what it gives, and the steps in between."""

    tool_name: Annotated[
        str, StringConstraints(pattern=TOOL_NAME), Field(description="verb_object, lower case, at most 64 characters.")
    ]
    description: Annotated[
        str,
        StringConstraints(min_length=1, max_length=2000),
        Field(description="What the tool is for, when to use it and when not."),
    ]
    inputs: Annotated[
        dict[Name, Annotated[str, StringConstraints(max_length=80)] | InputDeclaration],
        Field(max_length=limits.MAX_INPUTS, description="Name to type, or to a declaration."),
    ]
    outputs: Annotated[
        dict[Name, Annotated[str, StringConstraints(max_length=80)] | OutputDeclaration],
        Field(min_length=1, max_length=limits.MAX_OUTPUTS, description="Name to type, or to a declaration."),
    ]
    steps: Annotated[Block, Field(description="What is done, in order.")]


class ToolFile(Part):
    """Several tools of one file. Other keys beside ``tools`` are not looked at."""

    model_config = ConfigDict(extra="ignore")

    tools: Annotated[list[ToolDocument], Field(min_length=1, max_length=limits.MAX_TOOLS, description="The tools.")]


_TOOL: TypeAdapter[ToolDocument] = TypeAdapter(ToolDocument)
_MANY: TypeAdapter[list[ToolDocument]] = TypeAdapter(
    Annotated[list[ToolDocument], Field(min_length=1, max_length=limits.MAX_TOOLS)]
)
_FILE: TypeAdapter[ToolFile] = TypeAdapter(ToolFile)


def read_tool_document(value: Any) -> ToolDocument:
    """One tool of a document as a model.

    Raises:
        pydantic.ValidationError: where it has not the language's shape.
    """
    return _TOOL.validate_python(value, by_alias=True, by_name=False)


def read_document(value: Any) -> list[ToolDocument]:
    """The tools of a document (one tool, a list, or ``{"tools": [...]}``) as models.

    Raises:
        pydantic.ValidationError: where it has not the language's shape.
    """
    if isinstance(value, dict) and "tools" in value and "steps" not in value:
        return list(_FILE.validate_python(value, by_alias=True, by_name=False).tools)
    if isinstance(value, dict):
        return [read_tool_document(value)]
    return _MANY.validate_python(value, by_alias=True, by_name=False)

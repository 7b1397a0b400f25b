"""The steps of a tool, one model each. ``model_dump()`` of a model is the step as a document has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    JsonValue,
    StringConstraints,
    Tag,
    WithJsonSchema,
    model_validator,
)

from tool_induction.documents.parts import (
    Condition,
    FieldName,
    LoopName,
    MaxItems,
    Name,
    Part,
    Source,
    Values,
    whole,
)
from tool_induction.language import limits
from tool_induction.language.model import OnError, StopStatus

SaveAs = Annotated[Name, Field(description="The name that what this step gives is bound to, once in a tool.")]
Inputs = Annotated[
    Source, Field(description="What it works on: a saved name, an expression, a list of names, a record of names.")
]
ErrorRule = Annotated[
    OnError | None,
    Field(
        description="What a fault of the call does: fail ends the tool; skip leaves the item out; null puts null there."
    ),
]


class _Looping(Part):
    """The keys of a step that can be done once for each item of a list."""

    loop_over: Annotated[
        str | list[JsonValue] | None,
        Field(description="The list to go through: a saved name, an expression, or a list of values."),
    ] = None
    variable: Annotated[
        LoopName | None, Field(alias="as", description="What the present item is called; 'item' where left out.")
    ] = None
    max_items: Annotated[
        MaxItems | None,
        Field(description="The most items that are looked at; needed where nothing else bounds the list."),
    ] = None
    until: Annotated[
        Condition | None,
        Field(
            description="Stops the loop once it holds; looked at after each item, in order. The loop's own name is the "
            "list so far."
        ),
    ] = None

    @model_validator(mode="after")
    def _keys_of_a_loop(self) -> Self:
        for key in ("variable", "max_items", "until"):
            if getattr(self, key) is not None and self.loop_over is None:
                raise ValueError(f"{'as' if key == 'variable' else key!r} needs 'loop_over' beside it")
        return self


class CallWorldApi(_Looping):
    """One atomic operation on the world, once or for each item of a list."""

    type: Annotated[Literal["call_world_api"], Field(description="An operation of the world.")] = "call_world_api"
    api: Annotated[str, Field(description="The operation's name.")]
    params: Annotated[
        Values | None, Field(description="Its parameters: constants, or texts with {{ expressions }}.")
    ] = None
    on_error: ErrorRule = None
    save_as: SaveAs


class CallTool(_Looping):
    """Another tool of the same library, once or for each item of a list."""

    type: Annotated[Literal["call_tool"], Field(description="Another tool of the same file.")] = "call_tool"
    tool: Annotated[str, Field(description="The tool's name; tools call each other at most three deep, in no circle.")]
    params: Annotated[Values | None, Field(description="Its inputs: constants, or texts with {{ expressions }}.")] = (
        None
    )
    on_error: ErrorRule = None
    save_as: SaveAs


class Loop(_Looping):
    """A block of steps done for each item of a list; an item's value is that of the block's last binding step."""

    type: Annotated[Literal["loop"], Field(description="A block of steps for each item of a list.")] = "loop"
    loop_over: Annotated[
        str | list[JsonValue],
        Field(description="The list to go through: a saved name, an expression, or a list of values."),
    ]
    do: Annotated[Block, Field(description="The steps for one item.")]
    on_error: ErrorRule = None
    save_as: SaveAs

    @model_validator(mode="before")
    @classmethod
    def _any_step_with_do(cls, given: Any) -> Any:
        """A call with ``do`` is a loop whatever its ``type`` says."""
        if isinstance(given, Mapping) and given.get("type") in ("call_world_api", "call_tool"):
            return {**given, "type": "loop"}
        return given


class Filter(Part):
    """Keeps the items for which an expression holds."""

    type: Annotated[Literal["filter"], Field(description="Keeps some items of a list.")] = "filter"
    inputs: Inputs
    where: Annotated[Condition, Field(description="The condition on 'item'.")]
    save_as: SaveAs


class Project(Part):
    """Maps items to records; an item's times and evidence stay unless a field overwrites them."""

    type: Annotated[Literal["project"], Field(description="Maps items to records.")] = "project"
    inputs: Inputs
    fields: Annotated[
        dict[FieldName, JsonValue], Field(min_length=1, description="Field name to value; 'item' is the present item.")
    ]
    save_as: SaveAs


class Aggregate(Part):
    """One aggregate of the closed table."""

    type: Annotated[Literal["aggregate"], Field(description="A function of lists.")] = "aggregate"
    operation: Annotated[str, Field(description="The aggregate's name.")]
    inputs: Annotated[
        Source | None,
        Field(
            description="What it works on: a saved name, a list of names, a record of names ({a, b}) or an expression."
        ),
    ] = None
    params: Annotated[Values | None, Field(description="The aggregate's parameters.")] = None
    save_as: SaveAs


class Set(Part):
    """Binds a value."""

    type: Annotated[Literal["set"], Field(description="Binds a value.")] = "set"
    value: Annotated[
        JsonValue, Field(description="A constant, a text with {{ expressions }}, a record or a list of values.")
    ]
    save_as: SaveAs

    @classmethod
    def takes_null(cls) -> frozenset[str]:
        """``null`` is a value."""
        return frozenset({"value"})


class If(Part):
    """One of two blocks; both bind the same names with the same types."""

    type: Annotated[Literal["if"], Field(description="One of two blocks of steps.")] = "if"
    condition: Annotated[Condition, Field(description="Chooses the block.")]
    then: Annotated[Block, Field(description="The steps where it holds.")]
    otherwise: Annotated[Block | None, Field(alias="else", description="The steps where it does not.")] = None


Answer = Annotated[str, StringConstraints(min_length=1, max_length=limits.MAX_ANSWER_CHARACTERS)]


class Judge(Part):
    """A closed question about each item, put to a fixed model. Behind a switch."""

    type: Annotated[Literal["judge"], Field(description="Asks a model; only where judging is switched on.")] = "judge"
    inputs: Inputs
    question: Annotated[str, Field(description="What is asked about each item.")]
    answers: Annotated[
        list[Answer],
        Field(min_length=limits.MIN_ANSWERS, max_length=limits.MAX_ANSWERS, description="The closed list of answers."),
    ]
    max_items: Annotated[
        int | None,
        Field(ge=1, le=limits.MAX_JUDGED_ITEMS, description="The most items that are asked about."),
        BeforeValidator(whole),
    ] = None
    save_as: SaveAs


class Require(Part):
    """Ends the tool here, with a status and a reason, unless a condition holds."""

    type: Annotated[Literal["require"], Field(description="Ends the tool unless a condition holds.")] = "require"
    condition: Annotated[Condition, Field(description="What must hold for the tool to go on.")]
    status: Annotated[StopStatus | None, Field(description="What the tool ends as; 'empty' where left out.")] = None
    reason: Annotated[str | None, Field(description="Why, in a sentence for the caller.")] = None


STEP_MODELS: dict[str, type[Part]] = {
    model.model_fields["type"].default: model
    for model in (CallWorldApi, CallTool, Loop, Filter, Project, Aggregate, Set, If, Judge, Require)
}


def _kind(step: object) -> str | None:
    if isinstance(step, Mapping):
        kind = step.get("type")
        if "do" in step and kind in (None, "call_world_api", "call_tool"):
            return "loop"
        return kind if isinstance(kind, str) else None
    return getattr(step, "type", None)


Step = Annotated[
    Annotated[CallWorldApi, Tag("call_world_api")]
    | Annotated[CallTool, Tag("call_tool")]
    | Annotated[Loop, Tag("loop")]
    | Annotated[Filter, Tag("filter")]
    | Annotated[Project, Tag("project")]
    | Annotated[Aggregate, Tag("aggregate")]
    | Annotated[Set, Tag("set")]
    | Annotated[If, Tag("if")]
    | Annotated[Judge, Tag("judge")]
    | Annotated[Require, Tag("require")],
    Discriminator(_kind),
    WithJsonSchema({"x-part": "step"}),
]
Block = Annotated[list[Step], Field(min_length=1, max_length=limits.MAX_STEPS)]
Loop.model_rebuild()
If.model_rebuild()

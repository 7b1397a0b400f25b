"""A tool document as the compiler handles it: parsed values in place of strings, and where each part stood."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tool_induction.language.diagnostics import Path
from tool_induction.language.limits import MAX_NAME
from tool_induction.language.syntax import Const, Expr
from tool_induction.language.types import Type

OnError = Literal["fail", "skip", "null"]
StopStatus = Literal["ok", "empty", "ambiguous", "partial", "error"]


@dataclass(frozen=True, kw_only=True)
class Input:
    """An input of a tool. ``default`` is None where it has none; then the input is required."""

    name: str
    type: Type
    type_name: str
    description: str = ""
    default: Const | None = None
    path: Path = ()

    @property
    def required(self) -> bool:
        """Whether a call must give it."""
        return self.default is None


@dataclass(frozen=True, kw_only=True)
class Output:
    """An output of a tool: its declared type and the value it is bound to (None until the compiler binds it)."""

    name: str
    type: Type
    type_name: str
    description: str = ""
    source: Expr | None = None
    path: Path = ()


@dataclass(frozen=True, kw_only=True)
class Loop:
    """How a call or a block is repeated.

    The compiler finds out how often that can be (``bound``), is expected to be (``typical``) and is at least
    (``least``), and writes ``max_items`` out where nothing else bounds the loop.
    """

    over: Expr
    variable: str = "item"
    max_items: int | None = None
    until: Expr | None = None
    bound: int = 0
    typical: int = 0
    least: int = 0


@dataclass(frozen=True, kw_only=True)
class Call:
    """One atomic operation (``api``) or another tool (``tool``), once or for each item of a list."""

    kind: Literal["api", "tool"]
    target: str
    params: tuple[tuple[str, Expr], ...]
    loop: Loop | None = None
    on_error: OnError = "fail"
    save_as: str
    path: Path = ()
    flattens: str | None = None  #: in a loop, the list field whose items are collected; the compiler decides


@dataclass(frozen=True, kw_only=True)
class Block:
    """Steps done for each item of a list; an iteration's value is that of its last binding step."""

    body: tuple[Step, ...]
    loop: Loop
    on_error: OnError = "fail"
    save_as: str
    path: Path = ()
    flattens: str | None = None  #: as in Call; "" where an iteration's value is itself a list


@dataclass(frozen=True, kw_only=True)
class Filter:
    """Keep the items for which ``where`` holds."""

    inputs: Expr
    where: Expr
    save_as: str
    path: Path = ()


@dataclass(frozen=True, kw_only=True)
class Project:
    """Map items to records."""

    inputs: Expr
    fields: tuple[tuple[str, Expr], ...]
    save_as: str
    path: Path = ()


@dataclass(frozen=True, kw_only=True)
class Aggregate:
    """One aggregate of the closed table."""

    operation: str
    inputs: Expr
    params: tuple[tuple[str, Expr], ...]
    save_as: str
    path: Path = ()


@dataclass(frozen=True, kw_only=True)
class Set:
    """Bind a value."""

    value: Expr
    save_as: str
    path: Path = ()


@dataclass(frozen=True, kw_only=True)
class JudgeStep:
    """A closed question about each item, put to a fixed model. The compiler finds out about how many items (``bound``)."""

    inputs: Expr
    question: Expr
    answers: tuple[str, ...]
    max_items: int | None = None
    bound: int = 0
    typical: int = 0
    least: int = 0
    save_as: str
    path: Path = ()


@dataclass(frozen=True, kw_only=True)
class If:
    """One of two blocks, which bind the same names."""

    condition: Expr
    then: tuple[Step, ...]
    otherwise: tuple[Step, ...]
    path: Path = ()


@dataclass(frozen=True, kw_only=True)
class Require:
    """Stop here, with a status and a reason, unless the condition holds."""

    condition: Expr
    status: StopStatus = "empty"
    reason: Expr
    path: Path = ()


Step: TypeAlias = Call | Block | Filter | Project | Aggregate | Set | JudgeStep | If | Require


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One tool."""

    name: str
    description: str
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    steps: tuple[Step, ...]
    path: Path = ()


def blocks(step: Step) -> tuple[tuple[Step, ...], ...]:
    """The blocks of steps inside a step."""
    match step:
        case If():
            return (step.then, step.otherwise)
        case Block():
            return (step.body,)
    return ()


def walk_steps(steps: tuple[Step, ...]) -> Iterator[Step]:
    """All steps, those inside blocks too, in document order."""
    for step in steps:
        yield step
        for block in blocks(step):
            yield from walk_steps(block)


def taken_names(tool: Tool) -> frozenset[str]:
    """Every name that a tool uses anywhere: a new step cannot save its result under one of them."""
    steps = list(walk_steps(tool.steps))
    taken = {step.save_as for step in steps if not isinstance(step, If | Require)}
    taken |= {step.loop.variable for step in steps if isinstance(step, Call | Block) and step.loop is not None}
    return frozenset(taken | {item.name for item in tool.inputs} | {item.name for item in tool.outputs})


def free_name(name: str, taken: Collection[str]) -> str:
    """A name like this one that nothing else has."""
    tail = ""
    while (made := name[: MAX_NAME - len(tail)] + tail) in taken:
        tail += "_"
    return made


def binds(step: Step) -> tuple[str, ...]:
    """The names a step binds for the steps after it."""
    match step:
        case If():
            then = [name for inner in step.then for name in binds(inner)]
            otherwise = {name for inner in step.otherwise for name in binds(inner)}
            return tuple(name for name in then if name in otherwise)
        case Require():
            return ()
    return (step.save_as,)


def values(step: Step) -> Iterator[tuple[str, Expr]]:
    """The values a step holds itself, each with its key (``params.query`` style for nested ones)."""
    match step:
        case Call():
            for key, value in step.params:
                yield f"params.{key}", value
        case Filter():
            yield from (("inputs", step.inputs), ("where", step.where))
        case Project():
            yield "inputs", step.inputs
            yield from ((f"fields.{key}", value) for key, value in step.fields)
        case Aggregate():
            yield "inputs", step.inputs
            yield from ((f"params.{key}", value) for key, value in step.params)
        case Set():
            yield "value", step.value
        case JudgeStep():
            yield from (("inputs", step.inputs), ("question", step.question))
        case If():
            yield "condition", step.condition
        case Require():
            yield from (("condition", step.condition), ("reason", step.reason))
    loop = step.loop if isinstance(step, Call | Block) else None
    if loop is not None:
        yield "loop_over", loop.over
        if loop.until is not None:
            yield "until", loop.until

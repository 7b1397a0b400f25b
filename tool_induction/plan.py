"""A tool's steps as lines a person reads: what is called, over what, and what ends the tool."""

from __future__ import annotations

from collections.abc import Iterator

from tool_induction.language.expressions import Const, Expr, JsonList, JsonRecord, Text, to_json, to_text
from tool_induction.language.model import (
    Aggregate,
    Block,
    Call,
    Filter,
    If,
    JudgeStep,
    Loop,
    Project,
    Require,
    Set,
    Step,
    Tool,
)

_INDENT = "  "
#: an input or output of every tool; in a plan it only takes room
_EVERYWHERE = "video_id"


def plan_lines(tool: Tool) -> list[str]:
    """The steps of a tool, one line each, blocks indented."""
    return list(_block(tool.steps, 0))


def _block(steps: tuple[Step, ...], depth: int) -> Iterator[str]:
    for step in steps:
        yield from _step(step, depth)


def _step(step: Step, depth: int) -> Iterator[str]:
    indent = _INDENT * depth
    match step:
        case Call():
            yield f"{indent}{step.save_as} = {_repeated(step.loop)}{_call(step)}{_after(step)}"
        case Block():
            yield f"{indent}{step.save_as} = {_repeated(step.loop).rstrip()}{_after(step)}"
            yield from _block(step.body, depth + 1)
        case Filter():
            yield f"{indent}{step.save_as} = items of {written(step.inputs)} where {written(step.where)}"
        case Project():
            yield f"{indent}{step.save_as} = for each item of {written(step.inputs)}: {{{_arguments(step.fields)}}}"
        case Aggregate():
            inputs = "" if step.inputs == Const(None) else written(step.inputs)
            yield f"{indent}{step.save_as} = {step.operation}({', '.join(filter(None, (inputs, _arguments(step.params))))})"
        case JudgeStep():
            asked = f"{written(step.question)}, answers {' / '.join(step.answers)}"
            yield f"{indent}{step.save_as} = judge each item of {written(step.inputs)} (at most {step.bound}): {asked}"
        case Set():
            yield f"{indent}{step.save_as} = {written(step.value)}"
        case Require():
            yield f"{indent}stop as {step.status} unless {written(step.condition)}: {written(step.reason)}"
        case If():
            yield f"{indent}if {written(step.condition)}:"
            yield from _block(step.then, depth + 1)
            if step.otherwise:
                yield f"{indent}else:"
                yield from _block(step.otherwise, depth + 1)


def _repeated(loop: Loop | None) -> str:
    if loop is None:
        return ""
    return f"for each {loop.variable} of {written(loop.over)} (at most {loop.bound}): "


def _call(step: Call) -> str:
    return f"{step.target}({_arguments(tuple(item for item in step.params if item[0] != _EVERYWHERE))})"


def _after(step: Call | Block) -> str:
    until = f", until {written(step.loop.until)}" if step.loop is not None and step.loop.until is not None else ""
    on_error = {"fail": "", "skip": ", leaving out what fails", "null": ", null where it fails"}[step.on_error]
    return until + on_error


def _arguments(entries: tuple[tuple[str, Expr], ...]) -> str:
    return ", ".join(f"{name}={written(value)}" for name, value in entries)


def written(value: Expr) -> str:
    """An expression as it stands inside braces; a text with its braces, in quotes."""
    match value:
        case Text():
            return f'"{to_json(value)}"'
        case JsonList(items):
            return f"[{', '.join(written(item) for item in items)}]"
        case JsonRecord(entries):
            return f"{{{', '.join(f'{name}: {written(inner)}' for name, inner in entries)}}}"
        case _:
            return to_text(value)

"""The frozen form: the document again, with everything implicit written out. Compiling it gives itself."""

from __future__ import annotations

from typing import Any

from tool_induction.language.model import (
    Aggregate,
    Block,
    Call,
    Filter,
    If,
    Input,
    JudgeStep,
    Loop,
    Output,
    Project,
    Set,
    Step,
    Tool,
)
from tool_induction.language.syntax import Const, Expr, JsonList, JsonRecord, to_json, to_text
from tool_induction.language.types import EnumType


def frozen_form(tool: Tool) -> dict[str, Any]:
    """The tool as a JSON document."""
    return {
        "tool_name": tool.name,
        "description": tool.description,
        "inputs": {item.name: _input(item) for item in tool.inputs},
        "outputs": {item.name: _output(item) for item in tool.outputs},
        "steps": [_step(step) for step in tool.steps],
    }


def _input(item: Input) -> Any:
    record: dict[str, Any] = {"type": item.type_name}
    if item.description:
        record["description"] = item.description
    if item.default is not None:
        record["default"] = item.default.value
    if isinstance(item.type, EnumType):
        record["enum"] = list(item.type.values)
    return record if len(record) > 1 else item.type_name


def _output(item: Output) -> Any:
    record: dict[str, Any] = {"type": item.type_name}
    if item.description:
        record["description"] = item.description
    if item.source is not None:
        record["from"] = to_json(item.source)
    return record


def _expression(expr: Expr) -> Any:
    """A place where an expression is wanted: always with braces, so that it cannot be read as text."""
    match expr:
        case JsonRecord(entries):
            return {key: _expression(value) for key, value in entries}
        case JsonList(items):
            return [_expression(item) for item in items]
        case Const(value) if not isinstance(value, str):
            return value if isinstance(value, bool) else f"{{{{ {to_text(expr)} }}}}"
    return f"{{{{ {to_text(expr)} }}}}"


def _entries(entries: tuple[tuple[str, Expr], ...]) -> dict[str, Any]:
    return {key: _expression(value) if key == "where" else to_json(value) for key, value in entries}


def _step(step: Step) -> dict[str, Any]:
    match step:
        case Call():
            head = (
                {"type": "call_world_api", "api": step.target}
                if step.kind == "api"
                else {"type": "call_tool", "tool": step.target}
            )
            params = {"params": {key: to_json(value) for key, value in step.params}}
            return head | _loop(step.loop) | params | _tail(step)
        case Block():
            return {"type": "loop"} | _loop(step.loop) | {"do": [_step(inner) for inner in step.body]} | _tail(step)
        case Filter():
            body: dict[str, Any] = {"inputs": _expression(step.inputs), "where": _expression(step.where)}
            return {"type": "filter"} | body | {"save_as": step.save_as}
        case Project():
            fields = {key: to_json(value) for key, value in step.fields}
            return {
                "type": "project",
                "inputs": _expression(step.inputs),
                "fields": fields,
                "save_as": step.save_as,
            }
        case Aggregate():
            record: dict[str, Any] = {"type": "aggregate", "operation": step.operation}
            if step.inputs != Const(None):
                record["inputs"] = _expression(step.inputs)
            if step.params:
                record["params"] = _entries(step.params)
            return record | {"save_as": step.save_as}
        case JudgeStep():
            asked = {"question": to_json(step.question), "answers": list(step.answers)}
            judged = {"type": "judge", "inputs": _expression(step.inputs)} | asked
            return judged | ({"max_items": step.max_items} if step.max_items else {}) | {"save_as": step.save_as}
        case Set():
            return {"type": "set", "value": to_json(step.value), "save_as": step.save_as}
        case If():
            record = {
                "type": "if",
                "condition": _expression(step.condition),
                "then": [_step(inner) for inner in step.then],
            }
            return record | ({"else": [_step(inner) for inner in step.otherwise]} if step.otherwise else {})
    condition = _expression(step.condition)
    return {"type": "require", "condition": condition, "status": step.status, "reason": to_json(step.reason)}


def _loop(loop: Loop | None) -> dict[str, Any]:
    if loop is None:
        return {}
    record: dict[str, Any] = {"loop_over": _expression(loop.over)}
    if loop.variable != "item":
        record["as"] = loop.variable
    if loop.max_items is not None:
        record["max_items"] = loop.max_items
    if loop.until is not None:
        record["until"] = _expression(loop.until)
    return record


def _tail(step: Call | Block) -> dict[str, Any]:
    return ({"on_error": step.on_error} if step.on_error != "fail" else {}) | {"save_as": step.save_as}

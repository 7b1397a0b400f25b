"""Pass 6c: tools that do what another tool, or one operation, does already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from tool_induction.aggregates import AGGREGATES
from tool_induction.language.diagnostics import Findings
from tool_induction.language.model import Aggregate, Call, Require, Set, Tool, walk_steps
from tool_induction.language.syntax import Const, Expr, Field, JsonRecord, Name
from tool_induction.language.types import operation_types
from world_api.core.canonical import canonical

#: what a step has besides what it does
_NOT_MEANT = frozenset({"path", "flattens", "bound", "typical", "least", "reason"})
_NAMES = frozenset({"save_as", "variable"})


def lint_wrapper(tool: Tool, findings: Findings) -> None:
    """Note a tool that makes one call and hands on what comes of it."""
    calls = [step for step in walk_steps(tool.steps) if isinstance(step, Call)]
    others = [step for step in tool.steps if not isinstance(step, Call | Require | Set)]
    if len(calls) != 1 or calls[0].loop is not None or others:
        return
    call, path = calls[0], (*tool.path, "steps")
    if _is_the_same(tool, call):
        message = f"the tool does what {call.target} does: its inputs go in, its result comes out"
        findings.add("L_DUPLICATE", path, message, found=call.target, suggestion="leave the tool out")
        return
    message = f"the tool only wraps {call.target}; the caller can call that itself"
    findings.add("L_WRAPPER", path, message, found=call.target)


def _is_the_same(tool: Tool, call: Call) -> bool:
    """Whether every parameter is an input handed through and every output a field of the result."""
    inputs = {item.name for item in tool.inputs}
    whole = call.kind == "api" and {name for name, _ in call.params} >= operation_types(call.target).required
    through = all(isinstance(value, Name) and value.name in inputs for _, value in call.params)
    handed = all(_root(output.source) == call.save_as for output in tool.outputs)
    return whole and through and handed and not any(isinstance(step, Set) for step in tool.steps)


def _root(value: Expr | None) -> str:
    while isinstance(value, Field):
        value = value.base
    return value.name if isinstance(value, Name) else ""


def lint_library(tools: Mapping[str, Tool], findings: Mapping[str, Findings]) -> None:
    """Note tools that do what another one of the library does, or nearly."""
    exact: dict[str, str] = {}
    near: dict[str, str] = {}
    for name, tool in tools.items():
        same, alike = plan_text(tool, constants=True), plan_text(tool, constants=False)
        path = (*tool.path, "steps")
        if same in exact:
            findings[name].add(
                "L_DUPLICATE",
                path,
                f"these are the steps of {exact[same]!r}",
                found=exact[same],
                suggestion="keep one of the two",
            )
        elif alike in near:
            findings[name].add(
                "L_DUPLICATE",
                path,
                f"these are the steps of {near[alike]!r} with other constants",
                found=near[alike],
                suggestion="make the constants inputs of one tool",
            )
        exact.setdefault(same, name)
        near.setdefault(alike, name)


def plan_text(tool: Tool, *, constants: bool) -> str:
    """What a tool does, whatever its names are called and in whatever order keys stand; constants count or do not."""
    return canonical(_Plan(constants=constants).of(tool.steps))


class _Plan:
    def __init__(self, *, constants: bool) -> None:
        self._constants = constants
        self._names: dict[str, str] = {}

    def of(self, value: Any) -> Any:
        match value:
            case Name(name):
                return ["name", self._named(name)]
            case Const(constant):
                return ["constant", constant if self._constants or isinstance(constant, bool | None) else "?"]
            case JsonRecord(entries):
                return ["record", self._entries(entries)]
            case Aggregate():
                return self._aggregate(value)
            case tuple():
                return [self.of(item) for item in value]
        return self._part(value) if is_dataclass(value) else value

    def _part(self, value: Any) -> Any:
        made: dict[str, Any] = {"kind": type(value).__name__}
        later = {}
        for item in fields(value):
            inside = getattr(value, item.name)
            if item.name in _NAMES:
                later[item.name] = inside
            elif item.name in ("params", "fields"):
                made[item.name] = self._entries(inside)
            elif item.name == "max_items":
                made[item.name] = inside if self._constants else "?"
            elif item.name not in _NOT_MEANT:
                made[item.name] = self.of(inside)
        return made | {key: self._named(name) for key, name in later.items()}

    def _aggregate(self, step: Aggregate) -> Any:
        """What an aggregate goes by says what it does; only its other constants may differ."""
        spec = AGGREGATES[step.operation]
        keys = {name: value for name, value in step.params if spec.params[name].role.endswith("key")}
        rest = tuple((name, value) for name, value in step.params if name not in keys)
        made = {"kind": step.operation, "inputs": self.of(step.inputs), "params": self._entries(rest)}
        made["keys"] = {name: value.value for name, value in keys.items() if isinstance(value, Const)}
        return made | {"save_as": self._named(step.save_as)}

    def _entries(self, entries: tuple[tuple[str, Expr], ...]) -> Any:
        return [[key, self.of(value)] for key, value in sorted(entries, key=lambda entry: entry[0])]

    def _named(self, name: str) -> str:
        return self._names.setdefault(name, f"n{len(self._names)}")

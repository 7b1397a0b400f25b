"""Pass 2: checks that the operations, tools, aggregates and parameters of a tool exist; replaces other spellings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from tool_induction.aggregates import AGGREGATES, ALIASES, AggregateSpec, spellings
from tool_induction.checker.environment import joined_field
from tool_induction.language import expressions as ex
from tool_induction.language.diagnostics import Findings, Path, Suggestion, move_to, write, write_value
from tool_induction.language.model import Aggregate, Block, Call, If, Step, Tool
from tool_induction.language.types import RecordType, operation_types, plain
from world_api.core.identifiers import closest, did_you_mean
from world_api.operations import EVERY_OPERATION, is_offered


def resolve(tool: Tool, tools: Mapping[str, Tool | None], findings: Findings, *, groups: Collection[str] = ()) -> Tool:
    """Return the tool with canonical aggregate names; note everything unknown.

    ``tools`` are the tools of the file, None for one that could not be read; ``groups`` are the enabled optional groups
    of operations. No tool may have the name of an operation, enabled or not.
    """
    if tool.name in EVERY_OPERATION:
        findings.add("E_NAME", (*tool.path, "tool_name"), f"{tool.name!r} is the name of an operation")
    if tool.name in ex.RESERVED_TOOL_NAMES:
        message = f"{tool.name!r} is the name of a function that controllers offer beside the tools"
        findings.add("E_NAME", (*tool.path, "tool_name"), message, suggestion="choose another name")
    return replace(tool, steps=_Resolver(tools, findings, groups).block(tool.steps))


@dataclass
class _Resolver:
    """Finds unknown names of operations, tools, aggregates and their parameters in the steps of one tool.

    ``block`` returns the steps with the canonical names of aggregates, and ``Broken`` for values that are not checked further.
    """

    tools: Mapping[str, Tool | None]
    findings: Findings
    groups: Collection[str]

    def block(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        return tuple(map(self._step, steps))

    def _step(self, step: Step) -> Step:
        match step:
            case Call(kind="api"):
                return self._operation(step)
            case Call():
                return self._tool(step)
            case Aggregate():
                return _check_aggregate(step, self.findings)
            case If():
                return replace(step, then=self.block(step.then), otherwise=self.block(step.otherwise))
            case Block():
                return replace(step, body=self.block(step.body))
        return step

    def _operation(self, step: Call) -> Call:
        path, findings = (*step.path, "api"), self.findings
        found = EVERY_OPERATION.get(step.target)
        if found is None:
            known = [name for name, item in EVERY_OPERATION.items() if is_offered(item, self.groups)]
            suggestion: str | Suggestion = findings.near(step.target, known)
            if step.target in self.tools:
                called = {"type": "call_tool", "tool": step.target}
                suggestion = write(step.path, called, without=["api"]).after("it is a tool")
            elif step.target in AGGREGATES:
                suggestion = (
                    f'it is an aggregate: a step of type "aggregate" has {step.target!r} as its "operation" '
                    'and the list as "inputs"'
                )
            message, words = f"there is no operation {step.target!r}", ", ".join(known)
            findings.add("E_UNKNOWN_API", path, message, found=step.target, expected=words, suggestion=suggestion)
            return step
        if not is_offered(found, self.groups):
            of = f"the optional group {found.group!r}, which is off" if found.group else f"{found.category!r}, left out"
            where = "do without it; where all systems that are compared may have it, switch it on"
            where += f" (--with {found.group})" if found.group else ""
            findings.add("E_OPERATION_OFF", path, f"{step.target!r} is an operation of {of}", suggestion=where)
        types = operation_types(step.target)
        return self._parameters(step, list(types.parameters), types.required)

    def _tool(self, step: Call) -> Call:
        path = (*step.path, "tool")
        if step.target not in self.tools:
            unnamed = any(name.startswith("#") for name in self.tools)  # one that has no name may be meant
            suggestion: str | Suggestion = "" if unnamed else self.findings.near(step.target, self.tools)
            if step.target in EVERY_OPERATION:
                called = {"type": "call_world_api", "api": step.target}
                suggestion = write(step.path, called, without=["tool"]).after("it is an operation")
            message, words = f"there is no tool {step.target!r}", ", ".join(self.tools)
            self.findings.add(
                "E_UNKNOWN_TOOL",
                path,
                message,
                found=step.target,
                expected=words,
                suggestion=suggestion,
                follows=unnamed,
            )
            return step
        target = self.tools[step.target]
        if target is None:
            message = f"{step.target!r} cannot be called before its own faults are mended"
            self.findings.add("E_UNKNOWN_TOOL", path, message, follows=True)
            return step
        required = [item.name for item in target.inputs if item.required]
        return self._parameters(step, [item.name for item in target.inputs], required)

    def _parameters(self, step: Call, known: list[str], required: Collection[str]) -> Call:
        near = self.findings.near

        def instead(name: str, missing: list[str]) -> str:
            return near(name, missing) or filter_afterwards(step, name) or near(name, known)

        return _check_parameters(step, step.target, known, required, instead, self.findings)


_Step = TypeVar("_Step", Call, Aggregate)


def _check_parameters(
    step: _Step,
    target: str,
    known: Collection[str],
    required: Collection[str],
    instead: Callable[[str, list[str]], str],
    findings: Findings,
) -> _Step:
    """Note unknown and missing parameters of a step. Return it with unknown ones as ``Broken``: not checked further.

    ``target`` is the callee in messages; ``instead`` gives a suggestion for an unknown name, given the missing ones.
    """
    given = [name for name, _ in step.params]
    missing = [name for name in known if name in required and name not in given]
    for name in (name for name in given if name not in known):
        path, message = (*step.path, "params", name), f"{target} has no parameter {name!r}"
        suggestion = instead(name, missing)
        findings.add("E_UNKNOWN_PARAM", path, message, found=name, expected=", ".join(known), suggestion=suggestion)
        meant = closest(name, missing) if missing else None
        missing = [name for name in missing if name != meant]  # misspelt, not missing
    path = (*step.path, "params") if step.params else step.path
    for name in missing:
        findings.add("E_MISSING_PARAM", path, f"{target} needs the parameter {name!r}", expected=name)
    params = tuple((name, value if name in known else ex.Broken(ex.to_text(value))) for name, value in step.params)
    return replace(step, params=params)


def _check_aggregate(step: Aggregate, findings: Findings) -> Aggregate:
    name, path = ALIASES.get(step.operation, step.operation), (*step.path, "operation")
    spec = AGGREGATES.get(name)
    if spec is None:
        suggestion = spellings.INSTEAD.get(step.operation) or findings.near(step.operation, AGGREGATES)
        message, words = f"there is no aggregate {step.operation!r}", ", ".join(AGGREGATES)
        findings.add("E_UNKNOWN_AGGREGATE", path, message, found=step.operation, expected=words, suggestion=suggestion)
        return step
    if name != step.operation:
        findings.add("W_ALIAS", path, f"the aggregate {step.operation!r} is read as {name!r}", expected=name)
    inputs = _check_inputs(step, spec, findings)
    if inputs is not step.inputs:
        # Parameters among the inputs have been reported there and are not missed again.
        among = dict(step.inputs.entries) if isinstance(step.inputs, ex.JsonRecord) else {}
        misplaced = sorted((among.keys() & spec.params.keys()) - dict(step.params).keys())
        step = replace(step, params=(*step.params, *((key, ex.Broken(key)) for key in misplaced)))
    for key, value in step.params:
        is_text = isinstance(value, ex.Const) and isinstance(value.value, str)
        is_key = key in spec.params and spec.params[key].role in ("key", "number_key", "text_key")
        if is_key and not is_text and not isinstance(value, ex.Broken):
            path = (*step.path, "params", key)
            message = f"{key!r} names a field of the items, as plain text"
            findings.add("E_TYPE", path, message, suggestion=field_name(value, path))
    required = [key for key, parameter in spec.params.items() if parameter.required]
    step = replace(step, operation=name, inputs=inputs)
    return _check_parameters(step, name, spec.params, required, lambda key, _: parameter_instead(key, spec), findings)


def _check_inputs(step: Aggregate, spec: AggregateSpec, findings: Findings) -> ex.Expr:
    """Return the inputs of an aggregate step; note parameters among them, and inputs that are missing.

    A record of names is only right for an aggregate that takes a pair, or several inputs of any kind.
    """
    wanted, path = _INPUTS_IN_WORDS[spec.takes], (*step.path, "inputs")
    if step.inputs == ex.Const(None) and spec.takes != "nothing":
        findings.add("E_MISSING_PARAM", step.path, f"{spec.name} needs 'inputs': {wanted}", expected="inputs")
        return ex.Broken("inputs")
    if not isinstance(step.inputs, ex.JsonRecord):
        return step.inputs
    keys = [key for key, _ in step.inputs.entries]
    pair = ["a", "b"] if spec.takes == "pair" else []
    if (pair and sorted(keys) == pair) or spec.takes in ("mix", "slots", "lists"):
        return step.inputs
    if not keys and spec.takes == "list":
        findings.add("E_TYPE", path, f"{spec.name} needs {wanted}", expected=wanted)
    meant: ex.Expr = ex.Broken("inputs")
    for key, value in step.inputs.entries:
        if key in pair:
            continue
        suggestion = moved_to_params(key, value, step, spec) or parameter_instead(key, spec)
        if spec.takes == "list" and key not in spec.params and (key in _LIST_WORDS or len(keys) == 1):
            meant = value if not isinstance(value, ex.JsonRecord | ex.JsonList) else meant
            suggestion = 'the list is alone under "inputs", and what says how under "params"'
        message = f"the inputs of {spec.name} are {wanted}, not a record with {key!r}"
        findings.add("E_UNKNOWN_PARAM", (*path, key), message, found=key, expected=wanted, suggestion=suggestion)
    for key in (key for key in pair if key not in keys):
        findings.add("E_MISSING_PARAM", path, f"{spec.name} needs the input {key!r}", expected=key)
    return meant


#: keys under which models often put the list itself
_LIST_WORDS = ("items", "list", "input", "values", "data", "segments", "candidates", "detections")
#: what an aggregate takes -> in words
_INPUTS_IN_WORDS = {
    "list": "one list",
    "lists": "a list of lists",
    "pair": "a pair of lists {a, b}",
    "mix": "any saved names",
    "slots": "a list of items",
    "nothing": "nothing",
}


def moved_to_params(key: str, value: ex.Expr, step: Aggregate, spec: AggregateSpec) -> str | Suggestion:
    """Return the suggestion to move a parameter from the inputs to ``params``; empty if it is not a parameter."""
    if key not in spec.params:
        return ""
    values = {key: value.name if isinstance(value, ex.Name) else ex.to_json(value)}
    return move_to((*step.path, "params"), (*step.path, "inputs", key), values, exists=bool(step.params))


def parameter_instead(name: str, spec: AggregateSpec) -> str:
    """Return a suggestion what to write instead of a parameter that the aggregate does not have."""
    if name in spellings.ORDER_NAMES and "descending" in spec.params:
        return 'say it with "descending": true for the highest first, false for the lowest first'
    if name in spellings.ORDER_NAMES:
        return f'{spec.name} takes no order: leave it out, or put sort_by with "descending" before it'
    said = spellings.PARAMETERS_ELSEWHERE.get(f"{spec.name}.{name}") or spellings.PARAMETERS_ELSEWHERE.get(name)
    if said is None and "key" in spec.params:
        said = spellings.PARAMETERS_INSTEAD.get(name)
    return said or did_you_mean(name, spec.params)


def field_name(value: ex.Expr, path: Path) -> str | Suggestion:
    """Return the suggestion to write the bare name of the field that an expression on ``item`` reads."""
    text = ex.to_text(value).removeprefix("item.")
    is_field = isinstance(value, ex.Field) and all(part.isidentifier() for part in text.split("."))
    if is_field and ex.to_text(value).startswith("item."):
        return write_value(path, text)
    return "write the name of a field of the items, without braces; no value can name it"


def filter_afterwards(step: Call, name: str) -> str:
    """Return the suggestion to filter the results, if they have what the unknown parameter ``name`` asks for; else empty."""
    if step.kind != "api" or step.target not in EVERY_OPERATION:
        return ""
    result = operation_types(step.target).result
    joined = joined_field(replace(result, name="") if isinstance(result, RecordType) else result)
    item = plain(joined[1].item) if joined is not None else None
    if not isinstance(item, RecordType):
        return ""
    if name == "time_range" and item.get("start_time") is not None:
        return 'leave it out, and keep what is in the interval afterwards with the aggregate "filter_in_interval"'
    if item.get(name) is None:
        return ""
    return f'leave it out; its results have a field {name!r}: keep those that are wanted with a step of type "filter"'

"""Pass 2: do the operations, tools, aggregates and parameters of a tool exist? Other spellings are replaced."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from tool_induction.aggregates import AGGREGATES, ALIASES, AggregateSpec
from tool_induction.aggregates.spellings import (
    INSTEAD,
    ORDER_NAMES,
    PARAMETERS_ELSEWHERE,
    PARAMETERS_INSTEAD,
)
from tool_induction.checker.environment import joined_field
from tool_induction.language import expressions as ex
from tool_induction.language.diagnostics import (
    Code,
    Findings,
    Path,
    Suggestion,
    closest,
    did_you_mean,
    move_to,
    write,
    write_value,
)
from tool_induction.language.model import (
    Aggregate,
    Block,
    Call,
    Entries,
    If,
    Step,
    Tool,
)
from tool_induction.language.types import RecordType, operation_types, plain
from world_api.operations import EVERY_OPERATION, OPERATIONS


def resolve(tool: Tool, tools: Mapping[str, Tool | None], findings: Findings, *, groups: Collection[str] = ()) -> Tool:
    """The tool with canonical aggregate names; everything unknown is noted.

    No tool takes the name of an operation that is off: it could not be offered beside it.

    Args:
        tool: the tool as it was read.
        tools: the tools of the file by name, None for one that could not be read.
        findings: where everything unknown is noted.
        groups: the optional groups of operations that are on.
    """
    if tool.name in EVERY_OPERATION:
        findings.add("E_NAME", (*tool.path, "tool_name"), f"{tool.name!r} is the name of an operation")
    if tool.name in ex.RESERVED_TOOL_NAMES:
        message = f"{tool.name!r} is the name of a function that controllers offer beside the tools"
        findings.add("E_NAME", (*tool.path, "tool_name"), message, suggestion="choose another name")
    return replace(tool, steps=_Resolver(tools, findings, groups).block(tool.steps))


class _Resolver:
    """Resolves the steps of one tool."""

    def __init__(
        self,
        tools: Mapping[str, Tool | None],
        findings: Findings,
        groups: Collection[str],
    ) -> None:
        self._tools = tools
        self._findings = findings
        self._groups = groups

    def block(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        return tuple(map(self._step, steps))

    def _step(self, step: Step) -> Step:
        match step:
            case Call(kind="api"):
                return self._operation(step)
            case Call():
                return self._tool(step)
            case Aggregate():
                return _check_aggregate(step, self._findings)
            case If():
                return replace(step, then=self.block(step.then), otherwise=self.block(step.otherwise))
            case Block():
                return replace(step, body=self.block(step.body))
        return step

    def _operation(self, step: Call) -> Call:
        found = EVERY_OPERATION.get(step.target)
        if found is None:
            self._unknown_operation(step)
            return step
        if found.group and found.group not in self._groups:
            self._findings.add(
                "E_OPERATION_OFF",
                (*step.path, "api"),
                f"{step.target!r} is an operation of the optional group {found.group!r}, which is off",
                expected=", ".join(OPERATIONS),
                suggestion=f"do without it; where all systems that are compared may have it, switch it on (--with {found.group})",
            )
        types = operation_types(step.target)
        return self._parameters(step, list(types.parameters), types.required)

    def _unknown_operation(self, step: Call) -> None:
        known = [name for name, item in EVERY_OPERATION.items() if not item.group or item.group in self._groups]
        suggestion: str | Suggestion = self._findings.near(step.target, known)
        if step.target in self._tools:
            called = {"type": "call_tool", "tool": step.target}
            suggestion = write(step.path, called, without=["api"]).after("it is a tool")
        elif step.target in AGGREGATES:
            suggestion = (
                f'it is an aggregate: a step of type "aggregate" has {step.target!r} as its "operation" '
                'and the list as "inputs"'
            )
        _unknown("E_UNKNOWN_API", "operation", step.target, (*step.path, "api"), known, suggestion, self._findings)

    def _tool(self, step: Call) -> Call:
        if step.target not in self._tools:
            suggestion: str | Suggestion = self._findings.near(step.target, self._tools)
            if step.target in EVERY_OPERATION:
                called = {"type": "call_world_api", "api": step.target}
                suggestion = write(step.path, called, without=["tool"]).after("it is an operation")
            path = (*step.path, "tool")
            _unknown("E_UNKNOWN_TOOL", "tool", step.target, path, self._tools, suggestion, self._findings)
            return step
        target = self._tools[step.target]
        if target is None:
            message = f"{step.target!r} cannot be called before its own faults are mended"
            self._findings.add("E_UNKNOWN_TOOL", (*step.path, "tool"), message, follows=True)
            return step
        required = frozenset(item.name for item in target.inputs if item.required)
        return self._parameters(step, [item.name for item in target.inputs], required)

    def _parameters(self, step: Call, known: list[str], required: frozenset[str]) -> Call:
        """Check the parameters of a call; values of unknown ones are not checked further."""
        findings = self._findings
        given = [name for name, _ in step.params]
        missing = [name for name in known if name in required and name not in given]
        for name in given:
            if name not in known:
                meant = closest(name, missing) if missing else None
                findings.add(
                    "E_UNKNOWN_PARAM",
                    (*step.path, "params", name),
                    f"{step.target} has no parameter {name!r}",
                    found=name,
                    expected=", ".join(known),
                    suggestion=findings.near(name, missing)
                    or filter_afterwards(step, name)
                    or findings.near(name, known),
                )
                missing = [name for name in missing if name != meant]  # misspelt, not missing
        for name in missing:
            findings.add(
                "E_MISSING_PARAM",
                (*step.path, "params") if step.params else step.path,
                f"{step.target} needs the parameter {name!r}",
            )
        return replace(step, params=_without_unknown(step.params, known))


def _unknown(
    code: Code,
    what: str,
    name: str,
    path: Path,
    known: Collection[str],
    suggestion: str | Suggestion,
    findings: Findings,
) -> None:
    findings.add(
        code, path, f"there is no {what} {name!r}", found=name, expected=", ".join(known), suggestion=suggestion
    )


def _without_unknown(params: Entries, known: Collection[str]) -> Entries:
    return tuple((name, value if name in known else ex.Broken(ex.to_text(value))) for name, value in params)


def _check_aggregate(step: Aggregate, findings: Findings) -> Aggregate:
    name = ALIASES.get(step.operation, step.operation)
    spec = AGGREGATES.get(name)
    if spec is None:
        _unknown_aggregate(step, findings)
        return step
    if name != step.operation:
        findings.add("W_ALIAS", (*step.path, "operation"), f"the aggregate {step.operation!r} is read as {name!r}")
    inputs = _check_inputs(step, spec, findings)
    # Parameters that stand among the inputs have been reported there and are not missed again.
    misplaced = _keys(step.inputs) & set(spec.params) if inputs is not step.inputs else set()
    step = replace(
        step, params=(*step.params, *((key, ex.Broken(key)) for key in sorted(misplaced - dict(step.params).keys())))
    )
    _check_aggregate_parameters(step, spec, findings)
    return replace(step, operation=name, inputs=inputs, params=_without_unknown(step.params, spec.params))


def _unknown_aggregate(step: Aggregate, findings: Findings) -> None:
    suggestion = INSTEAD.get(step.operation) or findings.near(step.operation, AGGREGATES)
    path = (*step.path, "operation")
    _unknown("E_UNKNOWN_AGGREGATE", "aggregate", step.operation, path, AGGREGATES, suggestion, findings)


def _check_inputs(step: Aggregate, spec: AggregateSpec, findings: Findings) -> ex.Expr:
    """Records of names are for pairs; anything else in one is a misplaced parameter."""
    if step.inputs == ex.Const(None) and spec.takes != "nothing":
        wanted = _inputs_in_words(spec)
        findings.add("E_MISSING_PARAM", step.path, f"{spec.name} needs 'inputs': {wanted}")
        return ex.Broken("inputs")
    if not isinstance(step.inputs, ex.JsonRecord):
        return step.inputs
    keys = [key for key, _ in step.inputs.entries]
    pair = ["a", "b"] if spec.takes == "pair" else []
    if (pair and sorted(keys) == pair) or spec.takes in ("mix", "slots", "lists"):
        return step.inputs
    if not keys and spec.takes == "list":
        wanted = _inputs_in_words(spec)
        findings.add("E_TYPE", (*step.path, "inputs"), f"{spec.name} needs {wanted}")
    meant: ex.Expr = ex.Broken("inputs")
    for key, value in step.inputs.entries:
        if key in pair:
            continue
        suggestion = moved_to_params(key, value, step, spec) or parameter_instead(key, spec)
        if spec.takes == "list" and key not in spec.params and (key in _LIST_WORDS or len(keys) == 1):
            meant = value if not isinstance(value, ex.JsonRecord | ex.JsonList) else meant
            suggestion = 'the list stands by itself under "inputs", and what says how under "params"'
        findings.add(
            "E_UNKNOWN_PARAM",
            (*step.path, "inputs", key),
            f"the inputs of {spec.name} are {_inputs_in_words(spec)}, not a record with {key!r}",
            found=key,
            suggestion=suggestion,
        )
    for key in pair:
        if key not in keys:
            findings.add("E_MISSING_PARAM", (*step.path, "inputs"), f"{spec.name} needs the input {key!r}")
    return meant


#: keys under which models like to put the list itself
_LIST_WORDS = ("items", "list", "input", "values", "data", "segments", "candidates", "detections")


def _inputs_in_words(spec: AggregateSpec) -> str:
    return {
        "list": "one list",
        "lists": "a list of lists",
        "pair": "a pair of lists {a, b}",
        "mix": "any saved names",
        "slots": "a list of items",
        "nothing": "nothing",
    }[spec.takes]


def _check_aggregate_parameters(step: Aggregate, spec: AggregateSpec, findings: Findings) -> None:
    given = [name for name, _ in step.params]
    missing = [name for name, parameter in spec.params.items() if parameter.required and name not in given]
    for name, value in step.params:
        if name in spec.params:
            if spec.params[name].role in ("key", "number_key", "text_key") and not _is_key(value):
                findings.add(
                    "E_TYPE",
                    (*step.path, "params", name),
                    f"{name!r} names a field of the items, as plain text",
                    suggestion=field_name(value, (*step.path, "params", name)),
                )
            continue
        findings.add(
            "E_UNKNOWN_PARAM",
            (*step.path, "params", name),
            f"{spec.name} has no parameter {name!r}",
            found=name,
            expected=", ".join(spec.params) or "none",
            suggestion=parameter_instead(name, spec),
        )
        meant = closest(name, missing)
        missing = [name for name in missing if name != meant]  # misspelt, not missing
    for name in missing:
        findings.add(
            "E_MISSING_PARAM",
            (*step.path, "params") if step.params else step.path,
            f"{spec.name} needs the parameter {name!r}",
        )


def _keys(inputs: ex.Expr) -> set[str]:
    return {key for key, _ in inputs.entries} if isinstance(inputs, ex.JsonRecord) else set()


def _is_key(value: ex.Expr) -> bool:
    return isinstance(value, ex.Broken) or (isinstance(value, ex.Const) and isinstance(value.value, str))


def moved_to_params(key: str, value: ex.Expr, step: Aggregate, spec: AggregateSpec) -> str | Suggestion:
    """Suggest ``params`` as the place of a parameter among the inputs."""
    if key not in spec.params:
        return ""
    values = {key: _plain_json(value)}
    return move_to((*step.path, "params"), (*step.path, "inputs", key), values, exists=bool(step.params))


def _plain_json(value: ex.Expr) -> object:
    """An expression as JSON; a name becomes a text again."""
    return value.name if isinstance(value, ex.Name) else ex.to_json(value)


def parameter_instead(name: str, spec: AggregateSpec) -> str:
    """Suggest how to say what a parameter says that an aggregate does not have."""
    if name in ORDER_NAMES and "descending" in spec.params:
        return 'say it with "descending": true for the highest first, false for the lowest first'
    if name in ORDER_NAMES:
        return f'{spec.name} takes no order: leave it out, or put sort_by with "descending" before it'
    said = PARAMETERS_ELSEWHERE.get((spec.name, name)) or PARAMETERS_ELSEWHERE.get(("", name))
    if said is None and "key" in spec.params:
        said = PARAMETERS_INSTEAD.get(name)
    return said or did_you_mean(name, spec.params)


def field_name(value: ex.Expr, path: Path) -> str | Suggestion:
    """The field of the items that an expression on ``item`` reads, as its bare name."""
    text = ex.to_text(value).removeprefix("item.")
    is_field = isinstance(value, ex.Field) and all(part.isidentifier() for part in text.split("."))
    if is_field and ex.to_text(value).startswith("item."):
        return write_value(path, text)
    return "write the name of a field of the items, without braces; no value can name it"


def filter_afterwards(step: Call, name: str) -> str:
    """Suggest a filter after an operation whose results have the field that it takes no parameter for."""
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

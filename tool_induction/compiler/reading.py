"""From a document of the right shape to the model: values are parsed, types are read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from tool_induction.aggregates import AGGREGATES, ALIASES
from tool_induction.checking.expressions import constant_type
from tool_induction.language.converting import ExpressionFault
from tool_induction.language.diagnostics import Findings, Path, write_value
from tool_induction.language.model import (
    Aggregate,
    Block,
    Call,
    Filter,
    If,
    Input,
    JudgeStep,
    Loop,
    OnError,
    Output,
    Project,
    Require,
    Set,
    Step,
    StopStatus,
    Tool,
)
from tool_induction.language.parsing import parse_expression, parse_value
from tool_induction.language.syntax import Broken, Const, Expr, JsonList, JsonRecord
from tool_induction.language.typenames import UnknownType, known_types, parse_type
from tool_induction.language.types import ANY, STRING, TIME, EnumType, Type, fit, show

Raw = Mapping[str, Any]


def read_tool(raw: Raw, path: Path, findings: Findings) -> Tool:
    """The model of a tool; parts that cannot be read are noted and stand as ``Broken`` or ``any``."""
    reader = _Reader(findings)
    return Tool(
        name=raw["tool_name"],
        description=raw["description"],
        inputs=tuple(reader.input(name, value, (*path, "inputs", name)) for name, value in raw["inputs"].items()),
        outputs=tuple(reader.output(name, value, (*path, "outputs", name)) for name, value in raw["outputs"].items()),
        steps=reader.steps(raw["steps"], (*path, "steps")),
        path=path,
    )


class _Reader:
    """Carries the findings through the document."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings

    def value(self, raw: Any, path: Path) -> Expr:
        """A value: constants, strings with expressions, records and lists of values."""
        return self._read(raw, path, as_expression=False)

    def expression(self, raw: Any, path: Path) -> Expr:
        """One expression, braces or not; a list or record of expressions."""
        return self._read(raw, path, as_expression=True)

    def _read(self, raw: Any, path: Path, *, as_expression: bool) -> Expr:
        if isinstance(raw, dict):
            entries = ((key, self._read(item, (*path, key), as_expression=as_expression)) for key, item in raw.items())
            return JsonRecord(tuple(entries))
        if isinstance(raw, list):
            return JsonList(
                tuple(self._read(item, (*path, place), as_expression=as_expression) for place, item in enumerate(raw))
            )
        return self._parsed(raw, path, as_expression=as_expression) if isinstance(raw, str) else Const(raw)

    def _parsed(self, text: str, path: Path, *, as_expression: bool) -> Expr:
        try:
            return parse_expression(text) if as_expression else parse_value(text)
        except ExpressionFault as fault:
            advice = write_value(path, fault.instead) if fault.instead else fault.suggestion
            self._findings.add(fault.code, path, fault.message, found=fault.found or text, suggestion=advice)
            return Broken(text)

    def type(self, raw: str, path: Path) -> tuple[Type, str]:
        """A declared type and its canonical spelling."""
        try:
            found = parse_type(raw)
        except UnknownType as unknown:
            self._findings.add(
                "E_TYPE",
                path,
                str(unknown),
                found=raw,
                expected=", ".join(known_types()),
                suggestion=unknown.suggestion,
            )
            return ANY, "any"
        if found.aliased:
            self._findings.add(
                "W_ALIAS", path, f"the type {raw!r} is read as {found.canonical!r}", found=raw, expected=found.canonical
            )
        return found.type, found.canonical

    def input(self, name: str, raw: Any, path: Path) -> Input:
        """A declared input."""
        declared = {"type": raw} if isinstance(raw, str) else raw
        type_path: Path = path if isinstance(raw, str) else (*path, "type")
        type_, spelled = self._input_type(declared, path, type_path)
        default = self._default(declared["default"], type_, (*path, "default")) if "default" in declared else None
        return Input(
            name=name,
            type=type_,
            type_name=spelled,
            description=declared.get("description", ""),
            default=default,
            path=path,
        )

    def _default(self, raw: Any, type_: Type, path: Path) -> Const | None:
        if isinstance(raw, list | dict):
            self._findings.add("E_TYPE", path, "a default is a single value, not a list or a record")
            return None
        found = constant_type(raw)
        if fit(found, type_).how != "yes":
            self._findings.add(
                "E_TYPE", path, f"the default is no {show(type_)}", found=json.dumps(raw), expected=show(type_)
            )
        elif type_ == TIME and raw < 0:
            self._findings.add(
                "E_TYPE",
                path,
                "no time lies before the video's start",
                found=json.dumps(raw),
                expected="seconds from 0 on",
            )
        return Const(raw)

    def _input_type(self, declared: Raw, path: Path, type_path: Path) -> tuple[Type, str]:
        values = declared.get("enum")
        if declared["type"] == "enum" and not values:
            self._findings.add(
                "E_SHAPE", path, "an enum names its values", expected="enum", suggestion='add "enum": ["...", "..."]'
            )
            return STRING, "string"
        if not values:
            return self.type(declared["type"], type_path)
        if declared["type"] not in ("enum", "string"):
            self._findings.add("E_TYPE", type_path, "only strings can be an enum", found=declared["type"])
        return EnumType(tuple(values)), "enum"

    def output(self, name: str, raw: Any, path: Path) -> Output:
        """A declared output."""
        declared = {"type": raw} if isinstance(raw, str) else raw
        type_, spelled = self.type(declared["type"], path if isinstance(raw, str) else (*path, "type"))
        source = self._output_source(declared["from"], (*path, "from")) if "from" in declared else None
        return Output(
            name=name,
            type=type_,
            type_name=spelled,
            description=declared.get("description", ""),
            source=source,
            path=path,
        )

    def _output_source(self, raw: Any, path: Path) -> Expr:
        if isinstance(raw, str) and "{{" not in raw:
            return self.expression(raw, path)
        return self.value(raw, path)

    def steps(self, raw: Sequence[Raw], path: Path) -> tuple[Step, ...]:
        """A block of steps."""
        return tuple(self._step(step, (*path, place)) for place, step in enumerate(raw))

    def _step(self, raw: Raw, path: Path) -> Step:
        match raw["type"]:
            case "call_world_api" | "call_tool":
                return self._call(raw, path)
            case "loop":
                return Block(
                    body=self.steps(raw["do"], (*path, "do")),
                    loop=self._loop(raw, path),
                    on_error=_on_error(raw),
                    save_as=raw["save_as"],
                    path=path,
                )
            case "if":
                return If(
                    condition=self.expression(raw["condition"], (*path, "condition")),
                    then=self.steps(raw["then"], (*path, "then")),
                    otherwise=self.steps(raw.get("else", ()), (*path, "else")),
                    path=path,
                )
            case "require":
                return Require(
                    condition=self.expression(raw["condition"], (*path, "condition")),
                    status=cast("StopStatus", raw.get("status", "empty")),
                    reason=self.value(raw.get("reason", ""), (*path, "reason")),
                    path=path,
                )
        return self._binding(raw, path)

    def _binding(self, raw: Raw, path: Path) -> Step:
        match raw["type"]:
            case "judge":
                return JudgeStep(
                    inputs=self.expression(raw["inputs"], (*path, "inputs")),
                    question=self.value(raw["question"], (*path, "question")),
                    answers=tuple(raw["answers"]),
                    max_items=int(raw["max_items"]) if "max_items" in raw else None,
                    save_as=raw["save_as"],
                    path=path,
                )
            case "filter":
                return Filter(
                    inputs=self.expression(raw["inputs"], (*path, "inputs")),
                    where=self.expression(raw["where"], (*path, "where")),
                    save_as=raw["save_as"],
                    path=path,
                )
            case "project":
                return Project(
                    inputs=self.expression(raw["inputs"], (*path, "inputs")),
                    fields=self._entries(raw["fields"], (*path, "fields")),
                    save_as=raw["save_as"],
                    path=path,
                )
            case "aggregate":
                params = dict(raw.get("params", {}))
                where = params.pop("where", None)
                entries = self._entries(params, (*path, "params"))
                if where is not None:
                    entries = (*entries, ("where", self.expression(where, (*path, "params", "where"))))
                return Aggregate(
                    operation=raw["operation"],
                    inputs=self._aggregate_inputs(raw, path),
                    params=entries,
                    save_as=raw["save_as"],
                    path=path,
                )
        return Set(value=self.value(raw["value"], (*path, "value")), save_as=raw["save_as"], path=path)

    def _aggregate_inputs(self, raw: Raw, path: Path) -> Expr:
        if "inputs" not in raw:
            return Const(None)
        if ALIASES.get(raw["operation"], raw["operation"]) in AGGREGATES:
            return self.expression(raw["inputs"], (*path, "inputs"))
        # What the inputs of an unknown aggregate would mean cannot be told; that it is unknown is the fault.
        return _Reader(Findings()).expression(raw["inputs"], path)

    def _entries(self, raw: Raw, path: Path) -> tuple[tuple[str, Expr], ...]:
        return tuple((key, self.value(item, (*path, key))) for key, item in raw.items())

    def _call(self, raw: Raw, path: Path) -> Call:
        is_api = raw["type"] == "call_world_api"
        return Call(
            kind="api" if is_api else "tool",
            target=raw["api" if is_api else "tool"],
            params=self._entries(raw.get("params", {}), (*path, "params")),
            loop=self._loop(raw, path) if "loop_over" in raw else None,
            on_error=_on_error(raw),
            save_as=raw["save_as"],
            path=path,
        )

    def _loop(self, raw: Raw, path: Path) -> Loop:
        return Loop(
            over=self.expression(raw["loop_over"], (*path, "loop_over")),
            variable=raw.get("as", "item"),
            max_items=int(raw["max_items"]) if "max_items" in raw else None,
            until=self.expression(raw["until"], (*path, "until")) if "until" in raw else None,
        )


def _on_error(raw: Raw) -> OnError:
    return cast("OnError", raw.get("on_error", "fail"))

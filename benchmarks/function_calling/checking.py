"""A call as a model would send it, through what reads and checks it here."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from benchmarks.function_calling.cases import Answer, Case
from benchmarks.function_calling.declarations import TYPE_WORDS, declaration, tool_name
from benchmarks.function_calling.variants import variants
from controller.messages import read_reply
from tool_induction.library_tools import ToolDeclaration
from world_api.chat.messages import Call, completion
from world_api.core.canonical import canonical_json
from world_api.core.faults import ToolFault
from world_api.schemas.formats import drop_unset, plain_schema, strict_schema

Json = dict[str, Any]


@dataclass(kw_only=True)
class Findings:
    """Counts, and each thing that is not as it should be."""

    counts: Counter[str] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)  #: right calls that were refused
    taken: list[str] = field(default_factory=list)  #: wrong calls that were taken
    contradictions: list[str] = field(default_factory=list)  #: answers that their own declaration excludes
    not_strict: set[str] = field(default_factory=set)  #: functions that strict mode cannot say

    @property
    def ok(self) -> bool:
        """Whether nothing right was refused and nothing wrong taken."""
        return not self.refused and not self.taken


class Emitted:
    """A function as calls of it are checked, and as it is offered in strict mode where that can be said.

    Without strict mode a model is shown a lean schema, which refuses nothing; calls are checked against the whole one.
    """

    def __init__(self, function: Mapping[str, Any]) -> None:
        self.declared: Mapping[str, Any] = function["parameters"]
        self.tool: ToolDeclaration = declaration(function)
        self.loose = Draft202012Validator(_sound(plain_schema(self.tool.parameters)))
        self.strict_schema: Json | None = None
        try:
            self.strict_schema = _sound(strict_schema(self.tool.parameters))
        except ToolFault:
            return  # strict mode cannot say it, and it is offered without
        self._strict = Draft202012Validator(self.strict_schema)

    def takes(self, arguments: Json) -> bool:
        """Whether a call with these arguments passes, as a model without strict mode sends it."""
        read = self._sent(arguments)
        return read is not None and self.loose.is_valid(read)

    def takes_strictly(self, arguments: Json) -> bool:
        """Whether it passes as a model in strict mode sends it: what is left out is null, also inside objects."""
        assert self.strict_schema is not None
        read = self._sent(_with_nulls(arguments, self.strict_schema))
        if read is None or not self._strict.is_valid(read):
            return False
        return self.loose.is_valid(drop_unset(read, self.tool.parameters))

    def _sent(self, arguments: Json) -> Json | None:
        """The arguments as they are read from a reply."""
        reply = completion(model="m", calls=[Call(tool=self.tool.name, arguments=arguments, id="c1")])
        [call] = read_reply(reply, tools=frozenset({self.tool.name}), round_number=1).calls
        return call.arguments if call.fault is None else None


def _sound(schema: Json) -> Json:
    Draft202012Validator.check_schema(schema)
    return schema


@cache
def _emitted(function: str) -> Emitted:
    """What is emitted for a function; many cases share theirs."""
    return Emitted(json.loads(function))


def check_case(case: Case, findings: Findings) -> None:
    """Offer the functions of a case, and send its answers and their wrong variants."""
    offered = {tool_name(item["name"]): _emitted(canonical_json(item)) for item in case.functions}
    findings.counts["cases"] += 1
    findings.counts["functions"] += len(offered)
    findings.counts["functions strict"] += sum(item.strict_schema is not None for item in offered.values())
    findings.not_strict |= {name for name, item in offered.items() if item.strict_schema is None}
    if not case.answers:
        findings.counts["cases without an answer"] += 1
    for answer in case.answers:
        _check_answer(case.id, answer, offered[tool_name(answer.function)], findings)


def _check_answer(case: str, answer: Answer, emitted: Emitted, findings: Findings) -> None:
    excluded = next(_excluded(answer.arguments, emitted.declared), None)
    if excluded is not None:
        findings.contradictions.append(f"{case}: {answer.function}: {excluded}")
        return
    findings.counts["answers"] += 1
    if not emitted.takes(answer.arguments):
        findings.refused.append(f"{case}: {answer.function}: {answer.arguments}")
    if emitted.strict_schema is not None:
        findings.counts["answers strict"] += 1
        if not emitted.takes_strictly(answer.arguments):
            findings.refused.append(f"{case}: {answer.function}, strict: {answer.arguments}")
    for what, arguments in variants(answer.arguments, emitted.declared):
        findings.counts["variants"] += 1
        if emitted.takes(arguments):
            findings.taken.append(f"{case}: {answer.function}: {what}")
        if emitted.strict_schema is not None:
            findings.counts["variants strict"] += 1
            if emitted.takes_strictly(arguments):
                findings.taken.append(f"{case}: {answer.function}, strict: {what}")


def _with_nulls(value: Any, schema: Mapping[str, Any]) -> Any:
    """The value with null for every property that is left out although another than null could stand there."""
    branches = [item for item in schema.get("anyOf", ()) if item.get("type") != "null"]
    inner = branches[0] if len(branches) == 1 else schema
    if isinstance(value, list) and "items" in inner:
        return [_with_nulls(item, inner["items"]) for item in value]
    if not isinstance(value, dict) or "properties" not in inner:
        return value
    given = {name: _with_nulls(item, inner["properties"].get(name, {})) for name, item in value.items()}
    left_out = {name: None for name, child in inner["properties"].items() if name not in value and _may_be_null(child)}
    return {**given, **left_out}


def _may_be_null(schema: Mapping[str, Any]) -> bool:
    kinds = schema.get("type", ())
    return "null" in ([kinds] if isinstance(kinds, str) else kinds) or {"type": "null"} in schema.get("anyOf", ())


_PYTHON_TYPES: dict[str, tuple[type[Any], ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def _excluded(arguments: Json, declared: Mapping[str, Any]) -> Iterator[str]:
    """Where an answer is not of the type its own declaration gives, decided by Python's types and not by a schema of ours."""
    properties = declared.get("properties")
    if properties is None:
        return
    for name in declared.get("required", ()):
        if name not in arguments:
            yield f"{name} is required and not given"
    for name, value in arguments.items():
        if name not in properties:
            yield f"{name} is not declared"
        else:
            yield from (f"{name}{where}" for where in _misfits(value, properties[name]))


def _misfits(value: Any, declared: Mapping[str, Any]) -> Iterator[str]:
    kind = TYPE_WORDS[declared["type"]]
    if not kind:
        return
    if not isinstance(value, _PYTHON_TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
        yield f" is {value!r}, not {declared['type']}"
    elif "enum" in declared and value not in declared["enum"]:
        yield f" is {value!r}, not one of its enum"
    elif kind == "array":
        yield from (f"[]{where}" for item in value for where in _misfits(item, declared.get("items", {"type": "any"})))
    elif kind == "object":
        yield from (f".{where}" for where in _excluded(value, declared))

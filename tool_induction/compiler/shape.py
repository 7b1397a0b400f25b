"""Pass 1: does a document have the shape of a tool? Faults in the words of the language, not of JSON Schema.

Before, other spellings of a step are written out in ours, each with a W_ALIAS. Only what can mean one thing is read so. The
document's own places are kept: what moved is reported at its old place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any

from tool_induction import limits
from tool_induction.aggregates import AGGREGATES, ALIASES
from tool_induction.aggregates.spellings import (
    ALIASES_WITH,
    CONDITION_KEYS,
    LIST_KEYS,
    ORDERS,
    PARAMETER_ALIASES,
)
from tool_induction.documents import tool_schema
from tool_induction.judge.port import plain_answer
from tool_induction.language.diagnostics import Findings, Path, Suggestion, did_you_mean, move_to, shorten, write
from tool_induction.language.evaluation import weight
from tool_induction.language.keys import TOOL_NAME_PATTERN
from tool_induction.language.model import LOOPING, STEP_MODELS, accepts
from tool_induction.language.types import operation_types
from world_api.operations import EVERY_OPERATION

_BLOCKS = ("steps", "do", "then", "else")


def canonical_spelling(tool: Any, findings: Findings, path: Path) -> Any:
    """A tool's document with every step in the language's own spelling; other JSON values come back as they are."""
    if not isinstance(tool, dict) or not isinstance(tool.get("steps"), list):
        return tool
    return tool | {"steps": _block(tool["steps"], findings, (*path, "steps"))}


def _block(steps: list[Any], findings: Findings, path: Path) -> list[Any]:
    return [_step(raw, findings, (*path, place)) for place, raw in enumerate(steps)]


def _step(raw: Any, findings: Findings, here: Path) -> Any:
    if not isinstance(raw, dict):
        return raw
    step = dict(raw)
    if "do" in step and step.get("type", "call_world_api") in LOOPING[:2]:
        found = step.pop("type", "no type")
        step = {"type": "loop"} | step
        findings.add("W_ALIAS", here, "a step with 'do' is read as type 'loop'", found=str(found), expected="loop")
    if step.get("type") == "aggregate" and isinstance(step.get("operation"), str):
        params = step.get("params", {})
        if isinstance(params, dict):
            step = _Aggregate(step=step, here=here, params=dict(params)).read(findings)
    for key in _BLOCKS[1:]:
        if isinstance(step.get(key), list):
            step[key] = _block(step[key], findings, (*here, key))
    return step


@dataclass(kw_only=True)
class _Aggregate:
    """Reads an aggregate step in another spelling; notes where each part was before."""

    step: dict[str, Any]
    here: Path
    params: dict[str, Any]
    notes: list[tuple[Path, str, str, str]] = field(default_factory=list)
    moves: dict[Path, Path] = field(default_factory=dict)

    def read(self, findings: Findings) -> dict[str, Any]:
        """The step in the language's spelling; decisions go to the findings."""
        operation = self.step["operation"]
        read = self._as_filter() if operation == "filter" else self._as_aggregate(operation)
        if read is None:
            return self.step
        for where, message, found, expected in self.notes:
            findings.add("W_ALIAS", where, message, found=found, expected=expected)
        findings.moves.update(self.moves)
        return read

    def _as_aggregate(self, operation: str) -> dict[str, Any] | None:
        name, needed = ALIASES_WITH.get(operation, (ALIASES.get(operation, operation), frozenset()))
        spec = AGGREGATES.get(name)
        if spec is None:
            return None
        inputs = self._take_apart(spec.takes, spec.params)
        self._rename(spec.params)
        if not needed <= self.params.keys():
            return None
        if needed:
            self._note((*self.here, "operation"), f"the aggregate {operation!r} is read as {name!r}", operation, name)
            self.step = self.step | {"operation": name}
        if not self.notes:
            return None
        return self.step | inputs | ({"params": self.params} if self.params else {})

    def _take_apart(self, takes: str, known: Mapping[str, Any]) -> dict[str, Any]:
        """Read a record of inputs that holds the list (or the pair) and the parameters beside it."""
        inputs = self.step.get("inputs")
        if not isinstance(inputs, dict):
            return {}
        if takes == "pair":
            return self._pair(inputs, known)
        holders = [key for key in LIST_KEYS.get(takes, ()) if key in inputs]
        rest = {key: value for key, value in inputs.items() if key not in holders}
        if len(holders) != 1 or rest.keys() & self.params.keys():
            return {}
        place: Path = (*self.here, "inputs")
        beside = f"with the parameters {', '.join(rest)}" if rest else "alone"
        self._note(
            place, f"a record of inputs with {holders[0]!r} is read as that list, {beside}", holders[0], "inputs"
        )
        self._move(rest, {place: (*place, holders[0])})
        return {"inputs": inputs[holders[0]]}

    def _pair(self, inputs: dict[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
        rest = {key: value for key, value in inputs.items() if key not in ("a", "b")}
        meant = all(PARAMETER_ALIASES.get(key, key) in known or key in known for key in rest)
        if not rest or not meant or rest.keys() & self.params.keys():
            return {}
        place: Path = (*self.here, "inputs")
        self._note(place, f"{', '.join(rest)} beside the pair are read as parameters", ", ".join(rest), "params")
        self._move(rest, {})
        return {"inputs": {key: value for key, value in inputs.items() if key not in rest}}

    def _move(self, rest: Mapping[str, Any], moves: Mapping[Path, Path]) -> None:
        self.moves |= moves
        if not self.params:
            self.moves[(*self.here, "params")] = (*self.here, "inputs")
        for key in rest:
            self.moves[(*self.here, "params", key)] = (*self.here, "inputs", key)
        self.params |= rest

    def _rename(self, known: Mapping[str, Any]) -> None:
        for other, ours in PARAMETER_ALIASES.items():
            if ours in known and other not in known and other in self.params and ours not in self.params:
                self._renamed(other, ours, self.params[other])
        order = self.params.get("order")
        if "descending" in known and "descending" not in self.params and isinstance(order, str) and order in ORDERS:
            self._renamed("order", "descending", ORDERS[order])

    def _renamed(self, other: str, ours: str, value: Any) -> None:
        old: Path = (*self.here, "params", other)
        stood = self.moves.pop(old, old)
        shown = ours if value == self.params[other] else f"{ours}: {str(value).lower()}"
        self._note(stood, f"the parameter {other!r} is read as {shown!r}", other, shown)
        self.params = {ours if key == other else key: item for key, item in self.params.items()} | {ours: value}
        self.moves[(*self.here, "params", ours)] = stood

    def _as_filter(self) -> dict[str, Any] | None:
        """Read an aggregate ``filter`` of a list and a condition as a filter step."""
        inputs = self.step.get("inputs")
        parts: dict[tuple[str, ...], Any] = {}
        if isinstance(inputs, dict):
            parts = {("inputs", key): value for key, value in inputs.items()}
        elif inputs is not None:
            parts = {("inputs",): inputs}
        parts |= {("params", key): value for key, value in self.params.items()}
        holders = [key for key in parts if key[-1] in ("inputs", *LIST_KEYS["list"])]
        conditions = [key for key in parts if key[-1] in CONDITION_KEYS]
        if len(parts) != 2 or len(holders) != 1 or len(conditions) != 1:
            return None
        place: Path = (*self.here, "operation")
        self._note(place, "the aggregate 'filter' is read as a step of type 'filter'", "filter", '"type": "filter"')
        self.moves[(*self.here, "inputs")] = (*self.here, *holders[0])
        self.moves[(*self.here, "where")] = (*self.here, *conditions[0])
        kept = {key: value for key, value in self.step.items() if key not in ("operation", "params")}
        return kept | {"type": "filter", "inputs": parts[holders[0]], "where": parts[conditions[0]]}

    def _note(self, where: Path, message: str, found: str, expected: str) -> None:
        self.notes.append((where, message, found, expected))


_JSON_KINDS = {
    "object": "a JSON object",
    "array": "a list",
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


def split_document(document: Any, findings: Findings) -> list[tuple[Path, Any]]:
    """The tools of a file (one tool, a list of tools, or ``{"tools": [...]}``) with their places."""
    if isinstance(document, dict) and "tools" in document and "steps" not in document:
        base: Path = ("tools",)
        document = document["tools"]
        if not isinstance(document, list):
            findings.add("E_SHAPE", base, "'tools' must be a list of tools", found=_kind(document), expected="a list")
            return []
    elif isinstance(document, dict):
        return [((), document)]
    else:
        base = ()
    if not isinstance(document, list):
        findings.add(
            "E_SHAPE", (), 'a file holds one tool, a list of tools, or {"tools": [...]}', found=_kind(document)
        )
        return []
    if not document:
        findings.add("E_SHAPE", base, "the file holds no tool")
    if len(document) > limits.MAX_TOOLS:
        findings.add("E_SIZE", base, f"the file holds {len(document)} tools, more than {limits.MAX_TOOLS}")
        return []
    return [((*base, place), item) for place, item in enumerate(document)]


def name_of(tool: Any, path: Path) -> str:
    """What to call a tool in messages before its name has been checked."""
    name = tool.get("tool_name") if isinstance(tool, dict) else None
    if isinstance(name, str) and name:
        return shorten(name, 64)
    return f"#{path[-1]}" if path else "#0"


@lru_cache(maxsize=1)
def _validator() -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(tool_schema())


def check_shape(tool: Any, path: Path, findings: Findings, *, allow_judge: bool = False) -> bool:
    """Whether a tool has the language's shape; every fault is noted."""
    before = findings.errors
    if _is_too_long(tool, path, findings):
        return False  # a schema looks at every item of a list whose length is wrong already
    check_judges(tool, path, findings, allowed=allow_judge)
    if accepts(tool):
        return findings.errors == before
    for error in _leaves(_validator().iter_errors(tool)):
        if len(findings.items) > limits.MAX_FINDINGS:
            break
        where: Path = (*path, *error.absolute_path)
        if error.validator == "enum":
            unknown_word(error, where, findings, holder_of(tool, error))
        else:
            _explain(error, where, findings)
    if findings.errors == before:  # schema and check come from one model; this is for a schema that says less
        findings.add("E_SHAPE", path, "this has not the shape of a tool")
    return False


def _steps_in(tool: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield every step of a tool, those in blocks too, each with its place."""
    for key in _BLOCKS:
        block = tool.get(key) if isinstance(tool, dict) else None
        for place, step in enumerate(block if isinstance(block, list) else ()):
            yield (*path, key, place), step
            yield from _steps_in(step, (*path, key, place))


def _is_too_long(tool: Any, path: Path, findings: Findings) -> bool:
    """Whether a tool or one of its blocks holds more steps, or a part of it more entries, than is allowed."""
    for number, (where, part) in enumerate(chain([(path, tool)], _steps_in(tool, path))):
        if number > limits.MAX_TOOL_STEPS:
            message = f"the tool has more than {limits.MAX_TOOL_STEPS} steps in all"
            findings.add("E_SIZE", (*path, "steps"), message)
            return True
        if isinstance(part, dict) and _has_too_much(part, where, findings):
            return True
    return False


def _has_too_much(part: Mapping[str, Any], path: Path, findings: Findings) -> bool:
    """Whether something directly in a tool or a step is too long."""
    sizes = {"inputs": limits.MAX_INPUTS, "outputs": limits.MAX_OUTPUTS} if "steps" in part else {}
    sizes |= dict.fromkeys(_BLOCKS, limits.MAX_STEPS) | dict.fromkeys(("params", "fields"), limits.MAX_FIELDS)
    for key, inside in part.items():
        if key in sizes and isinstance(inside, list | dict) and len(inside) > sizes[key]:
            message = f"{len(inside)} is more than the {sizes[key]} allowed here"
            findings.add("E_SIZE", (*path, key), message, found=str(len(inside)), expected=f"at most {sizes[key]}")
            return True
        if key not in _BLOCKS and weight(inside, most=limits.MAX_VALUES) > limits.MAX_VALUES:
            message, allowed = f"this holds more than {limits.MAX_VALUES} values", f"{limits.MAX_VALUES}"
            if isinstance(inside, str):
                message = f"this text has {len(inside)} characters, more than any place of a tool takes"
                allowed = f"{limits.MAX_TEXT} characters"
            findings.add("E_SIZE", (*path, key), message, expected=f"at most {allowed}")
            return True
    return False


def _leaves(errors: Any) -> Iterator[Any]:
    for error in sorted(errors, key=lambda error: [str(part).zfill(6) for part in error.absolute_path]):
        if error.context:
            yield from _leaves(error.context)
        else:
            yield error


def _explain(error: Any, where: Path, findings: Findings) -> None:
    if "propertyNames" in error.absolute_schema_path and isinstance(error.instance, str):
        where = (*where, error.instance)  # the fault is in a key, not in the object around it
    match error.validator:
        case "not":
            findings.add("E_NAME", where, f"{error.instance!r} is a word of the language", found=str(error.instance))
        case "required":
            missing = [key for key in error.validator_value if key not in error.instance]
            for key in missing:
                if _is_misspelt(key, error):
                    continue  # it is there under another name, which is noted
                near = did_you_mean(key, set(error.instance) - set(error.validator_value))
                add = 'add "enum": ["...", "..."]' if key == "enum" else ""
                findings.add(
                    "E_SHAPE",
                    where,
                    f"{_what(error.instance, where)} needs the key {key!r}",
                    found=", ".join(map(str, error.instance)),
                    expected=key,
                    suggestion=near.replace("did you mean", "rename") if near else add,
                )
        case "additionalProperties":
            known = error.schema.get("properties", {})
            extra = [key for key in error.instance if key not in known]
            for key in extra[: limits.MAX_FINDINGS + 1]:
                findings.add(
                    "E_SHAPE",
                    (*where, key),
                    f"{_what(error.instance, where)} has no key {key!r}",
                    found=key,
                    expected=", ".join(known),
                    suggestion=misplaced(key, error.instance, where) or other_key(key, known),
                )
        case "pattern":
            findings.add(
                "E_NAME",
                where,
                f"{shorten(error.instance, 40)!r} cannot be a name: a letter, then letters, digits and '_', at most 64",
                found=error.instance,
                suggestion=a_name(error.instance, is_tool=error.validator_value == TOOL_NAME_PATTERN),
            )
        case "dependentRequired":
            keys = [key for key in error.validator_value if key in error.instance]
            for key in keys:
                findings.add("E_SHAPE", (*where, key), f"{key!r} needs 'loop_over' beside it", expected="loop_over")
        case _:
            _plain_fault(error, where, findings)


def _is_misspelt(key: str, error: Any) -> bool:
    """Whether a missing key is suggested for an unknown one at this place."""
    if key == "enum":
        return any(other in error.instance for other in OTHER_KEYS[key])
    known = error.schema.get("properties", {})
    if error.schema.get("additionalProperties") is not False:
        return False
    return any(other_key(other, known) == f"did you mean {key!r}?" for other in error.instance if other not in known)


def _plain_fault(error: Any, where: Path, findings: Findings) -> None:
    value, wanted = error.instance, error.validator_value
    code = "E_SHAPE"
    match error.validator:
        case "type":
            kinds = [wanted] if isinstance(wanted, str) else list(wanted)
            expected = " or ".join(_JSON_KINDS[kind] for kind in kinds)
            findings.add("E_SHAPE", where, f"{expected} is wanted here", found=_kind(value), expected=expected)
            return
        case "maxItems" | "maxProperties" | "maxLength":
            code, message = "E_SIZE", f"{len(value)} is more than the {wanted} allowed here"
        case "minItems" | "minProperties" | "minLength":
            message = "this must not be empty"
        case "minimum" | "maximum":
            message = f"{value} is not between {error.schema.get('minimum')} and {error.schema.get('maximum')}"
        case _:
            message = shorten(error.message)
    findings.add("E_SIZE" if code == "E_SIZE" else "E_SHAPE", where, message, found=_shown(value), expected=str(wanted))


def _what(instance: Mapping[str, Any], where: Path) -> str:
    """What an object is meant to be, by its place."""
    is_step = len(where) > 1 and where[-2] in _BLOCKS and isinstance(where[-1], int)
    if is_step and not isinstance(instance.get("type"), str):
        return "a step"
    if "type" in instance and isinstance(instance["type"], str) and "tool_name" not in instance:
        known = instance["type"] in STEP_MODELS
        return f"a step of type {shorten(instance['type'], 30)!r}" if known else "a declaration"
    return "a declaration" if len(where) > 1 and where[-2] in ("inputs", "outputs") else "a tool"


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, dict):
        return "a JSON object"
    if isinstance(value, list):
        return "a list"
    return "a string" if isinstance(value, str) else "a number"


def _shown(value: Any) -> str:
    return shorten(json.dumps(value, ensure_ascii=False), 60)


#: characters of allowed words that a message lists
_LISTED = 200


def a_name(text: str, *, is_tool: bool) -> str:
    """The nearest text that can be a name."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", shorten(text, 40)) if is_tool else shorten(text, 40)
    near = re.sub(r"[^A-Za-z0-9]+", "_", words).strip("_")
    near = near.lower() if is_tool else near
    said = f"did you mean {near!r}?" if near[:1].isalpha() and near != text else ""
    return f"tool names are lower case; {said}".rstrip("; ") if is_tool else said


#: keys as models like to spell them -> ours, where it exists at that place
OTHER_KEYS = {
    "tool_name": ("name", "tool", "id"),
    "enum": ("values", "options", "choices"),
    "params": ("arguments", "args", "parameters", "inputs", "input", "with"),
    "inputs": ("input", "items", "list", "from", "over", "parameters", "params", "args"),
    "save_as": ("output", "outputs", "as", "result", "bind", "store_as", "name"),
    "loop_over": ("for_each", "foreach", "over", "items", "map"),
    "where": ("condition", "filter", "predicate", "expression", "if"),
    "condition": ("where", "if", "expression", "when"),
    "operation": ("aggregate", "op", "function", "name"),
    "value": ("expression", "expr", "from"),
    "fields": ("select", "keys", "map"),
    "from": ("value", "source", "expression"),
    "max_items": ("limit", "max", "top_k"),
    "api": ("operation", "name", "function"),
}


def other_key(key: str, known: Mapping[str, Any]) -> str:
    """Suggest the key that was most likely meant."""
    meant = [ours for ours, others in OTHER_KEYS.items() if key in others and ours in known]
    return f"did you mean {meant[0]!r}?" if meant else did_you_mean(key, known)


def misplaced(key: str, step: Mapping[str, Any], where: Path) -> str | Suggestion:
    """Suggest moving a parameter from beside ``params`` into them."""
    kind, given = step.get("type"), step.get("params", {})
    target = str(step.get({"call_world_api": "api", "aggregate": "operation"}.get(str(kind), "")))
    known: Mapping[str, Any] = {}
    if kind == "call_world_api" and target in EVERY_OPERATION:
        known = operation_types(target).parameters
    elif kind == "aggregate" and (spec := AGGREGATES.get(ALIASES.get(target, target))) is not None:
        known = spec.params
    if key not in known or not isinstance(given, dict) or key in given:
        return ""
    return move_to((*where, "params"), (*where, key), {key: step[key]}, exists="params" in step)


def holder_of(tool: Any, error: Any) -> Mapping[str, Any]:
    """The object that holds the value of a schema error."""
    for part in list(error.absolute_path)[:-1]:
        tool = tool[part]
    return tool if isinstance(tool, dict) else {}


def unknown_word(error: Any, where: Path, findings: Findings, holder: Mapping[str, Any]) -> None:
    """Note a word that is none of those allowed at its place."""
    found = error.instance if isinstance(error.instance, str) else json.dumps(error.instance)[:60]
    is_step = error.validator_value == list(STEP_MODELS)
    suggestion: str | Suggestion = did_you_mean(found, error.validator_value)
    words = ", ".join(word for word in error.validator_value if word != "judge")
    if is_step and (not suggestion or "call" in found):
        suggestion = _step_suggestion(found, holder, where[:-1]) or suggestion
    listed = f": {words}" if len(words) <= _LISTED else ""
    findings.add(
        "E_SHAPE",
        where,
        f"there is no step type {found!r}" if is_step else f"{found!r} is not one of the words allowed here{listed}",
        found=found,
        expected=words,
        suggestion=suggestion,
    )


def _step_suggestion(word: str, step: Mapping[str, Any], where: Path) -> str | Suggestion:
    if word in EVERY_OPERATION:
        return write(where, {"type": "call_world_api", "api": word})
    if word in AGGREGATES or word in ALIASES:
        return write(where, {"type": "aggregate", "operation": word})
    if "call" in word and "api" in step:
        return "did you mean 'call_world_api'?"
    return "did you mean 'call_tool'?" if "call" in word and "tool" in step else ""


def check_judges(tool: Any, path: Path, findings: Findings, *, allowed: bool) -> None:
    """Note every judge step if none is allowed, and answers that cannot be distinguished."""
    for where, step in _steps_in(tool, path):
        if not isinstance(step, dict) or step.get("type") != "judge":
            continue
        if allowed:
            _answers(step.get("answers"), (*where, "answers"), findings)
            continue
        findings.add(
            "E_SHAPE",
            (*where, "type"),
            "the step type 'judge' is switched off (--allow-judge): a tool asks no language model",
            found="judge",
            suggestion="return the ordered material and leave the judgement to the caller",
        )


def _answers(answers: Any, path: Path, findings: Findings) -> None:
    """Check that the answers of a judge step differ in more than spelling and are short enough together."""
    if not isinstance(answers, list) or not all(isinstance(answer, str) for answer in answers):
        return  # the schema says so
    seen: set[str] = set()
    for place, answer in enumerate(answers):
        word = plain_answer(answer)
        if not word or word in seen:
            why = "says nothing" if not word else "is another one in other spelling"
            findings.add("E_SHAPE", (*path, place), f"the answer {answer!r} {why}", found=answer)
        seen.add(word)
    if sum(map(len, answers)) > limits.MAX_ANSWERS_CHARACTERS:
        message = f"all answers together have more than {limits.MAX_ANSWERS_CHARACTERS} characters"
        findings.add("E_SIZE", path, message, expected=f"at most {limits.MAX_ANSWERS_CHARACTERS}")

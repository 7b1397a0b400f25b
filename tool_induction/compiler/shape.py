"""Pass 1: checks that a document has the shape of a tool; messages use the words of the language, not of JSON Schema.

Before that, other spellings of a step are replaced, each with a W_ALIAS, if they can mean only one thing. Findings keep
the paths of the original document, also for parts that were moved.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tool_induction import limits
from tool_induction.aggregates import AGGREGATES, ALIASES, spellings
from tool_induction.judge.judges import plain_answer
from tool_induction.language import model
from tool_induction.language.diagnostics import Findings, Path, Suggestion, move_to, shorten, write
from tool_induction.language.evaluation import weight
from tool_induction.language.keys import TOOL_NAME_PATTERN, TYPE_NAME, Key
from tool_induction.language.types import operation_types
from world_api.core.identifiers import did_you_mean
from world_api.operations import EVERY_OPERATION

_BLOCKS = ("steps", "do", "then", "else")


def canonical_spelling(tool: Any, findings: Findings, path: Path) -> Any:
    """Return a tool's document with every step in the canonical spelling; any other JSON value unchanged."""
    if not isinstance(tool, dict) or not isinstance(tool.get("steps"), list):
        return tool
    return tool | {"steps": _block(tool["steps"], findings, (*path, "steps"))}


def _block(steps: list[Any], findings: Findings, path: Path) -> list[Any]:
    return [_step(raw, findings, (*path, place)) for place, raw in enumerate(steps)]


def _step(raw: Any, findings: Findings, here: Path) -> Any:
    if not isinstance(raw, dict):
        return raw
    step = dict(raw)
    if "do" in step and step.get("type", "call_world_api") in model.LOOPING[:2]:
        step = {"type": "loop"} | {key: value for key, value in step.items() if key != "type"}
        findings.add("W_ALIAS", here, "a step with 'do' is read as type 'loop'")
    if step.get("type") == "aggregate" and isinstance(step.get("operation"), str):
        step = _aggregate(step, here, findings) if isinstance(step.get("params", {}), dict) else step
    for key in _BLOCKS[1:]:
        if isinstance(step.get(key), list):
            step[key] = _block(step[key], findings, (*here, key))
    return step


#: a value with its place in the document
_Placed: TypeAlias = tuple[Any, Path]


def _aggregate(step: dict[str, Any], here: Path, findings: Findings) -> dict[str, Any]:
    """Return an aggregate step in the canonical spelling; later findings about parts moved here get their original path."""
    operation: str = step["operation"]
    inputs, place = step.get("inputs"), (*here, "inputs")
    params: dict[str, _Placed] = {key: (it, (*here, "params", key)) for key, it in step.get("params", {}).items()}
    beside: dict[str, _Placed] = {} if inputs is None else {"inputs": (inputs, place)}
    if isinstance(inputs, dict):
        beside = {key: (value, (*place, key)) for key, value in inputs.items()}
    if operation == "filter":
        return _as_filter(step, here, [*params.items(), *beside.items()], findings)
    name, needed = spellings.ALIASES_WITH.get(operation, (operation, frozenset()))
    spec = AGGREGATES.get(ALIASES.get(name, name))
    if spec is None:
        return step
    made, notes, moves = dict(step), list[tuple[Path, str]](), dict[Path, Path]()
    is_pair = spec.takes == "pair"
    holders = ["a", "b"] if is_pair else [key for key in spellings.LIST_KEYS.get(spec.takes, ()) if key in beside]
    rest = {key: value for key, value in beside.items() if key not in holders}
    are_known = all({key, spellings.PARAMETER_ALIASES.get(key, key)} & spec.params.keys() for key in rest)
    if rest.keys().isdisjoint(params) and isinstance(inputs, dict):
        if is_pair and rest and are_known:
            notes.append((place, f"{', '.join(rest)} beside the pair are read as parameters"))
            made["inputs"] = {key: value for key, value in inputs.items() if key in holders}
        elif not is_pair and len(holders) == 1:
            how = f"with the parameters {', '.join(rest)}" if rest else "alone"
            notes.append((place, f"a record of inputs with {holders[0]!r} is read as that list, {how}"))
            made["inputs"], moves[place] = beside[holders[0]]
    if notes:
        moves |= {} if params else {(*here, "params"): place}
        params |= rest
    params = _renamed(params, spec.params, notes)
    if not needed <= params.keys():
        return step
    if needed:
        notes.append(((*here, "operation"), f"the aggregate {operation!r} is read as {name!r}"))
        made["operation"] = name
    for where, message in notes:
        findings.add("W_ALIAS", where, message)
    findings.moves.update(moves)
    findings.moves.update(
        {(*here, "params", key): old for key, (_, old) in params.items() if old != (*here, "params", key)}
    )
    return made | ({"params": {key: value for key, (value, _) in params.items()}} if params else {})


def _renamed(
    params: Mapping[str, _Placed], known: Mapping[str, Any], notes: list[tuple[Path, str]]
) -> dict[str, _Placed]:
    """Return the parameters with accepted aliases replaced by the aggregate's own names (``known``); add a note for each."""
    made = dict(params)
    for other, ours in (*spellings.PARAMETER_ALIASES.items(), ("order", "descending")):
        if ours not in known or other in known or ours in made or other not in made:
            continue
        value, place = made[other]
        shown = ours
        if other == "order":
            value = spellings.ORDERS.get(str(value))
            shown = f"{ours}: {str(value).lower()}"
        if other != "order" or value is not None:
            notes.append((place, f"the parameter {other!r} is read as {shown!r}"))
            made = {ours if key == other else key: it for key, it in made.items()} | {ours: (value, place)}
    return made


def _as_filter(
    step: dict[str, Any], here: Path, parts: Sequence[tuple[str, _Placed]], findings: Findings
) -> dict[str, Any]:
    """Return the aggregate ``filter`` as a filter step if its ``parts`` are one list and one condition; else unchanged."""
    holders = [part for key, part in parts if key in ("inputs", *spellings.LIST_KEYS["list"])]
    conditions = [part for key, part in parts if key in spellings.CONDITION_KEYS]
    if len(parts) != 2 or len(holders) != 1 or len(conditions) != 1:
        return step
    findings.add("W_ALIAS", (*here, "operation"), "the aggregate 'filter' is read as a step of type 'filter'")
    kept = {key: value for key, value in step.items() if key not in ("operation", "params")}
    for key, (value, old) in (("inputs", holders[0]), ("where", conditions[0])):
        kept[key], findings.moves[(*here, key)] = value, old
    return kept | {"type": "filter"}


#: type of JSON Schema -> its name in messages, and the Python type
_JSON_KINDS: dict[str, tuple[str, type]] = {
    "object": ("a JSON object", dict),
    "array": ("a list", list),
    "string": ("a string", str),
    "integer": ("a whole number", int),
    "boolean": ("true or false", bool),
    "null": ("null", type(None)),
}


def split_document(document: Any, findings: Findings) -> list[tuple[Path, Any]]:
    """Return the tools of a file (one tool, a list of tools, or ``{"tools": [...]}``), each with its path."""
    base: Path = ()
    if isinstance(document, dict):
        if "tools" not in document or "steps" in document:
            return [((), document)]
        base, document = ("tools",), document["tools"]
    if not isinstance(document, list):
        findings.add("E_SHAPE", base, 'a file holds one tool, a list of tools, or {"tools": [...]}')
        return []
    if not document:
        findings.add("E_SHAPE", base, "the file holds no tool")
    if len(document) > limits.MAX_TOOLS:
        findings.add("E_SIZE", base, f"the file holds {len(document)} tools, more than {limits.MAX_TOOLS}")
        return []
    return [((*base, place), item) for place, item in enumerate(document)]


def name_of(tool: Any, path: Path) -> str:
    """Return a tool's name for messages before it is checked; ``#`` and its index if it has none."""
    name = tool.get("tool_name") if isinstance(tool, dict) else None
    if isinstance(name, str) and name:
        return shorten(name, 64)
    return f"#{path[-1]}" if path else "#0"


def check_shape(tool: Any, path: Path, findings: Findings, *, allow_judge: bool = False) -> bool:
    """Whether a tool has the shape of the language; every fault is noted."""
    before = findings.errors
    if _count_steps(tool) > limits.MAX_TOOL_STEPS:
        findings.add("E_SIZE", (*path, "steps"), f"the tool has more than {limits.MAX_TOOL_STEPS} steps in all")
    else:
        _ShapeChecker(findings, allow_judge).part(tool, model.keys_of(model.Tool), path)
    return findings.errors == before


def _count_steps(part: Any) -> int:
    """Return how many steps a part contains, without those of blocks that are too long."""
    blocks = [part[key] for key in _BLOCKS if isinstance(part.get(key), list)] if isinstance(part, dict) else []
    return sum(1 + _count_steps(step) for block in blocks if len(block) <= limits.MAX_STEPS for step in block)


@dataclass
class _ShapeChecker:
    """Checks a tool against the document model; the inside of anything too long is not checked."""

    findings: Findings
    allow_judge: bool

    def part(
        self, raw: Any, known: Sequence[Key], path: Path, *, beside: Sequence[str] = (), needs: Sequence[str] = ()
    ) -> None:
        """Check the keys of a part and their values. ``beside``: more allowed keys; ``needs``: more required keys."""
        if not _has_type(raw, ["object"], path, self.findings):
            return
        names = (*beside, *(key.name for key in known))
        required = [*needs, *(key.name for key in known if key.needed)]
        unknown = [key for key in raw if key not in names][: limits.MAX_FINDINGS + 1]
        meant = {key: other_key(key, names) for key in unknown}
        for name in (name for name in required if name not in raw):
            is_enum = name == "enum"
            if f"did you mean {name!r}?" in meant.values() or (is_enum and not raw.keys().isdisjoint(OTHER_KEYS[name])):
                continue  # it is there under another name, which is noted
            near = did_you_mean(name, set(raw) - set(required)).replace("did you mean", "rename")
            message, add = f"{_what(raw, path)} needs the key {name!r}", 'add "enum": ["...", "..."]' if is_enum else ""
            self.findings.add("E_SHAPE", path, message, suggestion=near or add)
        for key in unknown:
            message, words = f"{_what(raw, path)} has no key {key!r}", ", ".join(names)
            suggestion = misplaced(key, raw, path) or meant[key]
            self.findings.add("E_SHAPE", (*path, key), message, found=key, expected=words, suggestion=suggestion)
        for one in known:
            if one.name in raw:
                self._key(raw[one.name], one, (*path, one.name))

    def _key(self, value: Any, key: Key, path: Path) -> None:
        is_block = key.kind is model.BLOCK
        size = len(value) if isinstance(value, list | dict) else 0
        allowed = limits.MAX_STEPS if is_block else limits.MAX_FIELDS if key.name in ("params", "fields") else size
        declared: type[model.Input | model.Output] | None = None
        if key.kind is model.INPUTS:
            declared, allowed = model.Input, limits.MAX_INPUTS
        elif key.kind is model.OUTPUTS:
            declared, allowed = model.Output, limits.MAX_OUTPUTS
        message = f"{size} is more than the {allowed} allowed here" if size > allowed else ""
        if not message and not is_block and weight(value, most=limits.MAX_VALUES) > limits.MAX_VALUES:
            message = f"this holds more than {limits.MAX_VALUES} values"
            if isinstance(value, str):
                message = f"this text has {len(value)} characters, more than any place of a tool takes"
        if message:
            self.findings.add("E_SIZE", path, message)
        elif is_block:
            self._block(value, path)
        else:
            check_value(value, key.kind.schema, path, self.findings)
            if declared is not None and isinstance(value, dict):
                for name, one in value.items():
                    self._declaration(one, declared, (*path, name))

    def _block(self, steps: Any, path: Path) -> None:
        if _has_type(steps, ["array"], path, self.findings):
            if not steps:
                self.findings.add("E_SHAPE", path, _EMPTY)
            for place, step in enumerate(steps):
                self._step(step, (*path, place))

    def _declaration(self, raw: Any, part: type[model.Input | model.Output], path: Path) -> None:
        if isinstance(raw, str):
            check_value(raw, TYPE_NAME.schema, path, self.findings)
        elif _has_type(raw, ["string", "object"], path, self.findings):
            needs = ["enum"] if part is model.Input and raw.get("type") == "enum" else []
            self.part(raw, model.keys_of(part), path, needs=needs)

    def _step(self, raw: Any, path: Path) -> None:
        if not _has_type(raw, ["object"], path, self.findings):
            return
        kind = model.STEP_MODELS.get(model.step_type_of(raw))
        if kind is None and "type" in raw:
            _unknown_word(raw["type"], list(model.STEP_MODELS), (*path, "type"), self.findings, step=raw)
        elif kind is None:
            self.findings.add("E_SHAPE", path, "a step needs the key 'type'")
        else:
            if kind is model.JudgeStep:
                self._judge(raw, path)
            is_loop = "loop_over" in raw
            loop = model.keys_of(model.Loop) if kind.step_type in model.LOOPING else ()
            known = (*model.keys_of(kind), *(loop if kind is model.Block or is_loop else loop[1:]))
            self.part(raw, known, path, beside=("type",))
            for one in (one for one in loop if one.name in raw and not is_loop):
                self.findings.add("E_SHAPE", (*path, one.name), f"{one.name!r} needs 'loop_over' beside it")

    def _judge(self, step: Mapping[str, Any], path: Path) -> None:
        """Note a judge step if none is allowed, and answers that cannot be distinguished or are too long together."""
        answers = step.get("answers")
        if not self.allow_judge:
            message = "the step type 'judge' is switched off (--allow-judge): a tool asks no language model"
            suggestion = "return the ordered material and leave the judgement to the caller"
            self.findings.add("E_SHAPE", (*path, "type"), message, suggestion=suggestion)
        elif isinstance(answers, list) and all(isinstance(answer, str) for answer in answers):
            seen: set[str] = set()
            for place, answer in enumerate(answers):
                word = plain_answer(answer)
                if not word or word in seen:
                    why = "says nothing" if not word else "is another one in other spelling"
                    self.findings.add("E_SHAPE", (*path, "answers", place), f"the answer {answer!r} {why}")
                seen.add(word)
            if sum(map(len, answers)) > limits.MAX_ANSWERS_CHARACTERS:
                message = f"all answers together have more than {limits.MAX_ANSWERS_CHARACTERS} characters"
                self.findings.add("E_SIZE", (*path, "answers"), message)


_EMPTY = "this must not be empty"
_SIZES = (("minLength", "maxLength", str), ("minItems", "maxItems", list), ("minProperties", "maxProperties", dict))


def check_value(value: Any, schema: Mapping[str, Any], path: Path, findings: Findings) -> None:
    """Check a value against a JSON Schema and note faults; only the keywords that the schemas in ``keys.py`` use are supported."""
    if "enum" in schema:
        if value not in schema["enum"]:
            _unknown_word(value, schema["enum"], path, findings)
        return
    listed = schema.get("type", ())
    if not _has_type(value, [listed] if isinstance(listed, str) else list(listed), path, findings):
        return
    for least, most, type_ in _SIZES:
        if isinstance(value, type_) and len(value) > schema.get(most, len(value)):
            message, expected = f"{len(value)} is more than the {schema[most]} allowed here", f"at most {schema[most]}"
            findings.add("E_SIZE", path, message, expected=expected)
        elif isinstance(value, type_) and len(value) < schema.get(least, 0):
            findings.add("E_SHAPE", path, _EMPTY)
    if "minimum" in schema and not schema["minimum"] <= value <= schema["maximum"]:
        message = f"{value} is not between {schema['minimum']} and {schema['maximum']}"
        findings.add("E_SHAPE", path, message)
    _check_name(value, schema, path, findings)
    for name in value if "propertyNames" in schema else ():
        _check_name(name, schema["propertyNames"], (*path, name), findings)
    for place, item in enumerate(value) if schema.get("items") else ():
        check_value(item, schema["items"], (*path, place), findings)


def _has_type(value: Any, kinds: Sequence[str], path: Path, findings: Findings) -> bool:
    """Whether a value has one of some JSON types (an empty list: any type); note one that has not."""
    is_whole = isinstance(value, float) and value.is_integer() and "integer" in kinds
    if not kinds or is_whole or any(_is_a(value, _JSON_KINDS[kind][1]) for kind in kinds):
        return True
    expected = " or ".join(_JSON_KINDS[kind][0] for kind in kinds)
    findings.add("E_SHAPE", path, f"{expected} is wanted here")
    return False


def _is_a(value: Any, type_: type) -> bool:
    return isinstance(value, type_) and isinstance(value, bool) == (type_ is bool)


def _check_name(text: Any, schema: Mapping[str, Any], path: Path, findings: Findings) -> None:
    if "pattern" in schema and re.search(schema["pattern"], text) is None:
        message = f"{shorten(text, 40)!r} cannot be a name: a letter, then letters, digits and '_', at most 64"
        suggestion = a_name(text, is_tool=schema["pattern"] == TOOL_NAME_PATTERN)
        findings.add("E_NAME", path, message, suggestion=suggestion)
    if "not" in schema and text in schema["not"]["enum"]:
        findings.add("E_NAME", path, f"{text!r} is a word of the language")


def _what(instance: Mapping[str, Any], where: Path) -> str:
    """Return what an object is meant to be, by its path and type: a step, a declaration or a tool."""
    is_step = len(where) > 1 and where[-2] in _BLOCKS and isinstance(where[-1], int)
    if is_step and not isinstance(instance.get("type"), str):
        return "a step"
    if "type" in instance and isinstance(instance["type"], str) and "tool_name" not in instance:
        known = instance["type"] in model.STEP_MODELS
        return f"a step of type {shorten(instance['type'], 30)!r}" if known else "a declaration"
    return "a declaration" if len(where) > 1 and where[-2] in ("inputs", "outputs") else "a tool"


#: characters of allowed words that a message lists
_LISTED = 200


def a_name(text: str, *, is_tool: bool) -> str:
    """Return a suggestion of the nearest valid name, if any; for a tool also the rule that its name is lower case."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", shorten(text, 40)) if is_tool else shorten(text, 40)
    near = re.sub(r"[^A-Za-z0-9]+", "_", words).strip("_")
    near = near.lower() if is_tool else near
    said = f"did you mean {near!r}?" if near[:1].isalpha() and near != text else ""
    return f"tool names are lower case; {said}".rstrip("; ") if is_tool else said


#: our keys -> other spellings that models use; ours is suggested if it is allowed at that place
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


def other_key(key: str, known: Collection[str]) -> str:
    """Return ``did you mean 'x'?`` with the most likely one of the ``known`` keys, or an empty text."""
    meant = [ours for ours, others in OTHER_KEYS.items() if key in others and ours in known]
    return f"did you mean {meant[0]!r}?" if meant else did_you_mean(key, known)


def misplaced(key: str, step: Mapping[str, Any], where: Path) -> str | Suggestion:
    """Return the suggestion to move a key of a step into its ``params``; empty if it is no parameter or is there already."""
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


def _unknown_word(
    value: Any, allowed: Sequence[str], path: Path, findings: Findings, *, step: Mapping[str, Any] | None = None
) -> None:
    """Note that ``value`` is none of the ``allowed`` words; with ``step`` it is the unknown ``type`` of that step."""
    found = value if isinstance(value, str) else json.dumps(value)[:60]
    suggestion: str | Suggestion = did_you_mean(found, allowed)
    words = ", ".join(word for word in allowed if word != "judge")
    message = f"{found!r} is not one of the words allowed here{f': {words}' if len(words) <= _LISTED else ''}"
    if step is not None:
        message = f"there is no step type {found!r}"
        if not suggestion or "call" in found:
            suggestion = _step_suggestion(found, step, path[:-1]) or suggestion
    findings.add("E_SHAPE", path, message, found=found, suggestion=suggestion)


def _step_suggestion(word: str, step: Mapping[str, Any], where: Path) -> str | Suggestion:
    if word in EVERY_OPERATION:
        return write(where, {"type": "call_world_api", "api": word})
    if word in AGGREGATES or word in ALIASES:
        return write(where, {"type": "aggregate", "operation": word})
    if "call" in word and "api" in step:
        return "did you mean 'call_world_api'?"
    return "did you mean 'call_tool'?" if "call" in word and "tool" in step else ""

"""Pass 1: does a document have the shape of a tool? Faults in the words of the language, not of JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from tool_induction.advice.meant import OTHER_KEYS, a_name, holder_of, misplaced, other_key, unknown_word
from tool_induction.documents.parts import TOOL_NAME
from tool_induction.documents.schema import tool_schema
from tool_induction.documents.steps import STEP_MODELS
from tool_induction.documents.tools import read_tool_document
from tool_induction.judging.shaping import check_judges
from tool_induction.language import limits
from tool_induction.language.diagnostics import Findings, Path, did_you_mean, shorten
from tool_induction.language.weighing import weight

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
    """The tools of a file (one tool, a list of tools, or ``{"tools": [...]}``) and where each stands."""
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
    if _is_too_long(tool, path, findings) or _has_too_many_steps(tool, path, findings):
        return False  # a schema looks at every item of a list whose length is wrong already
    check_judges(tool, path, findings, allowed=allow_judge)
    refused = _refused(tool)
    if refused is None:
        return findings.errors == before
    for error in _leaves(_validator().iter_errors(tool)):
        if len(findings.items) > limits.MAX_FINDINGS:
            break
        where: Path = (*path, *error.absolute_path)
        if error.validator == "enum":
            unknown_word(error, where, findings, holder_of(tool, error))
        else:
            _explain(error, where, findings)
    if (
        findings.errors == before
    ):  # the schema is made from the models; should it ever say less, theirs is the last word
        findings.add("E_SHAPE", path, shorten(str(refused)))
    return False


def _refused(tool: Any) -> ValidationError | None:
    """What the models say against a document: they are quick to accept one, and the schema is good at telling why not."""
    try:
        read_tool_document(tool)
    except ValidationError as error:
        return error
    return None


def _is_too_long(tool: Any, path: Path, findings: Findings) -> bool:
    """Whether a block holds more steps, a tool more inputs or outputs, or a step more entries, than is allowed."""
    if not isinstance(tool, dict):
        return False
    sizes = {"inputs": limits.MAX_INPUTS, "outputs": limits.MAX_OUTPUTS} if "steps" in tool else {}
    sizes |= dict.fromkeys(_BLOCKS, limits.MAX_STEPS) | dict.fromkeys(("params", "fields"), limits.MAX_FIELDS)
    for key, most in sizes.items():
        inside = tool.get(key)
        if isinstance(inside, list | dict) and len(inside) > most:
            message = f"{len(inside)} is more than the {most} allowed here"
            findings.add("E_SIZE", (*path, key), message, found=str(len(inside)), expected=f"at most {most}")
            return True
    for key, inside in tool.items():
        if key not in _BLOCKS and weight(inside, most=limits.MAX_VALUES) > limits.MAX_VALUES:
            if isinstance(inside, str):
                message = f"this text has {len(inside)} characters, more than any place of a tool takes"
                findings.add("E_SIZE", (*path, key), message, expected=f"at most {limits.MAX_TEXT} characters")
                return True
            message = f"this holds more than {limits.MAX_VALUES} values"
            findings.add("E_SIZE", (*path, key), message, expected=f"at most {limits.MAX_VALUES}")
            return True
    blocks = [(key, tool[key]) for key in _BLOCKS if isinstance(tool.get(key), list)]
    return any(
        _is_too_long(step, (*path, key, place), findings) for key, block in blocks for place, step in enumerate(block)
    )


_BLOCKS = ("steps", "do", "then", "else")


def _has_too_many_steps(tool: Any, path: Path, findings: Findings) -> bool:
    """Whether a tool has more steps than is allowed, those in blocks counted."""
    steps = 0
    rest = [tool]
    while rest:
        one = rest.pop()
        inside = [
            step for key in _BLOCKS if isinstance(one, dict) and isinstance(one.get(key), list) for step in one[key]
        ]
        steps += len(inside)
        if steps > limits.MAX_TOOL_STEPS:
            findings.add("E_SIZE", (*path, "steps"), f"the tool has more than {limits.MAX_TOOL_STEPS} steps in all")
            return True
        rest.extend(inside)
    return False


def _leaves(errors: Any) -> Iterator[Any]:
    for error in sorted(errors, key=lambda error: [str(part).zfill(6) for part in error.absolute_path]):
        if error.context:
            yield from _leaves(error.context)
        else:
            yield error


def _explain(error: Any, where: Path, findings: Findings) -> None:
    if "propertyNames" in error.absolute_schema_path and isinstance(error.instance, str):
        where = (*where, error.instance)  # the fault lies in a key, not in the object around it
    match error.validator:
        case "not":
            findings.add("E_NAME", where, f"{error.instance!r} is a word of the language", found=str(error.instance))
        case "required":
            missing = [key for key in error.validator_value if key not in error.instance]
            for key in missing:
                if _is_misspelt(key, error):
                    continue  # it stands there under another name, and that is told
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
                suggestion=a_name(error.instance, is_tool=error.validator_value == TOOL_NAME),
            )
        case "dependentRequired":
            keys = [key for key in error.validator_value if key in error.instance]
            for key in keys:
                findings.add("E_SHAPE", (*where, key), f"{key!r} needs 'loop_over' beside it", expected="loop_over")
        case _:
            _plain_fault(error, where, findings)


def _is_misspelt(key: str, error: Any) -> bool:
    """Whether a key that is not known at this place is told to be the one that is missing."""
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
    """What an object is meant to be, by the place where it stands."""
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

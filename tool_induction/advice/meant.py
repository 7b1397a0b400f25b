"""What was meant by a name, a key or a word that cannot stand where it stands."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tool_induction.language.diagnostics import Findings, Path, Suggestion, did_you_mean, move_to, shorten, write
from tool_induction.language.model import STEP_MODELS

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
    """Which key was most likely meant."""
    meant = [ours for ours, others in OTHER_KEYS.items() if key in others and ours in known]
    return f"did you mean {meant[0]!r}?" if meant else did_you_mean(key, known)


def misplaced(key: str, step: Mapping[str, Any], where: Path) -> str | Suggestion:
    """A parameter that stands beside ``params``, put into them."""
    from tool_induction.aggregates import AGGREGATES, ALIASES
    from tool_induction.language.types import operation_types
    from world_api.operations import EVERY_OPERATION

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
    """The object in which the value stands that an error is about."""
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
    from tool_induction.aggregates import AGGREGATES, ALIASES
    from world_api.operations import EVERY_OPERATION

    if word in EVERY_OPERATION:
        return write(where, {"type": "call_world_api", "api": word})
    if word in AGGREGATES or word in ALIASES:
        return write(where, {"type": "aggregate", "operation": word})
    if "call" in word and "api" in step:
        return "did you mean 'call_world_api'?"
    return "did you mean 'call_tool'?" if "call" in word and "tool" in step else ""

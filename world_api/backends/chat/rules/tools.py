"""Choosing a tool by its name and description, and filling its arguments by their names and schemas."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from world_api.backends.chat.completions import Call
from world_api.backends.chat.rules.questions import Intent, Question

#: Tools the rules use by name; any other tool on offer is judged by its name, its description and its inputs.
KNOWN = frozenset(
    "list_scenes get_segment search_segments_by_text describe_segment detect_objects recognize_actions register_entity "
    "get_entity_trajectory query_entity_state search_segments_by_semantics search_similar_to_example write_memory "
    "read_memory merge_events list_entities get_video_metadata submit_answer".split()
)
_WORDS: Mapping[Intent, tuple[str, ...]] = {
    "place": ("locate", "appear", "find", "first", "last", "when", "where"),
    "times": ("times", "often", "appearance", "occurrence", "repeat", "count"),
    "count": ("distinct", "different", "unique", "how_many", "number", "count"),
    "words": ("said", "say", "quote", "speech", "mention", "spoken", "dialog", "utterance", "words"),
    "summary": ("summar", "overview", "digest", "recap", "storyline", "timeline"),
    "search": ("find", "search", "locate"),
    "facts": (),
}
_NOT_FOR = re.compile(r"\b(?:do not|don't|not) (?:use|for|when|if)\b[^.]*")
_IN_NAME, _IN_DESCRIPTION = 3, 1
_HOW_MANY = 10  #: what a numeric limit gets


@dataclass(frozen=True, kw_only=True)
class OfferedTool:
    """A tool of the request."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What arguments can be filled from."""

    video_id: str
    question: Question


def offered_tools(request: Mapping[str, Any]) -> dict[str, OfferedTool]:
    """The function tools of a request, by name; what is not one is passed over."""
    found: dict[str, OfferedTool] = {}
    for item in request.get("tools") or ():
        function = item.get("function") if isinstance(item, Mapping) else None
        if isinstance(function, Mapping) and isinstance(function.get("name"), str):
            parameters = function.get("parameters")
            found[function["name"]] = OfferedTool(
                name=function["name"],
                description=str(function.get("description") or ""),
                parameters=parameters if isinstance(parameters, Mapping) else {},
            )
    return found


def fitting_call(tools: Sequence[OfferedTool], facts: Facts) -> Call | None:
    """The tool beyond the known ones that fits the question best, with its arguments; None if none fits."""
    ranked = sorted(
        ((_score(tool, facts.question), tool.name, tool) for tool in tools if tool.name not in KNOWN),
        key=lambda item: (-item[0], item[1]),
    )
    for score, name, tool in ranked:
        arguments = fill(tool.parameters, facts) if score >= _IN_NAME else None
        if arguments is not None:
            return Call(tool=name, arguments=arguments)
    return None


def fill(parameters: Mapping[str, Any], facts: Facts) -> dict[str, Any] | None:
    """Values for the required parameters, or None where one cannot be known.

    One free text is what the question is about; a tool that wants two is not filled, since which is which
    cannot be told by rule.
    """
    properties = parameters.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    arguments: dict[str, Any] = {}
    free_texts = 0
    for name in parameters.get("required") or ():
        schema = _not_null(properties.get(name))
        value = _value(name, schema, facts)
        if value is None:
            return None
        free_texts += value == facts.question.target and name != "category"
        arguments[name] = value
    return arguments if free_texts <= 1 else None


def _score(tool: OfferedTool, question: Question) -> int:
    name, description = tool.name.lower(), _NOT_FOR.sub("", tool.description.lower())
    words = _WORDS[question.intent]
    score = _IN_NAME * sum(word in name for word in words) + _IN_DESCRIPTION * sum(
        word in description for word in words
    )
    other_end = "first" if question.wants_last else "last"
    return score - 2 * _IN_NAME if other_end in name else score


def _not_null(schema: Any) -> Mapping[str, Any]:
    if not isinstance(schema, Mapping):
        return {}
    for choice in schema.get("anyOf") or ():
        if isinstance(choice, Mapping) and choice.get("type") != "null":
            return choice
    return schema


def _value(name: str, schema: Mapping[str, Any], facts: Facts) -> Any:
    """A value for one parameter, or None."""
    kinds = schema.get("type")
    kind = next((item for item in kinds if item != "null"), None) if isinstance(kinds, list) else kinds
    lower = name.lower()
    if lower == "video_id":
        return facts.video_id
    if schema.get("enum"):
        choices = schema["enum"]
        return facts.question.category if facts.question.category in choices else choices[0]
    if kind == "string":
        wants_category = any(word in lower for word in ("category", "kind", "type", "class"))
        return facts.question.category if wants_category else facts.question.target
    if kind == "boolean":
        return False
    limits = any(word in lower for word in ("top", "limit", "max", "count", "num"))
    if kind == "integer" or (kind == "number" and limits):
        low, high = schema.get("minimum", 1), schema.get("maximum", _HOW_MANY)
        return int(max(low, min(high, _HOW_MANY)))
    return None  # a time, a stretch or an id, which nobody knows yet

"""Reading what a model said of pictures, without trust: servers that were asked for JSON send prose, fences and halves of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from world_api.backends.chat.completions import first_choice
from world_api.backends.endpoint.schemas import ANSWER
from world_api.backends.endpoint.wording import noting, one_line
from world_api.core.canonical import parse_json
from world_api.core.faults import BackendFault
from world_api.core.ports import LookTask, SeenAction

MAX_CHARACTERS = 2_000  #: of a text
MAX_ACTIONS = 40
_LABEL_CHARACTERS = 200
_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_THOUGHT_ENDS = re.compile(r"</think(?:ing)?>")
_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)(?:```|\Z)", re.DOTALL)
#: How a list of JSON begins; "[A man in red]" does not.
_LIST = re.compile(r"\[\s*(?:[\[{\"\]]|-?\d+\s*[,\]])")
_OBJECT = re.compile(r"\{\s*\"")
_MOST_TRIES = 64  #: places at which an object may begin


@dataclass(frozen=True, kw_only=True)
class Read:
    """What a reply says."""

    text: str
    confidence: float | None
    uncertain: str
    actions: tuple[SeenAction, ...]


def read_reply(reply: dict[str, Any], task: LookTask, *, model: str) -> Read:
    """What a Chat Completions reply says to a task; plain text is taken for the caption or the answer.

    Raises:
        BackendFault: ``sight_refused``: the model would not; ``sight_unreadable``: nothing in it can be used.
    """
    choice = first_choice(reply)
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        fault = BackendFault(
            "sight_refused",
            f"{model} would not answer about these frames",
            hint="ask about another stretch, or in other words",
        )
        raise noting(fault, refusal, by=model)
    content = _content(message.get("content"))
    try:
        return _of_content(content, task, is_cut=choice.get("finish_reason") == "length")
    except _UnreadableError as error:
        raise noting(_unreadable(model, str(error)), content, by=model) from None


class _UnreadableError(Exception):
    """Why a reply cannot be used, in our words: none of the reply's."""


def _of_content(content: str, task: LookTask, *, is_cut: bool) -> Read:
    said = _without_thoughts(content)
    if not said:
        raise _UnreadableError("it was cut off before it said anything" if is_cut else "it is empty")
    record = _object_in(said, task)
    if record is not None:
        return _of_record(record, task)
    if _LIST.match(said) or _OBJECT.search(said) or said[0] == "{" or "```" in said:
        raise _UnreadableError("its JSON was cut off" if is_cut else "its JSON is broken")
    if task == "actions":
        raise _UnreadableError("it lists no actions")
    return Read(text=one_line(said, MAX_CHARACTERS), confidence=None, uncertain="", actions=())


def _without_thoughts(content: str) -> str:
    """What is said after thinking; some servers send the end of a thought without its beginning."""
    if _parsed(content) is not None:
        return content.strip()  # a tag in there was read off the pictures
    return _THOUGHT_ENDS.split(_THOUGHT.sub("", content))[-1].strip()


def _of_record(record: dict[str, Any], task: LookTask) -> Read:
    answer = record.get(ANSWER[task])
    uncertain = record.get("uncertain")
    doubt = one_line(uncertain, 500) if isinstance(uncertain, str) else ""
    if task == "actions":
        if not isinstance(answer, list):
            raise _UnreadableError("it has no list of actions")
        actions = tuple(action for item in answer[:MAX_ACTIONS] if (action := _action(item)) is not None)
        if answer and not actions:
            raise _UnreadableError("none of its actions has a label")
        return Read(text="; ".join(a.label for a in actions), confidence=None, uncertain=doubt, actions=actions)
    if not isinstance(answer, str) or not answer.strip():
        raise _UnreadableError(f"it has no {ANSWER[task]}")
    text = one_line(answer, MAX_CHARACTERS)
    return Read(text=text, confidence=_sureness(record.get("confidence")), uncertain=doubt, actions=())


def _action(item: Any) -> SeenAction | None:
    label = item.get("label") if isinstance(item, dict) else item
    if not isinstance(label, str) or not label.strip():
        return None
    confidence = _sureness(item.get("confidence")) if isinstance(item, dict) else None
    return SeenAction(label=one_line(label, _LABEL_CHARACTERS), confidence=confidence)


def _sureness(value: Any) -> float | None:
    """A number from 0 to 1; anything else says nothing."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return round(float(value), 2)


def _content(content: Any) -> str:
    """The text of a message, which some servers send in parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _object_in(text: str, task: LookTask) -> dict[str, Any] | None:
    """The JSON object that a text is, or holds: one that answers, else the one that it is as a whole or between fences."""
    wholes = [_parsed(text), *(_parsed(match[1]) for match in _FENCED.finditer(text))]
    if task == "actions" and isinstance(wholes[0], list):
        return {ANSWER[task]: wholes[0]}
    found = [value for value in wholes if isinstance(value, dict)]
    for value in (*found, *_objects_within(text)):
        if ANSWER[task] in value:
            return value
    return found[0] if found else None


def _objects_within(text: str) -> Iterator[dict[str, Any]]:
    """The objects that begin at one of the first braces of a text."""
    decoder = json.JSONDecoder()
    start = text.find("{")
    for _ in range(_MOST_TRIES):
        if start < 0:
            return
        try:
            _, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start
        value = _parsed(text[start:end])
        if isinstance(value, dict):
            yield value
        start = text.find("{", start + 1)


def _parsed(text: str) -> Any:
    """The object or list that a text is as JSON; else None."""
    try:
        value = parse_json(text)
    except ValueError:
        return None
    return value if isinstance(value, dict | list) else None


def _unreadable(model: str, why: str) -> BackendFault:
    return BackendFault(
        "sight_unreadable",
        f"the reply of {model} about these frames cannot be read: {why}",
        hint="ask again; a model that often does so is not made for this",
    )

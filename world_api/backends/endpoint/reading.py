"""Reading what a model said of pictures, without trust: servers that were asked for JSON send prose, fences and halves of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from world_api.backends.endpoint.schemas import ANSWER
from world_api.core.canonical import parse_json
from world_api.core.faults import BackendFault
from world_api.core.ports import LookTask, SeenAction

MAX_CHARACTERS = 2_000  #: of a text
MAX_ACTIONS = 40
_LABEL_CHARACTERS = 200
_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)(?:```|\Z)", re.DOTALL)


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
    choice = _first(reply.get("choices"))
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        raise BackendFault(
            "sight_refused",
            f"{model} would not answer: {one_line(refusal, 300)}",
            hint="ask about another stretch, or in other words",
        )
    said = _THOUGHT.sub("", _content(message.get("content"))).strip()
    is_cut = choice.get("finish_reason") == "length"
    if not said:
        raise _unreadable(model, "it was cut off before it said anything" if is_cut else "it is empty")
    record = _object_in(said)
    if record is not None:
        return _of_record(record, task, model=model)
    if said[0] in "{[" or "```" in said:
        raise _unreadable(model, "its JSON was cut off" if is_cut else "its JSON is broken")
    if task == "actions":
        raise _unreadable(model, f"it lists no actions: {one_line(said, 100)!r}")
    return Read(text=one_line(said, MAX_CHARACTERS), confidence=None, uncertain="", actions=())


def one_line(text: str, limit: int) -> str:
    """A text on one line, cut at a limit."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _of_record(record: dict[str, Any], task: LookTask, *, model: str) -> Read:
    answer = record.get(ANSWER[task])
    uncertain = record.get("uncertain")
    doubt = one_line(uncertain, 500) if isinstance(uncertain, str) else ""
    if task == "actions":
        if not isinstance(answer, list):
            raise _unreadable(model, "it has no list of actions")
        actions = tuple(action for item in answer[:MAX_ACTIONS] if (action := _action(item)) is not None)
        if answer and not actions:
            raise _unreadable(model, "none of its actions has a label")
        return Read(text="; ".join(a.label for a in actions), confidence=None, uncertain=doubt, actions=actions)
    if not isinstance(answer, str) or not answer.strip():
        raise _unreadable(model, f"it has no {ANSWER[task]}")
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


def _first(choices: Any) -> dict[str, Any]:
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice if isinstance(choice, dict) else {}


def _content(content: Any) -> str:
    """The text of a message, which some servers send in parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _object_in(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is, or holds."""
    for candidate in _candidates(text):
        try:
            value = parse_json(candidate)
        except ValueError:
            continue
        if isinstance(value, dict):
            return value
    return None


def _candidates(text: str) -> Iterator[str]:
    yield text
    yield from (match[1] for match in _FENCED.finditer(text))
    first, last = text.find("{"), text.rfind("}")
    if 0 <= first < last:
        yield text[first : last + 1]


def _unreadable(model: str, why: str) -> BackendFault:
    return BackendFault(
        "sight_unreadable",
        f"the reply of {model} about these frames cannot be read: {why}",
        hint="ask again; a model that often does so is not made for this",
    )

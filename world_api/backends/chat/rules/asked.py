"""Reading from a request what is asked, and in what type the answer is wanted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from world_api.backends.chat.rules.questions import Question, read_question

Kind = Literal["open", "choice", "interval", "count", "order"]

_LABELS = {
    "video": "video",
    "视频": "video",
    "question": "question",
    "问题": "question",
    "wanted": "wanted",
    "要求": "wanted",
}
_LABELLED = re.compile(rf"^(?P<label>{'|'.join(_LABELS)})(?: id)?\s*[:：]\s*(?P<value>.*)$", re.IGNORECASE)
_OPTION = re.compile(r"^(?P<letter>[A-Z])\.\s+(?P<text>.+)$")
#: How the wish for a type is worded, the more telling first.
_WISHES: tuple[tuple[Kind, str], ...] = (
    ("order", r"\border\b|顺序"),
    ("choice", r"\boption\b|选项"),
    ("interval", r"\bstretch\b|片段"),
    ("count", r"\bwhole number\b|整数"),
)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question as it stands in a request. ``options`` have letters, in order."""

    video_id: str
    question: Question
    kind: Kind = "open"
    options: Mapping[str, str]


def read_asked(messages: Sequence[Mapping[str, Any]], answer: Mapping[str, Any] | None) -> Asked:
    """What the first message of the user asks; ``answer`` is the schema of the answer, where one can be submitted."""
    text = next((said for item in messages if item.get("role") == "user" and (said := text_of(item))), "")
    labelled: dict[str, str] = {}
    options: dict[str, str] = {}
    for line in map(str.strip, text.splitlines()):
        label, option = _LABELLED.match(line), _OPTION.match(line)
        if label:
            labelled.setdefault(_LABELS[label["label"].lower()], label["value"].strip())
        elif option and "question" in labelled and "wanted" not in labelled:
            options.setdefault(option["letter"], option["text"])
    kind = _kind_of_schema(answer) if answer is not None else _kind_of_wish(labelled.get("wanted", ""))
    return Asked(
        video_id=labelled.get("video", ""),
        question=read_question(labelled.get("question") or text),
        kind=kind if options or kind not in ("choice", "order") else "open",
        options=options,
    )


def text_of(message: Mapping[str, Any]) -> str:
    """The words of a message; its content may be a list of parts."""
    content = message.get("content")
    return "\n".join(_texts(content)) if isinstance(content, list) else content if isinstance(content, str) else ""


def _texts(parts: Sequence[Any]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Mapping) and isinstance(part.get("text"), str):
            yield part["text"]


def _kind_of_schema(schema: Mapping[str, Any]) -> Kind:
    match schema.get("type"):
        case "integer" | "number":
            return "count"
        case "array":
            return "order"
        case "object":
            return "interval"
        case _:
            return "choice" if schema.get("enum") else "open"


def _kind_of_wish(wish: str) -> Kind:
    return next((kind for kind, pattern in _WISHES if re.search(pattern, wish, re.IGNORECASE)), "open")

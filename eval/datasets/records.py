"""One question as one line of JSON: the project's own format, written and read.

``docs/datasets.md`` shows it. Reading says everything that is wrong with a line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, get_args

from controller.questions import KINDS, Question
from eval.datasets.items import Item
from tool_induction.domains.domain import SplitName
from world_api.core.faults import EpisodeFault
from world_api.core.identifiers import is_name
from world_api.core.spans import TimeSpan

SCHEMA_VERSION = 1
REQUIRED = ("schema_version", "id", "video", "question", "kind", "answer")
OPTIONAL = ("options", "also", "spans", "as_of", "domain", "content", "template", "split", "labels")
SPLITS: tuple[str, ...] = get_args(SplitName)

MAX_ANSWER_CHARACTERS = 20_000
MAX_LIST = 1000
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,127}")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/+ -]{0,199}")
_SHOWN = 60


class BadItem(ValueError):
    """What is wrong with a line, all of it."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


def is_item_id(text: object) -> bool:
    """Whether it may name an item (and so a part of a file's name)."""
    return isinstance(text, str) and _ID.fullmatch(text) is not None


def item_record(item: Item) -> dict[str, Any]:
    """The line of an item. What is empty is left out."""
    question = item.question
    record: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "id": item.id,
        "video": item.video_id,
        "question": question.text,
        "kind": question.kind,
    }
    if question.options:
        record["options"] = list(question.options)
    record["answer"] = item.answer
    if item.also:
        record["also"] = list(item.also)
    if item.spans:
        record["spans"] = [[span.start, span.end] for span in item.spans]
    optional = {
        "as_of": question.as_of, "domain": item.domain, "content": item.content, "template": item.template,
        "split": item.split,
    }  # fmt: skip
    record |= {key: value for key, value in optional.items() if value is not None}
    if item.labels:
        record["labels"] = dict(item.labels)
    return record


def item_from_record(record: object) -> Item:
    """The item of a line.

    Raises:
        BadItem: with everything that is wrong.
    """
    if not isinstance(record, Mapping):
        raise BadItem(["it is not a JSON object"])
    faults = _shape_faults(record)
    if faults:
        raise BadItem(faults)
    question = _question(record, faults)
    if question is not None:
        also = record.get("also", [])
        if record["answer"] is not None:  # null says that nobody knows it; such a question is asked and not scored
            faults += [f"answer: {fault}" for fault in value_faults(question, record["answer"])]
        faults += [
            f"also[{place}]: {fault}" for place, item in enumerate(also) for fault in value_faults(question, item)
        ]
    spans = _spans(record.get("spans", []), faults)
    if faults or question is None:
        raise BadItem(faults)
    return Item(
        id=record["id"],
        video_id=record["video"],
        question=question,
        answer=record["answer"],
        also=tuple(record.get("also", ())),
        spans=spans,
        domain=record.get("domain"),
        content=record.get("content"),
        template=record.get("template"),
        split=record.get("split"),
        labels=dict(record.get("labels", {})),
    )


def value_faults(question: Question, value: object) -> list[str]:
    """What is wrong with an answer of a question of this kind; see ``Question`` for the types."""
    if question.kind == "open":
        if not isinstance(value, str) or not value.strip():
            return [f"an open question is answered by text, not {_shown(value)}"]
        return [] if len(value) <= MAX_ANSWER_CHARACTERS else [f"it has more than {MAX_ANSWER_CHARACTERS:,} characters"]
    if question.kind == "choice":
        if value in question.letters:
            return []
        return [f"a choice is answered by its letter, one of {', '.join(question.letters)}, not {_shown(value)}"]
    if question.kind == "count":
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**15:
            return []
        return [f"a count is a whole number from 0, not {_shown(value)}"]
    if question.kind == "order":
        if (
            isinstance(value, list)
            and all(isinstance(x, str) for x in value)
            and sorted(value) == list(question.letters)
        ):
            return []
        return [f"an order is a list of all letters {', '.join(question.letters)}, each once, not {_shown(value)}"]
    if not isinstance(value, Mapping) or set(value) != {"start_time", "end_time"}:
        return [f'an interval is {{"start_time": seconds, "end_time": seconds}}, not {_shown(value)}']
    return _stretch_faults(value["start_time"], value["end_time"])


def _shape_faults(record: Mapping[str, Any]) -> list[str]:
    known = (*REQUIRED, *OPTIONAL)
    faults = [f"{key} is missing" for key in REQUIRED if key not in record]
    unknown = [key for key in record if key not in known]
    faults += [f"{_shown(key)} is not a key here; the keys are {', '.join(known)}" for key in unknown[:1]]
    version = record.get("schema_version")
    if "schema_version" in record and (version != SCHEMA_VERSION or isinstance(version, bool)):
        faults.append(f"schema version {_shown(version)}; this program reads {SCHEMA_VERSION}")
    for key, holds, what in _FIELDS:
        if key in record and not holds(record[key]):
            faults.append(f"{key}: {_shown(record[key])} is not {what}")
    return faults


def _question(record: Mapping[str, Any], faults: list[str]) -> Question | None:
    try:
        return Question(
            text=record["question"],
            kind=record["kind"],
            options=tuple(record.get("options", ())),
            as_of=record.get("as_of"),
        )
    except EpisodeFault as fault:
        faults.append(f"{fault.message}; {fault.hint}")
        return None


def _spans(value: list[Any], faults: list[str]) -> tuple[TimeSpan, ...]:
    found = []
    for place, pair in enumerate(value):
        if not isinstance(pair, list) or len(pair) != 2:
            faults.append(f"spans[{place}]: {_shown(pair)} is not [start, end] in seconds")
            continue
        wrong = _stretch_faults(pair[0], pair[1])
        faults += [f"spans[{place}]: {fault}" for fault in wrong]
        if not wrong:
            found.append(TimeSpan(start=float(pair[0]), end=float(pair[1])))
    return tuple(found)


def _stretch_faults(start: object, end: object) -> list[str]:
    wrong = [item for item in (start, end) if not is_seconds(item)]
    if wrong:
        return [f"{_shown(wrong[0])} is not a time in seconds from 0"]
    return ["it ends before it starts"] if float(str(end)) < float(str(start)) else []


def is_seconds(value: object) -> bool:
    """Whether it is a time of a video: a finite number from 0, below a hundred years."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and 0 <= value < 3.2e9


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_word(value: object) -> bool:
    return isinstance(value, str) and _WORD.fullmatch(value) is not None


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and len(value) <= MAX_LIST and all(isinstance(item, str) for item in value)


def _is_short_list(value: object) -> bool:
    return isinstance(value, list) and len(value) <= MAX_LIST


_FIELDS = (
    ("id", is_item_id, "a name of letters, digits and ._+-"),
    ("video", lambda value: isinstance(value, str) and is_name(value), "a video id: 1 to 64 of a-z 0-9 . _ -"),
    ("question", _is_text, "text"),
    ("kind", lambda value: isinstance(value, str) and value in KINDS, "a kind: " + ", ".join(KINDS)),
    ("options", _are_texts, "a list of texts"),
    ("also", _is_short_list, "a list of answers"),
    ("spans", _is_short_list, "a list of [start, end]"),
    ("as_of", is_seconds, "a time in seconds from 0"),
    ("domain", _is_word, "the name of a domain"),
    ("content", _is_word, "a word or two"),
    ("template", _is_word, "the id of a template"),
    ("split", lambda value: isinstance(value, str) and value in SPLITS, "a split: " + ", ".join(SPLITS)),
    ("labels", lambda value: isinstance(value, Mapping), "a JSON object"),
)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."

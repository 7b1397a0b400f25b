"""Closed answers: how they are compared, and what is sent of a question and an item."""

from __future__ import annotations

from collections.abc import Sequence

from tool_induction.language.evaluation import Json
from world_api.chat.prompts import DATA, data_line
from world_api.core.canonical import json_line, parse_json
from world_api.core.faults import ToolFault
from world_api.core.printable import printable

_QUESTION_BYTES, _ITEM_BYTES = 400, 1_200
_HIDDEN = ("evidence", "parent", "center_time")
_AROUND = " \t\r\n.,;:!?'\"`*()[]"


def plain_answer(answer: str) -> str:
    """An answer without what surrounds it, in lower case: what two answers are compared by."""
    return " ".join(answer.strip(_AROUND).casefold().split())


def chosen(said: str, answers: Sequence[str], *, judge: str) -> str:
    """The one of the closed answers that was given.

    Raises:
        ToolFault: ``bad_judgement``: it is none of them.
    """
    word = plain_answer(said)
    for answer in answers:
        if plain_answer(answer) == word:
            return answer
    raise ToolFault(
        "bad_judgement",
        # What it said instead is left out: whoever wrote the item may have put it into its mouth.
        f"{judge} gave none of the answers: {', '.join(answers)}",
        hint="use another judging model, or answers that are harder to miss",
    )


def asked_question(question: str) -> str:
    """The question as it is sent: cut to what its price allows."""
    return _cut(question, _QUESTION_BYTES)


def asked_item(item: Json) -> str:
    """An item as it is sent: a text as it is, anything else as JSON without bookkeeping; cut to what its price allows."""
    if isinstance(item, dict):
        item = {key: value for key, value in item.items() if key not in _HIDDEN and value is not None}
    return _cut(item if isinstance(item, str) else json_line(item), _ITEM_BYTES)


def judged_material(question: str, item: str) -> str:
    """What a judging model is sent: the question, and the item as data of the video, as one line of JSON.

    No text in it can leave its field or pass for a mark of the conversation. An item that is JSON stands there as such; one
    that takes more bytes than its price allows, marks spelt out, stands there as the beginning of its text.
    """
    text = printable(asked_item(item))
    try:
        value = parse_json(text)
    except ValueError:
        value = text
    if not isinstance(value, dict | list):
        value = text
    if _size(value) > _ITEM_BYTES:
        value = _cut_spelt(text, _ITEM_BYTES)
    return data_line({"question": _cut_spelt(printable(asked_question(question)), _QUESTION_BYTES), DATA: value})


def _size(value: Json) -> int:
    return len(data_line(value).encode())


def _cut_spelt(text: str, most: int) -> str:
    """A text that takes so many bytes as JSON with marks spelt out, or its beginning."""
    if _size(text) <= most + len('""'):
        return text
    kept = 0
    for place, sign in enumerate(text):
        kept += _size(sign) - len('""')
        if kept > most:
            return text[:place] + " ..."
    return text


def _cut(text: str, most: int) -> str:
    whole = text.encode("utf-8", errors="replace")
    return text if len(whole) <= most else whole[:most].decode("utf-8", errors="ignore") + " ..."

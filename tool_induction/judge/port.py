"""The port of the judge step: the protocol, fakes and caches of it, and what is sent of a question and an item."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from threading import Lock
from typing import Protocol

from tool_induction.language.evaluation import Json
from world_api.chat.prompts import DATA, data_line
from world_api.core.canonical import canonical_json, json_line, parse_json
from world_api.core.cost import Cost
from world_api.core.faults import ToolFault
from world_api.core.identifiers import printable

#: the most that one judgement of one item costs; what is sent is cut so that it holds
JUDGEMENT = Cost(model_calls=1, tokens=1_200, seconds=1.0)


class Judge(Protocol):
    """Answers a closed question about each of some items. The same question gets the same answer."""

    name: str  #: who judges; a remembered answer is that of this name only

    def answer(self, question: str, answers: Sequence[str], items: Sequence[str]) -> Sequence[str]:
        """One of the answers for each item, in order.

        Raises:
            ToolFault: ``bad_judgement``: it gave none of the answers.
            BackendFault: what the model behind it names.
        """
        ...


class RememberedJudge:
    """A judge that is asked once about the same; threads may share it."""

    def __init__(self, judge: Judge) -> None:
        self.name = judge.name
        self._judge = judge
        self._known: dict[str, str] = {}
        self._lock = Lock()

    def answer(self, question: str, answers: Sequence[str], items: Sequence[str]) -> Sequence[str]:
        """The remembered answers, and new ones where there are none.

        Raises:
            ToolFault, BackendFault: what the judge names.
        """
        with self._lock:
            return [self._one(question, answers, item) for item in items]

    def _one(self, question: str, answers: Sequence[str], item: str) -> str:
        key = canonical_json([question, list(answers), item])
        if key not in self._known:
            [self._known[key]] = self._judge.answer(question, answers, [item])
        return self._known[key]


_QUESTION_BYTES, _ITEM_BYTES = 400, 1_200
_HIDDEN = ("evidence", "parent", "center_time")
_AROUND = " \t\r\n.,;:!?'\"`*()[]"


def plain_answer(answer: str) -> str:
    """Normalise an answer for comparison: no surrounding marks, lower case."""
    return " ".join(answer.strip(_AROUND).casefold().split())


def chosen(said: str, answers: Sequence[str], *, judge: str) -> str:
    """Return the closed answer that a reply gives.

    Raises:
        ToolFault: ``bad_judgement``: it is none of them.
    """
    word = plain_answer(said)
    for answer in answers:
        if plain_answer(answer) == word:
            return answer
    raise ToolFault(
        "bad_judgement",
        # The reply is left out: the text of the item may have dictated it.
        f"{judge} gave none of the answers: {', '.join(answers)}",
        hint="use another judging model, or answers that are harder to miss",
    )


def question_text(question: str) -> str:
    """The question as it is sent: cut to what its price allows."""
    return _cut(question, _QUESTION_BYTES)


def item_text(item: Json) -> str:
    """An item as it is sent: a text as it is, anything else as JSON without bookkeeping; cut to what its price allows."""
    if isinstance(item, dict):
        item = {key: value for key, value in item.items() if key not in _HIDDEN and value is not None}
    return _cut(item if isinstance(item, str) else json_line(item), _ITEM_BYTES)


def judged_material(question: str, item: str) -> str:
    """The user message for a judging model: the question, and the item as data of the video, as one line of JSON.

    No text in it can leave its field or pass for a mark of the conversation. An item that is JSON is sent as such; one that
    takes more bytes than its price allows is sent as the beginning of its text.
    """
    text = printable(item_text(item))
    try:
        value = parse_json(text)
    except ValueError:
        value = text
    if not isinstance(value, dict | list):
        value = text
    if _size(value) > _ITEM_BYTES:
        value = _cut_spelt(text, _ITEM_BYTES)
    return data_line({"question": _cut_spelt(printable(question_text(question)), _QUESTION_BYTES), DATA: value})


def _size(value: Json) -> int:
    return len(data_line(value).encode())


def _cut_spelt(text: str, most: int) -> str:
    """A text of at most ``most`` bytes as JSON with escaped marks, or its beginning."""
    if _size(text) <= most + len('""'):
        return text
    kept = bisect_right(range(len(text)), most, key=lambda place: _size(text[: place + 1]) - len('""'))
    return text[:kept] + " ..."


def _cut(text: str, most: int) -> str:
    whole = text.encode("utf-8", errors="replace")
    return text if len(whole) <= most else whole[:most].decode("utf-8", errors="ignore") + " ..."

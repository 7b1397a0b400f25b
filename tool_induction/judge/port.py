"""The port of the judge step: the protocol, a judge that remembers answers, and the text that is sent for an item."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from threading import Lock
from typing import Protocol

from tool_induction.language.evaluation import Json
from world_api.chat.messages import DATA, data_line
from world_api.core.canonical import canonical_json, json_line, parse_json
from world_api.core.cost import Cost
from world_api.core.faults import ToolFault
from world_api.core.identifiers import printable

#: maximum cost of judging one item; question and item are cut so that it is not exceeded
JUDGEMENT = Cost(model_calls=1, tokens=1_200, seconds=1.0)


class Judge(Protocol):
    """Answers a closed question about each of several items. The same question and item always get the same answer."""

    name: str  #: identifies the judge; remembered answers count for this name only

    def answer(self, question: str, answers: Sequence[str], items: Sequence[str]) -> Sequence[str]:
        """Return one of ``answers`` for each item, in order.

        Raises:
            ToolFault: ``bad_judgement``: a reply is none of the answers.
            BackendFault: the faults of the model behind the judge.
        """


class RememberedJudge:
    """A judge that asks another one only once about the same question and item. Thread-safe."""

    def __init__(self, judge: Judge) -> None:
        self.name = judge.name
        self._judge = judge
        self._known: dict[str, str] = {}
        self._lock = Lock()

    def answer(self, question: str, answers: Sequence[str], items: Sequence[str]) -> Sequence[str]:
        """Return one of ``answers`` for each item: the remembered one, or a new one.

        Raises:
            ToolFault, BackendFault: the faults of the other judge.
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
    """Return an answer normalised for comparison: lower case, single spaces, no punctuation around it."""
    return " ".join(answer.strip(_AROUND).casefold().split())


def chosen(said: str, answers: Sequence[str], *, judge: str) -> str:
    """Return the one of ``answers`` that equals the reply ``said`` after normalisation; ``judge`` is for messages.

    Raises:
        ToolFault: ``bad_judgement``: the reply is none of them.
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
    """Return the question as it is sent, cut to 400 bytes, the length that the price is computed for."""
    return _cut(question, _QUESTION_BYTES)


def item_text(item: Json) -> str:
    """Return an item as it is sent to the judge: a string unchanged, other values as one line of JSON.

    Fields without content (None) and ``evidence``, ``parent`` and ``center_time`` are removed from a record. The text
    is cut to 1200 bytes, the length that the price is computed for.
    """
    if isinstance(item, dict):
        item = {key: value for key, value in item.items() if key not in _HIDDEN and value is not None}
    return _cut(item if isinstance(item, str) else json_line(item), _ITEM_BYTES)


def judged_material(question: str, item: str) -> str:
    """Return the user message for a judging model: one line of JSON with the question and the item as video data.

    Text in the item is escaped, so that it cannot end its field or look like a message of the conversation. An item
    that is JSON is sent as JSON; if that takes more than 1200 bytes, the beginning of its text is sent.
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
    """Return a text if it takes at most ``most`` bytes as escaped JSON, else the longest beginning that does, followed by ``...``."""
    if _size(text) <= most + len('""'):
        return text
    kept = bisect_right(range(len(text)), most, key=lambda place: _size(text[: place + 1]) - len('""'))
    return text[:kept] + " ..."


def _cut(text: str, most: int) -> str:
    whole = text.encode("utf-8", errors="replace")
    return text if len(whole) <= most else whole[:most].decode("utf-8", errors="ignore") + " ..."

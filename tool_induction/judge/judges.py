"""The judge step: a closed question about each item, answered by a chat model or from a file; its price and its texts.

A chat model gets one short request per item, at temperature 0 if it accepts one. Judgements in a file are not requested
again, so a run can be repeated without a model.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

from pydantic import TypeAdapter, ValidationError

from tool_induction.language.evaluation import Json
from world_api.chat.messages import (
    DATA,
    OptionalSettings,
    PromptFiles,
    data_line,
    first_message,
    from_cache,
    text_of,
    usage_of,
)
from world_api.chat.recording import append_line, check_schema, read_lines
from world_api.core.canonical import canonical_json, content_hash, json_line, parse_json
from world_api.core.cost import Cost, Spent, charge, ledger
from world_api.core.faults import EpisodeFault, ToolFault
from world_api.core.identifiers import printable
from world_api.core.ports import ChatModel, Clock

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


#: tokens of a reply; an answer has at most forty characters
_REPLY_TOKENS = 40


class ChatJudge:
    """Judges with a chat model. ``name`` is the model's name and the beginning of the prompt's hash.

    Each request is charged (see ``world_api.core.cost``) with the tokens that the server counted, or else an estimate.
    """

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self._prompts = PromptFiles("tool_induction.judge")
        self._settings = OptionalSettings(temperature=0, max_tokens=_REPLY_TOKENS)
        self.name = f"{model.name}/{self._prompts.hash[:12]}"

    def answer(self, question: str, answers: Sequence[str], items: Sequence[str]) -> Sequence[str]:
        """Return one of ``answers`` for each item.

        Raises:
            ToolFault: ``bad_judgement``; ``judge_over_price``: an item took more tokens than its price.
            BackendFault: the faults of the model.
        """
        messages = (first_message(self._reply(question, answers, item)) or {} for item in items)
        return [chosen(text_of(message), answers, judge=self.name) for message in messages]

    def request(self, question: str, answers: Sequence[str], item: str) -> dict[str, Any]:
        """Return the request about one item, in Chat Completions form."""
        return {**self._plain_request(question, answers, item), **self._settings.settings}

    def _plain_request(self, question: str, answers: Sequence[str], item: str) -> dict[str, Any]:
        system = self._prompts.render("judge", answers=list(answers))
        return {
            "model": self._model.name,
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": judged_material(question, item)},
            ],
        }

    def _reply(self, question: str, answers: Sequence[str], item: str) -> dict[str, Any]:
        request, reply = self._settings.complete(self._model, self._plain_request(question, answers, item))
        usage = usage_of(request, reply)
        charge(
            Spent(
                purpose="judge",
                model=self._model.name,
                request=content_hash(request),
                prompt=usage.prompt,
                completion=usage.completion,
                cached=usage.cached,
                estimated=usage.estimated,
                physical=not from_cache(reply),
            )
        )
        if usage.total > JUDGEMENT.tokens and not usage.estimated:
            raise ToolFault(
                "judge_over_price",
                f"{self._model.name} took {usage.total} tokens for one item; the price is {JUDGEMENT.tokens} at most",
                hint="use a judging model that answers at once, without reasoning",
            )
        return reply


SCHEMA_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class _Judgement:
    """A line of a file of judgements: the answer about one item, and what it cost (``spent`` is empty if no model was called)."""

    judge: str
    question: str
    answers: tuple[str, ...]
    item: str
    answer: str
    spent: tuple[Spent, ...] = ()


class FileJudge:
    """Answers from a file of JSON lines. Missing ones are requested from another judge, if any, and added to it.

    An answer from the file is charged with its original cost, as a request that was not sent again.
    """

    def __init__(self, file: Path, judge: Judge | None = None) -> None:
        self._file = file
        self._judge = judge
        self._known: dict[tuple[str, tuple[str, ...], str], dict[str, _Judgement]] = defaultdict(dict)
        for record in read_lines(file, hint="give --judge-record a file of judgements") if file.exists() else ():
            check_schema(record, SCHEMA_VERSION, file)
            try:
                self._keep(TypeAdapter(_Judgement).validate_python(record))
            except ValidationError:
                raise EpisodeFault(
                    "recording_damaged", f"a judgement in {file.name} is not whole", hint="restore it from a copy"
                ) from None
        names = dict.fromkeys(name for judgements in self._known.values() for name in judgements)
        self.name = judge.name if judge is not None else "+".join(names) or "recorded"

    def answer(self, question: str, answers: Sequence[str], items: Sequence[str]) -> Sequence[str]:
        """Return one of ``answers`` for each item: the recorded one, or a new one.

        Raises:
            ToolFault: ``no_judgement``: an answer is not on file and there is no other judge;
                ``several_judges``: the answers on file differ and no judge is named; ``bad_judgement``.
            BackendFault: the faults of the other judge.
        """
        given: list[str] = []
        for item in items:
            known = self._of(self._known[question, tuple(answers), item])
            for charged in known.spent if known is not None else ():
                charge(replace(charged, physical=False))
            answer = known.answer if known is not None else self._new(question, answers, item)
            given.append(chosen(answer, answers, judge=self.name))
        return given

    def _keep(self, judgement: _Judgement) -> None:
        self._known[judgement.question, judgement.answers, judgement.item][judgement.judge] = judgement

    def _of(self, given: Mapping[str, _Judgement]) -> _Judgement | None:
        """Return the named judge's judgement of those ``given`` (by judge); without a name the first, or raise if they differ."""
        if self._judge is not None:
            return given.get(self.name)
        if len({judged.answer for judged in given.values()}) > 1:
            raise ToolFault(
                "several_judges",
                f"{self._file.name} holds different answers of {', '.join(given)} about one item",
                hint="say with --judge-model whose answers are meant",
            )
        return next(iter(given.values()), None)

    def _new(self, question: str, answers: Sequence[str], item: str) -> str:
        if self._judge is None:
            raise ToolFault(
                "no_judgement",
                f"{self._file.name} holds no answer of {self.name} to {question[:60]!r} about this item",
                hint="give a judging model with --judge-model, or the file of the run that is to be repeated",
            )
        try:
            with ledger() as book:
                [answer] = self._judge.answer(question, answers, [item])
        finally:
            for charged in book.items:  # also the cost of a request that gave no answer
                charge(charged)
        kept = _Judgement(
            judge=self.name, question=question, answers=tuple(answers), item=item, answer=answer, spent=book.items
        )
        self._keep(kept)
        record = {"schema_version": SCHEMA_VERSION, **vars(kept)} | {"answers": list(answers)}
        append_line(self._file, record | {"spent": [charged.record() for charged in kept.spent]})
        return answer


def judge_from_options(
    allowed: bool, model: str | None, record: Path | None, *, clock: Clock, environment: Mapping[str, str]
) -> Judge:
    """Return the judge that the options describe: a model, a file of judgements, or both; at least one must be named.

    Raises:
        ToolFault: ``judge_not_allowed``: a judge is named but judging is not switched on.
        BackendFault: ``endpoint_not_configured`` and other faults of the endpoint's configuration.
        EpisodeFault: ``recording_damaged``, ``recording_schema``.
    """
    from world_api.chat.models import endpoint_model

    if not allowed:
        raise ToolFault("judge_not_allowed", "a judge is named and not allowed", hint="add --allow-judge")
    judge = None if model is None else ChatJudge(endpoint_model(model, clock=clock, environment=environment))
    if record is not None:
        return FileJudge(record, judge)
    if judge is None:
        raise ValueError("neither a model nor a file of judgements is named")
    return judge

"""The final answer of an episode: the ``submit_answer`` tool of a question, and answers written as text instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.answer_parsing import read_prose
from controller.questions import (
    MAX_ANSWER_CHARACTERS,
    Describe,
    InvalidAnswer,
    Question,
    schema_of,
    span_of,
    span_schema,
    text_of,
    value_of,
)
from tool_induction.library_tools import ToolDeclaration
from world_api.chat.messages import json_objects
from world_api.core.canonical import parse_json
from world_api.core.spans import TimeSpan

SUBMIT_ANSWER = "submit_answer"
MAX_SPANS = 100
_FIELDS = frozenset({"answer", "spans"})


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An answer in the type of its question, its text, and the intervals it cites.

    ``value`` is None if the text could not be parsed as that type.
    """

    value: Any
    text: str
    spans: tuple[TimeSpan, ...] = ()


def submit_answer_tool(question: Question, words: Describe) -> ToolDeclaration:
    """The declaration of ``submit_answer`` for a question."""
    spans = {"type": "array", "items": span_schema(words), "maxItems": MAX_SPANS, "description": words("spans")}
    return ToolDeclaration(
        name=SUBMIT_ANSWER,
        description=words("tool"),
        parameters={
            "type": "object",
            "properties": {"answer": schema_of(question, words), "spans": spans},
            "required": ["answer", "spans"],
            "additionalProperties": False,
        },
    )


def parse_answer(question: Question, arguments: Mapping[str, Any]) -> Answer | str:
    """The answer, or what is wrong with the arguments."""
    faults = [f"{name}: missing" for name in sorted(_FIELDS - arguments.keys())]
    faults += [f"{name[:40]}: not a parameter" for name in arguments.keys() - _FIELDS]
    value: Any = None
    spans: list[TimeSpan] = []
    try:
        if "answer" in arguments:
            value = value_of(question, arguments["answer"])
    except InvalidAnswer as why:
        faults.append(f"answer: {why}")
    try:
        if "spans" in arguments:
            spans = _all_spans(arguments["spans"])
    except InvalidAnswer as why:
        faults.append(f"spans: {why}")
    return "; ".join(sorted(faults)[:5]) if faults else answered(question, value, tuple(spans))


def usable_answer(question: Question, arguments: Mapping[str, Any]) -> Answer | None:
    """Read what is valid of malformed arguments: the value and the valid spans.

    If the value is not of its type, its text is kept without a value.
    """
    given, spans = arguments.get("answer"), arguments.get("spans")
    good = tuple(_good_spans(spans[:MAX_SPANS])) if isinstance(spans, list) else ()
    if isinstance(given, str):
        return read_answer(question, given, good)
    try:
        return answered(question, value_of(question, given), good)
    except InvalidAnswer:
        return None


def read_answer(question: Question, words: str, spans: tuple[TimeSpan, ...] = ()) -> Answer | None:
    """Read an answer from text; its value is None if the text cannot be parsed. None of an empty text."""
    # Escapes can spell characters that are not Unicode text.
    text = words.encode("utf-8", errors="replace").decode().strip()[:MAX_ANSWER_CHARACTERS]
    if not text:
        return None
    value = text if question.kind == "open" else read_prose(question, text)
    return Answer(value=None, text=text, spans=spans) if value is None else answered(question, value, spans)


def answer_in_text(question: Question, text: str) -> Answer | None:
    """Read the answer from a call of ``submit_answer`` that the server left unparsed in the text."""
    if SUBMIT_ANSWER not in text:
        return None
    for _, written in json_objects(text):
        inner = written.get("function")
        call = inner if isinstance(inner, dict) else written
        arguments = next((call[key] for key in ("arguments", "parameters") if key in call), call)
        try:
            arguments = parse_json(arguments) if isinstance(arguments, str) else arguments
        except ValueError:
            continue
        if call.get("name", SUBMIT_ANSWER) == SUBMIT_ANSWER and isinstance(arguments, dict):
            answer = usable_answer(question, arguments)
            if answer is not None:
                return answer
    return None


def answered(question: Question, value: Any, spans: tuple[TimeSpan, ...]) -> Answer:
    """An answer whose value is of its type; an interval cites itself."""
    if question.kind == "interval":
        own = span_of(value)
        spans = (own, *(span for span in spans if span != own))
    return Answer(value=value, text=text_of(question, value), spans=spans)


def _all_spans(given: Any) -> list[TimeSpan]:
    if not isinstance(given, list) or len(given) > MAX_SPANS:
        raise InvalidAnswer(f"give a list of at most {MAX_SPANS}")
    spans = []
    for place, item in enumerate(given):
        try:
            spans.append(span_of(item))
        except InvalidAnswer as why:
            raise InvalidAnswer(f"number {place}: {why}") from None
    return spans


def _good_spans(given: list[Any]) -> list[TimeSpan]:
    good = []
    for item in given:
        try:
            good.append(span_of(item))
        except InvalidAnswer:
            continue
    return good

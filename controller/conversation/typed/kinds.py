"""What an answer of each kind is: the schema that asks for it, the check that takes it, the text that shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

from controller.questions import Question
from world_api.core.spans import TimeSpan, round_time

MAX_ANSWER_CHARACTERS = 20_000
#: No video is longer (some thirty years), and no number that is counted in one is larger.
_MOST = 1_000_000_000

Words = Callable[[str], str]  #: the description of a part of an answer, by its name


class Mistyped(ValueError):
    """A value is no answer to the question; the text says why."""


def schema_of(question: Question, words: Words) -> dict[str, Any]:
    """The JSON Schema of the answer."""
    told = {"description": words(question.kind)}
    letter = {"type": "string", "enum": list(question.letters)}
    match question.kind:
        case "choice":
            return {**letter, **told}
        case "interval":
            return {**span_schema(words), **told}
        case "count":
            return {"type": "integer", "minimum": 0, "maximum": _MOST, **told}
        case "order":
            number = len(question.letters)
            return {
                "type": "array",
                "items": letter,
                "minItems": number,
                "maxItems": number,
                "uniqueItems": True,
                **told,
            }
        case _:
            return {"type": "string", "minLength": 1, "maxLength": MAX_ANSWER_CHARACTERS, **told}


def span_schema(words: Words) -> dict[str, Any]:
    """The JSON Schema of a stretch of the video."""
    time = {"type": "number", "minimum": 0, "maximum": _MOST}
    names = ("start_time", "end_time")
    return {
        "type": "object",
        "properties": {name: {**time, "description": words(name)} for name in names},
        "required": list(names),
        "additionalProperties": False,
    }


def value_of(question: Question, given: Any) -> Any:
    """The answer as the question's type has it.

    Raises:
        Mistyped: it is none, and why.
    """
    match question.kind:
        case "choice":
            return _letter(question, given)
        case "interval":
            span = span_of(given)
            return {"start_time": round_time(span.start), "end_time": round_time(span.end)}
        case "count":
            return _count(given)
        case "order":
            return _order(question, given)
        case _:
            return _text(given)


def span_of(given: Any) -> TimeSpan:
    """A stretch of the video.

    Raises:
        Mistyped: it is none, and why.
    """
    if not isinstance(given, dict) or given.keys() != {"start_time", "end_time"}:
        raise Mistyped("give an object of start_time and end_time, and nothing else")
    start, end = given["start_time"], given["end_time"]
    if not (_is_number(start) and _is_number(end) and 0 <= start <= _MOST and 0 <= end <= _MOST):
        raise Mistyped("start_time and end_time are seconds from the start of the video, as numbers")
    if end < start:
        raise Mistyped("end_time lies before start_time")
    return TimeSpan(start=float(start), end=float(end))


def text_of(question: Question, value: Any) -> str:
    """The answer for people; of a choice with what the option says."""
    match question.kind:
        case "choice":
            return f"{value}. {question.options[question.letters.index(value)]}"
        case "interval":
            return f"{_seconds(value['start_time'])} - {_seconds(value['end_time'])} s"
        case "order":
            return ", ".join(value)
        case _:
            return str(value)


def _seconds(time: float) -> str:
    return f"{time:.3f}".rstrip("0").rstrip(".")


def _letter(question: Question, given: Any) -> str:
    if not isinstance(given, str) or given not in question.letters:
        raise Mistyped(f"give one letter of {', '.join(question.letters)}, and nothing else")
    return given


def _count(given: Any) -> int:
    # 3.0 is a whole number in JSON, and valid by the schema that was sent.
    if not _is_number(given) or given != int(given) or not 0 <= given <= _MOST:
        raise Mistyped("give a whole number from 0, as a number and not as text")
    return int(given)


def _order(question: Question, given: Any) -> list[str]:
    letters = question.letters
    if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
        raise Mistyped("give a list of letters")
    unknown = [item for item in given if item not in letters]
    twice = [letter for letter in letters if given.count(letter) > 1]
    missing = [letter for letter in letters if letter not in given]
    if unknown or twice or missing:
        named = {"there is no": unknown[:3], "more than once": twice, "missing": missing}
        faults = "; ".join(f"{what} {', '.join(item[:20] for item in items)}" for what, items in named.items() if items)
        raise Mistyped(f"give each of {', '.join(letters)} once ({faults})")
    return list(given)


def _text(given: Any) -> str:
    if not isinstance(given, str) or not given.strip():
        raise Mistyped("give the answer as text; it must not be empty")
    if len(given) > MAX_ANSWER_CHARACTERS:
        raise Mistyped(f"give at most {MAX_ANSWER_CHARACTERS} characters")
    return given.strip()


def _is_number(value: Any) -> TypeGuard[float]:
    """A JSON number; what is read from a reply is finite."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")

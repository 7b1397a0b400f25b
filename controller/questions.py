"""Questions, and the five types of their answers.

The type of a question decides the JSON Schema of the answer, the check that accepts it, and its text for readers: free
text (``open``), the letter of an option (``choice``), a time span (``interval``), a number (``count``) or an order of
options (``order``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from world_api.core.canonical import closed_object, is_finite_number
from world_api.core.faults import EpisodeFault
from world_api.core.spans import TimeSpan, round_time

Kind = Literal["open", "choice", "interval", "count", "order"]
KINDS: tuple[Kind, ...] = get_args(Kind)

MAX_QUESTION_CHARACTERS = 20_000
MAX_OPTIONS = 26  #: as many as there are letters
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_WITH_OPTIONS: frozenset[Kind] = frozenset({"choice", "order"})


@dataclass(frozen=True, kw_only=True)
class Question:
    """A validated question: its text, the type of its answer, and the moment as of which it is asked.

    ``options`` are the choices of a ``choice`` and the things to be ordered of an ``order``; the model sees them under
    the letters A, B, C ... ``as_of`` (seconds) is the moment at which it is asked: nothing later may be seen. Values by
    kind: ``open`` text; ``choice`` a letter; ``interval`` ``{"start_time", "end_time"}`` in seconds; ``count`` an
    integer from 0; ``order`` all letters, first to last. Raises EpisodeFault: ``bad_question``.
    """

    text: str
    kind: Kind = "open"
    options: tuple[str, ...] = ()
    as_of: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", _clean(self.text))
        object.__setattr__(self, "options", tuple(map(_clean, self.options)))
        if self.as_of is not None:  # 30 and 30.0 are the same moment, and must read the same in a prompt
            object.__setattr__(self, "as_of", float(self.as_of))
        reason = self._fault()
        if reason is not None:
            raise EpisodeFault("bad_question", reason[0], hint=reason[1])

    @property
    def letters(self) -> tuple[str, ...]:
        """The letters of the options: A, B, C ..."""
        return tuple(_LETTERS[: len(self.options)])

    def record(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {**asdict(self), "options": list(self.options)}

    def _fault(self) -> tuple[str, str] | None:
        if not self.text or len(self.text) > MAX_QUESTION_CHARACTERS:
            what = "the question is empty" if not self.text else f"the question has {len(self.text)} characters"
            return what, f"ask in 1 to {MAX_QUESTION_CHARACTERS} characters"
        if self.kind not in KINDS:
            return f"there is no kind of question {str(self.kind)[:40]!r}", "one of: " + ", ".join(KINDS)
        if self.kind in _WITH_OPTIONS and not 2 <= len(self.options) <= MAX_OPTIONS:
            return f"a question of kind {self.kind} has {len(self.options)} options", f"give 2 to {MAX_OPTIONS}"
        if self.kind not in _WITH_OPTIONS and self.options:
            return f"a question of kind {self.kind} has options", "options belong to the kinds choice and order"
        if not all(self.options) or len(set(self.options)) < len(self.options):
            return "an option is empty or there twice", "give each option once"
        if self.as_of is not None and not 0 <= self.as_of < float("inf"):
            return f"the question is asked as of {self.as_of}", "give seconds from the start of the video"
        return None


def _clean(text: str) -> str:
    """Return the text without surrounding spaces; characters that are not valid Unicode become question marks."""
    return text.encode("utf-8", errors="replace").decode().strip()


MAX_ANSWER_CHARACTERS = 20_000
#: The largest time in seconds (about thirty years) and the largest count of an answer.
_MOST = 1_000_000_000

Describe = Callable[[str], str]  #: the description of a part of an answer, by its name


class InvalidAnswer(ValueError):
    """A value is not a valid answer to the question; the message contains the reason."""


def schema_of(question: Question, words: Describe) -> dict[str, Any]:
    """Return the JSON Schema of the answer; ``words`` returns the description of a part by its name."""
    description = {"description": words(question.kind)}
    letter = {"type": "string", "enum": list(question.letters)}
    match question.kind:
        case "choice":
            return {**letter, **description}
        case "interval":
            return {**span_schema(words), **description}
        case "count":
            return {"type": "integer", "minimum": 0, "maximum": _MOST, **description}
        case "order":
            number = len(question.letters)
            return {
                "type": "array",
                "items": letter,
                "minItems": number,
                "maxItems": number,
                "uniqueItems": True,
                **description,
            }
        case _:
            return {"type": "string", "minLength": 1, "maxLength": MAX_ANSWER_CHARACTERS, **description}


def span_schema(words: Describe) -> dict[str, Any]:
    """Return the JSON Schema of an interval of the video."""
    time = {"type": "number", "minimum": 0, "maximum": _MOST}
    return closed_object({name: {**time, "description": words(name)} for name in ("start_time", "end_time")})


def value_of(question: Question, given: Any) -> Any:
    """Return the answer in the form of the question's type. Raises InvalidAnswer, with the reason, if it is invalid."""
    letters = question.letters
    match question.kind:
        case "choice":
            if not isinstance(given, str) or given not in letters:
                raise InvalidAnswer(f"give one letter of {', '.join(letters)}, and nothing else")
            return given
        case "interval":
            span = span_of(given)
            return {"start_time": round_time(span.start), "end_time": round_time(span.end)}
        case "count":
            # 3.0 is a whole number in JSON, and valid by the schema that was sent.
            if not is_finite_number(given) or given != int(given) or not 0 <= given <= _MOST:
                raise InvalidAnswer("give a whole number from 0, as a number and not as text")
            return int(given)
        case "order":
            return _order(letters, given)
        case _:
            if not isinstance(given, str) or not given.strip():
                raise InvalidAnswer("give the answer as text; it must not be empty")
            if len(given) > MAX_ANSWER_CHARACTERS:
                raise InvalidAnswer(f"give at most {MAX_ANSWER_CHARACTERS} characters")
            return given.strip()


def span_of(given: Any) -> TimeSpan:
    """Parse an interval of the video. Raises InvalidAnswer, with the reason, if it is invalid."""
    if not isinstance(given, dict) or given.keys() != {"start_time", "end_time"}:
        raise InvalidAnswer("give an object of start_time and end_time, and nothing else")
    start, end = given["start_time"], given["end_time"]
    if not (is_finite_number(start) and is_finite_number(end) and 0 <= start <= _MOST and 0 <= end <= _MOST):
        raise InvalidAnswer("start_time and end_time are seconds from the start of the video, as numbers")
    if end < start:
        raise InvalidAnswer("end_time lies before start_time")
    return TimeSpan(start=float(start), end=float(end))


def text_of(question: Question, value: Any) -> str:
    """Return the answer as text for readers; a choice includes the text of its option."""
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


def _order(letters: tuple[str, ...], given: Any) -> list[str]:
    if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
        raise InvalidAnswer("give a list of letters")
    unknown = [item for item in given if item not in letters]
    twice = [letter for letter in letters if given.count(letter) > 1]
    missing = [letter for letter in letters if letter not in given]
    if unknown or twice or missing:
        named = {"there is no": unknown[:3], "more than once": twice, "missing": missing}
        faults = "; ".join(f"{what} {', '.join(item[:20] for item in items)}" for what, items in named.items() if items)
        raise InvalidAnswer(f"give each of {', '.join(letters)} once ({faults})")
    return list(given)

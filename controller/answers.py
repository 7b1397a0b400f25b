"""Questions with five types of answers, the tool ``submit_answer``, and answers written as English or Chinese text.

The type of a question decides the JSON Schema of the answer, the check that accepts it, and its text for readers: free
text (``open``), the letter of an option (``choice``), a time span (``interval``), a number (``count``) or an order of
options (``order``). A question that ``may_abstain`` has two more answers: what it asks about is not in the video
(``not_there``), and the video does not determine it (``cannot_be_told``).

A text is accepted only if it consists of an answer and nothing else::

    [lead: "FinalAnswer:", "The answer is", "答案是"] answer [words that cannot change it]

or if its last line is a lead and the answer. Every other text gives None, and the model is asked again. Searching for a
letter or number anywhere in the text would also accept answers that are denied, doubted or only mentioned.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

from controller.options import KINDS, Kind
from tool_induction.library_tools import ToolDeclaration
from world_api.chat.messages import json_objects
from world_api.core.canonical import closed_object, is_finite_number, json_object, parse_json
from world_api.core.faults import EpisodeFault
from world_api.core.spans import TimeSpan, round_time

# --- questions ------------------------------------------------------------------------------------------------------

MAX_QUESTION_CHARACTERS = 20_000
MAX_OPTIONS = 26  #: as many as there are letters
#: The two answers of a question that ``may_abstain``, of any kind.
NOT_THERE, UNDETERMINABLE = "not_there", "cannot_be_told"
ABSTENTIONS = (NOT_THERE, UNDETERMINABLE)
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_WITH_OPTIONS: frozenset[Kind] = frozenset({"choice", "order"})


@dataclass(frozen=True, kw_only=True)
class Question:
    """A validated question: its text, the type of its answer, and the moment as of which it is asked.

    ``options`` are the choices of a ``choice`` and the things to be ordered of an ``order``; the model sees them under
    the letters A, B, C ... ``as_of`` (seconds) is the moment at which it is asked: nothing later may be seen. Values by
    kind: ``open`` text; ``choice`` a letter; ``interval`` ``{"start_time", "end_time"}`` in seconds; ``count`` an
    integer from 0; ``order`` all letters, first to last. If it ``may_abstain``, the value may also be one of
    ``ABSTENTIONS``. Raises EpisodeFault: ``bad_question``.
    """

    text: str
    kind: Kind = "open"
    options: tuple[str, ...] = ()
    as_of: float | None = None
    may_abstain: bool = False

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

    def _fault(self) -> tuple[str, str] | None:
        if not self.text or len(self.text) > MAX_QUESTION_CHARACTERS:
            what = "the question is empty" if not self.text else f"the question has {len(self.text)} characters"
            return what, f"ask in 1 to {MAX_QUESTION_CHARACTERS} characters"
        if self.kind not in KINDS:
            return f"there is no kind of question {str(self.kind)[:40]!r}", "one of: " + ", ".join(KINDS)
        if self.kind in _WITH_OPTIONS and not 2 <= len(self.options) <= MAX_OPTIONS:
            count = f"{len(self.options)} option{'s' * (len(self.options) != 1)}"
            return f"a question of kind {self.kind} has {count}", f"give 2 to {MAX_OPTIONS}"
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
    """Return the JSON Schema of the answer; ``words`` returns a description by the name of a type or field."""
    if question.may_abstain:
        abstention = {"type": "string", "enum": list(ABSTENTIONS), "description": words("abstention")}
        return {"anyOf": [schema_of(replace(question, may_abstain=False), words), abstention]}
    description = {"description": words(question.kind)}
    letter = {"type": "string", "enum": list(question.letters)}
    match question.kind:
        case "choice":
            return {**letter, **description}
        case "interval":
            return {**span_schema(), **description}
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


def span_schema() -> dict[str, Any]:
    """Return the JSON Schema of an interval in seconds."""
    time = {"type": "number", "minimum": 0, "maximum": _MOST}
    return closed_object({"start_time": time, "end_time": time})


def value_of(question: Question, given: Any) -> Any:
    """Return the given answer as a value of the question's type. Raises InvalidAnswer, with the reason, if invalid."""
    letters = question.letters
    if is_abstention(question, given):
        return given
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
            return _checked_order(letters, given)
        case _:
            if not isinstance(given, str) or not given.strip():
                raise InvalidAnswer("give the answer as text; it must not be empty")
            if len(given) > MAX_ANSWER_CHARACTERS:
                raise InvalidAnswer(f"give at most {MAX_ANSWER_CHARACTERS} characters")
            return given.strip()


def is_abstention(question: Question, value: Any) -> bool:
    """Whether a value is ``not_there`` or ``cannot_be_told``, and the question has these answers."""
    return question.may_abstain and isinstance(value, str) and value in ABSTENTIONS


def span_of(given: Any) -> TimeSpan:
    """Parse ``{"start_time": ..., "end_time": ...}`` (seconds, no other fields).

    Raises InvalidAnswer, with the reason, if it is no such object or no interval.
    """
    if not isinstance(given, dict) or given.keys() != {"start_time", "end_time"}:
        raise InvalidAnswer("give an object of start_time and end_time, and nothing else")
    start, end = given["start_time"], given["end_time"]
    if not (is_finite_number(start) and is_finite_number(end) and 0 <= start <= _MOST and 0 <= end <= _MOST):
        raise InvalidAnswer("start_time and end_time are seconds from the start of the video, as numbers")
    if end < start:
        raise InvalidAnswer("end_time is before start_time")
    return TimeSpan(start=float(start), end=float(end))


def text_of(question: Question, value: Any) -> str:
    """Return the answer as text for readers; a choice includes the text of its option."""
    if is_abstention(question, value):
        return str(value).replace("_", " ")
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


def _checked_order(letters: tuple[str, ...], given: Any) -> list[str]:
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


# --- answers in words -----------------------------------------------------------------------------------------------

SUBMIT_ANSWER = "submit_answer"
MAX_SPANS = 100


@dataclass(frozen=True, kw_only=True)
class FinalAnswer:
    """An answer: its value in the type of the question, its text, and the intervals that it cites.

    ``value`` is None if the text could not be parsed as that type.
    """

    value: Any
    text: str
    spans: tuple[TimeSpan, ...] = ()


def submit_answer_tool(question: Question, words: Describe) -> ToolDeclaration:
    """Return the declaration of ``submit_answer``; ``words`` returns a description by name: a field, type or "tool"."""
    spans = {"type": "array", "items": span_schema(), "maxItems": MAX_SPANS, "description": words("spans")}
    parameters = closed_object({"answer": schema_of(question, words), "spans": spans})
    return ToolDeclaration(name=SUBMIT_ANSWER, description=words("tool"), parameters=parameters)


def parse_answer(question: Question, arguments: Mapping[str, Any]) -> FinalAnswer | str:
    """Return the answer in the arguments of ``submit_answer``, or a text that names their faults (at most five)."""
    readers: dict[str, Callable[[Any], Any]] = {"answer": partial(value_of, question), "spans": _all_spans}
    faults = [f"{name}: missing" for name in readers.keys() - arguments.keys()]
    faults += [f"{name[:40]}: not a parameter" for name in arguments.keys() - readers.keys()]
    read: dict[str, Any] = {}
    for name in readers.keys() & arguments.keys():
        try:
            read[name] = readers[name](arguments[name])
        except InvalidAnswer as why:
            faults.append(f"{name}: {why}")
    return "; ".join(sorted(faults)[:5]) if faults else answered(question, read["answer"], tuple(read["spans"]))


def usable_answer(question: Question, arguments: Mapping[str, Any]) -> FinalAnswer | None:
    """Return the answer in malformed arguments, with those of its spans that are valid.

    A text that is not of the question's type is kept, with the value None. The result is None if the answer is an empty
    text, or a value that is neither a text nor valid.
    """
    given, spans = arguments.get("answer"), arguments.get("spans")
    good: list[TimeSpan] = []
    for item in spans[:MAX_SPANS] if isinstance(spans, list) else ():
        with suppress(InvalidAnswer):
            good.append(span_of(item))
    if isinstance(given, str):
        return read_answer(question, given, tuple(good))
    try:
        return answered(question, value_of(question, given), tuple(good))
    except InvalidAnswer:
        return None


def read_answer(question: Question, words: str, spans: tuple[TimeSpan, ...] = ()) -> FinalAnswer | None:
    """Return the answer in the text ``words`` (value None if not parsed), citing ``spans``; None if it is empty."""
    # Escapes can spell characters that are not Unicode text.
    text = words.encode("utf-8", errors="replace").decode().strip()[:MAX_ANSWER_CHARACTERS]
    if not text:
        return None
    value = read_prose(question, text)
    value = text if value is None and question.kind == "open" else value
    return FinalAnswer(value=None, text=text, spans=spans) if value is None else answered(question, value, spans)


def answer_in_text(question: Question, text: str) -> FinalAnswer | None:
    """Return the answer in a call of ``submit_answer`` that the server left unparsed in the text; otherwise None."""
    if SUBMIT_ANSWER not in text:
        return None
    for *_, written in json_objects(text):
        inner = written.get("function")
        call = inner if isinstance(inner, dict) else written
        arguments = next((call[key] for key in ("arguments", "parameters") if key in call), call)
        arguments = json_object(arguments) if isinstance(arguments, str) else arguments
        if call.get("name", SUBMIT_ANSWER) == SUBMIT_ANSWER and isinstance(arguments, dict):
            answer = usable_answer(question, arguments)
            if answer is not None:
                return answer
    return None


def answered(question: Question, value: Any, spans: tuple[TimeSpan, ...]) -> FinalAnswer:
    """Return an answer for a value of the question's type; an interval is also the first span that it cites."""
    if question.kind == "interval" and isinstance(value, Mapping):
        own = span_of(value)
        spans = (own, *(span for span in spans if span != own))
    return FinalAnswer(value=value, text=text_of(question, value), spans=spans)


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


# --- how many -------------------------------------------------------------------------------------------------------

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
NUMBER_WORDS = (
    {word: number for number, word in enumerate(_SMALL)}
    | {word: 10 * number for number, word in enumerate(_TENS, start=2)}
    | {"once": 1, "twice": 2, "thrice": 3}
)
_NUMBER = (
    rf"(?P<number>\d{{1,3}}(?:,\d{{3}}){{1,2}}|\d{{1,9}}|(?:{'|'.join(_TENS)})[\s-](?:{'|'.join(_SMALL[1:10])})|"
    rf"{'|'.join(NUMBER_WORDS)})"
)
_ENGLISH = re.compile(
    r"(?:(?:there (?:is|are|was|were)|it is|it's|in total,?|a total of|altogether,?|exactly|only) ){0,2}"
    rf"{_NUMBER}(?P<counted>(?: [a-z]+){{0,8}})"
)
_TIMES = frozenset({"time", "times"})  #: counts events of any kind
_BESIDE = _TIMES | {"in", "total", "altogether", "the", "video"}
#: Words that change the number, even if the question contains them.
_NEVER = frozenset("not no or and to than least most about dozen hundred thousand million billion half".split())
_PEOPLE = frozenset({"person", "people"})
_HOW_MANY = re.compile(r"\bhow many((?: [a-z]+){1,3})")

_CHINESE_DIGITS = {character: number for number, character in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_CHINESE = re.compile(
    r"(?:一共|总共|合计|共)?(?:有|是|为|出现了?|发生了?)?\s?(?P<number>\d{1,9}|[零〇一二两三四五六七八九十百]{1,7})\s?"
    r"(?P<classifier>[个次位名只辆回件条张台种处场]?)(?P<counted>[\u4e00-\u9fff]{0,6})"
)
_CHINESE_NUMBER = re.compile(
    r"(?:([一二两三四五六七八九])百零?)?(?:([一二三四五六七八九])?(十))?([零〇一二两三四五六七八九])?"
)
_HOW_MANY_CHINESE = re.compile(r"(?:几|多少)([\u4e00-\u9fff]{0,6})")


def parse_count(text: str, question: str) -> int | None:
    """Return the number if a text is only a number, alone or with the noun that the question counts; otherwise None."""
    words = " ".join(text.casefold().replace("’", "'").split())
    match = _ENGLISH.fullmatch(words)
    if match is not None:
        counts = _counts(match["counted"].split(), " ".join(question.casefold().split()))
        number = match["number"]
        if not counts or number[0].isdigit():
            return int(number.replace(",", "")) if counts else None
        return sum(NUMBER_WORDS[part] for part in re.split(r"[\s-]", number))
    match = _CHINESE.fullmatch(words)
    if match is None:
        return None
    noun = _HOW_MANY_CHINESE.search(question)
    if match["counted"] and (noun is None or match["counted"] not in noun[1]):
        return None
    return _of_chinese(match["number"])


def _counts(words: list[str], question: str) -> bool:
    """Whether the words after a number, if any, name what the question counts: its noun, then words of the question."""
    if not words:
        return True
    noun = _HOW_MANY.search(question)
    units = {_stem(word) for word in noun[1].split()} if noun else set()
    known = {_stem(word) for word in re.findall(r"[a-z]+", question)} | {_stem(word) for word in _BESIDE}
    first = words[0] in _BESIDE or _stem(words[0]) in units
    return first and all(_stem(word) in known and word not in _NEVER and word not in NUMBER_WORDS for word in words)


def _stem(word: str) -> str:
    return "people" if word in _PEOPLE else word.removesuffix("s")


def _of_chinese(words: str) -> int | None:
    """Return the value of a Chinese number up to 999, or of digits; None if the text is neither."""
    if words.isdecimal():
        return int(words)
    match = _CHINESE_NUMBER.fullmatch(words)
    if match is None:
        return None
    hundreds, tens, ten, ones = match.groups()
    total = 100 * _CHINESE_DIGITS[hundreds] if hundreds else 0
    total += 10 * (_CHINESE_DIGITS[tens] if tens else 1) if ten else 0
    return total + (_CHINESE_DIGITS[ones] if ones else 0)


# --- from when to when ----------------------------------------------------------------------------------------------

_TIME = r"(\d{1,6}(?::[0-5]?\d){1,2}(?:\.\d{1,6})?|\d{1,9}(?:\.\d{1,6})?)"
_UNIT = r"(?:\s?(?:s|secs?|seconds?|秒))?"
_SPANS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:from )?{_TIME}{_UNIT}\s?(?:[-–—~→]|to|until|through)\s?{_TIME}{_UNIT}",
        rf"between {_TIME}{_UNIT} and {_TIME}{_UNIT}",
        rf"[\[(（]{_TIME}{_UNIT}\s?[,，]\s?{_TIME}{_UNIT}[\])）]",
        rf"start(?:_time)?\s?[:=]?\s?{_TIME}{_UNIT}[,;]?\s?(?:and )?end(?:_time)?\s?[:=]?\s?{_TIME}{_UNIT}",
        rf"[从在]?\s?第?\s?{_TIME}{_UNIT}\s?[-–—~→至到]\s?第?\s?{_TIME}{_UNIT}(?:之间)?",
        rf"(?:开始|起始)(?:时间)?\s?(?:[:：为是]\s?)?{_TIME}{_UNIT}\s?[,，、;；]?\s?结束(?:时间)?\s?(?:[:：为是]\s?)?{_TIME}{_UNIT}",
    )
)


def _seconds_of(text: str) -> float:
    """Return the seconds of a time such as ``12.5``, ``1:12`` or ``0:01:12``."""
    return functools.reduce(lambda total, part: total * 60 + float(part), text.split(":"), 0.0)


def parse_span(text: str) -> tuple[float, float] | None:
    """Return start and end in seconds if a text is only an interval; otherwise None."""
    words = " ".join(text.split())
    match = next((match for pattern in _SPANS if (match := pattern.fullmatch(words))), None)
    return None if match is None else (_seconds_of(match[1]), _seconds_of(match[2]))


_LONGEST = 4_000  #: characters; a longer text is not a typed answer
_MOST_ENDS = 6
_MARKUP = re.compile(r"\*+|__|[`${}]|\\boxed|</?[a-z]+>|^#+\s*", re.MULTILINE)
_FENCE = re.compile(r"^```\w*\s*|\s*```$")
#: Phrases that introduce the answer.
_LEAD = (
    r"(?:(?:so|thus|hence|therefore)[,:]?\s+)?(?:"
    r"(?:(?:the|my)\s+)?(?:(?:final|correct|right|best)\s+){0,2}(?:answer|option|choice|order|count|interval)\s*"
    r"(?:(?:is\b|[:：])\s*[:：]?|\n)|i(?:\s+would|'d)?\s+(?:choose|pick|select)\b\s*[:：]?"
    r")|(?:所以|因此|综上|故)?[，,]?\s*(?:"
    r"(?:(?:我的|正确|最终|最后)的?)?(?:答案|选项|顺序)(?:应该是|应为|是|为|[:：])\s*[:：]?|(?:我|应该?)?(?:选择|选(?!项))\s*[:：]?"
    r")"
)
_LEADS = re.compile(rf"\s*(?:(?:{_LEAD})\s*){{1,2}}", re.IGNORECASE)
_LEAD_ANYWHERE = re.compile(
    r"\b(?:answer|option|choice|order|count)\s*(?:is\b|[:：])|(?:答案|选项|顺序)(?:应该?)?(?:是|为|[:：])|选",
    re.IGNORECASE,
)
_SAID = re.compile(r"[.。!！)）]\s*$")  #: the end of a sentence
_QUOTES = re.compile('["“”「」]')
#: Where the answer may end and other words begin.
_END = re.compile(r"\n|[。；;!！]|\.(?=\s)|[\s,，]+(?=because\b|since\b|因为|由于)", re.IGNORECASE)
_FULL_STOP = " \t\n.。!！"
#: Words that may take an answer back, put it off, or leave it open.
_UNSETTLED = re.compile(
    r"[\d?？]|n['’]t\b|\b(?:not|no|never|neither|nor|none|nothing|nobody|cannot|unlikely|unable|fail\w*|wrong\w*|incorrect\w*|"
    r"false\w*|unsure|uncertain|unclear|impossible|without|except|instead|rather|wait|actually|but|however|although|though|"
    r"unless|if|or|else|maybe|perhaps|possibly|probably|might|may|can|could|would|should|will|shall|must|need\w*|want\w*|let|"
    r"going|check\w*|look\w*|search\w*|find\w*|call\w*|us(?:e|ing)|continu\w*|proceed\w*|try\w*|inspect\w*|scan\w*|examin\w*|"
    r"review\w*|explor\w*|analy\w*|verify\w*|guess\w*|doubt\w*|assum\w*|suppos\w*|unknown|still|yet|far|before|until|first|"
    r"next|then|dozen|hundred|thousand|"
    rf"million|billion|answer|option|choice|{'|'.join(NUMBER_WORDS)})\b|"
    r"[不没非无否未别错但却或若猜零〇一二两三四五六七八九十百千万亿]|然而|如果|可能|也许|大概|需要|先|再|看|找|查|搜|试|继续|接下来|分析|确认|假设|等等|答案|选",
    re.IGNORECASE,
)


def read_prose(question: Question, text: str) -> Any | None:
    """Return the value of the answer, in the question's type, if a text is only that answer; otherwise None."""
    if len(text) > _LONGEST or (question.kind == "open" and not question.may_abstain):
        return None
    bare = _FENCE.sub("", text.strip()).strip()
    if bare.startswith(("{", "[", '"')):  # JSON, bare or under ``answer``
        with suppress(ValueError, InvalidAnswer):
            given = parse_json(bare)
            return value_of(question, given["answer"] if isinstance(given, dict) and "answer" in given else given)
    plain = _MARKUP.sub("", bare).strip()
    if question.kind == "open":  # only a text of nothing but an abstention is one
        lead = _LEADS.match(plain)
        return _abstention(question, plain[lead.end() :] if lead else plain)
    value = _whole(question, plain)
    return value if value is not None else _last_line(question, plain)


def _whole(question: Question, text: str) -> Any | None:
    """Return the value of a text that is an answer, maybe after "The answer is" and before harmless words; else None."""
    lead = _LEADS.match(text)
    said = text[lead.end() :] if lead else text
    # In "The answer is a" the "a" may be an article; in "FinalAnswer: a" it is the letter.
    small = lead is None or lead[0].rstrip().endswith((":", "："))
    value = _answer_from(question, said, small=small)
    if value is not None:
        return value
    for head, rest in _split_at_ends(question, said):
        value = _answer_from(question, head, small=False)
        if value is not None:
            return value if _is_settled(question, value, rest) else None
    return None


def _last_line(question: Question, text: str) -> Any | None:
    """Return the value of the answer if the last line is "The answer is" or the like and an answer; otherwise None.

    It is also None if the text before that line contains such words too, does not end a sentence, or leaves a quotation open.
    """
    before, _, last = text.rpartition("\n")
    lead = _LEADS.match(last)
    if lead is None or not _SAID.search(before) or _LEAD_ANYWHERE.search(before) or len(_QUOTES.findall(before)) % 2:
        return None
    return _answer_from(question, last[lead.end() :], small=False)


def _answer_from(question: Question, text: str, *, small: bool) -> Any | None:
    """Return the value if a text is only the answer; otherwise None.

    ``small``: whether a lower-case letter may name an option; elsewhere "a" may be an article.
    """
    said = text.strip(_FULL_STOP)
    if (value := _abstention(question, said)) is not None:
        return value
    match question.kind:
        case "choice":
            return _choice(question, said, small=small)
        case "count":
            return _checked(question, parse_count(said, question.text))
        case "interval":
            found = parse_span(said)
            return None if found is None else _checked(question, {"start_time": found[0], "end_time": found[1]})
        case _:
            return _order(question, said)


#: Words for the two abstentions, folded.
_ABSTENTIONS = {value.replace("_", sign): value for value in ABSTENTIONS for sign in "_ "} | {
    "不存在": NOT_THERE, "视频中没有": NOT_THERE, "无法确定": UNDETERMINABLE, "无法判断": UNDETERMINABLE,
}  # fmt: skip


def _abstention(question: Question, text: str) -> str | None:
    """Return the abstention that a text is, if the question has these answers; otherwise None."""
    return _ABSTENTIONS.get(_fold(text)) if question.may_abstain else None


def _checked(question: Question, given: Any) -> Any | None:
    try:
        return value_of(question, given)
    except InvalidAnswer:
        return None


def _split_at_ends(question: Question, text: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a text before and after each place where the answer may end, the longest answer first."""
    ends = [(found.start(), found.end()) for found in islice(_END.finditer(text), _MOST_ENDS)]
    if question.kind == "choice":  # "Yes, he does."; a letter before a comma may be an article or a name
        comma = re.search(r"[,，]", text)
        if comma and comma.start() > 1:
            ends.append(comma.span())
    for start, end in sorted(ends, reverse=True):
        yield text[:start], text[end:]


def _is_settled(question: Question, value: Any, rest: str) -> bool:
    """Whether the words after an answer (``rest``) leave it valid: no number, other option, denial, doubt, next step."""
    if question.kind == "choice" and value in question.letters:
        own = question.options[question.letters.index(value)].strip()
        bound = r"\b" if own.isascii() and own[:1].isalnum() and own[-1:].isalnum() else ""
        rest = re.sub(bound + re.escape(own) + bound, " ", rest, flags=re.IGNORECASE) if own else rest
    others = [letter for letter in question.letters if letter != value]
    spoken = _fold(rest)
    return not (
        _UNSETTLED.search(rest)
        or any(re.search(rf"(?<![A-Za-z]){letter}(?![A-Za-z])", rest) for letter in others)
        or any(words in spoken for option in question.options if (words := _fold(option)))
    )


# --- options --------------------------------------------------------------------------------------------------------

_IS_RIGHT = re.compile(
    r"[)）\]】]?\s*[.:：、,，]?"
    r"(?:\s*(?:is(?: the)?|是)?\s*(?:correct|right|answer|正确答案|正确的?|答案|对的)(?:\s+(?:answer|option|choice))?)?",
    re.IGNORECASE,
)
_CLOSED = r"\s*[)）\]】.:：、]?\s*[-–—]?\s*"


def _choice(question: Question, text: str, *, small: bool) -> str | None:
    """Return the letter of the option that a text names by letter, words or both; or None. ``small``: "a" can be A."""
    words = _lettered(question, text)
    if words is not None:
        return words
    letters = "".join(question.letters)
    match = re.match(rf"(?:(?:option|choice)\s+|选项\s*)?(?P<open>[(（\[【]?)([{letters}])", text, re.IGNORECASE)
    if match is None:
        return None
    letter, rest = match[2].upper(), text[match.end() :]
    if match[2].islower() and not (small or match["open"]):
        return None
    closed = re.match(_CLOSED, rest)
    own = rest[closed.end() :] if closed else rest
    if own and closed and closed.end() and _lettered(question, own) == letter:
        return letter
    return letter if _IS_RIGHT.fullmatch(rest) else None


def _lettered(question: Question, text: str) -> str | None:
    """Return the letter of the only option whose words equal the text (in Chinese also between the words for "in")."""
    spoken = _fold(text)
    around = re.fullmatch(r"在?(.+?)[里中内]?", spoken)
    for said in (spoken, around[1] if around and not spoken.isascii() else ""):
        found = [
            letter
            for letter, option in zip(question.letters, question.options, strict=True)
            if said and _fold(option) == said
        ]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _fold(text: str) -> str:
    """Return the text in lower case with single spaces, without punctuation at its ends."""
    return " ".join(text.casefold().split()).strip(" .。!！,，;；:：\"'“”‘’「」()（）")


# --- orders ---------------------------------------------------------------------------------------------------------

_FOLLOWS = r"[,，、;；]|=>|->|[>→⇒]|\s[-–—]\s"
_THEN = r"\b(?:and then|then|finally|lastly|followed by)\b|然后|最后|接着|其次|再"
_FIRST = re.compile(r"^(?:first|首先|先)[,:，：]?\s*", re.IGNORECASE)
_STEP = re.compile(rf"\s*(?:(?:{_FOLLOWS})\s*(?:and\s+)?(?:{_THEN})?|(?:{_THEN})|\s+and\s+)\s*", re.IGNORECASE)


def _order(question: Question, text: str) -> list[str] | None:
    """Return the letters of all options in the order that a text gives, each once; otherwise None.

    The text is letters in a row ("BAC"), or letters or words of options one after the other or one per line.
    """
    letters = question.letters
    row = re.sub(r"[\s()（）-]", "", text)
    if len(row) == len(letters) and row.isupper():
        return _checked(question, list(row))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) == 1:
        if len(re.findall(r"\band\b(?! then)", text, re.IGNORECASE)) > (len(letters) > 2):
            return None  # "A and B" is no order
        lines = _STEP.split(_FIRST.sub("", text))
    named = [_item(question, line, place) for place, line in enumerate(lines, start=1)]
    return None if None in named else _checked(question, named)


def _item(question: Question, text: str, place: int) -> str | None:
    """Return the letter of the option that a list entry names; None if it names none, or has a number other than ``place``."""
    number = re.match(r"(?:(\d{1,2})\s*[.)、：:]|[-•])\s*", text)
    if number and number[1] and int(number[1]) != place:
        return None
    item = text[number.end() :] if number else text
    return _choice(question, item.strip(_FULL_STOP), small=False)

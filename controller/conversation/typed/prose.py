"""Reading a typed answer from words, in English and Chinese, where they can only be read in one way.

Nothing is guessed: words that name two options, two numbers or two stretches give None, and the model is asked again. What a
reply says after "the answer is" goes before whatever else it mentions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Any, TypeVar

from controller.conversation.typed.kinds import Mistyped, value_of
from controller.conversation.typed.numbers import one_number, one_stretch
from controller.questions import Question
from world_api.core.canonical import parse_json

T = TypeVar("T")

_LONGEST = 4_000  #: characters; who writes more than that has not given a typed answer
_MOST_CUES = 16
_MARKUP = re.compile(r"\*+|__|[`${}]|\\boxed|</?[a-z]+>")
_FENCE = re.compile(r"^```\w*\s*|\s*```$")
#: What comes after it is meant as the answer.
_CUE = re.compile(
    r"(?:\b(?:final\s+)?answer(?:\s+is|\s*:)|\bcorrect\s+(?:option|choice|order|answer)(?:\s+is|\s*:)|"
    r"(?:正确)?(?:答案|选项|顺序)(?:应该|应)?(?:是|为|：|:)|故选|应选|我选|选择|(?<![挑当])选)\s*[:：]?\s*",
    re.IGNORECASE,
)
_END = re.compile(r"[\n。；;]|\.(?=\s|$)")
_DENIAL = re.compile(r"\b(?:not|no|never|neither|nor|none|cannot|unlikely)\b|n't\b|不|没|非|无|否", re.IGNORECASE)


def read_prose(question: Question, text: str) -> Any | None:
    """The answer in the type of the question, or None where the words do not settle it."""
    if len(text) > _LONGEST:
        return None
    bare = _FENCE.sub("", text.strip()).strip()
    value = _from_json(question, bare)
    if value is not None:
        return value
    plain = _MARKUP.sub("", bare).strip()
    read = {"choice": _choice, "count": _count, "interval": _interval, "order": _order}[question.kind]
    cued = [_END.split(plain[cue.end() :], maxsplit=1)[0] for cue in islice(_CUE.finditer(plain), _MOST_CUES)]
    found = [value for part in cued if (value := read(question, part.strip())) is not None]
    return _only(found) if found else read(question, plain)


def _from_json(question: Question, text: str) -> Any | None:
    """The answer as JSON, bare or under ``answer``."""
    if not text.startswith(("{", "[", '"')):
        return None
    try:
        given = parse_json(text)
        return value_of(question, given["answer"] if isinstance(given, dict) and "answer" in given else given)
    except (ValueError, Mistyped):
        return None


def _only(values: Iterable[T]) -> T | None:
    """The one value there is, however often."""
    distinct: list[T] = []
    for value in values:
        if value not in distinct:
            distinct.append(value)
    return distinct[0] if len(distinct) == 1 else None


# --- options ------------------------------------------------------------------------------------------------------


def _choice(question: Question, text: str) -> str | None:
    letters = "".join(question.letters)
    lone = re.fullmatch(
        rf"(?:option|choice|选项)?\s*[(（\[【]?([{letters}])[)）\]】]?\s*[.。,，:：、]?", text, re.IGNORECASE
    )
    if lone:
        return lone[1].upper()
    spoken = _fold(text)
    by_text = [
        letter for letter, option in zip(question.letters, question.options, strict=True) if _fold(option) == spoken
    ]
    if by_text:
        return _only(by_text)
    # "B. in the kitchen", "(B)", "option B": a letter that is marked as one.
    marked = [
        *re.findall(rf"(?:^|\n)\s*[(（\[【]?([{letters}])[)）\]】.:：、]", text),
        *re.findall(rf"[(（\[【]([{letters}])[)）\]】]", text),
        *re.findall(rf"(?:\b[Oo]ption|\b[Cc]hoice|选项)\s*[(（\[【]?([{letters}])(?![A-Za-z])", text),
    ]
    if marked:
        return _only(marked)
    named, others = _options_named(question, text)
    return None if _DENIAL.search(others) else _only(named)


def _options_named(question: Question, text: str) -> tuple[list[str], str]:
    """The letters of the options whose words stand in the text, of options within options the longest; and the other words."""
    named, left = [], f" {_fold(text)} "
    for option, letter in sorted(zip(question.options, question.letters, strict=True), key=lambda item: -len(item[0])):
        words = _fold(option)
        pattern = rf"(?<![^\W_]){re.escape(words)}(?![^\W_])" if words.isascii() else re.escape(words)
        left, times = re.subn(pattern, " \0 ", left) if words else (left, 0)
        if times:
            named.append(letter)
    return named, left


def _fold(text: str) -> str:
    """Words without case, and without what stands round them."""
    return " ".join(text.casefold().split()).strip(" .。!！,，;；:：\"'“”‘’「」()（）")


def _order(question: Question, text: str) -> list[str] | None:
    letters = "".join(question.letters)
    between = r"(?:[\s,，、;；>→=\-–—/|()（）\[\]]|\bthen\b|\band\b|然后|再|接着)*"
    run = rf"(?<![A-Za-z])[{letters}](?:{between}[{letters}]){{{len(letters) - 1}}}(?![A-Za-z])"
    found = []
    for match in re.finditer(run, text):
        order = [character for character in match[0] if character in letters]
        if sorted(order) == list(question.letters):
            found.append(order)
    return _only(found) if found else _listed(question, text)


def _listed(question: Question, text: str) -> list[str] | None:
    """Options that stand one a line, by letter or by their words."""
    folded = {_fold(option): letter for option, letter in zip(question.options, question.letters, strict=True)}
    order = []
    for line in filter(None, map(str.strip, text.splitlines())):
        item = re.sub(r"^(?:\d+\s*[.)、：:]|[-•])\s*", "", line)
        marked = re.match(r"[(（\[]?([A-Z])(?:[)）\].:：、]|$)", item)
        letter = folded.get(_fold(item)) or (marked[1] if marked and marked[1] in question.letters else None)
        if letter is not None:
            order.append(letter)
    return order if sorted(order) == list(question.letters) else None


# --- numbers ------------------------------------------------------------------------------------------------------


def _count(question: Question, text: str) -> int | None:
    number = one_number(text)
    value: int | None = None if number is None else _checked(question, number)
    return value


def _interval(question: Question, text: str) -> dict[str, float] | None:
    found = one_stretch(text)
    if found is None or found[1] < found[0]:
        return None
    span: dict[str, float] | None = _checked(question, {"start_time": found[0], "end_time": found[1]})
    return span


def _checked(question: Question, given: Any) -> Any | None:
    try:
        return value_of(question, given)
    except Mistyped:
        return None

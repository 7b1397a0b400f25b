"""Numbers and stretches in words, English and Chinese: read where they are all that is said."""

from __future__ import annotations

import re

# --- how many -----------------------------------------------------------------------------------------------------

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
_TIMES = frozenset({"time", "times"})  #: said of anything that happens
_BESIDE = _TIMES | {"in", "total", "altogether", "the", "video"}
#: Words that make another number of it, also where the question has them.
_NEVER = frozenset("not no or and to than least most about dozen hundred thousand million billion half".split())
_PEOPLE = frozenset({"person", "people"})
_ASKED = re.compile(r"\bhow many((?: [a-z]+){1,3})")

_CHINESE_DIGITS = {character: number for number, character in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_CHINESE = re.compile(
    r"(?:一共|总共|合计|共)?(?:有|是|为|出现了?|发生了?)?\s?(?P<number>\d{1,9}|[零〇一二两三四五六七八九十百]{1,7})\s?"
    r"(?P<classifier>[个次位名只辆回件条张台种处场]?)(?P<counted>[\u4e00-\u9fff]{0,6})"
)
_CHINESE_NUMBER = re.compile(
    r"(?:([一二两三四五六七八九])百零?)?(?:([一二三四五六七八九])?(十))?([零〇一二两三四五六七八九])?"
)
_ASKED_CHINESE = re.compile(r"(?:几|多少)([\u4e00-\u9fff]{0,6})")


def whole_number(text: str, question: str) -> int | None:
    """The number that a text is, alone or with what the question counts; None where it says anything else."""
    words = " ".join(text.casefold().replace("’", "'").split())
    match = _ENGLISH.fullmatch(words)
    if match is not None:
        counts = _counts(match["counted"].split(), " ".join(question.casefold().split()))
        return _of_words(match["number"]) if counts else None
    match = _CHINESE.fullmatch(words)
    if match is None:
        return None
    asked = _ASKED_CHINESE.search(question)
    if match["counted"] and (asked is None or match["counted"] not in asked[1]):
        return None
    return _of_chinese(match["number"])


def _counts(words: list[str], question: str) -> bool:
    """Whether words after a number say what the question counts: its noun first, then words of the question only."""
    if not words:
        return True
    asked = _ASKED.search(question)
    units = {_stem(word) for word in asked[1].split()} if asked else set()
    known = {_stem(word) for word in re.findall(r"[a-z]+", question)} | {_stem(word) for word in _BESIDE}
    first = words[0] in _BESIDE or _stem(words[0]) in units
    return first and all(_stem(word) in known and word not in _NEVER and word not in NUMBER_WORDS for word in words)


def _stem(word: str) -> str:
    return "people" if word in _PEOPLE else word.removesuffix("s")


def _of_words(words: str) -> int:
    if words[0].isdigit():
        return int(words.replace(",", ""))
    return sum(NUMBER_WORDS[part] for part in re.split(r"[\s-]", words))


def _of_chinese(words: str) -> int | None:
    """A number up to 999."""
    if words.isdecimal():
        return int(words)
    match = _CHINESE_NUMBER.fullmatch(words)
    if match is None:
        return None
    hundreds, tens, ten, ones = match.groups()
    total = 100 * _CHINESE_DIGITS[hundreds] if hundreds else 0
    total += 10 * (_CHINESE_DIGITS[tens] if tens else 1) if ten else 0
    return total + (_CHINESE_DIGITS[ones] if ones else 0)


# --- from when to when --------------------------------------------------------------------------------------------

_TIME = r"(\d{1,6}(?::[0-5]?\d){1,2}(?:\.\d{1,6})?|\d{1,9}(?:\.\d{1,6})?)"
_UNIT = r"(?:\s?(?:s|secs?|seconds?|秒))?"
_STRETCHES = tuple(
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


def whole_stretch(text: str) -> tuple[float, float] | None:
    """The stretch of time that a text is, in seconds; None where it says anything else."""
    words = " ".join(text.split())
    match = next((match for pattern in _STRETCHES if (match := pattern.fullmatch(words))), None)
    return None if match is None else (_in_seconds(match[1]), _in_seconds(match[2]))


def _in_seconds(text: str) -> float:
    """Seconds from ``12.5``, ``1:12`` or ``0:01:12``."""
    total = 0.0
    for part in text.split(":"):
        total = total * 60 + float(part)
    return total

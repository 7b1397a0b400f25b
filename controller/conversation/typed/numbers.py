"""Numbers and stretches in words, English and Chinese: read where there is only one of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

# --- how many -----------------------------------------------------------------------------------------------------

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_WORDS = (
    {word: number for number, word in enumerate(_SMALL)}
    | {word: 10 * number for number, word in enumerate(_TENS, start=2)}
    | {"once": 1, "twice": 2, "thrice": 3}
)
_WORD = re.compile(rf"\b(?:(?:{'|'.join(_TENS)})[\s-](?:{'|'.join(_SMALL[1:10])})|{'|'.join(_WORDS)})\b", re.IGNORECASE)
_CHINESE_DIGITS = {character: number for number, character in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_COUNTED = "个次人位名只辆回件条张台种处场"  #: words that Chinese puts after a number of things
_CHINESE = re.compile(
    rf"(?<![第\w])[零〇一二两三四五六七八九十百]+(?=[{_COUNTED}]|$|[。.，,；;！!\s])"
    rf"|(?<=[有共现了是为约])[零〇一二两三四五六七八九十百]+(?=[{_COUNTED}])"
)
_CHINESE_NUMBER = re.compile(
    r"(?:([一二两三四五六七八九])百零?)?(?:([一二三四五六七八九])?(十))?([零〇一二两三四五六七八九])?"
)
#: Numbers that say when, and not how many.
_MOMENTS = re.compile(
    r"\d+(?::\d{1,2}){1,2}(?:\.\d+)?"
    r"|\d+(?:\.\d+)?\s*[-–—~至到]\s*\d+(?:\.\d+)?\s*(?:s\b|secs?\b|seconds?\b|秒)"
    r"|(?:[-–—~至到在从@]\s*)?\d+(?:\.\d+)?\s*(?:(?:s|secs?|seconds?|mins?|minutes?)\b|秒|分钟?)",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"(?<![A-Za-z\d.第])[-−]?\d+(?:,\d{3})*(?:\.\d+)?(?![A-Za-z\d]|\.\d)")
_NO_NUMBER = re.compile(
    r"\b(?:no|some|any|every|each|this|that|which|the)[\s-]?one\b|\bone (?:of|another|by)\b|一[样起些直切旦般边]",
    re.IGNORECASE,
)
#: What makes a number a bound, or no number of the answer at all.
_NOT_IT = re.compile(
    r"(?:\bnot|n't|\bthan|\bleast|\bmost|\bbetween|\bup to|不是|不到|没有|超过|至少|最多|不止)\s*(?:exactly\s*)?$",
    re.IGNORECASE,
)


def one_number(text: str) -> int | None:
    """The only number of a text that says how many; None where there is none, or another."""
    for part in (text, _MOMENTS.sub(" ", text)):  # "three, at 12 s and 40 s": the moments are not counted
        found = set(_numbers(part))
        if len(found) == 1:
            only = found.pop()
            return int(only) if only.isdecimal() and len(only) <= 9 else None
    return None


def _numbers(text: str) -> Iterator[str]:
    """Every number of a text, in digits; ``?`` for one that is only mentioned."""
    left = _NO_NUMBER.sub(" ", text)
    readers = ((_DIGITS, _plain), (_WORD, _of_words), (_CHINESE, _of_chinese))
    for pattern, read in readers:
        for match in pattern.finditer(left):
            yield "?" if _NOT_IT.search(left[max(0, match.start() - 20) : match.start()]) else read(match[0])


def _plain(digits: str) -> str:
    return digits.replace(",", "").replace("−", "-")


def _of_words(words: str) -> str:
    return str(sum(_WORDS[part] for part in re.split(r"[\s-]", words.casefold())))


def _of_chinese(words: str) -> str:
    """A number up to 999; anything else as it stands."""
    match = _CHINESE_NUMBER.fullmatch(words)
    if match is None:
        return words
    hundreds, tens, ten, ones = match.groups()
    total = 100 * _CHINESE_DIGITS[hundreds] if hundreds else 0
    total += 10 * (_CHINESE_DIGITS[tens] if tens else 1) if ten else 0
    return str(total + (_CHINESE_DIGITS[ones] if ones else 0))


# --- from when to when --------------------------------------------------------------------------------------------

_TIME = r"(?:\d+:\d{1,2}(?::\d{1,2})?(?:\.\d+)?|\d+(?:\.\d+)?)"
_UNIT = r"(?:\s*(?:s|secs?|seconds?)\b|\s*秒)?"
_STRETCH = re.compile(
    rf"(?<![A-Za-z\d.:])({_TIME}){_UNIT}\s*(?:[-–—~→至到,]|\bto\b|\buntil\b|\bthrough\b|\band\b)\s*第?\s*"
    rf"({_TIME})(?![\d:]|\.\d){_UNIT}",
    re.IGNORECASE,
)
_NAMED = re.compile(
    rf"start(?:_time)?\W{{1,4}}({_TIME}){_UNIT}\W{{1,4}}(?:and\s+)?end(?:_time)?\W{{1,4}}({_TIME})", re.IGNORECASE
)


def one_stretch(text: str) -> tuple[float, float] | None:
    """The only stretch of time that a text names, in seconds."""
    found = {match.groups() for pattern in (_NAMED, _STRETCH) for match in pattern.finditer(text)}
    if len(found) != 1:
        return None
    start, end = found.pop()
    return _in_seconds(start), _in_seconds(end)


def _in_seconds(text: str) -> float:
    """Seconds from ``12.5``, ``1:12`` or ``0:01:12``."""
    total = 0.0
    for part in text.split(":"):
        total = total * 60 + float(part)
    return total

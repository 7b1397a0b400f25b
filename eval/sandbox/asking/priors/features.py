"""A question's words as numbers: hashed, so that any word has its place, and none has to be known before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from zlib import crc32

from eval.datasets.items import Item
from world_api.core.lexicon import content_words, words

#: How many places words are hashed to.
PLACES = 1 << 15
_CLOCK = re.compile(r"\d{1,6}(?::\d{2}){0,2}")


def of_option(item: Item, number: int) -> list[int]:
    """What an option shows: its words and place, also with the template and the question's words, and its ranks among all options.

    Ranks are of how many of the question's words it repeats, how long it is, how like the others, and of its number.
    """
    return [place_of(text) for text in set(_of_option(item, number))]


def of_question(item: Item) -> list[int]:
    """What a question shows by itself: its template, its words, and neighbouring words."""
    said = words(item.question.text)
    pairs = (f"{one} {other}" for one, other in pairwise(said))
    named = [f"t {item.template}", *(f"w {word}" for word in said), *(f"p {pair}" for pair in pairs)]
    return [place_of(text) for text in {*named, *(f"tw {item.template} {word}" for word in said)}]


def place_of(text: str) -> int:
    """The place of a feature."""
    return crc32(text.encode()) % PLACES


def _of_option(item: Item, number: int) -> Iterator[str]:
    options = item.question.options
    own = content_words(options[number])
    asked = content_words(item.question.text)
    template = item.template or ""
    yield f"at {number}"
    yield f"at {template} {number} of {len(options)}"
    for word in own:
        yield f"o {word}"
        yield f"to {template} {word}"
        for other in asked:
            yield f"qo {other} {word}"
    yield f"first {template} {own[0] if own else ''}"
    overlaps = [len(set(asked) & set(content_words(option))) for option in options]
    lengths = [len(option) for option in options]
    numbers = [_number_in(option) for option in options]
    likeness = [_likeness(options, place) for place in range(len(options))]
    ranked = [("overlap", overlaps), ("length", lengths), ("likeness", likeness)]
    if min(numbers) >= 0:
        ranked.append(("number", numbers))
    for name, values in ranked:
        rank = sum(value > values[number] for value in values)
        yield f"{name} {rank}"
        yield f"{name} {template} {rank}"
        if values.count(values[number]) == 1:
            yield f"{name} alone {rank}"
            yield f"{name} alone {template} {rank}"


def _number_in(option: str) -> int:
    """The number that an option begins with or holds first (a length, the start of a range in seconds); -1 without any."""
    clock = _CLOCK.search(option)
    if clock is None:
        return -1
    found = 0
    for part in clock.group().split(":"):
        found = found * 60 + int(part)
    return found


def _likeness(options: tuple[str, ...], number: int) -> int:
    """How many words an option shares with the others: made-up wrong options are often like the right one."""
    own = set(content_words(options[number]))
    return sum(len(own & set(content_words(other))) for place, other in enumerate(options) if place != number)

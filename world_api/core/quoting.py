"""Whether a text holds some words as they are given."""

from __future__ import annotations

import unicodedata
from functools import lru_cache


def holds_words(text: str, words: str) -> bool:
    """Whether the words stand in the text, one after the other; case and punctuation do not count.

    Where a script tells words apart, whole words are meant: ``hell`` is not in ``hello``.
    """
    sought, found = _bare(words), _bare(text)
    at = found.find(sought) if sought else -1
    while at >= 0:
        end = at + len(sought)
        if not (_goes_on(found[at - 1 : at], sought[:1]) or _goes_on(sought[-1:], found[end : end + 1])):
            return True
        at = found.find(sought, at + 1)
    return False


def _goes_on(before: str, after: str) -> bool:
    """Whether two neighbouring characters belong to one word."""
    return bool(before) and bool(after) and _tells_words(before) and _tells_words(after)


def _tells_words(character: str) -> bool:
    return character.isdecimal() or character.lower() != character.upper()


@lru_cache(maxsize=16384)
def _bare(text: str) -> str:
    """Letters, marks and digits in lower case, with one space for all that is between them."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("'", "").replace("’", "")
    return " ".join("".join(char if unicodedata.category(char)[0] in "LMN" else " " for char in folded).split())

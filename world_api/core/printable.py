"""Text that anybody can print: a name on disk is bytes and need not be UTF-8, and a text may hold what steers a terminal."""

from __future__ import annotations

import re
import unicodedata

#: What stands in Python's strings for bytes that are no UTF-8; no encoding can write it.
_SURROGATE = re.compile("[\ud800-\udfff]")
#: Control characters, what sets the direction of text or has no width, separators of lines, surrogates.
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_PICTURES = 0x2400  #: where Unicode's pictures of the first 32 control characters begin
_PICTURE_OF_DELETE = "\N{SYMBOL FOR DELETE}"


def printable(text: str) -> str:
    """The text with U+FFFD for each part that UTF-8 cannot write; any other text as it is."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def visible(text: str) -> str:
    """The text with a sign of one column for each character that would steer a terminal or cannot be seen.

    Tabs stay; so does the number of characters.
    """
    return text if text.isascii() and text.isprintable() else "".join(map(_seen, text))


def columns(text: str) -> int:
    """How many columns a text takes on a terminal once it is ``visible``; a tab is counted as one."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _seen(letter: str) -> str:
    if letter == "\t" or unicodedata.category(letter) not in _UNSEEN:
        return letter
    code = ord(letter)
    if code < 0x20:
        return chr(_PICTURES + code)
    return _PICTURE_OF_DELETE if code == 0x7F else "\N{REPLACEMENT CHARACTER}"


def _columns(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1

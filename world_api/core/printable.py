"""Text of unknown origin as text that anybody can print.

A name on disk is bytes, and need not be UTF-8; a model's text may hold what moves a terminal's cursor.
"""

from __future__ import annotations

import re
import unicodedata

#: What stands in Python's strings for bytes that are no UTF-8; no encoding can write it.
_SURROGATE = re.compile("[\ud800-\udfff]")
#: Control characters, what sets the direction of text or has no width, separators of lines, surrogates.
_STEERING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_PICTURES = 0x2400  #: where Unicode's pictures of the first 32 control characters begin
_PICTURE_OF_DELETE = "\N{SYMBOL FOR DELETE}"
#: Controls (tabs and line ends aside), and embeddings, overrides and isolates of bidirectional text.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """The text with U+FFFD for each part that UTF-8 cannot write; any other text as it is."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def visible(text: str) -> str:
    r"""Printable text in which each control character, and what turns the direction of writing, is spelt ``\u001b``.

    A text that is JSON stays the same JSON.
    """
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", printable(text))


def pictured(text: str) -> str:
    """The text with a sign of one column for each character that would steer a terminal or cannot be seen.

    Tabs stay; so does the number of characters.
    """
    return text if text.isascii() and text.isprintable() else "".join(map(_seen, text))


def columns(text: str) -> int:
    """How many columns a text takes on a terminal once it is ``pictured``; a tab is counted as one."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def clock_text(seconds: float) -> str:
    """``m:ss.s`` (or ``h:mm:ss.s``) for people."""
    minutes, rest = divmod(round(seconds, 1), 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours}:{minutes:02d}:{rest:04.1f}" if hours else f"{minutes}:{rest:04.1f}"


def _seen(letter: str) -> str:
    if letter == "\t" or unicodedata.category(letter) not in _STEERING:
        return letter
    code = ord(letter)
    if code < 0x20:
        return chr(_PICTURES + code)
    return _PICTURE_OF_DELETE if code == 0x7F else "\N{REPLACEMENT CHARACTER}"


def _columns(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1

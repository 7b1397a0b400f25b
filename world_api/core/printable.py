"""Text of unknown origin as text that anybody can print.

A name on disk is bytes, and need not be UTF-8; a model's text may hold what moves a terminal's cursor.
"""

from __future__ import annotations

import re

#: What stands in Python's strings for bytes that are no UTF-8; no encoding can write it.
_SURROGATE = re.compile("[\ud800-\udfff]")
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

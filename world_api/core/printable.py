"""File names as text that anybody can print: a name on disk is bytes, and need not be UTF-8."""

from __future__ import annotations

import re

#: What stands in Python's strings for bytes that are no UTF-8; no encoding can write it.
_SURROGATE = re.compile("[\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with U+FFFD for each part that UTF-8 cannot write; any other text as it is."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)

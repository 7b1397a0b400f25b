"""Characters that are not seen but change what is seen: terminal escapes, and what turns the direction of writing.

A document is written by a model and shown to people and other models. What a person reads before allowing a tool must be
what stands there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tool_induction.language.diagnostics import Findings, Path

#: controls (tabs and line ends aside), and embeddings, overrides and isolates of bidirectional text
_INVISIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def check_visible(tool: Any, path: Path, findings: Findings) -> None:
    """Note each text of a tool that holds such a character."""
    for where, text in _texts(tool, path):
        found = _INVISIBLE.search(text)
        if found is not None:
            findings.add(
                "E_SHAPE",
                where,
                f"the text holds a character that is not seen: U+{ord(found[0]):04X}, at {found.start()}",
                found=ascii(text[max(0, found.start() - 20) : found.end() + 20])[1:-1],
                suggestion="leave it out",
            )


def _texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """All texts of a value with their places; a key stands at the place of the object it is in."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _texts(item, (*path, place))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield path, key
            yield from _texts(item, (*path, key))

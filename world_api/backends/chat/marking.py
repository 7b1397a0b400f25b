"""Data as a line of JSON in which no text can pass for a mark of the conversation.

JSON keeps what a video says inside its field. Servers of open models put messages into templates, though, whose marks
(``<|im_end|>``, ``[/INST]``, ``</s>``, ``[|user|]``, ``]~b]``) are text themselves, and some read them wherever they stand.
Each known one holds ``<`` or a square bracket. In texts these are spelt as JSON escapes do, so that a model still reads
them and no server takes them for a mark; the brackets of the JSON itself stay.
"""

from __future__ import annotations

from typing import Any

from world_api.core.canonical import json_line

DATA = "data_from_video"  #: the field in which whatever comes from a video reaches a model

_SPELT = {"<": "\\u003c", "[": "\\u005b", "]": "\\u005d"}
_BACKSLASH, _QUOTE = "\0", "\1"  #: stand for what is escaped; JSON holds no control characters


def data_line(value: Any) -> str:
    """JSON on one line, keys in their own order; the value that reads back is the same.

    Raises:
        ValueError: as ``json_line``.
    """
    line = json_line(value)
    parts = line.replace("\\\\", _BACKSLASH).replace('\\"', _QUOTE).split('"')  # each second one is a text
    if len(parts) == 1:
        return line
    texts = '"'.join(parts[1::2])
    for sign, spelt in _SPELT.items():
        texts = texts.replace(sign, spelt)
    parts[1::2] = texts.split('"')
    return '"'.join(parts).replace(_QUOTE, '\\"').replace(_BACKSLASH, "\\\\")

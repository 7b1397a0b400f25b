"""Data as a line of JSON in which no text can pass for a mark of the conversation.

JSON keeps what a video says inside its field. Servers of open models put messages into templates, though, whose marks
(``<|im_end|>``, ``[/INST]``, ``</s>``, ``[|user|]``, ``]~b]``) are text themselves, and some read them wherever they stand. Each known one
has a sign below or a square bracket. These are spelt as JSON escapes do in every text, so that a model still reads them and no server
takes them for a mark; the brackets of the JSON itself stay.
"""

from __future__ import annotations

import re
from typing import Any

from world_api.core.canonical import json_line

_TEXT = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')
_SPELT = str.maketrans({"<": "\\u003c", "[": "\\u005b", "]": "\\u005d"})


def data_line(value: Any) -> str:
    """JSON on one line, keys in their own order; the value that reads back is the same.

    Raises:
        ValueError: as ``json_line``.
    """
    return _TEXT.sub(lambda found: found[0].translate(_SPELT), json_line(value))

"""Data as a line of JSON in which no text can pass for a mark of the conversation.

JSON keeps what a video says inside its field. Servers of open models put messages into templates, though, whose marks
(``<|im_end|>``, ``[/INST]``, ``</s>``) are text themselves, and some read them wherever they stand. Here what opens such a mark
is spelt as JSON escapes do, so that a model still reads it and no server does.
"""

from __future__ import annotations

import re
from typing import Any

from world_api.core.canonical import json_line

#: In JSON itself a bracket is never followed by a capital or a slash, and the other sign stands in texts only.
_OPENS_A_MARK = re.compile(r"<|\[(?=/?[A-Z])")
_SPELT = {"<": "\\u003c", "[": "\\u005b"}


def data_line(value: Any) -> str:
    """JSON on one line, keys in their own order; the value that reads back is the same.

    Raises:
        ValueError: as ``json_line``.
    """
    return _OPENS_A_MARK.sub(lambda found: _SPELT[found[0]], json_line(value))

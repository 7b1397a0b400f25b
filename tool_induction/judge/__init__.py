"""The judge step: a closed question about each item, answered by a fixed model; it is off unless switched on.

``port`` has the protocol, the price and the text that is sent for an item; ``models`` judges with a chat model or from
a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from world_api.core.execution import lazy_names

if TYPE_CHECKING:
    from tool_induction.judge.judges import (
        JUDGEMENT,
        ChatJudge,
        FileJudge,
        Judge,
        RememberedJudge,
        chosen,
        plain_answer,
    )

__getattr__, __dir__, __all__ = lazy_names(__name__)

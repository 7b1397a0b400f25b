"""What the model is told at the start beside its instructions and the question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Opening:
    """Material a system opens with; it takes it from its ground, so that a replay has it too.

    ``briefing`` is text that is added to the instructions, such as a domain's; ``digest`` is what the world holds, as data.
    """

    briefing: str = ""
    digest: dict[str, Any] | None = None


NOTHING_MORE = Opening()

"""What the model is told at the start beside its instructions and the question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class FirstCall:
    """A call that the system makes before the model is asked; it counts as no call of the model's.

    ``shown``: the model is given the result with the question. ``needed``: a fault of the call ends the episode. ``reads``: it
    changes nothing, so that neighbours that read too are made side by side.
    """

    tool: str
    arguments: dict[str, Any]
    shown: bool = True
    needed: bool = True
    reads: bool = False


@dataclass(frozen=True, kw_only=True)
class Opening:
    """Material a system opens with; it takes it from its ground, so that a replay has it too.

    ``instructions`` names the prompt; ``briefing`` is text that is added to it, such as a domain's; ``digest`` is what the world
    holds, as data. ``answer_after`` names a tool without which no answer is taken, until it was tried ``tries`` times.
    """

    instructions: str = "system"
    briefing: str = ""
    digest: dict[str, Any] | None = None
    first_calls: tuple[FirstCall, ...] = ()
    answer_after: str | None = None
    tries: int = 1


NOTHING_MORE = Opening()

"""Choices of a question that commands offer: the type of its answer, and its budget. Nothing heavy is imported for them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal, get_args

from world_api.core.canonical import Record
from world_api.core.faults import EpisodeFault

Kind = Literal["open", "choice", "interval", "count", "order"]
KINDS: tuple[Kind, ...] = get_args(Kind)

#: The largest limit; no timeout can be longer.
_MOST = 1_000_000_000


@dataclass(frozen=True, kw_only=True)
class Budget(Record):
    """Limits of one episode; one more request, for a forced answer, may follow when a limit is reached.

    Rounds are requests to the model; calls are tool calls that ran. Tokens are prompt and completion together, of the
    model, of perception and of the judge; each distinct request counts once, as if no cache existed. Seconds are wall
    time. ``money`` is in USD, counts requests as tokens do, and requires a price of every model that is charged. All
    limits are checked between rounds; calls and seconds also within one.

    ``window`` is the model's context window in tokens; requests are kept below it. ``digest_tokens`` is the approximate
    size of the world's digest at the start, for systems that call tools; 0 for none.
    """

    rounds: int = 12
    calls: int = 40
    tokens: int = 200_000
    seconds: float = 600.0
    money: float | None = None
    window: int | None = None
    digest_tokens: int = 550

    def __post_init__(self) -> None:
        if any(amount is not None and not 0 <= amount <= _MOST for amount in asdict(self).values()):
            raise EpisodeFault(
                "bad_budget", f"a budget is between 0 and {_MOST:,}", hint="use 0 to allow none, or a smaller number"
            )

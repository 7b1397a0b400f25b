"""What an episode may spend, and what it has spent."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from world_api.backends.chat.usage import Usage
from world_api.core.faults import EpisodeFault
from world_api.core.ports import Clock

Limit = Literal["rounds", "calls", "tokens", "money", "seconds"]


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Limits of one episode; the one more request for a forced answer comes on top.

    Rounds are requests to the model, calls are tool calls that ran, tokens are prompt and completion together and what
    judging cost at most, seconds are wall time. All are looked at between rounds, calls also within one. ``money`` is in USD
    and needs the prices of the models. ``window`` is the model's context window in tokens: what is sent stays under it.
    """

    rounds: int = 12
    calls: int = 40
    tokens: int = 200_000
    seconds: float = 600.0
    money: float | None = None
    window: int | None = None

    def __post_init__(self) -> None:
        if min(self.rounds, self.calls, self.tokens, self.seconds, self.money or 0, self.window or 0) < 0:
            raise EpisodeFault("bad_budget", "a budget cannot be negative", hint="use 0 to allow none")

    def record(self) -> dict[str, float | None]:
        """The wire form."""
        return asdict(self)


class Meter:
    """Adds up what an episode spends and says which limit is reached."""

    def __init__(self, budget: Budget, clock: Clock) -> None:
        self.budget = budget
        self.rounds = 0
        self.calls = 0
        self.usage = Usage()
        self.judging = 0  #: tokens of a judging model, at its price
        self._clock = clock
        self._began = clock.monotonic()

    def add_round(self, usage: Usage) -> None:
        """Count one request."""
        self.rounds += 1
        self.usage = self.usage + usage

    def add_call(self) -> None:
        """Count one tool call that ran."""
        self.calls += 1

    def add_judging(self, tokens: int) -> None:
        """Count what was judged in a call."""
        self.judging += tokens

    def may_call(self) -> bool:
        """Whether one more tool call fits."""
        return self.calls < self.budget.calls

    def reached(self) -> Limit | None:
        """The limit that forbids another round, if any."""
        if self.rounds >= self.budget.rounds:
            return "rounds"
        if self.calls >= self.budget.calls:
            return "calls"
        if self.usage.total + self.judging >= self.budget.tokens:
            return "tokens"
        if self._clock.monotonic() - self._began >= self.budget.seconds:
            return "seconds"
        return None

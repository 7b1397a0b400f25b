"""What an episode may spend, and what it has spent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeGuard

from world_api.core.canonical import canonical
from world_api.core.faults import EpisodeFault
from world_api.core.ports import Clock

Limit = Literal["rounds", "calls", "tokens", "seconds"]


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Limits of one episode; the one more request for a forced answer comes on top.

    Rounds are requests to the model, calls are tool calls that ran, tokens are prompt and completion together,
    seconds are wall time. All are looked at between rounds, calls also within one.
    """

    rounds: int = 12
    calls: int = 40
    tokens: int = 200_000
    seconds: float = 600.0

    def __post_init__(self) -> None:
        if min(self.rounds, self.calls, self.tokens, self.seconds) < 0:
            raise EpisodeFault("bad_budget", "a budget cannot be negative", hint="use 0 to allow none")

    def record(self) -> dict[str, float]:
        """The wire form."""
        return {"rounds": self.rounds, "calls": self.calls, "tokens": self.tokens, "seconds": self.seconds}


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Tokens of one request. ``estimated`` where the server did not count them.

    ``cached`` are those of the prompt that the server had kept from an earlier request; they count all the same.
    """

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    estimated: bool = False

    @property
    def total(self) -> int:
        """Prompt and completion together."""
        return self.prompt + self.completion

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            prompt=self.prompt + other.prompt,
            completion=self.completion + other.completion,
            cached=self.cached + other.cached,
            estimated=self.estimated or other.estimated,
        )

    def record(self) -> dict[str, int | bool]:
        """The wire form."""
        counts = {"prompt": self.prompt, "completion": self.completion, "cached": self.cached}
        return {**counts, "estimated": self.estimated}


class Meter:
    """Adds up what an episode spends and says which limit is reached."""

    def __init__(self, budget: Budget, clock: Clock) -> None:
        self.budget = budget
        self.rounds = 0
        self.calls = 0
        self.usage = Usage()
        self._clock = clock
        self._began = clock.monotonic()

    def add_round(self, usage: Usage) -> None:
        """Count one request."""
        self.rounds += 1
        self.usage = self.usage + usage

    def add_call(self) -> None:
        """Count one tool call that ran."""
        self.calls += 1

    def may_call(self) -> bool:
        """Whether one more tool call fits."""
        return self.calls < self.budget.calls

    def reached(self) -> Limit | None:
        """The limit that forbids another round, if any."""
        if self.rounds >= self.budget.rounds:
            return "rounds"
        if self.calls >= self.budget.calls:
            return "calls"
        if self.usage.total >= self.budget.tokens:
            return "tokens"
        if self._clock.monotonic() - self._began >= self.budget.seconds:
            return "seconds"
        return None


def usage_of(request: dict[str, Any], reply: dict[str, Any]) -> Usage:
    """The tokens of an exchange: the server's count, else an estimate that says so."""
    counted = reply.get("usage")
    if isinstance(counted, dict):
        prompt, completion = counted.get("prompt_tokens"), counted.get("completion_tokens")
        if _is_count(prompt) and _is_count(completion):
            return Usage(prompt=prompt, completion=completion, cached=_cached(counted))
    return Usage(
        prompt=estimate_tokens([request.get("messages"), request.get("tools")]),
        completion=estimate_tokens(reply.get("choices")),
        estimated=True,
    )


def estimate_tokens(value: Any) -> int:
    """About how many tokens a JSON value is: four ASCII characters make one, and so does any other character."""
    text = canonical(value)
    plain = sum(1 for character in text if character.isascii())
    return plain // 4 + (len(text) - plain)


def _cached(counted: dict[str, Any]) -> int:
    details = counted.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return cached if _is_count(cached) else 0


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0

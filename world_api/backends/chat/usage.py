"""Tokens of an exchange with a chat model: as the server counted them, else estimated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeGuard

from world_api.core.canonical import canonical


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


def usage_of(request: dict[str, Any], reply: dict[str, Any]) -> Usage:
    """The tokens of an exchange: the server's count, else an estimate that says so."""
    counted = reply.get("usage")
    if isinstance(counted, dict):
        prompt, completion = counted.get("prompt_tokens"), counted.get("completion_tokens")
        if is_count(prompt) and is_count(completion):
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
    return cached if is_count(cached) else 0


def is_count(value: Any) -> TypeGuard[int]:
    """Whether a value can be a number of tokens."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0

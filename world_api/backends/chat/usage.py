"""Tokens of an exchange with a chat model: as the server counted them, else estimated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from world_api.core.canonical import canonical

#: What an image is taken for where nobody counts: 85 tokens and 170 for each of four tiles, which is what one of 1024 x 1024
#: pixels cost at high detail on the first OpenAI models that took images, and 85 at low detail. Others count otherwise.
IMAGE_TOKENS = 765
LOW_DETAIL_IMAGE_TOKENS = 85
_IMAGES = frozenset({"image_url", "input_image"})
_DEEPEST_IMAGE = 6  #: a part of the content of a message of a request, and a little more


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Tokens of one request. ``estimated`` where the server did not count them.

    ``cached`` are those of the prompt that the server had kept from an earlier request, ``reasoning`` those of the completion
    that nobody reads; both count all the same.
    """

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    reasoning: int = 0
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
            reasoning=self.reasoning + other.reasoning,
            estimated=self.estimated or other.estimated,
        )

    def record(self) -> dict[str, int | bool]:
        """The wire form."""
        counts = {"prompt": self.prompt, "completion": self.completion, "cached": self.cached}
        return {**counts, "reasoning": self.reasoning, "estimated": self.estimated}


def usage_of(request: dict[str, Any], reply: dict[str, Any]) -> Usage:
    """The tokens of an exchange: the server's count, else an estimate that says so."""
    counted = reply.get("usage")
    if isinstance(counted, dict):
        prompt, completion = counted.get("prompt_tokens"), counted.get("completion_tokens")
        if is_count(prompt) and is_count(completion):
            return Usage(
                prompt=prompt,
                completion=completion,
                cached=_cached(counted, most=prompt),
                reasoning=_part(counted.get("completion_tokens_details"), "reasoning_tokens", most=completion),
            )
    return Usage(
        prompt=estimate_tokens([request.get("messages"), request.get("tools")]),
        completion=estimate_tokens(reply.get("choices")),
        estimated=True,
    )


def estimate_tokens(value: Any) -> int:
    """About how many tokens a JSON value is: four ASCII characters make one, and so does any other character.

    Images count as so many each, however many characters they are spelt with.
    """
    words, images = _without_images(value)
    text = canonical(words)
    plain = len(text.encode("ascii", "ignore"))
    return plain // 4 + (len(text) - plain) + images


def _without_images(value: Any, depth: int = 0) -> tuple[Any, int]:
    """The value with the images of its messages taken out, and their tokens."""
    if depth > _DEEPEST_IMAGE:
        return value, 0
    if isinstance(value, dict):
        image = value.get("image_url")
        if image is not None and value.get("type") in _IMAGES:
            detail = image.get("detail") if isinstance(image, dict) else value.get("detail")
            return None, LOW_DETAIL_IMAGE_TOKENS if detail == "low" else IMAGE_TOKENS
        parts = {key: _without_images(part, depth + 1) for key, part in value.items()}
        return {key: part for key, (part, _) in parts.items()}, sum(images for _, images in parts.values())
    if isinstance(value, list):
        items = [_without_images(item, depth + 1) for item in value]
        return [item for item, _ in items], sum(images for _, images in items)
    return value, 0


def _cached(counted: Mapping[str, Any], *, most: int) -> int:
    """What of the prompt was kept, wherever a server says it: OpenAI's place, DeepSeek's, Moonshot's."""
    places = (
        (counted.get("prompt_tokens_details"), "cached_tokens"),
        (counted, "prompt_cache_hit_tokens"),
        (counted, "cached_tokens"),
    )
    return max(_part(told, name, most=most) for told, name in places)


def _part(told: Any, name: str, *, most: int) -> int:
    """A count that is a part of another one; what is no count is none, and no part is more than the whole."""
    part = told.get(name) if isinstance(told, dict) else None
    return min(part, most) if is_count(part) else 0


def is_count(value: Any) -> TypeGuard[int]:
    """Whether a value can be a number of tokens."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0

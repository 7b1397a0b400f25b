"""Tokens of requests, counted or estimated, and what they cost.

No prices ship with the project: they would be wrong within weeks. Money is reported only if the user states prices in a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeGuard

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from world_api.core.canonical import canonical_json
from world_api.core.cost import Spent
from world_api.core.faults import BackendFault
from world_api.core.files import open_regular

CURRENCY: Literal["USD"] = "USD"
_MOST_USD = 1_000_000  #: per million tokens; a larger price is a mistake, and sums of it need not be finite
_MILLION = 1_000_000
_MOST_BYTES = 200_000
#: Assumed tokens of an image if the server does not count: what 1024 x 1024 pixels cost at high and at low detail on the first
#: OpenAI models that took images. Others count differently.
IMAGE_TOKENS = 765
LOW_DETAIL_IMAGE_TOKENS = 85
_IMAGES = frozenset({"image_url", "input_image"})
_IMAGE_DEPTH = 6  #: images are parts of the content of messages, so deeper levels are not searched


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Tokens of one request. ``estimated`` is True if the server did not count them.

    ``cached`` are the tokens of the prompt that the server had cached, ``reasoning`` the hidden tokens of the
    completion; ``prompt`` and ``completion`` include them.
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
        counts = {name: value + getattr(other, name) for name, value in vars(self).items() if name != "estimated"}
        return Usage(**counts, estimated=self.estimated or other.estimated)

    def record(self) -> dict[str, int | bool]:
        """Return the usage as a JSON object."""
        return asdict(self)


def usage_of(request: dict[str, Any], reply: dict[str, Any]) -> Usage:
    """Return the tokens of a request and its reply: the server's count, else an estimate."""
    counted = reply.get("usage")
    if isinstance(counted, dict):
        prompt, completion = counted.get("prompt_tokens"), counted.get("completion_tokens")
        if is_count(prompt) and is_count(completion):
            names = ((counted.get("prompt_tokens_details"), "cached_tokens"), (counted, "prompt_cache_hit_tokens"),
                     (counted, "cached_tokens"))  # fmt: skip  # of OpenAI, DeepSeek and Moonshot
            cached = max(_part(counts, name, most=prompt) for counts, name in names)
            reasoning = _part(counted.get("completion_tokens_details"), "reasoning_tokens", most=completion)
            return Usage(prompt=prompt, completion=completion, cached=cached, reasoning=reasoning)
    return Usage(
        prompt=estimate_tokens([request.get("messages"), request.get("tools")]),
        completion=estimate_tokens(reply.get("choices")),
        estimated=True,
    )


def _part(counts: Any, name: str, *, most: int) -> int:
    """Return the count ``counts[name]``, limited to ``most``; 0 if there is no valid count."""
    part = counts.get(name) if isinstance(counts, dict) else None
    return min(part, most) if is_count(part) else 0


def is_count(value: Any) -> TypeGuard[int]:
    """Whether a value can be a number of tokens: an integer of at least 0, not a bool."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def estimate_tokens(value: Any) -> int:
    """Estimate the tokens of a JSON value: one for four ASCII characters, one for any other character.

    Images count ``IMAGE_TOKENS`` each, however long their data URL is.
    """
    words, images = _without_images(value)
    text = canonical_json(words)
    plain = len(text.encode("ascii", "ignore"))
    return plain // 4 + (len(text) - plain) + images


def _without_images(value: Any, depth: int = 0) -> tuple[Any, int]:
    """Return the value without the images of its messages, and the assumed tokens of these images."""
    if depth > _IMAGE_DEPTH:
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


@dataclass(frozen=True, kw_only=True)
class Price:
    """USD for a million tokens: of the prompt, of its part that the server had cached, of the completion."""

    prompt: float
    cached: float
    completion: float

    def __post_init__(self) -> None:
        if not all(0 <= amount <= _MOST_USD for amount in asdict(self).values()):
            raise ValueError(f"a price is between 0 and {_MOST_USD:,}")

    def money(self, tokens: Usage | Spent) -> float:
        """Return what these tokens cost, in USD."""
        cached = min(tokens.cached, tokens.prompt)  # some servers count more
        sent = (tokens.prompt - cached) * self.prompt + cached * self.cached
        return (sent + tokens.completion * self.completion) / _MILLION

    def record(self) -> dict[str, float]:
        """Return the price as a JSON object."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Prices:
    """Prices of models by the names under which they are requested; ``Prices()`` is empty."""

    models: Mapping[str, Price] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path | str | None) -> Prices:
        """Read a JSON or YAML file ``{model: {prompt, completion, cached}}``, in USD per million tokens.

        Without ``cached``, cached tokens cost as much as others. If ``path`` is None, the result is empty.
        Raises BackendFault: ``bad_prices``.
        """
        if path is None:
            return cls()
        path = Path(path)
        content = _load(path)
        try:
            entries = _TABLE.validate_python({} if content is None else content)
        except ValidationError as error:
            first = error.errors()[0]
            place = ", ".join(map(repr, first["loc"]))
            reason = f"{place}: {first['msg']}" if place else "it is not a table of models and their prices"
            raise _bad(path, reason) from None
        return cls(models={model: entry.price for model, entry in entries.items()})

    def of(self, model: str) -> Price | None:
        """Return the price of a model, None if it is not known."""
        return self.models.get(model)


_Amount = Annotated[float, Field(ge=0, le=_MOST_USD, allow_inf_nan=False)]


class _Entry(BaseModel):
    """One model in a file of prices."""

    model_config = ConfigDict(extra="forbid")

    prompt: _Amount
    completion: _Amount
    cached: _Amount | None = None
    currency: Literal["USD"] = CURRENCY

    @property
    def price(self) -> Price:
        cached = self.prompt if self.cached is None else self.cached
        return Price(prompt=self.prompt, cached=cached, completion=self.completion)


_TABLE = TypeAdapter(dict[str, _Entry])


def _load(path: Path) -> Any:
    """Read a YAML or JSON file, all scalars as text. Raises BackendFault: ``bad_prices``, also for repeated keys."""
    import yaml

    class DistinctKeys(yaml.BaseLoader):
        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            seen = set()
            for key, _ in node.value:
                if str(key.value) in seen:
                    raise yaml.MarkedYAMLError(
                        problem=f"{key.value!r} is a second time here", problem_mark=key.start_mark
                    )
                seen.add(str(key.value))
            return super().construct_mapping(node, deep)

    try:
        with open_regular(path) as stream:
            content = stream.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise _bad(path, f"it has more than {_MOST_BYTES} bytes")
        text = content.decode("utf-8-sig")
        # JSON is YAML except for its tabs.
        return yaml.load(text.replace("\t", " ") if text.lstrip().startswith("{") else text, Loader=DistinctKeys)  # noqa: S506
    except OSError as error:
        raise _bad(path, f"it cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise _bad(path, " ".join(str(error).split())[:200]) from None


def _bad(path: Path, reason: str) -> BackendFault:
    return BackendFault(
        "bad_prices",
        f"{path.name}: {reason}",
        hint='it looks like {"model-name": {"prompt": 2.5, "cached": 0.25, "completion": 10}}, in USD per million tokens',
    )

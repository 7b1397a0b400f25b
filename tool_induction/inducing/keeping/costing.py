"""What an induction costs: calls, tokens, seconds, and money where a price is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from world_api.backends.chat.recording import Exchange
from world_api.backends.chat.usage import Usage, usage_of
from world_api.core.canonical import parse_json
from world_api.core.faults import ToolFault
from world_api.world.disk.files import open_regular

_MILLION = 1_000_000
_MOST_BYTES = 100_000
_NOTHING = Usage()


class TokenPrice(BaseModel):
    """What a million tokens of a model cost."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)
    currency: str = Field(default="USD", min_length=1, max_length=8)


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What was spent. ``faults`` are calls that brought no reply; ``money`` is none where no price is known."""

    calls: int = 0
    faults: int = 0
    usage: Usage = _NOTHING
    seconds: float = 0.0
    money: float | None = None
    currency: str = ""

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "calls": self.calls,
            "faults": self.faults,
            "prompt_tokens": self.usage.prompt,
            "completion_tokens": self.usage.completion,
            "tokens_estimated": self.usage.estimated,
            "seconds": round(self.seconds, 3),
            "money": None if self.money is None else round(self.money, 6),
            "currency": self.currency,
        }


def spent(exchanges: Iterable[Exchange], price: TokenPrice | None) -> Spent:
    """What some exchanges cost."""
    usage, calls, faults, seconds = Usage(), 0, 0, 0.0
    for exchange in exchanges:
        calls += 1
        seconds += exchange.seconds
        if exchange.reply is None:
            faults += 1
        else:
            usage = usage + usage_of(exchange.request, exchange.reply)
    money = None if price is None else (usage.prompt * price.prompt + usage.completion * price.completion) / _MILLION
    return Spent(
        calls=calls,
        faults=faults,
        usage=usage,
        seconds=seconds,
        money=money,
        currency="" if price is None else price.currency,
    )


def price_of(model: str, table: Path | None) -> TokenPrice | None:
    """The price of a model in a table: a JSON object ``{model: {prompt, completion, currency}}``, per million tokens.

    Raises:
        ToolFault: ``bad_price_table``.
    """
    if table is None:
        return None
    prices = _read(table)
    if model not in prices:
        raise ToolFault(
            "bad_price_table",
            f"{table.name} has no price of {model!r}",
            hint="add it, or leave --prices out; it has: " + (", ".join(sorted(prices)[:10]) or "none"),
        )
    return prices[model]


def _read(table: Path) -> Mapping[str, TokenPrice]:
    hint = 'it looks like {"model-name": {"prompt": 2.5, "completion": 10, "currency": "USD"}}, per million tokens'
    try:
        with open_regular(table) as stream:
            content = parse_json(stream.read(_MOST_BYTES).decode())
        return TypeAdapter(dict[str, TokenPrice]).validate_python(content)
    except OSError as error:
        raise ToolFault("bad_price_table", f"{table.name} cannot be read: {error.strerror}", hint=hint) from None
    except (ValueError, ValidationError) as error:
        raise ToolFault("bad_price_table", f"{table.name}: {str(error)[:300]}", hint=hint) from None

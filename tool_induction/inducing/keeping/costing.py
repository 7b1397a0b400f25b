"""What an induction costs: calls, tokens, seconds, and money where a price is known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from world_api.chat.recording import Exchange
from world_api.chat.usage import CURRENCY, Price, Prices, Usage, usage_of
from world_api.core.faults import BackendFault

_NOTHING = Usage()


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


def spent(exchanges: Iterable[Exchange], price: Price | None) -> Spent:
    """What some exchanges cost."""
    usage, calls, faults, seconds = Usage(), 0, 0, 0.0
    for exchange in exchanges:
        calls += 1
        seconds += exchange.seconds
        if exchange.reply is None:
            faults += 1
        else:
            usage = usage + usage_of(exchange.request, exchange.reply)
    money = None if price is None else price.money(usage)
    return Spent(
        calls=calls,
        faults=faults,
        usage=usage,
        seconds=seconds,
        money=money,
        currency="" if price is None else CURRENCY,
    )


def price_of(model: str, file: Path | None) -> Price | None:
    """The price of a model in a file of prices (see ``world_api.chat.usage``).

    Raises:
        BackendFault: ``bad_prices``, also where the file has no price of the model.
    """
    if file is None:
        return None
    prices = Prices.read(file)
    price = prices.of(model)
    if price is None:
        raise BackendFault(
            "bad_prices",
            f"{file.name} has no price of {model!r}",
            hint="add it, or leave --prices out; it has: " + (", ".join(sorted(prices.models)[:10]) or "none"),
        )
    return price

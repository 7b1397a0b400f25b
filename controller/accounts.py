"""What an episode cost: tokens and money of the controller, of perception and of the judge, logical and physical.

*Logical* cost is counted as if no cache existed: each distinct request once, with no discount for tokens that a server had cached.
*Physical* cost is what was really requested and paid. Tokens are always given, and marked *estimated* where a server did not count
them. Money is given only where a price is known; a sum with an unpriced part is marked as a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from controller.budgets import cold_money, each_once
from controller.episode import Episode, RoundRecord
from world_api.chat.usage import Price, Usage
from world_api.core.cost import Spent

Part = Literal["controller", "perception", "judge"]
PARTS: tuple[Part, ...] = ("controller", "perception", "judge")


@dataclass(frozen=True, kw_only=True)
class Account:
    """Requests with their tokens, and what they cost in USD.

    ``cached`` is the part of ``prompt`` that a server had cached; a logical account has none. ``money`` is None if no price is
    known; ``unpriced`` names the models that it leaves out, so that it is a lower bound.
    """

    requests: int = 0
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    images: int = 0
    estimated: bool = False
    money: float | None = None
    unpriced: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt + self.completion

    @property
    def is_least(self) -> bool:
        """Whether the money is a lower bound."""
        return self.money is not None and bool(self.unpriced)

    def __add__(self, other: Account) -> Account:
        known = [money for money in (self.money, other.money) if money is not None]
        return Account(
            requests=self.requests + other.requests,
            prompt=self.prompt + other.prompt,
            cached=self.cached + other.cached,
            completion=self.completion + other.completion,
            images=self.images + other.images,
            estimated=self.estimated or other.estimated,
            money=sum(known) if known else None,
            unpriced=tuple(sorted({*self.unpriced, *other.unpriced})),
        )

    def record(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "requests": self.requests,
            "prompt": self.prompt,
            "cached": self.cached,
            "completion": self.completion,
            "total": self.tokens,
            "images": self.images,
            "estimated": self.estimated,
            "money": round(self.money, 8) if self.money is not None else None,
            "money_is_least": self.is_least,
            "unpriced": list(self.unpriced),
        }


@dataclass(frozen=True, kw_only=True)
class Accounts:
    """Costs by purpose of the requests: without caches (logical), and as paid."""

    logical: Mapping[Part, Account]
    physical: Mapping[Part, Account]

    def record(self) -> dict[str, Any]:
        """The wire form, with the totals."""
        return {
            way: {**{part: held[part].record() for part in PARTS}, "total": total(held).record()}
            for way, held in (("logical", self.logical), ("physical", self.physical))
        }


def total(held: Mapping[Part, Account]) -> Account:
    """All parts together."""
    return sum(held.values(), Account())


def accounts_of(episode: Episode) -> Accounts:
    """The accounts of an episode, at the prices it was run with."""
    spent = [item for call in episode.calls for item in call.spent]
    paid_rounds = [item for item in episode.rounds if item.physical]
    return Accounts(
        logical=_by_part(each_once(spent, set()), episode.rounds, episode, _cold),
        physical=_by_part((item for item in spent if item.physical), paid_rounds, episode, _paid),
    )


def _by_part(
    spent: Iterable[Spent],
    rounds: Iterable[RoundRecord],
    episode: Episode,
    account: Callable[[Usage | Spent, str, Price | None], Account],
) -> dict[Part, Account]:
    held: dict[Part, Account] = dict.fromkeys(PARTS, Account())
    prices = episode.prices
    own = (account(item.usage, episode.model, prices.get(episode.model)) for item in rounds)
    held["controller"] = sum(own, Account())
    for item in spent:
        held[item.purpose] += replace(account(item, item.model, prices.get(item.model)), images=item.images)
    return held


def _paid(item: Usage | Spent, model: str, price: Price | None) -> Account:
    """A request as it was sent and paid for, with the server's discount for cached tokens."""
    return Account(
        requests=1,
        prompt=item.prompt,
        cached=item.cached,
        completion=item.completion,
        estimated=item.estimated,
        money=None if price is None else price.money(item),
        unpriced=(model,) if price is None and item.prompt + item.completion else (),
    )


def _cold(item: Usage | Spent, model: str, price: Price | None) -> Account:
    """The same request without any cached token."""
    return replace(_paid(item, model, price), cached=0, money=None if price is None else cold_money(price, item))

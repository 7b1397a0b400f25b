"""What an episode cost: tokens and money of controller, perception and judge, logical and physical.

*Logical* is what the episode costs with empty caches at its start: each distinct request once. *Physical* is what was really
asked. Tokens are always stated; they are *estimated* where a server did not count them. Money is stated only where a price
is known, and a sum with a part nobody knows the price of says that it is the least it can be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from controller.episode import Episode, RoundRecord
from world_api.backends.chat.prices import Price
from world_api.core.ambient.spending import Spent

Part = Literal["controller", "perception", "judge"]
PARTS: tuple[Part, ...] = ("controller", "perception", "judge")


@dataclass(frozen=True, kw_only=True)
class Account:
    """Requests with their tokens, and what they cost in USD.

    ``cached`` is the part of ``prompt`` that a server had kept. ``money`` is None where no price is known; ``unpriced`` names the
    models whose tokens are not in it, so that it is the least it can be.
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
        """Whether the money leaves something out."""
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
    """The accounts of an episode, by what the requests were for."""

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
    prices = episode.prices
    return Accounts(
        logical=_by_part(_once(spent), episode.rounds, episode.model, prices),
        physical=_by_part(
            [item for item in spent if item.physical],
            [item for item in episode.rounds if item.physical],
            episode.model,
            prices,
        ),
    )


def _by_part(
    spent: Iterable[Spent], rounds: Sequence[RoundRecord], model: str, prices: Mapping[str, Price]
) -> dict[Part, Account]:
    held: dict[Part, Account] = dict.fromkeys(PARTS, Account())
    held["controller"] = sum((_of_round(item, model, prices.get(model)) for item in rounds), Account())
    for item in spent:
        held[item.purpose] += _of_spent(item, prices.get(item.model))
    return held


def _once(spent: Iterable[Spent]) -> list[Spent]:
    """Each distinct request once; where one was asked and kept afterwards, as it was asked."""
    found: dict[tuple[str, str, str], Spent] = {}
    for item in spent:
        key = (item.purpose, item.model, item.request)
        if key not in found or (item.physical and not found[key].physical):
            found[key] = item
    return list(found.values())


def _of_round(item: RoundRecord, model: str, price: Price | None) -> Account:
    usage = item.usage
    return Account(
        requests=1,
        prompt=usage.prompt,
        cached=usage.cached,
        completion=usage.completion,
        estimated=usage.estimated,
        money=price.money(usage) if price is not None else None,
        unpriced=(model,) if price is None and usage.total else (),
    )


def _of_spent(item: Spent, price: Price | None) -> Account:
    return Account(
        requests=1,
        prompt=item.prompt,
        cached=item.cached,
        completion=item.completion,
        images=item.images,
        estimated=item.estimated,
        money=price.money(item) if price is not None else None,
        unpriced=(item.model,) if price is None and item.prompt + item.completion else (),
    )

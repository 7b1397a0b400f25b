"""The cost of an episode: tokens and money of the controller, of perception and of the judge, logical and physical.

*Logical* cost is counted as if no cache existed: each distinct request once, without a discount for tokens that the
server had cached. *Physical* cost is what was really requested and paid. Token counts are always given; they are marked
*estimated* if a server did not count them. Money is given only if a price is known; a sum with an unpriced part is
marked as a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from controller.episode import Episode, RoundRecord
from controller.episode_budget import each_once
from world_api.chat.usage import Price, Usage
from world_api.core.cost import Spent

Part = Literal["controller", "perception", "judge"]
PARTS: tuple[Part, ...] = ("controller", "perception", "judge")


@dataclass(frozen=True, kw_only=True)
class Account:
    """Requests with their tokens, and their cost in USD.

    ``cached`` counts the tokens of ``prompt`` that a server had cached; a logical account has none. ``money`` is None
    if no price is known. ``unpriced`` names the models whose cost is missing; if there are any, ``money`` is a lower
    bound.
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
        """Prompt and completion tokens together."""
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
        """Return the JSON form, with the total of the tokens; money is rounded to 8 decimals."""
        money = round(self.money, 8) if self.money is not None else None
        return {
            **asdict(self),
            "total": self.tokens,
            "money": money,
            "money_is_least": self.is_least,
            "unpriced": list(self.unpriced),
        }


@dataclass(frozen=True, kw_only=True)
class Accounts:
    """The cost of an episode by part: without caches (logical), and as paid (physical)."""

    logical: Mapping[Part, Account]
    physical: Mapping[Part, Account]

    def record(self) -> dict[str, Any]:
        """Return the JSON form: for logical and physical cost the account of each part and the total."""
        return {
            way: {**{part: held[part].record() for part in PARTS}, "total": total(held).record()}
            for way, held in (("logical", self.logical), ("physical", self.physical))
        }


def total(held: Mapping[Part, Account]) -> Account:
    """Return the sum of all parts."""
    return sum(held.values(), Account())


def accounts_of(episode: Episode) -> Accounts:
    """Return the cost of an episode, at the prices it was run with."""
    spent = [item for call in episode.calls for item in call.spent]
    paid = [item for item in spent if item.physical], [item for item in episode.rounds if item.physical]
    return Accounts(
        logical=_by_part(each_once(spent, set()), episode.rounds, episode, cold=True),
        physical=_by_part(*paid, episode, cold=False),
    )


def _by_part(
    spent: Iterable[Spent], rounds: Iterable[RoundRecord], episode: Episode, *, cold: bool
) -> dict[Part, Account]:
    held: dict[Part, Account] = dict.fromkeys(PARTS, Account())
    for round_ in rounds:
        held["controller"] += _account(round_.usage, episode.model, episode.prices, cold=cold)
    for item in spent:
        held[item.purpose] += _account(item, item.model, episode.prices, cold=cold)
    return held


def _account(item: Usage | Spent, model: str, prices: Mapping[str, Price], *, cold: bool) -> Account:
    """Return the account of one request. If ``cold``, no token counts as cached, so no discount applies."""
    price = prices.get(model)
    tokens = Usage(prompt=item.prompt, completion=item.completion, cached=0 if cold else item.cached)
    return Account(
        requests=1,
        prompt=tokens.prompt,
        cached=tokens.cached,
        completion=tokens.completion,
        images=item.images if isinstance(item, Spent) else 0,
        estimated=item.estimated,
        money=None if price is None else price.money(tokens),
        unpriced=(model,) if price is None and tokens.total else (),
    )

"""The budget of an episode, and the meter that compares it with what was spent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from world_api.chat.usage import Price, Prices, Usage
from world_api.core.cost import Spent
from world_api.core.faults import BackendFault, EpisodeFault
from world_api.core.ports import Clock

#: The largest limit; no timeout can be longer.
_MOST = 1_000_000_000

Limit = Literal["rounds", "calls", "tokens", "money", "seconds"]
RequestKey = tuple[str, str, str]  #: purpose, model and hash of a request


def each_once(spent: Iterable[Spent], paid: set[RequestKey]) -> Iterator[Spent]:
    """Yield the charges of requests that are not in ``paid``, each request once, and add them to ``paid``."""
    for item in spent:
        key = (item.purpose, item.model, item.request)
        if key not in paid:
            paid.add(key)
            yield item


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Limits of one episode; one more request, for a forced answer, may follow when a limit is reached.

    Rounds are requests to the model; calls are tool calls that ran. Tokens are prompt and completion together, of the
    model, of perception and of the judge; each distinct request counts once, as if no cache existed. Seconds are wall
    time. ``money`` is in USD, counts requests as tokens do, and requires a price of every model that is charged. All
    limits are checked between rounds; calls and seconds also within one.

    ``window`` is the model's context window in tokens; requests are kept below it. ``digest_tokens`` is the approximate
    size of the world's digest at the start, for systems that call tools; 0 for none.
    """

    rounds: int = 12
    calls: int = 40
    tokens: int = 200_000
    seconds: float = 600.0
    money: float | None = None
    window: int | None = None
    digest_tokens: int = 800

    def __post_init__(self) -> None:
        if any(amount is not None and not 0 <= amount <= _MOST for amount in asdict(self).values()):
            raise EpisodeFault(
                "bad_budget", f"a budget lies between 0 and {_MOST:,}", hint="use 0 to allow none, or a smaller number"
            )

    def record(self) -> dict[str, float | None]:
        """Return the JSON form."""
        return asdict(self)


def refuse_unpriced(budget: Budget, model: str, prices: Prices) -> None:
    """Check that a budget of money has the model's price. Raises EpisodeFault: ``no_price``."""
    if budget.money is not None and prices.of(model) is None:
        raise EpisodeFault(
            "no_price", f"a budget of money needs the price of {model!r}", hint="give prices, or no budget of money"
        )


class BudgetMeter:
    """Adds up what an episode spends and compares it with the budget."""

    def __init__(self, budget: Budget, clock: Clock, *, model: str, prices: Prices) -> None:
        refuse_unpriced(budget, model, prices)
        self.budget = budget
        self.rounds = 0
        self.calls = 0
        self.prices: dict[str, Price] = {}  #: of the models that were used, if known
        self._known = prices
        self._model = model
        self._tokens = 0
        self._money = 0.0
        self._paid: set[RequestKey] = set()
        self._unpriced: str | None = None  #: a model that was charged and has no price
        self._clock = clock
        self._began = clock.monotonic()

    def add_round(self, usage: Usage) -> None:
        """Count one request to the model."""
        self.rounds += 1
        self._charge(self._model, usage.prompt, usage.completion)

    def add_call(self, spent: Sequence[Spent], *, judging: int) -> None:
        """Count one tool call that ran, with its requests to other models (see ``add_spent``)."""
        self.calls += 1
        self.add_spent(spent, judging=judging)

    def add_spent(self, spent: Sequence[Spent], *, judging: int) -> None:
        """Count requests to other models; ``judging`` are the tokens of a judge that is not among them."""
        if not any(item.purpose == "judge" for item in spent):
            self._tokens += judging
        for item in each_once(spent, self._paid):
            self._charge(item.model, item.prompt, item.completion)

    def may_call(self, more: int = 0) -> bool:
        """Whether the budget allows one more tool call besides ``more`` that are about to run."""
        return self.calls + more < self.budget.calls

    def left(self) -> float:
        """Return the seconds that are left; negative once they are used up."""
        return self.budget.seconds - (self._clock.monotonic() - self._began)

    def exceeded(self) -> Limit | None:
        """Return the first limit that is reached, which forbids another round; None if there is none."""
        if self.rounds >= self.budget.rounds:
            return "rounds"
        if self.calls >= self.budget.calls:
            return "calls"
        if self._tokens >= self.budget.tokens:
            return "tokens"
        if self.budget.money is not None and self._money >= self.budget.money:
            return "money"
        return "seconds" if self.left() <= 0 else None

    def refuse_unpriced(self) -> None:
        """Check that a budget of money can be kept: every model charged so far has a price.

        Raises BackendFault: ``no_price``, for a perception model or a judge.
        """
        if self.budget.money is not None and self._unpriced is not None:
            raise BackendFault(
                "no_price",
                f"a budget of money needs the price of {self._unpriced!r}, which was charged",
                hint="give its price too, or no budget of money",
            )

    def _charge(self, model: str, prompt: int, completion: int) -> None:
        """Charge a request at full price: tokens that a server had cached get no discount."""
        usage = Usage(prompt=prompt, completion=completion)
        self._tokens += usage.total
        price = self._known.of(model)
        if price is not None:
            self.prices[model] = price
            self._money += price.money(usage)
        elif usage.total:
            self._unpriced = model

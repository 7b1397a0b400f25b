"""Money as a budget: told where prices are known, and never guessed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from controller.episode import Budget, BudgetMeter
from tool_induction import ToolDeclaration
from world_api.chat import Price, Prices, Usage
from world_api.core import EpisodeFault, Spent, charge

MILLION = 1_000_000
PRICES = Prices(models={"scripted": Price(prompt=10.0, cached=1.0, completion=20.0)})


class Looking:
    """A tool that asks a model that looks."""

    def get_tools(self) -> Sequence[ToolDeclaration]:
        return [ToolDeclaration(name="find", description="find", parameters={"type": "object"})]

    def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        charge(Spent(purpose="perception", model="eyes", request="r", prompt=MILLION, completion=0))
        return {}


def test_a_spent_budget_of_money_forces_an_answer(hold: Any, replies: Any) -> None:
    used = {"usage": {"prompt_tokens": 100_000, "completion_tokens": 10_000}}  # 1.2 USD
    script = [replies.finds(f"c{n}") | used for n in range(3)]
    held = hold(*script, replies.says("So."), budget=Budget(money=3.0, tokens=10**9), prices=PRICES)
    assert (held.episode.outcome, held.episode.reason, len(held.episode.rounds)) == ("forced", "money", 4)
    assert held.episode.prices == {"scripted": PRICES.models["scripted"]}


def test_models_that_look_are_paid_from_the_same_budget(hold: Any, replies: Any) -> None:
    prices = Prices(models={**PRICES.models, "eyes": Price(prompt=5.0, cached=5.0, completion=5.0)})
    budget = Budget(money=4.0, tokens=10**9)
    held = hold(replies.finds(), replies.says("So."), budget=budget, prices=prices, tools=Looking())
    assert held.episode.reason == "money"
    assert list(held.episode.prices) == ["eyes", "scripted"]


def test_a_model_that_looks_and_has_no_price_ends_an_episode_with_a_budget_of_money(hold: Any, replies: Any) -> None:
    budget = Budget(money=4.0, tokens=10**9)
    episode = hold(replies.finds(), replies.submits(), budget=budget, prices=PRICES, tools=Looking()).episode
    assert (episode.outcome, episode.reason) == ("failed", "no_price")
    assert "'eyes'" in episode.fault.message
    assert len(episode.tool_calls[0].spent) == 1
    unbounded = hold(replies.finds(), replies.submits(), budget=Budget(tokens=10**9), prices=PRICES, tools=Looking())
    assert unbounded.episode.outcome == "submitted"


def test_money_cannot_be_a_budget_where_no_price_is_known(hold: Any, replies: Any) -> None:
    with pytest.raises(EpisodeFault, match="no_price"):
        hold(replies.submits(), budget=Budget(money=1.0))


def test_without_prices_no_money_is_told(hold: Any, replies: Any) -> None:
    assert hold(replies.submits()).episode.prices == {}


@pytest.mark.parametrize(
    "wrong",
    [
        {"money": -1.0},
        {"window": -1},
        {"seconds": float("nan")},
        {"seconds": float("inf")},
        {"seconds": 1e300},
        {"digest_tokens": -5},
    ],
)
def test_a_budget_below_nothing_or_without_bound_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(EpisodeFault, match="bad_budget"):
        Budget(**wrong)


@pytest.mark.parametrize("cached", [0, 100_000])
def test_a_budget_of_money_is_spent_alike_whatever_the_server_had_kept(stepping_clock: Any, cached: int) -> None:
    meter = BudgetMeter(Budget(money=1.0, tokens=10**9), stepping_clock(), model="scripted", prices=PRICES)
    meter.add_round(Usage(prompt=99_000, completion=0, cached=cached))
    assert meter.exceeded() is None
    meter.add_round(Usage(prompt=1_000, completion=0, cached=cached))
    assert meter.exceeded() == "money"


def test_the_same_request_of_two_models_is_paid_for_twice_and_of_one_once(stepping_clock: Any) -> None:
    meter = BudgetMeter(Budget(tokens=20), stepping_clock(), model="scripted", prices=Prices())
    looks = [
        Spent(purpose="perception", model=model, request="r", prompt=10, completion=0) for model in ("a", "a", "b")
    ]
    meter.add_spent(looks[:2], judging=0)
    assert meter.exceeded() is None
    meter.add_spent(looks[2:], judging=0)
    assert meter.exceeded() == "tokens"

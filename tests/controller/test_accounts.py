"""What an episode cost: logical beside physical, controller beside perception and judge, and never less than it was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.episode import Account, Episode, RoundRecord, accounts_of, total
from world_api.chat import Price, Usage
from world_api.core import Spent

PRICE = Price(prompt=2.0, cached=1.0, completion=10.0)


def look(request: str, *, model: str = "eyes", physical: bool = True, **more: Any) -> Spent:
    return Spent(
        **{"purpose": "perception", "model": model, "request": request, "prompt": 1000, "completion": 10}
        | {"images": 2, "physical": physical}
        | more
    )


@pytest.fixture
def episode(hold: Any, replies: Any) -> Any:
    """Makes an episode of one call that spent this, and of rounds that cost that."""
    held = hold(replies.finds(), replies.submits()).episode

    def made(*spent: Spent, rounds: tuple[tuple[Usage, bool], ...] = (), **prices: Price) -> Episode:
        records = [
            RoundRecord(
                number=number, tools_offered=True, usage=usage, finish_reason=None, problems=[], physical=physical
            )
            for number, (usage, physical) in enumerate(rounds, start=1)
        ]
        calls = [replace(held.calls[0], spent=list(spent)), held.calls[1]]
        return replace(held, model="m", rounds=records, calls=calls, prices=prices)

    return made


def test_a_request_is_paid_for_once_in_an_episode_however_often_it_is_made(episode: Any) -> None:
    held = accounts_of(episode(look("a"), look("a", physical=False), look("b")))
    assert held.logical["perception"].requests == held.physical["perception"].requests == 2
    assert held.logical["perception"].images == 4


def test_what_was_kept_from_an_earlier_run_costs_logically_and_not_physically(episode: Any) -> None:
    held = accounts_of(episode(look("a", physical=False), look("b")))
    assert (held.logical["perception"].tokens, held.physical["perception"].tokens) == (2020, 1010)


def test_rounds_from_the_cache_of_requests_cost_logically_and_not_physically(episode: Any) -> None:
    usage = Usage(prompt=100, completion=10)
    held = accounts_of(episode(rounds=((usage, True), (usage, False))))
    assert (held.logical["controller"].tokens, held.physical["controller"].tokens) == (220, 110)


def test_the_parts_stand_apart_and_add_up(episode: Any) -> None:
    judged = look("a", purpose="judge", model="judge", images=0)
    held = accounts_of(episode(look("a"), judged, rounds=((Usage(prompt=5, completion=1), True),))).logical
    assert [held[part].tokens for part in ("controller", "perception", "judge")] == [6, 1010, 1010]
    assert total(held).tokens == 2026
    assert total(held).requests == 3


def test_money_is_stated_where_a_price_is_known_and_nowhere_else(episode: Any) -> None:
    rounds = ((Usage(prompt=1_000_000, completion=100_000, cached=500_000), True),)
    assert accounts_of(episode(rounds=rounds)).physical["controller"].money is None
    held = accounts_of(episode(rounds=rounds, m=PRICE)).physical["controller"]
    assert held.money == pytest.approx(0.5 * 2 + 0.5 * 1 + 0.1 * 10)
    assert not held.is_least


@pytest.mark.parametrize(("cached", "paid"), [(0, 2.1), (100_000, 2.0)])
def test_what_a_server_had_kept_is_cheaper_physically_and_never_logically(
    episode: Any, cached: int, paid: float
) -> None:
    usage = Usage(prompt=1_000_000, completion=10_000, cached=cached)
    seen = look("a", prompt=1_000_000, completion=10_000, cached=cached)
    held = accounts_of(episode(seen, rounds=((usage, True),), m=PRICE, eyes=PRICE))
    for part in ("controller", "perception"):
        assert (held.logical[part].money, held.logical[part].cached) == (pytest.approx(2.1), 0)
        assert (held.physical[part].money, held.physical[part].cached) == (pytest.approx(paid), cached)


def test_the_same_request_of_two_models_is_two_requests(episode: Any) -> None:
    held = accounts_of(episode(look("a"), look("a", model="other"), look("a", purpose="judge"), look("a")))
    assert (held.logical["perception"].requests, held.logical["judge"].requests) == (2, 1)


def test_a_sum_with_a_part_that_has_no_price_says_that_it_is_the_least(episode: Any) -> None:
    whole = total(accounts_of(episode(look("a"), rounds=((Usage(prompt=10, completion=1), True),), m=PRICE)).logical)
    assert whole.money is not None
    assert (whole.is_least, whole.unpriced) == (True, ("eyes",))
    assert (whole.record()["money_is_least"], whole.record()["unpriced"]) == (True, ["eyes"])


def test_what_cost_no_tokens_needs_no_price(episode: Any) -> None:
    whole = total(
        accounts_of(episode(rounds=((Usage(), True), (Usage(prompt=1, completion=1), True)), m=PRICE)).logical
    )
    assert not whole.is_least
    assert total(accounts_of(episode(rounds=((Usage(), True),))).logical).unpriced == ()


def test_an_estimate_anywhere_makes_the_sum_one(episode: Any) -> None:
    held = accounts_of(episode(look("a", estimated=True), rounds=((Usage(prompt=1, completion=1), True),)))
    assert not held.logical["controller"].estimated
    assert total(held.logical).estimated


def test_the_wire_form_holds_every_part_and_the_total_both_ways(episode: Any) -> None:
    record = accounts_of(episode(look("a"))).record()
    assert set(record) == {"logical", "physical"}
    assert set(record["logical"]) == {"controller", "perception", "judge", "total"}
    assert record["logical"]["judge"] == Account().record()

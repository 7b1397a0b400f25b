"""What a model's tokens cost, and files of prices that cannot be used."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from world_api.chat import Price, Prices, Usage
from world_api.core import BackendFault

JSON = '{"m": {"prompt": 2.5, "cached": 0.25, "completion": 10}, "org/n:1": {"prompt": 1, "completion": 1e-1}}'
YAML = """
# USD for a million tokens
m: {prompt: 2.5, cached: 0.25, completion: 10}
org/n:1:
  prompt: 1
  completion: 0.1
  currency: USD
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "prices.yaml"


@pytest.mark.parametrize("text", [JSON, YAML, "\ufeff" + JSON, JSON.replace(" ", "\n\t")])
def test_json_and_yaml_say_the_same(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
    prices = Prices.read(file)
    assert prices.of("m") == Price(prompt=2.5, cached=0.25, completion=10.0)
    assert prices.of("org/n:1") == Price(prompt=1.0, cached=1.0, completion=0.1)
    assert prices.of("M") is None


def test_nothing_is_known_without_a_file(file: Path) -> None:
    assert Prices().of("m") is None
    for text in ("", "\ufeff", "# no prices yet\n"):
        file.write_text(text, encoding="utf-8")
        assert Prices.read(file).models == {}


def test_money_is_that_of_a_million_tokens() -> None:
    price = Price(prompt=2.0, cached=0.5, completion=8.0)
    assert price.money(Usage(prompt=1_000_000, cached=400_000, completion=250_000)) == pytest.approx(1.2 + 0.2 + 2.0)
    assert price.money(Usage(prompt=10, cached=20)) == pytest.approx(10 * 0.5 / 1e6)  # it counts more than were sent


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6)), max_size=5))
def test_money_of_the_sum_is_the_sum_of_the_money(counts: list[tuple[int, int, int]]) -> None:
    price = Price(prompt=2.0, cached=0.5, completion=8.0)
    usages = [Usage(prompt=sent + kept, cached=kept, completion=said) for sent, kept, said in counts]
    whole = sum(usages, Usage())
    assert price.money(whole) == pytest.approx(sum(price.money(usage) for usage in usages))


@pytest.mark.parametrize("amount", [-0.01, math.inf, -math.inf, math.nan])
def test_a_price_is_finite_and_not_negative(amount: float) -> None:
    with pytest.raises(ValueError, match="between 0"):
        Price(prompt=amount, cached=0.0, completion=0.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "not a table"),
        ("3", "not a table"),
        ("m: 3", "'m' is not an object with prompt and completion"),
        ("m: {prompt: -1, completion: 1}", "'m', 'prompt' is no price: a number from 0 to 1,000,000"),
        ("m: {prompt: .inf, completion: 1}", "'m', '"),
        ('{"m": {"prompt": 1e999, "completion": 1}}', "'m', '"),
        ("m: {prompt: 1, completion: 1e308}", "'m', '"),
        ('{"m": {"prompt": NaN, "completion": 1}}', "'m', '"),
        ("m: {prompt: much, completion: 1}", "'m', 'prompt' is no price"),
        ("m: {prompt: [1], completion: 1}", "'m', '"),
        ("m: {prompt: null, completion: 1}", "'m', '"),
        ("m: {prompt: true, completion: 1}", "'m', '"),
        ("m: {prompt: 1}", "'completion' is missing"),
        ("m: {prompt: 1, completion: 1, per: hour}", "'per' is no part of a price"),
        ("m: {prompt: 1, completion: 1, currency: EUR}", "USD"),
        ("m: {prompt: 1, completion: 1}\nm: {prompt: 2, completion: 2}", "line 2"),
        ("m: {prompt: 1, prompt: 2, completion: 1}", "second time"),
        ("? [a]\n: {prompt: 1, completion: 1}", "key"),
        ("m: {prompt: 1", "prices.yaml"),
        ("[" * 20_000, "prices.yaml"),
        ("m: &a {prompt: 1, completion: *a}", "prices.yaml"),
        ("\x00", "prices.yaml"),
        ("# long\n" * 40_000, "bytes"),
    ],
)
def test_what_is_no_table_of_prices_is_refused_by_name(file: Path, text: str, said: str) -> None:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BackendFault) as caught:
        Prices.read(file)
    assert caught.value.code == "bad_prices"
    assert said in caught.value.message
    assert "nput should" not in caught.value.message
    assert "prompt" in caught.value.hint


def test_a_file_that_is_not_there_or_no_text_is_refused_by_name(file: Path, tmp_path: Path) -> None:
    for path in (file, tmp_path):
        with pytest.raises(BackendFault, match="bad_prices"):
            Prices.read(path)
    file.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(BackendFault, match="bad_prices"):
        Prices.read(file)

"""Strict JSON: what is no number of JSON is refused, whoever spells it."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from world_api.core import canonical_json, json_line, parse_json


@pytest.mark.parametrize("text", ["1e999", "-1e999", '{"a": [1.5e400]}', "NaN", "Infinity", "-Infinity", "[" * 100_000])
def test_what_json_cannot_say_back_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_json(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_finite_numbers_survive(value: float) -> None:
    assert parse_json(json_line(value)) == value


@given(st.text(max_size=12), st.integers(-999, 999))
def test_what_is_read_can_be_written(digits: str, exponent: int) -> None:
    for text in (digits, f"{digits}e{exponent}", f"1e{exponent}"):
        try:
            value = parse_json(text)
        except ValueError:
            continue
        assert parse_json(canonical_json(value)) == value

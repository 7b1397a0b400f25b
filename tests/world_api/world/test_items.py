"""Items are found by their half-open intervals."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, strategies as st

from world_api.core import TimeSpan
from world_api.world import shared_prefix, spans

Lengths = st.lists(st.tuples(st.floats(0.0, 20.0), st.floats(0.0, 50.0)), max_size=40)


@given(Lengths, st.floats(0.0, 300.0), st.floats(0.01, 100.0))
def test_what_touches_a_span_is_what_a_slow_search_finds(
    drawn: list[tuple[float, float]], start: float, length: float
) -> None:
    starts = np.cumsum([gap for gap, _ in drawn], dtype=np.float64)
    ends = starts + np.array([length for _, length in drawn], dtype=np.float64)
    span = TimeSpan(start=start, end=start + length)
    slowly = [i for i in range(len(starts)) if starts[i] < span.end and (ends[i] > start or starts[i] >= start)]
    assert spans(starts, ends).touching(span).tolist() == slowly


def test_the_shared_prefix_ends_at_the_first_difference() -> None:
    one = spans(np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0]))
    assert shared_prefix(one, one) == (3, math.inf)
    assert shared_prefix(one, spans(np.array([0.0, 1.0]), np.array([1.0, 2.0]))) == (2, 2.0)
    assert shared_prefix(one, spans(np.array([0.0, 0.5]), np.array([1.0, 2.0]))) == (1, 0.5)
    assert shared_prefix(one, one, (np.array([1, 2, 3]), np.array([1, 9, 3]))) == (1, 1.0)

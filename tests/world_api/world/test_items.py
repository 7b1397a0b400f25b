"""What is taken over from a whole as arrays is what it would be, made anew."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from world_api.core.spans import TimeSpan
from world_api.world.items import Chained, Reach, spans

Lengths = st.lists(st.tuples(st.floats(0.0, 20.0), st.floats(0.0, 50.0)), max_size=40)


@given(Lengths, st.integers(0, 40), Lengths, st.floats(0.0, 300.0), st.floats(0.01, 100.0))
def test_what_goes_on_differently_is_found_as_if_it_had_been_made_anew(
    one: list[tuple[float, float]], same: int, other: list[tuple[float, float]], start: float, length: float
) -> None:
    same = min(same, len(one))
    starts = np.cumsum([gap for gap, _ in [*one[:same], *other]], dtype=np.float64)
    ends = starts + np.array([length for _, length in [*one[:same], *other]], dtype=np.float64)
    whole_starts = np.cumsum([gap for gap, _ in one], dtype=np.float64)
    whole = Reach(whole_starts + np.array([length for _, length in one], dtype=np.float64))
    span = TimeSpan(start=start, end=start + length)
    taken_over = spans(starts, ends, like=(whole, same)).touching(span).tolist()
    assert taken_over == spans(starts, ends).touching(span).tolist()
    slowly = [i for i in range(len(starts)) if starts[i] < span.end and (ends[i] > start or starts[i] >= start)]
    assert taken_over == slowly


@given(st.lists(st.integers(-9, 9), max_size=9), st.lists(st.integers(-9, 9), max_size=9), st.data())
def test_two_arrays_are_read_as_one(first: list[int], rest: list[int], data: st.DataObject) -> None:
    both = Chained(np.array(first, dtype=np.int64), np.array(rest, dtype=np.int64))
    every = st.lists(st.integers(0, len(first + rest) - 1)) if first + rest else st.just([])
    positions = data.draw(every)
    assert both[np.array(positions, dtype=np.int64)].tolist() == [(first + rest)[i] for i in positions]
    assert [both[i] for i in positions] == [(first + rest)[i] for i in positions]
    assert both.all().tolist() == first + rest

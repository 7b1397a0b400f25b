"""Segments."""

from __future__ import annotations

import itertools

from hypothesis import given, strategies as st

from world_api.core import TimeSpan
from world_api.world import segment


def spans(*pairs: tuple[float, float]) -> list[TimeSpan]:
    return [TimeSpan(start=a, end=b) for a, b in pairs]


def test_a_long_line_is_cut_off_from_the_silence_around_it() -> None:
    found = segment(spans((102, 147)), spans((104, 115)))
    edges = {span.start for span in found} | {span.end for span in found}
    assert {102, 104, 115, 147} <= edges


def test_lines_that_follow_one_another_are_packed_and_cut_between_lines() -> None:
    found = segment(spans((0, 30)), spans((1, 4), (4.2, 8), (8.1, 14), (14.2, 18)))
    cuts = [span.start for span in found]
    assert 8.1 in cuts
    assert 4.2 not in cuts


@given(
    st.lists(st.floats(0.2, 50), min_size=1, max_size=8),
    st.lists(st.tuples(st.floats(0, 200), st.floats(0.1, 30)), max_size=12),
)
def test_segments_tile_the_shots_and_stay_under_the_limit(
    lengths: list[float], talk: list[tuple[float, float]]
) -> None:
    edges = [0.0]
    for length in lengths:
        edges.append(edges[-1] + length)
    shots = spans(*itertools.pairwise(edges))
    found = segment(shots, [TimeSpan(start=a, end=a + d) for a, d in talk])
    assert found[0].start == 0.0
    assert found[-1].end == edges[-1]
    assert all(a.end == b.start for a, b in itertools.pairwise(found))
    assert all(0 < span.duration <= 10.0 + 1e-6 for span in found)
    assert set(edges) <= {span.start for span in found} | {found[-1].end}

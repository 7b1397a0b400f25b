"""Time spans."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, strategies as st

from world_api.core import TimeSpan, known_time, merge_spans
from world_api.core.spans import without_spans

times = st.floats(min_value=0, max_value=1e6, allow_nan=False)
spans = st.tuples(times, times).map(lambda pair: TimeSpan(start=min(pair), end=max(pair)))


def test_a_span_is_half_open() -> None:
    span = TimeSpan(start=1.0, end=2.0)
    assert span.contains(1.0)
    assert not span.contains(2.0)
    assert not span.overlaps(TimeSpan(start=2.0, end=3.0))


@pytest.mark.parametrize(("start", "end"), [(2.0, 1.0), (0.0, math.inf), (math.nan, 1.0)])
def test_a_span_that_runs_backwards_or_for_ever_is_refused(start: float, end: float) -> None:
    with pytest.raises(ValueError, match="span"):
        TimeSpan(start=start, end=end)


@given(spans, spans)
def test_overlap_is_symmetric_and_never_longer_than_either(a: TimeSpan, b: TimeSpan) -> None:
    assert a.overlap(b) == b.overlap(a)
    assert a.overlap(b) <= min(a.duration, b.duration) + 1e-9
    assert 0.0 <= a.iou(b) <= 1.0 + 1e-9


@given(st.lists(spans, max_size=20), st.floats(min_value=0, max_value=10))
def test_merged_spans_are_sorted_apart_and_cover_the_same_time(given_spans: list[TimeSpan], gap: float) -> None:
    merged = merge_spans(given_spans, gap=gap)
    assert all(b.start > a.end + gap for a, b in itertools.pairwise(merged))
    assert all(any(m.start <= span.start and span.end <= m.end for m in merged) for span in given_spans)


@given(spans, st.lists(spans, max_size=20))
def test_what_holes_leave_of_a_span_lies_apart_and_fills_it_with_them(span: TimeSpan, holes: list[TimeSpan]) -> None:
    parts = without_spans(span, merge_spans(holes))
    assert not any(part.overlaps(hole) for part in parts for hole in holes)
    covered = merge_spans([*parts, *(part for hole in holes if (part := hole.clip(span)) and part.duration)])
    assert covered == ([span] if span.duration else [])


@given(st.floats(min_value=0, max_value=1e6, allow_nan=False))
def test_what_is_known_is_never_dated_back(seconds: float) -> None:
    assert seconds - 2e-9 <= known_time(seconds) <= seconds + 0.001 + 1e-9


def test_a_time_of_whole_milliseconds_is_known_at_itself() -> None:
    assert [known_time(t) for t in (0.1, 0.7, 29.97, 33.3666)] == [0.1, 0.7, 29.97, 33.367]

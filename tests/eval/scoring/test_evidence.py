"""Cited stretches against those that show the answer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.evidence import CitedSpan
from eval.scoring import evidence_score
from world_api.core import TimeSpan


def spans(*ends: tuple[float, float]) -> list[TimeSpan]:
    return [TimeSpan(start=start, end=end) for start, end in ends]


def test_the_union_of_what_is_cited_is_compared_with_the_union_of_what_is_true() -> None:
    found = evidence_score(spans((0, 10), (5, 12), (30, 40)), spans((8, 20)))
    assert found is not None
    assert found.iou == pytest.approx(4 / 30, abs=1e-6)
    assert found.precision == pytest.approx(4 / 22, abs=1e-6)
    assert found.recall == pytest.approx(4 / 12, abs=1e-6)


def test_an_episodes_cited_spans_are_taken_as_they_are() -> None:
    found = evidence_score([CitedSpan(start_time=1.0, end_time=3.0, returned_by=["call_0"])], spans((1, 3)))
    assert found is not None and (found.iou, found.precision, found.recall) == (1.0, 1.0, 1.0)


def test_nothing_cited_scores_zero_and_nothing_known_scores_nothing() -> None:
    nothing = evidence_score([], spans((1, 3)))
    assert nothing is not None and nothing.iou == nothing.precision == nothing.recall == 0.0
    assert evidence_score(spans((1, 3)), []) is None


def test_moments_count_by_number() -> None:
    found = evidence_score(spans((2, 2), (50, 50)), spans((1, 3)))
    assert found is not None
    assert (found.precision, found.recall) == (0.5, 0.0)
    met = evidence_score(spans((2, 2)), spans((2, 2)))
    assert met is not None and met.iou == 1.0


ENDS = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), min_size=1, max_size=6)


@given(ENDS, ENDS)
def test_it_is_what_counting_seconds_gives(cited: list[tuple[int, int]], true: list[tuple[int, int]]) -> None:
    given_, known = (spans(*((start, start + length) for start, length in ends)) for ends in (cited, true))
    one, other = (np.zeros(100, dtype=bool), np.zeros(100, dtype=bool))
    for mask, stretches in ((one, given_), (other, known)):
        for stretch in stretches:
            mask[int(stretch.start) : int(stretch.end)] = True
    found = evidence_score(given_, known)
    assert found is not None
    assert found.iou == pytest.approx((one & other).sum() / (one | other).sum(), abs=1e-6)
    assert found.precision == pytest.approx((one & other).sum() / one.sum(), abs=1e-6)
    assert found.recall == pytest.approx((one & other).sum() / other.sum(), abs=1e-6)

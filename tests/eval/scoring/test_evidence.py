"""Cited stretches against those that show the answer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from controller.messages import CitedSpan
from eval.scoring import evidence_iou
from world_api.core import TimeSpan


def spans(*ends: tuple[float, float]) -> list[TimeSpan]:
    return [TimeSpan(start=start, end=end) for start, end in ends]


def test_the_union_of_what_is_cited_is_compared_with_the_union_of_what_is_true() -> None:
    assert evidence_iou(spans((0, 10), (5, 12), (30, 40)), spans((8, 20))) == pytest.approx(4 / 30, abs=1e-6)


def test_an_episodes_cited_spans_are_taken_as_they_are() -> None:
    assert evidence_iou([CitedSpan(start_time=1.0, end_time=3.0, returned_by=["call_0"])], spans((1, 3))) == 1.0


def test_nothing_cited_scores_zero_and_nothing_known_scores_nothing() -> None:
    assert evidence_iou([], spans((1, 3))) == 0.0
    assert evidence_iou([], spans((2, 2))) == 0.0
    assert evidence_iou(spans((1, 3)), []) is None


def test_moments_alone_are_right_if_one_is_met() -> None:
    assert evidence_iou(spans((2, 2), (50, 50)), spans((1, 3))) == 0.0
    assert evidence_iou(spans((2, 2), (50, 50)), spans((2, 2))) == 1.0
    assert evidence_iou(spans((2, 2)), spans((50, 50))) == 0.0


ENDS = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), min_size=1, max_size=6)


@given(ENDS, ENDS)
def test_it_is_what_counting_seconds_gives(cited: list[tuple[int, int]], true: list[tuple[int, int]]) -> None:
    given_, known = (spans(*((start, start + length) for start, length in ends)) for ends in (cited, true))
    one, other = (np.zeros(100, dtype=bool), np.zeros(100, dtype=bool))
    for mask, stretches in ((one, given_), (other, known)):
        for stretch in stretches:
            mask[int(stretch.start) : int(stretch.end)] = True
    assert evidence_iou(given_, known) == pytest.approx((one & other).sum() / (one | other).sum(), abs=1e-6)

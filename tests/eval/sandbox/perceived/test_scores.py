"""Agreement of moments, stretches and texts."""

from __future__ import annotations

import pytest

from eval.sandbox.perception import Agreement, moments_agree, plain, stretches_iou
from world_api.core.spans import TimeSpan


def spans(*pairs: tuple[float, float]) -> list[TimeSpan]:
    return [TimeSpan(start=start, end=end) for start, end in pairs]


def test_moments_are_matched_one_to_one_within_the_tolerance() -> None:
    found = moments_agree([1.0, 1.05, 5.0, 9.5], [1.02, 5.1, 8.0], tolerance=0.2)
    assert found == Agreement(right=2, found=4, true=3)
    assert found.precision == 0.5
    assert found.recall == pytest.approx(2 / 3)
    assert found.f1 == pytest.approx(4 / 7)


def test_the_nearest_pair_is_matched_first() -> None:
    assert moments_agree([1.0, 1.3], [1.2], tolerance=0.25).right == 1
    assert moments_agree([0.0, 0.4], [0.2, 0.6], tolerance=0.2).right == 2


def test_where_nothing_is_true_and_nothing_found_all_is_right() -> None:
    assert moments_agree([], [], tolerance=0.1).f1 == 1.0
    assert moments_agree([1.0], [], tolerance=0.1).f1 == 0.0
    assert moments_agree([], [1.0], tolerance=0.1).recall == 0.0


def test_stretches_count_once_however_they_overlap() -> None:
    assert stretches_iou(spans((0, 4), (2, 6)), spans((3, 9))) == pytest.approx(3 / 9)
    assert stretches_iou(spans((0, 1), (8, 9)), spans((0, 1), (8, 9))) == 1.0
    assert stretches_iou(spans((0, 1)), spans((1, 2))) == 0.0
    assert stretches_iou([], []) == 0.0


def test_texts_are_compared_by_letters_and_figures() -> None:
    assert plain(" Office 14 ") == plain("OFFICE-14")
    assert plain("09:15") != plain("09:16")
    assert plain("会议 10") == "会议10"

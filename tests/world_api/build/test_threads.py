"""OpenCV's threads come back as they were."""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import pytest

from world_api.build.scheduler import opencv_on_one_thread


@pytest.fixture(autouse=True)
def _three_threads() -> Iterator[None]:
    before = cv2.getNumThreads()
    cv2.setNumThreads(3)
    yield
    cv2.setNumThreads(before)


def test_opencv_works_on_one_thread_meanwhile_and_on_as_many_as_before_afterwards() -> None:
    with opencv_on_one_thread():
        assert cv2.getNumThreads() == 1

    assert cv2.getNumThreads() == 3


def test_of_two_builds_that_overlap_the_last_one_brings_the_threads_back() -> None:
    first, second = opencv_on_one_thread(), opencv_on_one_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)

    assert cv2.getNumThreads() == 1

    second.__exit__(None, None, None)
    assert cv2.getNumThreads() == 3


def test_a_build_that_fails_brings_the_threads_back() -> None:
    with pytest.raises(ValueError, match="broken"), opencv_on_one_thread():
        raise ValueError("broken")

    assert cv2.getNumThreads() == 3

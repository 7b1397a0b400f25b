"""One look at each picture finds what PySceneDetect's three detectors find with three."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from scenedetect import FrameTimecode
from scenedetect.detectors import AdaptiveDetector, ContentDetector, ThresholdDetector

from world_api.build.shots import (
    ADAPTIVE_CONTENT,
    ADAPTIVE_RATIO,
    ADAPTIVE_WINDOW,
    BLACK,
    CONTENT,
    FADE_BIAS,
    ShotChanges,
    mean_of,
)
from world_api.core import Image

Found = list[tuple[int, str, int]]  #: said after which picture, kind, number of the frame

RATE = 10.0


def by_the_detectors(pictures: Sequence[Image], shortest: int) -> Found:
    detectors = (
        ("cut", AdaptiveDetector(ADAPTIVE_RATIO, shortest, ADAPTIVE_WINDOW, ADAPTIVE_CONTENT)),
        ("cut", ContentDetector(CONTENT, shortest)),
        ("fade", ThresholdDetector(BLACK, shortest, FADE_BIAS)),
    )
    return [
        (number, kind, at.frame_num)
        for number, picture in enumerate(pictures)
        for kind, detector in detectors
        for at in detector.process_frame(FrameTimecode(number, fps=RATE), picture)
    ]


def by_one_look(pictures: Sequence[Image], shortest: int) -> Found:
    changes = ShotChanges(rate=RATE, shortest=shortest)
    return [
        (number, change.kind, change.number)
        for number, picture in enumerate(pictures)
        for change in changes.see(picture, brightness=mean_of(picture))
    ]


def film(shots: Sequence[tuple[int, int, float, int]]) -> list[Image]:
    """Shots by the seed of their colours, their frames, the light on them and how much their pictures shake."""
    made = []
    for seed, length, light, shake in shots:
        still = np.random.default_rng(seed).integers(0, 256, (6, 8, 3)).repeat(4, axis=0).repeat(4, axis=1)
        for step in range(length):
            noise = np.random.default_rng(1000 * seed + step).integers(-shake, shake + 1, still.shape)
            made.append(((still + noise).clip(0, 255) * light).astype(np.uint8))
    return made


SHOT = st.tuples(
    st.integers(0, 20),
    st.integers(1, 14),
    st.sampled_from([0.0, 0.01, 0.05, 0.3, 0.9, 1.0]),
    st.sampled_from([0, 5, 60]),
)


@given(st.lists(SHOT, min_size=1, max_size=10), st.integers(2, 8))
@example([(1, 12, 1.0, 5), (2, 12, 1.0, 5), (3, 3, 0.0, 0), (4, 12, 1.0, 60)], 5)
def test_one_look_finds_what_the_detectors_find(shots: list[tuple[int, int, float, int]], shortest: int) -> None:
    pictures = film(shots)
    assert by_one_look(pictures, shortest) == by_the_detectors(pictures, shortest)


def test_there_is_something_of_each_kind_to_find() -> None:
    pictures = film([(1, 12, 1.0, 5), (2, 12, 1.0, 5), (3, 3, 0.0, 0), (4, 12, 1.0, 5)])
    found = by_one_look(pictures, 5)
    assert {(kind, number) for _, kind, number in found} >= {("cut", 12), ("fade", 27)}


def test_the_mean_is_that_of_all_values() -> None:
    one, other = film([(1, 2, 1.0, 60)])
    assert mean_of(one) == pytest.approx(one.mean())
    assert mean_of(one, other) == pytest.approx(np.abs(one.astype(int) - other).mean())

"""People before a moving camera: who counts, and who does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np
import pytest

from tests.support.building import made_clip, made_source
from world_api.build.camera_motion import CameraWatch, Look
from world_api.build.people import People
from world_api.core import Box, DetectedObject, Image

pytestmark = pytest.mark.media

STEP = 0.25
CLIP = made_clip(source=made_source(rate=4.0, size=(640, 360)))


class Finder:
    """Finds what it is told to, whatever the picture shows."""

    producer = "finder/1"

    def __init__(self, found: Callable[[float], list[DetectedObject]]) -> None:
        self.now = 0.0
        self._found = found

    def person_score(self, image: Image, box: Box) -> float:
        return -1.0

    def people(self, image: Image) -> Sequence[DetectedObject]:
        return self._found(self.now)


def at(x: float, confidence: float = 0.9) -> DetectedObject:
    return DetectedObject(category="person", box=Box(x1=x, y1=40, x2=x + 50, y2=160), confidence=confidence)


def landscape() -> Image:
    noise = np.random.default_rng(5)
    return np.kron(noise.integers(30, 220, (23, 120)), np.ones((4, 4))).astype(np.uint8)[:90]


def follow(
    found: Callable[[float], list[DetectedObject]],
    *,
    moves: Callable[[float], float] | None = None,
    pan: float = 8.0,
    seconds: float = 12.0,
) -> list[dict[str, Any]]:
    """A camera that pans (glance pixels a second); something bright waves at ``moves`` (picture pixels), if anything."""
    finder = Finder(found)
    names = count(1)
    people = People(CLIP, finder, "made/1", lambda: f"t0000_{next(names):02d}")
    watch = CameraWatch()
    wide = landscape()
    for number in range(int(seconds / STEP)):
        time = finder.now = number * STEP
        glance = np.ascontiguousarray(wide[:, int(pan * time) : int(pan * time) + 160])
        if moves is not None:
            left = int(moves(time) / 2) + 5 + 6 * (number % 2)
            glance[30:60, left : left + 8] = 255
        watch.see(Look(time, glance))
        if people.is_due(time):
            people.look(np.full((180, 320, 3), 30, np.uint8), time, (360, 640), watch)
    return people.sightings


def test_somebody_found_again_and_again_is_a_track_in_pixels_of_the_frame() -> None:
    rows = follow(lambda t: [at(60 + 3 * t)], moves=lambda t: 60 + 3 * t)
    assert {row["track"] for row in rows} == {"t0000_01"}
    assert len(rows) >= 10
    assert (rows[0]["x1"], rows[0]["y1"], rows[0]["y2"]) == (120.0, 80.0, 320.0)
    assert {row["category"] for row in rows} == {"person"}


def test_nobody_is_known_before_several_finds_nor_very_surely() -> None:
    rows = follow(lambda t: [at(100)], moves=lambda t: 100)
    assert rows[0]["time"] == 0.0
    assert rows[0]["known_at"] >= 2.0
    assert all(row["known_at"] >= row["time"] for row in rows)
    assert all(row["confidence"] <= 0.6 for row in rows)


def test_a_thing_that_only_looks_like_a_person_and_never_moves_is_nobody() -> None:
    assert follow(lambda t: [at(100)]) == []


@pytest.mark.parametrize(
    "found",
    [
        lambda t: [at(100, confidence=0.3)],
        lambda t: [at(100)] if t < 1.5 else [],
        lambda t: [at(20 + 130 * (round(t / 0.75) % 3))] if t < 8 else [],
    ],
    ids=["unsure finds", "two finds", "finds all over the place"],
)
def test_what_is_not_found_clearly_and_in_place_is_nobody(found: Callable[[float], list[DetectedObject]]) -> None:
    rows = follow(found, moves=lambda t: 100, seconds=5.0)
    assert rows == []


def test_two_people_are_two_tracks() -> None:
    rows = follow(lambda t: [at(40), at(200)], moves=lambda t: 40 if round(t / STEP) % 4 < 2 else 200, seconds=16.0)
    assert len({row["track"] for row in rows}) == 2

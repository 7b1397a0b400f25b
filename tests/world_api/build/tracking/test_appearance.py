"""How things look as vectors: who is alike, under which light, and what says nothing."""

from __future__ import annotations

import numpy as np

from world_api.build.descriptors import describe, light_gains
from world_api.core import Image
from world_api.world import TRACK_LOOK_DIMENSION

Colour = tuple[int, int, int]
BLACK, RED, GREY, BLUE = (25, 25, 25), (40, 40, 180), (140, 140, 140), (150, 70, 40)
ROOM = np.full((60, 80, 3), (110, 120, 130), np.uint8)


def person(top: Colour, legs: Colour, *, size: tuple[int, int] = (90, 30), seed: int = 0) -> Image:
    """A figure of two colours, with some noise."""
    height, width = size
    picture = np.zeros((height, width, 3), np.float64)
    picture[: height // 2], picture[height // 2 :] = top, legs
    noisy = picture + np.random.default_rng(seed).normal(0, 6, picture.shape)
    return np.clip(noisy, 0, 255).astype(np.uint8)


def look(picture: Image, scene: Image = ROOM) -> np.ndarray:
    vector = describe(picture, np.full(picture.shape[:2], 255, np.uint8), light_gains(scene))
    assert vector is not None
    assert vector.shape == (TRACK_LOOK_DIMENSION,)
    assert np.isclose(np.linalg.norm(vector), 1.0, atol=1e-5)
    return vector


def alike(one: np.ndarray, other: np.ndarray) -> float:
    return float(one @ other)


def test_the_same_clothes_are_more_alike_than_other_clothes() -> None:
    known = look(person(RED, BLACK))
    again = look(person(RED, BLACK, seed=3, size=(84, 29)))
    assert alike(known, again) > 0.98
    for top, legs in ((BLUE, BLACK), (GREY, BLACK), (RED, GREY)):
        assert alike(known, look(person(top, legs))) < alike(known, again) - 0.05


def test_what_is_worn_above_is_told_from_what_is_worn_below() -> None:
    assert alike(look(person(RED, BLACK)), look(person(BLACK, RED))) < 0.85


def test_another_light_on_everything_changes_little() -> None:
    lamp = np.array([0.75, 0.9, 1.15])
    picture, room = (np.clip(image * lamp, 0, 255).astype(np.uint8) for image in (person(RED, BLACK), ROOM))
    known = look(person(RED, BLACK))
    assert alike(known, look(picture, room)) > alike(known, look(picture)) + 0.005
    assert alike(known, look(picture, room)) > 0.97


def test_too_little_to_see_is_no_look() -> None:
    picture = person(RED, BLACK, size=(10, 6))
    assert describe(picture, np.full((10, 6), 255, np.uint8), light_gains(ROOM)) is None


def test_a_thing_of_which_only_a_part_is_seen_is_no_look() -> None:
    mask = np.zeros((90, 30), np.uint8)
    mask[:40] = 255
    assert describe(person(RED, BLACK), mask, light_gains(ROOM)) is None

"""People before a moving camera: who counts, and who does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import cv2
import numpy as np
import pytest

from tests.support.building import made_clip, made_source
from world_api.build.camera_motion import CameraMove, CameraWatch, Look, is_break
from world_api.build.colours import colour_words, lab_of
from world_api.build.people import People, PersonVotes
from world_api.core import Box, DetectedObject, Image
from world_api.perception import ColourAppearance
from world_api.world import TRACK_LOOK_DIMENSION

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


def strip() -> Image:
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
    people = People(CLIP, finder, lambda: f"t0000_{next(names):02d}")
    watch = CameraWatch()
    wide = strip()
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


PICTURE: Image = np.zeros((180, 320, 3), dtype=np.uint8)


class Says:
    """Gives the same score whatever it is shown."""

    producer = "says/1"

    def __init__(self, score: float) -> None:
        self._score = score

    def person_score(self, image: Image, box: Box) -> float:
        return self._score

    def people(self, image: Image) -> Sequence[DetectedObject]:
        return []


YES, NO = Says(1.0), Says(-1.0)


def upright(x: float) -> Box:
    return Box(x1=x, y1=40, x2=x + 40, y2=130)


def votes_after(*looks: tuple[Says, Box], cut_off: bool = False) -> PersonVotes:
    votes = PersonVotes()
    for number, (scorer, box) in enumerate(looks):
        votes.look(scorer, lambda: PICTURE, box, 0.5 * number, cut_off=cut_off)
    return votes


def test_who_stands_still_in_an_unknown_pose_stays_a_person() -> None:
    walk = [(YES, upright(10.0 * step)) for step in range(3)]
    assert votes_after(*walk, *[(NO, upright(40.0))] * 20).is_person


def test_misses_of_different_views_add_up() -> None:
    walk = [(YES, upright(10.0 * step)) for step in range(3)]
    assert not votes_after(*walk, *[(NO, upright(40.0 + 20.0 * step)) for step in range(5)]).is_person


def test_a_hit_between_two_misses_of_a_view_makes_the_second_count() -> None:
    still = upright(40.0)
    assert votes_after((NO, still), (YES, still), (NO, still)).score == pytest.approx(0.0)


def test_what_the_picture_cuts_off_needs_more_looks() -> None:
    walk = [(YES, upright(10.0 * step)) for step in range(4)]
    assert votes_after(*walk).is_person
    assert not votes_after(*walk, cut_off=True).is_person
    assert votes_after(*walk, (YES, upright(50.0)), cut_off=True).is_person


def test_what_lies_or_is_as_thin_as_a_pole_gets_no_vote_from_the_detector() -> None:
    lying, pole = Box(x1=0, y1=0, x2=90, y2=40), Box(x1=0, y1=0, x2=10, y2=90)
    assert votes_after((YES, lying), (YES, pole), (YES, lying)).score < 0.0


pytestmark = pytest.mark.media

STEP = 0.25


def landscape(seed: int = 5) -> Image:
    """A gray picture, larger than what is shown of it, with corners everywhere."""
    noise = np.random.default_rng(seed)
    return cv2.GaussianBlur(np.kron(noise.integers(30, 220, (40, 60)), np.ones((8, 8))).astype(np.uint8), (5, 5), 0)


def window(*, right: float = 0.0, down: float = 0.0, zoom: float = 1.0, turn: float = 0.0) -> Image:
    """What a camera sees (160 x 90) that has moved right and down (pixels), come nearer, and turned (degrees)."""
    middle = (240 + right, 160 + down)
    motion = cv2.getRotationMatrix2D(middle, turn, zoom)
    motion[:, 2] += (80 - middle[0], 45 - middle[1])
    return cv2.warpAffine(landscape(), motion, (160, 90))


def watched(see: Callable[[float], Image], *, seconds: float = 4.0) -> tuple[CameraWatch, list[CameraMove | None]]:
    watch = CameraWatch()
    moves = []
    for number in range(int(seconds / STEP)):
        watch.see(Look(number * STEP, see(number * STEP)))
        moves.append(watch.move(number * STEP))
    return watch, moves


@pytest.mark.parametrize(
    ("see", "kind"),
    [
        (lambda t: window(right=10 * t), "pan_right"),
        (lambda t: window(right=-10 * t), "pan_left"),
        (lambda t: window(down=10 * t), "tilt_down"),
        (lambda t: window(down=-10 * t), "tilt_up"),
        (lambda t: window(zoom=1.08**t), "zoom_in"),
        (lambda t: window(zoom=1.08**-t), "zoom_out"),
        (lambda t: window(turn=6 * t), "turn"),
        (lambda t: window(right=2.2 * (round(t / STEP) % 2), down=0.8 * (round(t / STEP) % 3)), "shake"),
    ],
)
def test_each_movement_has_its_name(see: Callable[[float], Image], kind: str) -> None:
    watch, moves = watched(see)
    assert {move.kind for move in moves[8:] if move} == {kind}
    assert not watch.is_steady(4.0)


def test_the_strength_is_how_far_the_picture_goes_in_a_second() -> None:
    _, moves = watched(lambda t: window(right=16 * t))
    assert moves[-1] is not None
    assert moves[-1].strength == pytest.approx(0.1, abs=0.01)


def test_a_camera_that_stands_still_is_still_and_steady() -> None:
    watch, moves = watched(lambda t: window())
    assert moves[-1] == CameraMove(kind="still", strength=0.0)
    assert watch.is_steady(4.0)


def test_nothing_is_told_before_enough_was_seen() -> None:
    _, moves = watched(lambda t: window(right=10 * t))
    assert moves[:3] == [None, None, None]


def test_something_large_that_moves_before_a_still_camera_is_no_movement_of_it() -> None:
    thing = landscape(9)[:90, :60]

    def see(time: float) -> Image:
        picture = window().copy()
        left = int(12 * time)
        picture[:, left : left + 60] = thing
        return picture

    watch, moves = watched(see)
    assert {move.kind for move in moves if move} <= {"still"}
    assert watch.is_steady(4.0)


def test_a_cut_is_no_movement() -> None:
    def see(time: float) -> Image:
        return window() if time < 2 else 255 - window(right=60)

    watch, moves = watched(see)
    assert {move.kind for move in moves if move} == {"still"}
    assert watch.is_steady(4.0)


def like_room(seed: int) -> Image:
    """A room with a wall and a floor that all rooms have, and other things in it."""
    noise = np.random.default_rng(seed)
    picture = np.full((90, 160), 170, np.uint8)
    picture[60:] = 120
    for row in range(6):
        for column in range(10):
            if noise.random() < 0.55:
                picture[15 * row : 15 * row + 12, 16 * column : 16 * column + 12] = noise.integers(60, 200)
    return np.clip(picture + np.linspace(-50, 50, 160), 0, 255).astype(np.uint8)


def test_samples_far_apart_show_a_cut_between_like_rooms_and_no_change_of_light() -> None:
    room, other = like_room(1), like_room(2)
    dim = np.clip(room * 0.9, 0, 255).astype(np.uint8)
    person = room.copy()
    person[20:88, 60:95] = 30
    assert is_break(Look(0.0, room), Look(1.0, other))
    assert not is_break(Look(0.0, room), Look(1.0, dim))
    assert not is_break(Look(0.0, room), Look(1.0, person))
    assert is_break(Look(0.0, room), Look(0.25, 255 - room))


def test_changes_leave_out_what_the_camera_does_itself() -> None:
    watch = CameraWatch()
    for number in range(6):
        picture = window(right=3.0 * number).copy()
        picture[30:60, 10 * number + 40 : 10 * number + 60] = 255
        watch.see(Look(number * STEP, picture))
    changes = watch.changes()
    assert changes is not None
    around = np.ones_like(changes, dtype=bool)
    around[25:65, 75:125] = False
    assert changes[30:60, 90:110].mean() > 0.3
    assert changes[around].mean() < 0.05


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
    vector = ColourAppearance().embed(picture, np.full(picture.shape[:2], 255, np.uint8), scene)
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
    assert ColourAppearance().embed(picture, np.full((10, 6), 255, np.uint8), ROOM) is None


def test_a_thing_of_which_only_a_part_is_seen_is_no_look() -> None:
    mask = np.zeros((90, 30), np.uint8)
    mask[:40] = 255
    assert ColourAppearance().embed(person(RED, BLACK), mask, ROOM) is None


@pytest.mark.parametrize(
    ("bgr", "word"),
    [
        ((10, 10, 10), "black"),
        ((240, 240, 240), "white"),
        ((128, 128, 128), "grey"),
        ((30, 30, 200), "red"),
        ((30, 200, 230), "yellow"),
        ((60, 150, 50), "green"),
        ((180, 80, 40), "blue"),
        ((150, 40, 110), "purple"),
        ((170, 120, 240), "pink"),
        ((20, 120, 240), "orange"),
        ((25, 55, 100), "brown"),
    ],
)
def test_each_colour_has_its_word(bgr: tuple[int, int, int], word: str) -> None:
    picture = np.full((40, 40, 3), bgr, np.uint8)
    assert colour_words(picture, np.full((40, 40), 255, np.uint8)) == [word]


def test_colours_are_those_under_the_mask_the_largest_first() -> None:
    picture = np.zeros((60, 60, 3), np.uint8)
    picture[:, :40] = (30, 30, 200)
    picture[:20] = (0, 255, 0)
    mask = np.zeros((60, 60), np.uint8)
    mask[20:] = 255
    assert colour_words(picture, mask) == ["red", "black"]


def test_lab_is_that_of_opencv() -> None:
    pixels = np.random.default_rng(2).integers(0, 256, (20_000, 3), dtype=np.uint8)
    gap = np.abs(lab_of(pixels) - cv2.cvtColor(pixels[None], cv2.COLOR_BGR2LAB)[0])
    assert gap.max() <= 1
    assert (gap > 0).mean() < 0.01
    grey = np.repeat(np.arange(256, dtype=np.uint8)[:, None], 3, axis=1)
    assert (lab_of(grey)[:, 1:] == 128).all()

"""What the camera does, told from pictures whose motion is known."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
import pytest

from world_api.build.camera_motion import CameraMove, CameraWatch, Look, is_break
from world_api.core import Image

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

"""What is drawn is where the boxes say, and looks as the script says."""

from __future__ import annotations

import numpy as np
import pytest

from eval.sandbox import HEIGHT, WIDTH, Card, Look, Prop, Room, lost_folder
from eval.sandbox.canvas import COLOURS
from eval.sandbox.figures import Pose, paint_person, paint_prop
from eval.sandbox.rooms import paint_card, paint_room
from world_api.core.spans import Box

LOOK = Look(coat="red", trousers="black", hair="brown", hair_style="long", skin="light")
FOLDER = Prop(name="blue folder", category="folder", colour="blue")


def _plain() -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.full((HEIGHT, WIDTH, 3), 200, np.uint8)


def _changed(image: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> Box:
    """Where the picture differs from the plain one by more than the shadow on the floor does."""
    differs = np.abs(image.astype(int) - 200).max(axis=2) > 100
    rows, columns = np.flatnonzero(differs.any(axis=1)), np.flatnonzero(differs.any(axis=0))
    return Box(x1=columns[0], y1=rows[0], x2=columns[-1] + 1, y2=rows[-1] + 1)


@pytest.mark.parametrize("phase", [0.0, 0.8, 1.6, 2.4, 4.0])
@pytest.mark.parametrize("facing", [1, -1])
def test_a_persons_box_is_where_the_person_was_drawn(phase: float, facing: int) -> None:
    image = _plain()
    box = paint_person(image, LOOK, Pose(facing=facing, stride=1.0, phase=phase), (300.3, 320.6), 185).person
    assert box is not None
    drawn = _changed(image)
    assert box.x1 == pytest.approx(drawn.x1, abs=4)
    assert box.x2 == pytest.approx(drawn.x2, abs=4)
    assert box.y1 == pytest.approx(drawn.y1, abs=2)
    assert box.y2 == pytest.approx(drawn.y2, abs=2)


def test_a_standing_person_has_the_height_that_was_asked_for() -> None:
    box = paint_person(_plain(), LOOK, Pose(facing=1), (300, 320), 185).person
    assert box is not None
    assert box.height == pytest.approx(185, abs=8)


def test_clothes_have_the_colours_the_look_names() -> None:
    image = _plain()
    paint_person(image, LOOK, Pose(facing=1), (300, 320), 185)
    chest, leg = image[230:250, 285:292].mean(axis=(0, 1)), image[270:290, 296:304].mean(axis=(0, 1))
    assert np.abs(chest - COLOURS["red"]).max() < 60
    assert leg.max() < 80


@pytest.mark.parametrize(("x", "seen"), [(-15, False), (5, True), (635, True), (660, False)])
def test_a_person_counts_as_seen_when_a_fair_part_is_in_the_frame(x: float, seen: bool) -> None:
    box = paint_person(_plain(), LOOK, Pose(facing=1), (x, 320), 185).person
    assert (box is not None) is seen
    if box is not None:
        assert box.x1 >= 0
        assert box.x2 <= WIDTH


def test_nothing_is_drawn_for_a_person_far_outside() -> None:
    image = _plain()
    assert paint_person(image, LOOK, Pose(facing=1), (-300, 320), 185).person is None
    assert (image == 200).all()


def test_a_carried_thing_has_its_own_box_beside_the_person() -> None:
    painted = paint_person(_plain(), LOOK, Pose(facing=1, holds=FOLDER), (300, 320), 185)
    assert painted.person is not None
    assert painted.held is not None
    assert 30 < painted.held.width < 60


def test_a_thing_lies_where_it_was_put() -> None:
    box = paint_prop(_plain(), FOLDER, (300.0, 200.0))
    assert box is not None
    assert box.center[0] == pytest.approx(300, abs=3)
    assert box.y2 == pytest.approx(200, abs=1)


@pytest.mark.parametrize("part", [part for _, part in lost_folder(7).placed()], ids=lambda part: part.caption[:30])
def test_every_picture_says_what_is_written_in_it_and_where(part: object) -> None:
    backdrop = paint_card(part) if isinstance(part, Card) else paint_room(part.room)  # type: ignore[attr-defined]  # a shot
    assert backdrop.image.shape == (HEIGHT, WIDTH, 3)
    assert backdrop.texts
    for written in backdrop.texts:
        x1, y1, x2, y2 = (round(value) for value in written.box.rounded())
        ink = backdrop.image[y1:y2, x1:x2].astype(int)
        assert 0 <= x1 < x2 <= WIDTH
        assert y2 - y1 >= 11
        assert ink.max() - ink.min() > 100, f"{written.text} is hard to read"


def test_a_room_with_another_seed_has_other_details_and_the_same_sign() -> None:
    first, second = (paint_room(Room(kind="library", name="library", sign="LIBRARY", seed=seed)) for seed in (1, 2))
    assert (first.image != second.image).any()
    assert first.texts == second.texts

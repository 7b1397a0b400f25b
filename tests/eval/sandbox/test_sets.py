"""Plans of rooms: whatever is offered can be reached, and rooms differ."""

from __future__ import annotations

import math
from itertools import combinations
from typing import get_args

import cv2
import numpy as np
import pytest

from eval.sandbox import plan_of
from eval.sandbox.canvas import COLOURS, hexa, shade
from eval.sandbox.figures import arm_towards
from eval.sandbox.renderer import size_at
from eval.sandbox.room_plans import GIVING_APART, WALL_COUNT, giving_place, style_of
from eval.sandbox.rooms import paint_room
from eval.sandbox.script import HEIGHT, WIDTH, Room, RoomKind

KINDS = get_args(RoomKind)
VARIANTS = range(1, 33)


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_a_plan_offers_is_within_reach_and_in_the_frame(kind: RoomKind) -> None:
    for variant in VARIANTS:
        plan = plan_of(kind, variant)
        for place, stand, facing in [
            *((spot.place, spot.stand, spot.facing) for spot in plan.spots),
            *((item.place, item.stand, item.facing) for item in plan.openings),
        ]:
            assert 20 < place[0] < WIDTH - 20
            assert 40 < stand[0] < WIDTH - 40
            assert (place[0] - stand[0]) * facing > 0
            height = size_at(stand[1]) * 0.96
            arm = arm_towards(place, stand, height, facing)
            hand = (
                stand[0] + facing * (1.1 * height * (-0.035 + 0.165 * math.sin(arm.upper) + 0.172 * math.sin(arm.fore)) + 4),
                stand[1] - height * (0.775 - 0.165 * math.cos(arm.upper) - 0.172 * math.cos(arm.fore)) + 12,
            )  # fmt: skip
            assert math.dist(hand, place) < 8, (variant, place)


@pytest.mark.parametrize("kind", KINDS)
def test_names_of_a_plan_tell_its_places_apart(kind: RoomKind) -> None:
    for variant in VARIANTS:
        plan = plan_of(kind, variant)
        names = [item.name for item in (*plan.spots, *plan.seats, *plan.openings)]
        assert len(set(names)) == len(names)
        assert plan.spots
        assert plan.seats


def test_rooms_of_most_kinds_have_two_drawers() -> None:
    with_drawers = [
        kind
        for kind in KINDS
        if {"the left drawer", "the right drawer"} <= {item.name for item in plan_of(kind, 1).openings}
    ]
    assert len(with_drawers) >= 5


def test_the_same_variant_is_the_same_room_and_others_differ() -> None:
    once = plan_of("office", 3)
    plan_of.cache_clear()
    assert plan_of("office", 3) == once
    orders = {
        tuple(piece.kind for piece in sorted(plan_of("office", variant).pieces, key=lambda piece: piece.x))
        for variant in VARIANTS
    }
    assert len(orders) > 5
    walls = [style_of(variant).wall for variant in range(1, 1 + WALL_COUNT)]
    assert len(set(walls)) == WALL_COUNT


def test_rooms_without_a_variant_have_no_plan() -> None:
    with pytest.raises(ValueError, match="variants count from 1"):
        plan_of("office", 0)


def test_two_people_who_give_meet_in_the_middle() -> None:
    assert giving_place((100.0, 326.0), (100.0 + GIVING_APART, 326.0))[0] == 100 + GIVING_APART / 2


@pytest.mark.parametrize("variant", range(1, 17))
def test_clothes_of_every_colour_stand_out_from_the_wall_and_the_floor(variant: int) -> None:
    style = style_of(variant)
    for name, surface in (("wall", style.wall), ("floor", style.floor_tone)):
        for word, colour in COLOURS.items():
            apart = np.abs(_lab(hexa(surface)) - _lab(shade(colour, 0.95)))
            assert np.linalg.norm(apart) > 24, f"{word} clothes on the {name} {surface}"


def test_walls_are_far_from_one_another() -> None:
    walls = [_lab(hexa(style_of(variant).wall)) for variant in range(WALL_COUNT)]
    assert min(float(np.linalg.norm(one - other)) for one, other in combinations(walls, 2)) > 16


@pytest.mark.parametrize("kind", ["office", "kitchen", "entrance hall"])
def test_every_text_of_a_room_is_written_in_the_frame_and_apart_from_the_others(kind: RoomKind) -> None:
    room = Room(
        kind=kind, name=kind, sign=f"{kind.upper()} 48", notes=("CHOIR", "10:35"), clock="09:40", variant=len(kind)
    )
    texts = paint_room(room).texts
    assert sorted(text.text for text in texts) == sorted((room.sign, room.clock, *room.notes))
    for text in texts:
        assert 0 <= text.box.x1 < text.box.x2 <= WIDTH
        assert 0 <= text.box.y1 < text.box.y2 <= HEIGHT
        assert text.box.height >= 10
    assert all(one.box.iou(other.box) == 0 for one, other in combinations(texts, 2))


def _lab(colour: tuple[float, float, float]) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    pixel = np.array([[colour]], np.float32) / 255
    return np.asarray(cv2.cvtColor(pixel, cv2.COLOR_BGR2LAB)[0, 0], np.float32)

"""What people do is seen in the picture: before, in the middle, and afterwards."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from eval.sandbox import (
    GIVING_APART,
    HEIGHT,
    WIDTH,
    Actor,
    Carry,
    Gesture,
    Look,
    Opening,
    Performance,
    Prop,
    Resting,
    Room,
    Shot,
    Walk,
    Wear,
    giving_place,
    plan_of,
)
from eval.sandbox.canvas import COLOURS
from eval.sandbox.figures import Pose, paint_person, paint_prop
from eval.sandbox.renderer import DrawnFrame, backdrop_of, frames_of_part, open_at, people_at

RATE = 10
MIA = Actor(
    name="Mia", look=Look(coat="red", trousers="black", hair="brown", hair_style="long", skin="light"), pitch=205
)
TOM = replace(MIA, name="Tom", look=replace(MIA.look, coat="blue"))
FOLDER = Prop(name="green folder", category="folder", colour="green", label="red")
HAT = Prop(name="purple hat", category="hat", colour="purple")
HALL = Room(kind="entrance hall", name="the hall", sign="HALL", variant=1)


def stand(actor: Actor, x: float, facing: int = 1, **doing: object) -> Performance:
    walk = Walk(start=0.0, end=0.1, origin=(x - facing, 326.0), goal=(x, 326.0))
    return Performance(actor=actor, walks=(walk,), **doing)  # type: ignore[arg-type]  # fields of a performance


def drawn(shot: Shot) -> list[DrawnFrame]:
    return list(frames_of_part(shot, backdrop_of(shot), start=0.0, frame_rate=RATE))


def shot_of(*performances: Performance, **more: object) -> Shot:
    return Shot(room=HALL, duration=3.0, caption="", performances=performances, **more)  # type: ignore[arg-type]  # fields of a shot


def box_of(frame: DrawnFrame, subject: Actor | Prop) -> tuple[float, float, float, float] | None:
    return next((seen.box.rounded() for seen in frame.sightings if seen.subject == subject), None)


def test_who_sits_down_gets_lower_and_stays_so_until_standing_up() -> None:
    doing = (
        Gesture(start=0.5, end=1.2, kind="sits down", label="sits", facing=1),
        Gesture(start=2.0, end=2.7, kind="stands up", label="stands", facing=1),
    )
    frames = drawn(shot_of(stand(MIA, 300, gestures=doing)))
    heights = [box[3] - box[1] for frame in frames if (box := box_of(frame, MIA))]
    assert heights[15] < 0.85 * heights[3]
    assert heights[-1] == pytest.approx(heights[3], abs=3)


def test_who_stands_up_without_having_sat_down_sat_from_the_start() -> None:
    doing = (Gesture(start=1.5, end=2.2, kind="stands up", label="stands", facing=-1),)
    shot = shot_of(stand(MIA, 300, gestures=doing))
    [stance] = people_at(shot, 0.5)
    assert stance.pose.seated == 1.0
    assert stance.pose.facing == -1


@pytest.mark.parametrize("target", [item.name for item in plan_of("entrance hall", 1).openings])
def test_what_is_opened_is_seen_open_and_looks_as_before_when_it_is_closed(target: str) -> None:
    shot = shot_of(openings=(Opening(start=1.0, end=2.0, target=target),))
    frames = drawn(shot)
    assert (frames[0].image == frames[-1].image).all()
    differs = np.abs(frames[15].image.astype(int) - frames[0].image).max(axis=2) > 30
    assert differs.sum() > 800
    columns = np.flatnonzero(differs.any(axis=0))
    handle = next(item.handle for item in plan_of("entrance hall", 1).openings if item.name == target)
    assert columns[0] - 25 <= handle[0] <= columns[-1] + 25
    assert open_at(shot, 1.1)[target] < 1.0


def test_what_stays_open_over_a_cut_is_open_at_once() -> None:
    shot = shot_of(openings=(Opening(start=0.0, end=3.0, target="the door"),))
    assert open_at(shot, 0.0) == {"the door": 1.0}
    assert open_at(shot, 2.99) == {"the door": 1.0}


def test_a_thing_that_is_given_goes_from_one_person_to_the_other() -> None:
    one, other = (220.0, 326.0), (220.0 + GIVING_APART, 326.0)
    place = giving_place(one, other)
    giver = stand(
        MIA,
        one[0],
        gestures=(Gesture(start=1.0, end=2.2, kind="gives", label="g", facing=1, place=place, prop=FOLDER),),
        carries=(Carry(start=0.0, end=1.6, prop=FOLDER),),
    )
    taker = stand(
        TOM,
        other[0],
        -1,
        gestures=(Gesture(start=1.0, end=2.2, kind="receives", label="r", facing=-1, place=place, prop=FOLDER),),
        carries=(Carry(start=1.6, end=3.0, prop=FOLDER),),
    )
    middles = [(box[0] + box[2]) / 2 for frame in drawn(shot_of(giver, taker)) if (box := box_of(frame, FOLDER))]
    assert len(middles) == 3 * RATE
    assert abs(middles[5] - one[0]) < abs(middles[5] - other[0])
    assert abs(middles[-1] - other[0]) < abs(middles[-1] - one[0])
    assert max(abs(b - a) for a, b in pairwise(middles)) < 45, "it never leaps across"


def test_a_hat_is_seen_on_the_head_of_who_wears_it() -> None:
    performance = stand(
        MIA,
        300,
        gestures=(Gesture(start=0.5, end=1.9, kind="puts on", label="p", facing=1, prop=HAT),),
        carries=(Carry(start=0.0, end=1.2, prop=HAT),),
        wears=(Wear(start=1.2, end=3.0, prop=HAT),),
    )
    last = drawn(shot_of(performance))[-1]
    hat, person = box_of(last, HAT), box_of(last, MIA)
    assert hat is not None
    assert person is not None
    assert hat[1] == pytest.approx(person[1], abs=6)
    x, y = int((hat[0] + hat[2]) / 2), int((hat[1] + hat[3]) / 2) - 4
    assert np.abs(last.image[y, x].astype(int) - COLOURS["purple"]).max() < 80


def test_a_thing_on_a_hook_hangs_below_it() -> None:
    spot = next(spot for spot in plan_of("entrance hall", 1).spots if spot.hangs)
    bag = Prop(name="red bag", category="bag", colour="red")
    frames = drawn(shot_of(resting=(Resting(start=0, end=3, prop=bag, place=spot.place),)))
    box = box_of(frames[0], bag)
    assert box is not None
    assert 130 <= box[1] <= 145


@pytest.mark.parametrize(
    "category", ["folder", "cup", "book", "box", "bag", "key", "umbrella", "hat", "scarf", "letter"]
)
def test_things_can_be_told_apart_and_have_the_colour_of_their_name(category: str) -> None:
    image = np.full((HEIGHT, WIDTH, 3), 200, np.uint8)
    box = paint_prop(image, Prop(name=category, category=category, colour="blue"), (300.0, 200.0))
    assert box is not None
    assert box.width >= 9
    part = image[int(box.y1) : int(box.y2), int(box.x1) : int(box.x2)].astype(int)
    blue = (part[..., 0] - part[..., 2]) > 60
    assert blue.mean() > 0.2


def test_a_coloured_label_is_seen_on_a_thing() -> None:
    plain, labelled = (np.full((HEIGHT, WIDTH, 3), 200, np.uint8) for _ in range(2))
    paint_prop(plain, replace(FOLDER, label=""), (300.0, 200.0))
    paint_prop(labelled, FOLDER, (300.0, 200.0))
    red = (labelled[..., 2].astype(int) - labelled[..., 1]) > 80
    assert red.sum() > 60
    assert not ((plain[..., 2].astype(int) - plain[..., 1]) > 80).any()


def test_people_in_rooms_of_a_variant_stand_broader_than_a_post() -> None:
    [stance] = people_at(shot_of(stand(MIA, 300)), 1.0)
    image = np.full((HEIGHT, WIDTH, 3), 200, np.uint8)
    box = paint_person(image, MIA.look, stance.pose, (300, 326), 183).person
    slim = paint_person(image, MIA.look, Pose(facing=1), (300, 326), 183).person
    assert box is not None
    assert slim is not None
    assert box.height / box.width < 3.4 < slim.height / slim.width

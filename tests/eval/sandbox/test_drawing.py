"""What is drawn is where the boxes say, looks as the script says, and changes when people act."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from eval.sandbox import plan_of
from eval.sandbox.canvas import COLOURS
from eval.sandbox.renderer import DrawnFrame
from eval.sandbox.room_plans import GIVING_APART, giving_place
from eval.sandbox.script import (
    WIDTH,
    Actor,
    Carry,
    Film,
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
)
from tests.support.speaking_films import frames

RATE = 10
MIA = Actor(
    name="Mia", look=Look(coat="red", trousers="black", hair="brown", hair_style="long", skin="light"), pitch=205
)
TOM = replace(MIA, name="Tom", look=replace(MIA.look, coat="blue"))
FOLDER = Prop(name="green folder", category="folder", colour="green", label="red")
HAT = Prop(name="purple hat", category="hat", colour="purple")
HALL = Room(kind="entrance hall", name="the hall", sign="HALL", variant=1)
OFFICE = Room(kind="office", name="the office", sign="OFFICE 1")

Places = tuple[float, float, float, float]


def stand(actor: Actor, x: float, facing: int = 1, **doing: Any) -> Performance:
    walk = Walk(start=0.0, end=0.1, origin=(x - facing, 326.0), goal=(x, 326.0))
    return Performance(actor=actor, walks=(walk,), **doing)


def drawn(*performances: Performance, room: Room = HALL, duration: float = 3.0, **more: Any) -> list[DrawnFrame]:
    shot = Shot(room=room, duration=duration, caption="", performances=performances, **more)
    return list(frames(Film(title="", frame_rate=RATE, parts=(shot,))))


def box_of(frame: DrawnFrame, subject: Actor | Prop) -> Places | None:
    return next((seen.box.rounded() for seen in frame.sightings if seen.subject == subject), None)


def test_a_walking_persons_box_is_where_the_person_was_drawn() -> None:
    facing = -1
    walk = Walk(start=0.0, end=1.5, origin=(320 - facing * 60, 320.0), goal=(320 + facing * 60, 320.0))
    empty = drawn(room=OFFICE, duration=0.1)[0].image.astype(int)
    for frame in drawn(Performance(actor=MIA, walks=(walk,)), room=OFFICE, duration=1.5)[2::3]:
        box = box_of(frame, MIA)
        assert box is not None
        differs = np.abs(frame.image.astype(int) - empty).max(axis=2) > 60
        rows, columns = np.flatnonzero(differs.sum(axis=1) > 2), np.flatnonzero(differs.sum(axis=0) > 2)
        assert (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1) == pytest.approx(box, abs=6)


def test_a_person_has_the_height_of_the_place_and_the_colours_of_the_look() -> None:
    frame = drawn(stand(MIA, 300), room=OFFICE, duration=0.5)[-1]
    box = box_of(frame, MIA)
    assert box is not None
    assert box[3] - box[1] == pytest.approx(181, abs=8)
    foot = round(box[3])
    chest, leg = (
        frame.image[foot - low : foot - high, x : x + 6].mean(axis=(0, 1))
        for low, high, x in ((90, 70, 287), (50, 30, 283))
    )
    assert np.abs(chest - COLOURS["red"]).max() < 60
    assert leg.max() < 80


def test_a_person_counts_as_seen_when_a_fair_part_is_in_the_frame() -> None:
    places = {-15: False, 5: True, 635: True, 660: False}
    actors = {x: replace(MIA, name=f"Mia {x}") for x in places}
    frame = drawn(*(stand(actor, x) for x, actor in actors.items()), duration=0.2)[-1]
    for x, seen in places.items():
        box = box_of(frame, actors[x])
        assert (box is not None) is seen
        if box is not None:
            assert 0 <= box[0] < box[2] <= WIDTH


def test_nothing_is_drawn_for_a_person_far_outside() -> None:
    empty, with_mia = drawn(duration=0.1)[0], drawn(stand(MIA, -300), duration=0.1)[0]
    assert (empty.image == with_mia.image).all()
    assert with_mia.sightings == ()


def test_a_room_with_another_seed_has_other_details() -> None:
    first, second = (drawn(room=replace(OFFICE, seed=seed), duration=0.1)[0].image for seed in (1, 2))
    assert (first != second).any()


def test_who_sits_down_gets_lower_and_stays_so_until_standing_up() -> None:
    doing = (
        Gesture(start=0.5, end=1.2, kind="sits down", label="sits", facing=1),
        Gesture(start=2.0, end=2.7, kind="stands up", label="stands", facing=1),
    )
    heights = [box[3] - box[1] for frame in drawn(stand(MIA, 300, gestures=doing)) if (box := box_of(frame, MIA))]
    assert heights[15] < 0.85 * heights[3]
    assert heights[-1] == pytest.approx(heights[3], abs=3)
    # One who stands up without having sat down sat from the start.
    heights = [box[3] - box[1] for frame in drawn(stand(MIA, 300, gestures=doing[1:])) if (box := box_of(frame, MIA))]
    assert heights[3] == heights[15] < 0.85 * heights[-1]


@pytest.mark.parametrize("target", [item.name for item in plan_of("entrance hall", 1).openings])
def test_what_is_opened_is_seen_open_and_looks_as_before_when_it_is_closed(target: str) -> None:
    film = drawn(openings=(Opening(start=1.0, end=2.0, target=target),))
    assert (film[0].image == film[-1].image).all()
    differs = np.abs(film[15].image.astype(int) - film[0].image).max(axis=2) > 30
    assert differs.sum() > 800
    columns = np.flatnonzero(differs.any(axis=0))
    handle = next(item.place for item in plan_of("entrance hall", 1).openings if item.name == target)
    assert columns[0] - 25 <= handle[0] <= columns[-1] + 25
    assert (film[11].image != film[15].image).any(), "it opens bit by bit"


def test_what_stays_open_over_a_cut_is_open_at_once() -> None:
    film = drawn(openings=(Opening(start=0.0, end=1.0, target="the door"),), duration=1.0)
    assert (film[0].image == film[-1].image).all()
    assert (film[0].image != drawn(duration=0.1)[0].image).any()


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
    way = [(box[0] + box[2]) / 2 for frame in drawn(giver, taker) if (box := box_of(frame, FOLDER))]
    assert len(way) == 3 * RATE
    assert abs(way[5] - one[0]) < abs(way[5] - other[0])
    assert abs(way[-1] - other[0]) < abs(way[-1] - one[0])
    assert max(abs(b - a) for a, b in pairwise(way)) < 45, "it never leaps across"


def test_a_hat_is_seen_on_the_head_of_who_wears_it() -> None:
    performance = stand(
        MIA,
        300,
        gestures=(Gesture(start=0.5, end=1.9, kind="puts on", label="p", facing=1, prop=HAT),),
        carries=(Carry(start=0.0, end=1.2, prop=HAT),),
        wears=(Wear(start=1.2, end=3.0, prop=HAT),),
    )
    last = drawn(performance)[-1]
    hat, person = box_of(last, HAT), box_of(last, MIA)
    assert hat is not None
    assert person is not None
    assert hat[1] == pytest.approx(person[1], abs=6)
    x, y = int((hat[0] + hat[2]) / 2), int((hat[1] + hat[3]) / 2) - 4
    assert np.abs(last.image[y, x].astype(int) - COLOURS["purple"]).max() < 80


def resting(prop: Prop, place: tuple[float, float]) -> tuple[DrawnFrame, Places]:
    frame = drawn(resting=(Resting(start=0, end=1, prop=prop, place=place),), duration=0.1)[0]
    box = box_of(frame, prop)
    assert box is not None
    return frame, box


def test_a_thing_on_a_hook_hangs_below_it() -> None:
    spot = next(spot for spot in plan_of("entrance hall", 1).spots if spot.kind == "hook")
    _, box = resting(Prop(name="red bag", category="bag", colour="red"), spot.place)
    assert 130 <= box[1] <= 145


def test_things_are_drawn_at_their_places_in_the_colour_of_their_names() -> None:
    categories = ("folder", "cup", "book", "box", "bag", "key", "umbrella", "hat", "scarf", "letter")
    props = {60.0 * number: Prop(name=name, category=name, colour="blue") for number, name in enumerate(categories, 1)}
    rest = tuple(Resting(start=0, end=1, prop=prop, place=(x, 345.0)) for x, prop in props.items())
    frame = drawn(resting=rest, duration=0.1)[0]
    for x, prop in props.items():
        box = box_of(frame, prop)
        assert box is not None
        x1, y1, x2, y2 = box
        assert x2 - x1 >= 9
        assert ((x1 + x2) / 2, y2) == (pytest.approx(x, abs=6), pytest.approx(345, abs=3))
        part = frame.image[int(y1) : int(y2), int(x1) : int(x2)].astype(int)
        assert ((part[..., 0] - part[..., 2]) > 60).mean() > 0.2, prop.name


def test_a_coloured_label_is_seen_on_a_thing() -> None:
    shares = []
    for prop in (FOLDER, replace(FOLDER, label="")):
        frame, (x1, y1, x2, y2) = resting(prop, (300.0, 345.0))
        part = frame.image[int(y1) : int(y2), int(x1) : int(x2)].astype(int)
        shares.append(((part[..., 2] - part[..., 1]) > 80).sum())
    assert shares[0] > 60
    assert shares[1] < 10

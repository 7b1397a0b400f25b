"""Who is called a person: how looks add up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from world_api.build.people import PersonVotes
from world_api.core import Box, DetectedObject, Image

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
    assert votes_after((NO, still), (YES, still), (NO, still)).standing == pytest.approx(0.0)


def test_what_the_picture_cuts_off_needs_more_looks() -> None:
    walk = [(YES, upright(10.0 * step)) for step in range(4)]
    assert votes_after(*walk).is_person
    assert not votes_after(*walk, cut_off=True).is_person
    assert votes_after(*walk, (YES, upright(50.0)), cut_off=True).is_person


def test_what_lies_or_is_as_thin_as_a_pole_gets_no_vote_from_the_detector() -> None:
    lying, pole = Box(x1=0, y1=0, x2=90, y2=40), Box(x1=0, y1=0, x2=10, y2=90)
    assert votes_after((YES, lying), (YES, pole), (YES, lying)).standing < 0.0

"""Things that meet: one blob for a while, two things before, meanwhile and after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest

from tests.support.building import made_clip, made_source
from world_api.build import MovingThings, Records
from world_api.core import Box, DetectedObject, Image
from world_api.media import Frame
from world_api.perception import ColourAppearance

pytestmark = pytest.mark.media

MakeFrames = Callable[..., list[Frame]]
DrawBlock = Callable[..., Image]
Rows = list[dict[str, Any]]
Path = Callable[[float], float]
Follow = Callable[..., Records]
RED, BLUE = (40, 40, 200), (180, 80, 40)
WIDTH = 30


class Nobody:
    """Takes nothing for a person."""

    producer = "nobody/1"

    def person_score(self, image: Image, box: Box) -> float:
        return -1.0

    def people(self, image: Image) -> Sequence[DetectedObject]:
        return []


@pytest.fixture
def follow(empty_room: Image, draw_block: DrawBlock, make_frames: MakeFrames) -> Follow:
    """The rows of two blocks that go their ways (left edge at a time) before an empty room, the second one in front."""

    def run(
        first: Path, second: Path, *, end: float, colours: tuple[tuple[int, int, int], ...] = (RED, BLUE)
    ) -> Records:
        def draw(time: float) -> Image:
            behind = (
                draw_block(empty_room, first(time), colour=colours[0]) if -WIDTH < first(time) < 320 else empty_room
            )
            return draw_block(behind, second(time), colour=colours[1]) if -WIDTH < second(time) < 320 else behind

        worker = MovingThings(Nobody(), ColourAppearance()).open(made_clip(0, source=made_source(rate=4.0)))
        for frame in make_frames(draw, start=0, end=end, rate=4.0):
            worker.see(frame)
        return worker.finish()

    return run


def by_track(rows: Rows) -> dict[str, Rows]:
    tracks: dict[str, Rows] = {}
    for row in sorted(rows, key=lambda row: row["time"]):
        tracks.setdefault(row["track"], []).append(row)
    return tracks


def middle(row: dict[str, Any]) -> float:
    return float(row["x1"] + row["x2"]) / 2


def to_the_right(time: float) -> float:
    return -WIDTH + 40 * (time - 3)


def to_the_left(time: float) -> float:
    return 320 - 40 * (time - 3)


def there_and_back(start: float, place: float, until: float) -> Path:
    """Comes in at 3 s, stands in a place until a time, and goes back to where it came from."""
    way = 40 if place > start else -40

    def path(time: float) -> float:
        came = start + way * (time - 3)
        there = min(came, place) if way > 0 else max(came, place)
        return there if time < until else place - way * (time - until)

    return path


@pytest.mark.parametrize("colours", [(RED, BLUE), (RED, RED)])
def test_two_that_cross_stay_two_and_go_on_their_ways(
    follow: Follow, colours: tuple[tuple[int, int, int], ...]
) -> None:
    tracks = by_track(list(follow(to_the_right, to_the_left, end=13, colours=colours)["sightings"]))
    assert len(tracks) == 2
    for path in (to_the_right, to_the_left):
        (rows,) = (rows for rows in tracks.values() if (middle(rows[-1]) > middle(rows[0])) == (path(5.0) > path(4.0)))
        assert rows[0]["time"] <= 4.0
        assert rows[-1]["time"] >= 11.0
        assert max(b["time"] - a["time"] for a, b in pairwise(rows)) <= 0.3
        inside = [row for row in rows if 0 <= path(row["time"]) <= 320 - WIDTH]
        assert all(abs(middle(row) - path(row["time"]) - WIDTH / 2) < WIDTH for row in inside)


def test_two_that_meet_and_turn_back_are_told_apart_by_their_looks(follow: Follow) -> None:
    first, second = there_and_back(-WIDTH, 130, 10.0), there_and_back(320, 158, 10.0)
    found = follow(first, second, end=16)
    tracks = by_track(list(found["sightings"]))
    assert len(tracks) == 2
    for rows in tracks.values():
        assert len({tuple(row["colours"]) for row in rows}) == 1
        assert (middle(rows[0]) < 160) == (middle(rows[-1]) < 160)
        assert max(b["time"] - a["time"] for a, b in pairwise(rows)) <= 0.3


def test_while_they_share_a_blob_nobody_is_looked_at(follow: Follow) -> None:
    found = follow(there_and_back(-WIDTH, 130, 10.0), there_and_back(320, 158, 10.0), end=16)
    assert {row["track"] for row in found["track_looks"]} == {row["track"] for row in found["sightings"]}
    assert not [row for row in found["track_looks"] if 7.3 < row["time"] < 9.8]


def test_the_one_that_stands_and_the_one_that_passes_behind_it(follow: Follow) -> None:
    tracks = by_track(
        list(follow(lambda time: 320 - 40 * (time - 9), there_and_back(-WIDTH, 140, 99.0), end=22)["sightings"])
    )
    assert len(tracks) == 2
    stands, passes = sorted(tracks.values(), key=lambda rows: float(rows[0]["time"]))
    assert all(abs(middle(row) - 155) < 12 for row in stands if row["time"] > 8)
    assert stands[-1]["time"] >= 21.5
    assert middle(passes[0]) > 280
    assert middle(passes[-1]) < 40
    assert passes[-1]["time"] < 19


def test_what_goes_behind_another_and_never_comes_out_is_not_said_to_be_there(follow: Follow) -> None:
    def hides(time: float) -> float:
        return max(140.0, 320 - 40 * (time - 9))

    tracks = by_track(list(follow(hides, there_and_back(-WIDTH, 140, 99.0), end=24)["sightings"]))
    stands, hidden = sorted(tracks.values(), key=lambda rows: float(rows[0]["time"]))
    assert stands[-1]["time"] >= 23.5
    assert hidden[-1]["time"] < 14.5


def test_what_somebody_puts_down_is_not_taken_for_them(
    empty_room: Image, draw_block: DrawBlock, make_frames: MakeFrames
) -> None:
    def draw(time: float) -> Image:
        x = to_the_right(time)
        room = draw_block(empty_room, 285, 90, size=(14, 30), colour=BLUE) if x > 275 else empty_room
        return draw_block(room, x, colour=RED) if -WIDTH < x < 320 else room

    worker = MovingThings(Nobody(), ColourAppearance()).open(made_clip(0, source=made_source(rate=4.0)))
    for frame in make_frames(draw, start=0, end=25, rate=4.0):
        worker.see(frame)
    assert max(row["time"] for row in worker.finish()["sightings"]) <= 12.5

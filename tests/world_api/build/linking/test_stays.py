"""Who stands still over joins of clips, and for minutes, and is told to have stayed once they move off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from tests.support.building import made_clip, made_source
from world_api.build import MovingThings, Stitches
from world_api.core import Box, DetectedObject, Image, TimeSpan
from world_api.media import Frame
from world_api.perception import ColourAppearance

pytestmark = pytest.mark.media

MakeFrames = Callable[..., list[Frame]]
DrawBlock = Callable[..., Image]
Rows = list[dict[str, Any]]
RED, BLUE = (40, 40, 200), (200, 90, 30)


class Judge:
    """Takes whatever is taller than broad for a person."""

    producer = "made/1"

    def person_score(self, image: Image, box: Box) -> float:
        return 1.0 if box.height > 1.4 * box.width else -1.0

    def people(self, image: Image) -> Sequence[DetectedObject]:
        return []


def world_of(
    draw: Callable[[float], Image], end: int, make_frames: MakeFrames, *, holes: Sequence[TimeSpan] = ()
) -> dict[str, Rows]:
    """The rows of clips of thirty seconds, as builds make them."""
    stage, links = MovingThings(Judge(), ColourAppearance()), Stitches()
    stored: dict[str, Rows] = {name: [] for name in ("sightings", "track_looks", "camera", "track_links", "cuts")}
    for clip in range((end + 29) // 30):
        first, last = max(0, 30 * clip - 45), min(end, 30 * clip + 33)
        worker = stage.open(made_clip(clip, source=made_source(rate=4.0)))
        for frame in make_frames(draw, start=first, end=last, rate=4.0):
            worker.see(frame)
        for table, rows in worker.finish().items():
            stored[table] += [row | {"producer": stage.spec.producer} for row in rows]
        made = links.make_rows(replace(made_clip(clip, stored, source=made_source(rate=4.0)), holes=holes))
        for table, rows in made.items():
            stored[table] += [row | {"producer": links.spec.producer} for row in rows]
    return stored


def who(stored: dict[str, Rows]) -> dict[str, list[float]]:
    """When each person was seen, under the name of their first track."""
    first = {row["later"]: row["earlier"] for row in stored["track_links"]}
    found: dict[str, list[float]] = {}
    for row in stored["sightings"]:
        name = row["track"]
        while name in first:
            name = first[name]
        found.setdefault(name, []).append(row["time"])
    people = {row["track"] for row in stored["sightings"] if row["category"] == "person"}
    return {name: sorted(times) for name, times in found.items() if name in people}


def longest_gap(times: list[float]) -> float:
    return max(b - a for a, b in pairwise(times))


@pytest.fixture
def visit(empty_room: Image, draw_block: DrawBlock) -> Callable[..., Callable[[float], Image]]:
    """Somebody who comes in at 4 s, stands still from about 7 s until a time, and goes."""

    def make(until: float, *, leaves: tuple[int, int, int] = RED) -> Callable[[float], Image]:
        def draw(time: float) -> Image:
            if time < 4:
                return empty_room
            x = min(140.0, -30 + 50 * (time - 4)) if time < until else 140 + 50 * (time - until)
            return draw_block(empty_room, x, colour=RED if time < until else leaves) if x < 320 else empty_room

        return draw

    return make


@pytest.mark.parametrize("until", [50.0, 86.0, 130.0])
def test_who_stands_still_over_joins_was_there_all_the_time(
    until: float, visit: Callable[..., Callable[[float], Image]], make_frames: MakeFrames
) -> None:
    stored = world_of(visit(until), int(until) + 10, make_frames)
    (times,) = who(stored).values()
    assert times[0] < 6.0
    assert until + 2.0 < times[-1] < until + 6.0
    assert longest_gap(times) <= 1.25


def test_nobody_is_told_to_have_stayed_where_frames_were_not_decoded(
    visit: Callable[..., Callable[[float], Image]], make_frames: MakeFrames
) -> None:
    stored = world_of(visit(86.0), 96, make_frames, holes=[TimeSpan(start=70.0, end=75.0)])
    assert not [row for row in stored["sightings"] if 70.0 <= row["time"] < 75.0]


def test_where_they_stood_nothing_is_left(
    visit: Callable[..., Callable[[float], Image]], make_frames: MakeFrames
) -> None:
    stored = world_of(visit(130.0), 150, make_frames)
    place = Box(x1=140, y1=50, x2=170, y2=130)
    boxes = {row["time"]: Box(**{side: row[side] for side in ("x1", "y1", "x2", "y2")}) for row in stored["sightings"]}
    assert not [time for time, box in boxes.items() if time > 133 and box.iou(place) > 0.2]


def test_that_somebody_stayed_is_not_known_before_they_move(
    visit: Callable[..., Callable[[float], Image]], make_frames: MakeFrames
) -> None:
    stored = world_of(visit(130.0), 140, make_frames)
    late = [row for row in stored["sightings"] if 80 < row["time"] < 125]
    assert late
    assert all(row["known_at"] > 130 for row in late)


def test_who_moves_off_and_looks_otherwise_is_somebody_else(
    visit: Callable[..., Callable[[float], Image]], make_frames: MakeFrames
) -> None:
    stored = world_of(visit(130.0, leaves=BLUE), 140, make_frames)
    assert not [row for row in stored["sightings"] if 80 < row["time"] < 125]


def test_what_is_left_behind_is_background_and_stays_so(
    empty_room: Image, draw_block: DrawBlock, make_frames: MakeFrames
) -> None:
    def draw(time: float) -> Image:
        x = -30 + 50 * (time - 4)
        bag = draw_block(empty_room, 150, 110, size=(24, 22), colour=BLUE) if time > 7.6 else empty_room
        return draw_block(bag, x, colour=RED) if time >= 4 and x < 320 else bag

    stored = world_of(draw, 70, make_frames)
    assert max(row["time"] for row in stored["sightings"]) < 17


def test_a_cut_ends_every_stay(visit: Callable[..., Callable[[float], Image]], make_frames: MakeFrames) -> None:
    stored = world_of(visit(130.0), 140, make_frames)
    without = [row for row in stored["sightings"] if not row["producer"].startswith("stitches")]
    cut = {"time": 100.0, "score": 1.0, "kind": "cut", "known_at": 100.2, "producer": "made/1"}
    links = Stitches()
    added: Rows = []
    for clip in range(5):
        known = {**stored, "sightings": without, "cuts": [cut], "track_links": []}
        added += links.make_rows(made_clip(clip, known, source=made_source(rate=4.0)))["sightings"]
    assert added == []


def test_who_stayed_is_told_without_knowing_the_future(
    visit: Callable[..., Callable[[float], Image]], make_frames: MakeFrames
) -> None:
    stored = world_of(visit(86.0), 95, make_frames)
    rows = {
        table: [row for row in found if not row["producer"].startswith("stitches")] for table, found in stored.items()
    }

    def told(until: float) -> Rows:
        known = {table: [row for row in found if row["known_at"] <= until] for table, found in rows.items()}
        links = Stitches()
        made = [links.make_rows(made_clip(clip, known, source=made_source(rate=4.0))) for clip in range(4)]
        return [row for found in made for row in found["sightings"]]

    whole = told(1000.0)
    assert whole
    for moment in [step / 4 for step in range(85 * 4, 95 * 4)]:
        part = [row for row in told(moment) if row["known_at"] <= moment]
        assert part == [row for row in whole if row["known_at"] <= moment], moment

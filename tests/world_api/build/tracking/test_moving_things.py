"""Moving things: what is followed, what is not, and that nothing is known before it was seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tests.support.building import made_clip, made_source
from world_api.build import MovingThings, Records
from world_api.core import Box, DetectedObject, Image, TimeSpan
from world_api.media import Frame, PixelFormat
from world_api.perception import ColourAppearance

pytestmark = pytest.mark.media

MakeFrames = Callable[..., list[Frame]]
DrawBlock = Callable[..., Image]
Rows = list[dict[str, Any]]


class NobodyIsAPerson:
    producer = "nobody/1"

    def person_score(self, image: Image, box: Box) -> float:
        return -1.0

    def people(self, image: Image) -> Sequence[DetectedObject]:
        return []


class EverybodyIsAPerson(NobodyIsAPerson):
    producer = "everybody/1"

    def person_score(self, image: Image, box: Box) -> float:
        return 1.0


def follow(frames: list[Frame], *, clip: int = 0, people: NobodyIsAPerson | None = None) -> Rows:
    return list(records(frames, clip=clip, people=people)["sightings"])


def records(frames: list[Frame], *, clip: int = 0, people: NobodyIsAPerson | None = None) -> Records:
    scorer = people or NobodyIsAPerson()
    stage = MovingThings(scorer, ColourAppearance())
    worker = stage.open(made_clip(clip, source=made_source(rate=5.0)))
    for frame in frames:
        worker.see(frame)
    return worker.finish()


def spans(rows: Rows) -> list[TimeSpan]:
    tracks: dict[str, list[float]] = {}
    for row in rows:
        tracks.setdefault(row["track"], []).append(row["time"])
    return [TimeSpan(start=min(times), end=max(times)) for times in tracks.values()]


def x_crossing(time: float) -> float:
    return -30 + 60 * (time - 4)


def test_a_thing_that_crosses_is_one_track_in_its_place(
    empty_room: Image, draw_block: DrawBlock, make_frames: MakeFrames
) -> None:
    rows = follow(
        make_frames(lambda t: draw_block(empty_room, x_crossing(t)) if t >= 4 else empty_room, start=0, end=12)
    )
    (span,) = spans(rows)
    assert span.start <= 5.0
    assert span.end >= 8.5
    for row in rows:
        visible = Box(x1=max(0, x_crossing(row["time"])), y1=50, x2=min(320, x_crossing(row["time"]) + 30), y2=130)
        found = Box(x1=row["x1"], y1=row["y1"], x2=row["x2"], y2=row["y2"])
        if visible.width >= 25:
            assert found.iou(visible) > 0.7, row
    assert {colour for row in rows for colour in row["colours"]} == {"black"}


def test_what_comes_in_and_stands_still_for_long_does_not_vanish(
    empty_room: Image, draw_block: DrawBlock, make_frames: MakeFrames
) -> None:
    rows = follow(
        make_frames(
            lambda t: draw_block(empty_room, min(140, x_crossing(t))) if t >= 4 else empty_room, start=0, end=24
        )
    )
    assert spans(rows)[0].end >= 23.5


def test_what_appears_in_place_and_never_moves_is_no_track(
    empty_room: Image, draw_block: DrawBlock, make_frames: MakeFrames
) -> None:
    assert follow(make_frames(lambda t: draw_block(empty_room, 140) if t >= 5 else empty_room, start=0, end=20)) == []


def test_who_was_there_from_the_start_leaves_no_ghost(
    empty_room: Image, draw_block: DrawBlock, make_frames: MakeFrames
) -> None:
    rows = follow(make_frames(lambda t: draw_block(empty_room, 140 + max(0.0, 60 * (t - 3))), start=0, end=16))
    assert rows
    left = Box(x1=140, y1=50, x2=170, y2=130)
    late = [row for row in rows if row["time"] > 8]
    assert not [row for row in late if Box(x1=row["x1"], y1=row["y1"], x2=row["x2"], y2=row["y2"]).iou(left) > 0.3]


def test_a_change_of_light_is_no_thing(empty_room: Image, make_frames: MakeFrames) -> None:
    def lit(time: float) -> Image:
        return np.clip(empty_room * (1.0 - 0.12 * min(1.0, max(0.0, time - 4))), 0, 255).astype(np.uint8)

    assert follow(make_frames(lit, start=0, end=12)) == []


def test_a_moving_camera_gives_no_tracks(make_frames: MakeFrames) -> None:
    noise = np.random.default_rng(3)
    wide = np.kron(noise.integers(30, 220, (23, 120, 3)), np.ones((8, 8, 1))).astype(np.uint8)[:180]
    rows = follow(make_frames(lambda t: wide[:, int(t * 20) : int(t * 20) + 320], start=0, end=15))
    assert rows == []


def test_the_category_needs_several_votes(empty_room: Image, draw_block: DrawBlock, make_frames: MakeFrames) -> None:
    frames = make_frames(
        lambda t: draw_block(empty_room, min(140, x_crossing(t))) if t >= 4 else empty_room, start=0, end=15
    )
    rows = follow(frames, people=EverybodyIsAPerson())
    assert rows[0]["category"] == "moving_object"
    assert rows[-1]["category"] == "person"
    assert {row["category"] for row in follow(frames)} == {"moving_object"}


def test_rows_known_by_a_time_are_the_same_whatever_comes_after(
    empty_room: Image, draw_block: DrawBlock, make_frames: MakeFrames
) -> None:
    def crossing(time: float) -> Image:
        return draw_block(empty_room, x_crossing(time)) if time >= 4 else empty_room

    def other(time: float) -> Image:
        return crossing(time) if time <= 7 else 255 - empty_room

    whole, cut = (follow(make_frames(draw, start=0, end=14)) for draw in (crossing, other))
    assert [row for row in whole if row["known_at"] <= 7] == [row for row in cut if row["known_at"] <= 7]
    assert any(row["known_at"] <= 7 for row in whole)
    assert all(row["known_at"] >= row["time"] for row in whole)


def test_a_clip_gives_rows_of_its_own_span_alone(
    empty_room: Image, draw_block: DrawBlock, make_frames: MakeFrames
) -> None:
    frames = make_frames(
        lambda t: draw_block(empty_room, min(140, -30 + 60 * (t - 27))) if t >= 27 else empty_room, start=0, end=36
    )
    first, second = follow(frames[: 33 * 5], clip=0), follow(frames, clip=1)
    assert first
    assert second
    assert max(row["time"] for row in first) < 30 <= min(row["time"] for row in second)
    assert {row["track"][:5] for row in second} == {"t0001"}


class Counted(Frame):
    """A frame that counts what is asked of it."""

    def __init__(self, frame: Frame, asked: list[tuple[float, int | None]]) -> None:
        super().__init__(frame.time, height=frame.shape[0], width=frame.shape[1])
        self._frame = frame
        self._asked = asked

    def picture(self, max_side: int | None = None, pixel_format: PixelFormat = "bgr") -> Image:
        if pixel_format == "bgr":
            self._asked.append((self.time, max_side))
        return self._frame.picture(max_side, pixel_format)


def test_where_nothing_changes_hardly_a_picture_is_made(empty_room: Image, make_frames: MakeFrames) -> None:
    asked: list[tuple[float, int | None]] = []
    frames = make_frames(lambda t: empty_room, start=0, end=20)
    follow([Counted(frame, asked) for frame in frames])
    assert len(asked) <= 21
    asked.clear()
    moving = make_frames(lambda t: np.roll(empty_room, int(40 * t), axis=0), start=0, end=4)
    follow([Counted(frame, asked) for frame in moving])
    assert asked


def test_long_before_the_clip_one_picture_a_second_is_enough(
    empty_room: Image, draw_block: DrawBlock, make_frames: MakeFrames
) -> None:
    asked: list[tuple[float, int | None]] = []
    frames = make_frames(lambda t: draw_block(empty_room, (37 * t) % 300), start=0, end=35)
    follow([Counted(frame, asked) for frame in frames], clip=1)
    early = {time for time, side in asked if time < 25 and side == 288}
    assert 15 <= len(early) <= 26
    assert len([time for time, _ in asked if 30 <= time < 35]) >= 20


def test_how_a_thing_looks_is_kept_now_and_then_and_not_at_the_edge(
    empty_room: Image, draw_block: DrawBlock, make_frames: MakeFrames
) -> None:
    found = records(
        make_frames(
            lambda t: draw_block(empty_room, min(140, x_crossing(t))) if t >= 4 else empty_room, start=0, end=24
        )
    )
    looks = found["track_looks"]
    assert {row["track"] for row in looks} == {row["track"] for row in found["sightings"]}
    assert 8 <= len(looks) <= 16
    assert all(row["known_at"] >= row["time"] for row in looks)
    places = {row["time"]: row for row in found["sightings"]}
    assert all(places[row["time"]]["x1"] > 0 for row in looks)


def test_the_camera_is_told_once_a_second_of_the_clip_alone(empty_room: Image, make_frames: MakeFrames) -> None:
    found = records(make_frames(lambda t: empty_room, start=20, end=36), clip=1)
    times = [row["time"] for row in found["camera"]]
    assert times == [30.0, 31.0, 32.0, 33.0, 34.0, 35.0]
    assert {row["kind"] for row in found["camera"]} == {"still"}


def test_what_lies_before_a_cut_long_before_the_clip_changes_nothing(
    empty_room: Image, draw_block: DrawBlock, make_frames: MakeFrames
) -> None:
    other = 255 - empty_room

    def scene(time: float) -> Image:
        return draw_block(other if time < 10 else empty_room, (37 * time) % 300)

    with_cut = follow(make_frames(scene, start=0, end=62), clip=1)
    without = follow(make_frames(scene, start=10, end=62), clip=1)
    assert with_cut == without
    assert with_cut

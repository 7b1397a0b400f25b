"""Pictures of evidence: which moments are wanted, which are shown, where they come from, and what is no picture."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, strategies as some

from eval.report.pictures import LabelledBox, PictureCache, ReportPicture, ShownMoment, choose, pictures_of
from tests.conftest import WorldMaker, made_rows
from tests.support.numbered_film import number_in
from tests.support.reports import give_video
from world_api.world import open_world, write_image

BOX = LabelledBox(x1=1, y1=1, x2=9, y2=9, label="a cup")


def moment(
    time: float, *, video: str = "film", start: float | None = None, end: float | None = None, boxed: bool = False
) -> ShownMoment:
    return ShownMoment(
        video_id=video, time=time, why="cited", start=time if start is None else start, end=time if end is None else end,
        boxes=(BOX,) if boxed else (),
    )  # fmt: skip


def jpeg(value: int = 128) -> bytes:
    return bytes(cv2.imencode(".jpg", np.full((20, 30, 3), value, np.uint8))[1].tobytes())


def test_a_frame_inside_a_stretch_serves_every_episode_that_cites_it() -> None:
    chosen = choose({"a": [moment(5.0, start=4, end=9)], "b": [moment(6.0, start=3, end=7)]}, most=10)
    assert chosen.frames == (("film", 5.0),)
    assert chosen.left_out == 0


def test_boxes_are_only_drawn_on_the_frame_in_which_they_were_seen() -> None:
    boxed = moment(6.0, start=3, end=7, boxed=True)
    chosen = choose({"a": [moment(5.0, start=4, end=9)], "b": [boxed]}, most=10)
    assert chosen.frame_of(boxed) == ("film", 6.0)


def test_every_episode_gets_its_first_picture_before_any_gets_its_second() -> None:
    wanted = {name: [moment(float(10 * place)), moment(10.0 * place + 1)] for place, name in enumerate("abc")}
    chosen = choose(wanted, most=3)
    assert chosen.frames == (("film", 0.0), ("film", 10.0), ("film", 20.0))
    assert chosen.left_out == 3


MOMENTS = some.lists(some.builds(moment, some.integers(0, 50).map(float), boxed=some.booleans()), max_size=4)


@given(some.dictionaries(some.text(max_size=3), MOMENTS, max_size=6), some.integers(0, 12))
def test_no_more_frames_than_asked_for_and_each_shows_something(
    wanted: dict[str, list[ShownMoment]], most: int
) -> None:
    chosen = choose(wanted, most=most)
    assert len(chosen.frames) == len(set(chosen.frames)) <= most
    everything = [one for held in wanted.values() for one in held]
    assert all(any(one.is_shown_by(time) for one in everything) for _, time in chosen.frames)
    if not chosen.left_out:
        assert all(chosen.frame_of(one) is not None for one in everything)


def test_a_kept_picture_is_found_again(tmp_path: Path) -> None:
    kept = ReportPicture(jpeg=jpeg(), time=11.8, width=640, height=360, is_key_frame=True)
    PictureCache(tmp_path).put(("film", 12.3), kept)
    assert PictureCache(tmp_path).get(("film", 12.3)) == kept
    assert PictureCache(tmp_path).get(("film", 12.4)) is None
    assert PictureCache(tmp_path).get(("../film", 12.3)) is None


@pytest.mark.parametrize("content", [b"", b"<svg onload=alert(1)>", b"GIF89a", b"\xff\xd8\xff" + bytes(3_000_000)])
def test_what_is_no_picture_of_ours_is_not_taken(tmp_path: Path, content: bytes) -> None:
    place = tmp_path / "film" / "12300-640x360-video.jpg"
    place.parent.mkdir()
    place.write_bytes(content)
    assert PictureCache(tmp_path).get(("film", 12.3)) is None


def test_without_a_video_the_nearest_key_frame_is_shown_and_gives_way_when_the_video_comes(
    make_world: WorldMaker, film: Path, tmp_path: Path
) -> None:
    world = make_world(video_id="film")
    name = write_image(world.folder, jpeg(200))
    seen = {"image": name, "sharpness": 1.0, "producer": "made/1"}
    rows = {**made_rows(), "key_frames": [{**seen, "time": time, "known_at": time} for time in (4.0, 20.0)]}
    make_world(rows, video_id="film")
    folder = tmp_path / "frames"
    first = pictures_of([("film", 17.0)], PictureCache(folder), lambda _: open_world(make_world.store, "film"))
    assert first.pictures["film", 17.0].is_key_frame
    assert first.pictures["film", 17.0].time == 20.0
    assert first.absent == {}
    give_video(world.folder, film)
    second = pictures_of([("film", 17.0)], PictureCache(folder), lambda _: open_world(make_world.store, "film"))
    assert not second.pictures["film", 17.0].is_key_frame
    image = cv2.imdecode(np.frombuffer(second.pictures["film", 17.0].jpeg, np.uint8), cv2.IMREAD_COLOR)
    assert number_in(image) == 170
    third = pictures_of([("film", 17.0)], PictureCache(folder), lambda _: None)
    assert third.pictures == second.pictures


def test_a_video_that_cannot_be_read_is_named(make_world: WorldMaker, tmp_path: Path) -> None:
    world = make_world(video_id="film")
    broken = tmp_path / "film.mp4"
    broken.write_bytes(b"no video at all")
    give_video(world.folder, broken)
    gallery = pictures_of(
        [("film", 1.0)], PictureCache(tmp_path / "frames"), lambda _: open_world(make_world.store, "film")
    )
    assert gallery.pictures == {}
    assert "cannot be read" in gallery.absent["film"]

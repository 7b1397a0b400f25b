"""The stages beside tracking, one by one, on frames and rows made here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.building import made_clip, made_source, sampled_for
from world_api.build import Clip, Cuts, KeyFrames, Looks, Records, RowStage, SceneCuts, Stage, Stitches, clip_span
from world_api.core import Image
from world_api.media import DecodedFrame, Frame

pytestmark = pytest.mark.media

MakeFrames = Callable[..., list[Frame]]
Rows = list[dict[str, Any]]


def clip(number: int = 0, stored: dict[str, Rows] | None = None, *, start: float = 0.0, rate: float = 10.0) -> Clip:
    return made_clip(number, stored, source=made_source(start=start, rate=rate))


def run(stage: Stage, frames: Sequence[Frame], at: Clip) -> Records:
    if isinstance(stage, RowStage):
        return stage.make_rows(at)
    worker = stage.open(at)
    for frame in sampled_for(stage, frames):
        worker.see(frame)
    return worker.finish()


def scene(seed: int) -> Image:
    noise = np.random.default_rng(seed)
    picture = np.full((180, 320, 3), noise.integers(30, 220, 3), np.uint8)
    for _ in range(40):
        x, y = noise.integers(0, 280), noise.integers(0, 150)
        picture[y : y + 30, x : x + 40] = noise.integers(0, 255, 3)
    return picture


def times(records: Records, table: str) -> list[float]:
    return [row["time"] for row in records[table]]


def test_a_cut_is_the_first_frame_of_the_new_shot(make_frames: MakeFrames) -> None:
    first, second = scene(1), scene(2)
    frames = make_frames(lambda t: first if t < 6.0 else second, start=0, end=12, rate=10)
    (row,) = run(Cuts(), frames, clip())["cuts"]
    assert row["time"] == 6.0
    assert 6.0 <= row["known_at"] <= 7.0
    assert 0 < row["score"] <= 1


def test_a_fade_through_black_is_one_boundary(make_frames: MakeFrames) -> None:
    first, second = scene(1), scene(2)

    def faded(time: float) -> Image:
        light = min(1.0, abs(time - 6.0) / 2.0 - 0.2 if abs(time - 6.0) > 0.4 else 0.0)
        return ((first if time < 6 else second) * max(0.0, light)).astype(np.uint8)

    found = times(run(Cuts(), make_frames(faded, start=0, end=14, rate=10), clip()), "cuts")
    assert len(found) == 1
    assert abs(found[0] - 6.0) < 1.0


def test_figures_that_change_in_a_still_picture_are_no_cuts(make_frames: MakeFrames) -> None:
    card = np.zeros((180, 320, 3), np.uint8)
    card[120:, 40:280] = (120, 60, 30)

    def clock(time: float) -> Image:
        picture = card.copy()
        digits = np.random.default_rng(int(time * 10)).integers(0, 2, (3, 12))
        picture[20:50, 20:140] = np.kron(digits * 255, np.ones((10, 10)))[..., None]
        return picture

    assert times(run(Cuts(), make_frames(clock, start=0, end=20, rate=10), clip()), "cuts") == []


def test_a_flicker_and_a_flash_are_no_cuts(make_frames: MakeFrames) -> None:
    plain, white = scene(1), np.full((180, 320, 3), 250, np.uint8)

    def picture(time: float) -> Image:
        step = round(time * 25)
        flickers = 6.0 <= time < 7.0 and step % 4 < 2
        return white if flickers or 12.0 <= time < 12.1 else plain

    frames = make_frames(picture, start=0, end=15, rate=25)
    assert times(run(Cuts(), frames, clip(rate=25.0)), "cuts") == []


def test_a_cut_after_a_flicker_is_still_one(make_frames: MakeFrames) -> None:
    first, second, white = scene(1), scene(2), np.full((180, 320, 3), 250, np.uint8)

    def picture(time: float) -> Image:
        return white if 6.0 <= time < 7.0 and round(time * 25) % 4 < 2 else first if time < 9.0 else second

    frames = make_frames(picture, start=0, end=15, rate=25)
    assert times(run(Cuts(), frames, clip(rate=25.0)), "cuts") == [9.0]


@pytest.mark.parametrize("black", [1.0, 3.0, 6.0, 9.0])
@pytest.mark.parametrize("end", [27.5, 29.9, 30.0, 31.0, 33.0])
def test_a_fade_over_a_join_is_one_boundary_however_long(make_frames: MakeFrames, black: float, end: float) -> None:
    first, second = scene(1), scene(2)

    def picture(time: float) -> Image:
        light = 0.0 if end - black <= time < end else min(1.0, max(end - black - time, time - end + 0.1))
        return ((first if time < end else second) * light).astype(np.uint8)

    found = []
    sampling = Cuts().spec.sampling
    assert sampling is not None
    for number in (0, 1):
        window = clip_span(number)
        frames = make_frames(
            picture, start=max(0.0, window.start - sampling.warm_up), end=window.end + sampling.look_ahead, rate=10
        )
        found += times(run(Cuts(), frames, clip(number)), "cuts")
    assert found == pytest.approx([end], abs=0.3)


def test_a_video_that_opens_in_black_begins_with_its_first_shot(make_frames: MakeFrames) -> None:
    frames = make_frames(lambda t: (scene(1) * min(1.0, max(0.0, t - 2.0))).astype(np.uint8), start=0, end=8, rate=10)
    assert times(run(Cuts(), frames, clip()), "cuts") == []


def look_of(picture: Image) -> NDArray[np.float32]:
    """The descriptor that the stage makes of a picture."""
    raw = av.VideoFrame.from_ndarray(picture, format="bgr24")
    (row,) = run(Looks(), [DecodedFrame(raw, time=0.0)], clip())["looks"]
    return np.array(row["vector"], np.float32)


def test_a_look_is_a_unit_vector_that_knows_pictures_apart() -> None:
    one, other = look_of(scene(1)), look_of(scene(2))
    assert one.shape == (128,)
    assert float(one @ one) == pytest.approx(1.0, abs=1e-5)
    assert float(one @ look_of(np.roll(scene(1), 4, axis=1))) > 0.95
    assert float(one @ other) < 0.85
    assert float(np.linalg.norm(look_of(np.zeros((90, 160, 3), np.uint8)))) == pytest.approx(1.0, abs=1e-5)


def stored_shots(*shots: tuple[float, int]) -> dict[str, Rows]:
    """Cuts and looks of shots given by their start and their scene's seed; the last entry only ends the one before."""
    made = {"producer": "made/1"}
    looks: Rows = []
    for (start, seed), (end, _) in pairwise(shots):
        vector = look_of(scene(seed))
        looks += [
            {"time": float(second), "vector": vector, "known_at": float(second), **made}
            for second in range(int(np.ceil(start)), int(np.ceil(end)))
        ]
    cuts = [{"time": t, "score": 1.0, "kind": "cut", "known_at": t + 0.2, **made} for t, _ in shots[1:-1]]
    return {"cuts": cuts, "looks": looks}


def test_a_scene_starts_where_nothing_looks_like_what_was_just_seen() -> None:
    at = clip(0, stored_shots((0, 1), (8, 4), (20, 6), (30, 0)))
    rows = run(SceneCuts(), [], at)["scene_cuts"]
    assert [row["time"] for row in rows] == [8, 20]
    assert all(row["known_at"] > row["time"] and 0 < row["strength"] <= 1 for row in rows)


def test_shot_and_countershot_are_one_scene() -> None:
    at = clip(0, stored_shots((0, 1), (6, 2), (9, 1), (12, 2), (15, 1), (30, 0)))
    assert times(run(SceneCuts(), [], at), "scene_cuts") == []


def test_scenes_that_rush_by_are_held_by_the_first_of_them() -> None:
    at = clip(0, stored_shots((0, 1), (10, 4), (11.5, 6), (22, 7), (30, 0)))
    assert times(run(SceneCuts(), [], at), "scene_cuts") == [10, 22]


def test_a_scene_over_a_join_is_judged_alike_on_both_sides() -> None:
    shots = stored_shots((0, 1), (29, 4), (31, 6), (45, 4), (60, 0))
    found = [times(run(SceneCuts(), [], clip(number, shots)), "scene_cuts") for number in (0, 1)]
    assert found == [[29], []]


def test_key_frames_are_new_ones_and_the_sharpest_of_their_moment(make_frames: MakeFrames) -> None:
    sharp, other = scene(1), scene(2)
    blurred = np.repeat(np.repeat(sharp[::12, ::12], 12, axis=0), 12, axis=1)[:180, :320]
    soft = ((blurred.astype(int) + np.roll(blurred, 6, 1) + np.roll(blurred, 6, 0)) // 3).astype(np.uint8)

    def picture(time: float) -> Image:
        if time >= 8:
            return other
        return sharp if abs(time - 1.0) < 0.2 or time >= 2 else soft

    rows = run(KeyFrames(), make_frames(picture, start=0, end=12, rate=4), clip())["key_frames"]
    found = [row["time"] for row in rows]
    assert found[0] == 1.0
    assert any(8 <= time < 10 for time in found)
    assert len(found) <= 4
    assert all(row["time"] < row["known_at"] <= row["time"] + 2 for row in rows)


def sighting(track: str, time: float, x: float) -> dict[str, Any]:
    return {
        "track": track, "time": time, "x1": x, "y1": 10.0, "x2": x + 40, "y2": 90.0, "category": "person",
        "confidence": 0.5, "colours": [], "known_at": time + 0.4, "producer": "made/1",
    }  # fmt: skip


def test_tracks_are_stitched_over_a_join_by_their_boxes() -> None:
    stored = {
        "sightings": [
            *(sighting("t0000_01", 28 + step / 5, 50 + step) for step in range(10)),
            *(sighting("t0000_02", 28 + step / 5, 200) for step in range(4)),
            *(sighting("t0001_01", 30 + step / 5, 60 + step) for step in range(10)),
            *(sighting("t0001_02", 30 + step / 5, 260) for step in range(10)),
        ]
    }
    (row,) = run(Stitches(), [], clip(1, stored))["track_links"]
    assert (row["earlier"], row["later"], row["kind"]) == ("t0000_01", "t0001_01", "stitch")
    assert row["known_at"] >= 30.4
    assert run(Stitches(), [], clip(0, stored))["track_links"] == []


def test_who_walks_fast_over_a_join_is_stitched_by_speed() -> None:
    stored = {
        "sightings": [
            *(sighting("t0000_01", 28 + step / 4, 10 + 30 * step) for step in range(8)),
            *(sighting("t0001_01", 30 + step / 4, 250 + 30 * step) for step in range(4)),
        ]
    }
    (row,) = run(Stitches(), [], clip(1, stored))["track_links"]
    assert (row["earlier"], row["later"]) == ("t0000_01", "t0001_01")


def test_looks_are_one_a_second(make_frames: MakeFrames) -> None:
    plain = scene(1)
    assert times(run(Looks(), make_frames(lambda t: plain, start=0, end=5, rate=10), clip()), "looks") == [
        0,
        1,
        2,
        3,
        4,
    ]

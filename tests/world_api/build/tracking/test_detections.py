"""The tracks of what a detector recognises, on drawn frames with a detector that sees exactly what was drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import cv2
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.support.building import made_clip, made_source, sampled_for
from world_api.build import Association, Detections, Records, Stitches, least_cost
from world_api.core import Box, DetectedObject, Image
from world_api.media import Frame

MakeFrames = Callable[..., list[Frame]]
RED, BLUE = (0, 0, 250), (250, 0, 0)
WIDTH, HEIGHT = 320, 192


class SquareFinder:
    """Finds red (``dog``) and blue (``bottle``) squares; ``sureness`` maps the detected category and its left side."""

    producer, side, sure = "squares/1", WIDTH, 0.5
    missed: ClassVar[dict[str, tuple[int, int, int]]] = {"dog": (1, 50, 8)}

    def __init__(self, batch: int = 1, sureness: Callable[[str, float], float] = lambda category, left: 0.9) -> None:
        self.batch = batch
        self._sureness = sureness
        self.looks = 0

    def categories(self) -> frozenset[str]:
        return frozenset({"dog", "bottle", "cat"})

    def detect(self, image: Image, category: str) -> Sequence[DetectedObject]:
        [found] = self.detect_all([image])
        return [item for item in found if item.category == category]

    def detect_all(self, images: Sequence[Image]) -> Sequence[Sequence[DetectedObject]]:
        self.looks += len(images)
        return [[*self._squares(image, "dog", 2), *self._squares(image, "bottle", 0)] for image in images]

    def _squares(self, image: Image, category: str, channel: int) -> list[DetectedObject]:
        others = image.astype(int).sum(axis=2) - image[..., channel]
        mask = ((image[..., channel] > 150) & (others < 160)).astype(np.uint8)
        _, _, stats, _ = cv2.connectedComponentsWithStats(mask)
        found = []
        for left, top, width, height, area in stats[1:].tolist():
            sure = self._sureness(category, left)
            if area > 50 and sure > 0:
                box = Box(x1=left, y1=top, x2=left + width, y2=top + height)
                found.append(DetectedObject(category=category, box=box, confidence=sure))
        return found


def drawn(*squares: tuple[tuple[int, int, int], float, float]) -> Image:
    picture = np.full((HEIGHT, WIDTH, 3), 120, np.uint8)
    picture[::16, :] = picture[:, ::16] = 150
    for colour, left, top in squares:
        picture[round(top) : round(top) + 40, round(left) : round(left) + 40] = colour
    return picture


def tracked(frames: Sequence[Frame], detector: SquareFinder | None = None, number: int = 0) -> Records:
    stage = Detections(detector or SquareFinder())
    worker = stage.open(made_clip(number, source=made_source(rate=10.0)))
    for frame in sampled_for(stage, frames):
        worker.see(frame)
    return worker.finish()


def spans(records: Records) -> dict[str, tuple[str, float, float]]:
    found: dict[str, tuple[str, float, float]] = {}
    for row in sorted(records["sightings"], key=lambda row: row["time"]):
        _, start, _ = found.get(row["track"], ("", row["time"], 0.0))
        found[row["track"]] = (row["category"], start, row["time"])
    return found


def test_what_moves_and_what_rests_have_a_track_each(make_frames: MakeFrames) -> None:
    frames = make_frames(lambda t: drawn((RED, 20 + 20 * t, 20), (BLUE, 200, 120)), start=0, end=10, rate=10)
    records = tracked(frames)
    assert sorted(spans(records).values()) == [("bottle", 0.0, 9.5), ("dog", 0.0, 9.5)]
    for row in records["sightings"]:
        left = 200 if row["category"] == "bottle" else 20 + 20 * row["time"]
        assert abs(row["x1"] - left) <= 2.5
        assert row["known_at"] >= row["time"]
    assert records["camera"]


def test_a_thing_that_walks_a_box_between_two_samples_stays_one(make_frames: MakeFrames) -> None:
    frames = make_frames(lambda t: drawn((RED, 5 + 70 * t, 60)), start=0, end=3.8, rate=10)
    assert len(spans(tracked(frames))) == 1


def test_two_that_cross_stay_two(make_frames: MakeFrames) -> None:
    def crossing(time: float) -> Image:
        return drawn((RED, 10 + 24 * time, 40), (RED, 260 - 24 * time, 96))

    records = tracked(make_frames(crossing, start=0, end=10, rate=10))
    ways = {track: [row["x1"] for row in records["sightings"] if row["track"] == track] for track in spans(records)}
    assert len(ways) == 2
    assert all(way == sorted(way) or way == sorted(way, reverse=True) for way in ways.values())


def test_what_is_detected_twice_only_is_no_track(make_frames: MakeFrames) -> None:
    frames = make_frames(lambda t: drawn(*[(RED, 100, 60)] * (3.0 <= t < 4.0)), start=0, end=9, rate=10)
    assert tracked(frames)["sightings"] == []


def test_a_picture_that_stands_still_proves_no_detection_of_itself(make_frames: MakeFrames) -> None:
    """One false detection that is repeated because nothing changes is still one: it takes three examined frames."""
    frames = make_frames(lambda t: drawn((RED, 100, 60)), start=0, end=3.4, rate=10)
    assert tracked(frames)["sightings"] == []


def test_a_still_picture_is_examined_rarely_and_what_rests_in_it_is_seen_all_the_time(make_frames: MakeFrames) -> None:
    detector = SquareFinder()
    records = tracked(make_frames(lambda t: drawn((BLUE, 100, 60)), start=0, end=20, rate=10), detector)
    assert detector.looks <= 10
    assert [row["time"] for row in records["sightings"]] == [step / 2 for step in range(40)]


def test_weak_detections_continue_a_track_and_begin_none(make_frames: MakeFrames) -> None:
    def sureness(category: str, left: float) -> float:
        return 0.3 if category == "bottle" or left > 120 else 0.9

    frames = make_frames(lambda t: drawn((RED, 20 + 20 * t, 20), (BLUE, 60 + 20 * t, 120)), start=0, end=9, rate=10)
    assert list(spans(tracked(frames, SquareFinder(sureness=sureness))).values()) == [("dog", 0.0, 8.5)]


def test_a_thing_that_is_missed_while_its_place_looks_the_same_is_still_there(make_frames: MakeFrames) -> None:
    """Something else moves, so that every frame is examined; the bottle is not detected from a moment on."""
    looks = [0]

    def sureness(category: str, left: float) -> float:
        looks[0] += 1
        return 0.9 if category == "dog" or looks[0] < 20 else 0.0

    frames = make_frames(lambda t: drawn((RED, 10 + 10 * t, 10), (BLUE, 200, 120)), start=0, end=12, rate=10)
    records = tracked(frames, SquareFinder(sureness=sureness))
    assert ("bottle", 0.0, 11.5) in spans(records).values()
    late = [row["confidence"] for row in records["sightings"] if row["category"] == "bottle" and row["time"] > 6]
    assert late == sorted(late, reverse=True)
    assert late[-1] < late[0]


def test_a_new_shot_ends_all_tracks(make_frames: MakeFrames) -> None:
    other = np.random.default_rng(1).integers(0, 90, (HEIGHT, WIDTH, 3)).astype(np.uint8)
    second = np.where(drawn((BLUE, 100, 60)) == drawn(), other, drawn((BLUE, 100, 60)))

    def shots(time: float) -> Image:
        return drawn((BLUE, 100, 60)) if time < 8 else second

    found = sorted(spans(tracked(make_frames(shots, start=0, end=16, rate=10))).values())
    assert found == [("bottle", 0.0, 7.5), ("bottle", 8.0, 15.5)]


@pytest.mark.parametrize("batch", [4, 16])
def test_batches_change_no_row(make_frames: MakeFrames, batch: int) -> None:
    def scene(time: float) -> Image:
        return drawn((RED, 20 + 20 * time, 20), *[(BLUE, 200.0, 120.0)] * (time > 3))

    frames = make_frames(scene, start=0, end=10, rate=10)
    assert tracked(frames, SquareFinder(batch)) == tracked(frames)


def test_a_frame_that_two_clips_want_is_examined_once(make_frames: MakeFrames) -> None:
    detector = SquareFinder()
    stage = Detections(detector)
    workers = [stage.open(made_clip(number, source=made_source(rate=10.0))) for number in (0, 1)]
    for frame in sampled_for(
        stage, make_frames(lambda t: drawn((RED, 40 * (t - 27), 20)), start=27, end=31.5, rate=10)
    ):
        for worker in workers:
            worker.see(frame)
    rows = [worker.finish()["sightings"] for worker in workers]
    assert detector.looks == 9
    assert {row["time"] for row in rows[0]} == {27.0, 27.5, 28.0, 28.5, 29.0, 29.5}
    assert {row["time"] for row in rows[1]} == {30.0, 30.5, 31.0}
    assert {row["track"] for row in rows[1]} == {"t0001_01"}


@settings(max_examples=15)
@given(moment=st.floats(min_value=1.0, max_value=9.0), appears=st.floats(min_value=0.0, max_value=8.0))
def test_no_row_knows_the_future(make_frames_once: MakeFrames, moment: float, appears: float) -> None:
    def scene(time: float) -> Image:
        return drawn((RED, 20 + 20 * time, 20), *[(BLUE, 200.0, 120.0)] * (time >= appears))

    frames = make_frames_once(scene, start=0, end=10, rate=10)
    whole = tracked(frames)["sightings"]
    part = tracked([frame for frame in frames if frame.time <= moment])["sightings"]
    assert [row for row in part if row["known_at"] <= moment] == [row for row in whole if row["known_at"] <= moment]


@pytest.fixture(scope="module")
def make_frames_once() -> MakeFrames:
    """As ``make_frames``, for many examples."""
    import av

    from world_api.media import DecodedFrame

    def make(draw: Callable[[float], Image], *, start: float, end: float, rate: float) -> list[Frame]:
        each = [(n / rate, draw(n / rate)) for n in range(round(start * rate), round(end * rate))]
        return [DecodedFrame(av.VideoFrame.from_ndarray(picture, format="bgr24"), time=time) for time, picture in each]

    return make


def test_its_key_changes_with_the_model_and_the_thresholds() -> None:
    def key(producer: str) -> str:
        detector = SquareFinder()
        detector.producer = producer  # type: ignore[misc]
        return Detections(detector).spec.key(source_hash="a", upstream={})

    assert key("squares/1") == key("squares/1")
    assert key("squares/1") != key("squares/2")


def test_a_clip_s_tracks_are_stitched_if_their_categories_agree() -> None:
    def sighting(track: str, time: float, x: float, category: str) -> dict[str, Any]:
        return {
            "track": track, "time": time, "x1": x, "y1": 10.0, "x2": x + 40, "y2": 90.0, "category": category,
            "confidence": 0.9, "colours": [], "known_at": time, "producer": "made/1",
        }  # fmt: skip

    stored = {
        "sightings": [
            sighting("t0000_01", 29.5, 50, "dog"), sighting("t0001_01", 30.0, 52, "dog"),
            sighting("t0000_02", 29.5, 200, "dog"), sighting("t0001_02", 30.0, 202, "bottle"),
        ]
    }  # fmt: skip
    links = Stitches("detections").make_rows(made_clip(1, stored))["track_links"]
    assert [(link["earlier"], link["later"]) for link in links] == [("t0000_01", "t0001_01")]


@settings(max_examples=60)
@given(st.integers(1, 5), st.integers(1, 5), st.randoms(use_true_random=False))
def test_an_assignment_has_the_least_total_cost(rows: int, columns: int, chance: Any) -> None:
    from itertools import permutations

    costs = np.array(
        [[chance.choice([0.0, 0.25, 0.5, 1.0, chance.random()]) for _ in range(columns)] for _ in range(rows)]
    )
    pairs = least_cost(costs)
    assert len(pairs) == min(rows, columns) == len({row for row, _ in pairs}) == len({column for _, column in pairs})
    wide = costs if rows <= columns else costs.T
    best = min(
        sum(wide[i, chosen[i]] for i in range(len(wide))) for chosen in permutations(range(wide.shape[1]), len(wide))
    )
    assert sum(costs[row, column] for row, column in pairs) == pytest.approx(best)


def test_a_moving_camera_carries_the_boxes_along() -> None:
    """The picture moves by more than a box: without its motion the thing would be a new one."""

    def step(association: Association, left: float, time: float, *, known: bool) -> int:
        item = DetectedObject(category="dog", box=Box(x1=left, y1=50, x2=left + 20, y2=70), confidence=0.9)
        motion = np.array([[1.0, 0.0, 90.0], [0.0, 1.0, 0.0]]) if known and time else None
        [seen] = association.step([item], time, motion=motion)
        return seen.number

    for known, count in ((True, 1), (False, 2)):
        association = Association(0.5)
        assert len({step(association, 10 + 180 * time, time, known=known) for time in (0.0, 0.5)}) == count

"""What people look like at a few moments: which moments are chosen, and what is judged of a drawn figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.support.building import made_clip, made_source
from world_api.build import BodyJudge, ClothesJudge, FaceJudge, Figure, PersonLooks
from world_api.core import Box, Face, Image, Vectors

pytestmark = pytest.mark.media

Rows = list[dict[str, Any]]
#: A person of 60 x 180 pixels in a picture of 640 x 360.
PLACE = {"x1": 100.0, "y1": 100.0, "x2": 160.0, "y2": 280.0}


def drawn(*, upper: tuple[int, int, int], lower: tuple[int, int, int], hair: tuple[int, int, int]) -> Image:
    """A figure with hair, top and bottoms (BGR) in front of a light wall, at ``PLACE``."""
    noise = np.random.default_rng(1).integers(-6, 7, (360, 640, 3))
    picture = np.full((360, 640, 3), 225, dtype=np.int64)
    for top, bottom, left, right, colour in (
        (100, 130, 118, 142, hair), (130, 205, 104, 156, upper), (205, 280, 110, 150, lower),
    ):  # fmt: skip
        picture[top:bottom, left:right] = colour
    return np.clip(picture + noise, 0, 255).astype(np.uint8)


class StillFrames:
    """The same picture at any time; notes the times that were asked for."""

    def __init__(self, picture: Image) -> None:
        self._picture = picture
        self.asked: list[float] = []

    def pictures_played_at(self, times: Sequence[float], longest_side: int | None) -> list[Image]:
        self.asked += times
        return [self._picture for _ in times]


class MeanColour:
    """A body embedder and a face embedder: the mean colour."""

    producer, sure, doubtful = "mean/1", 0.95, 0.8

    def embed(self, images: Any, faces: Sequence[Face] | None = None) -> Vectors:
        count = len(images if faces is None else faces)
        return np.tile(np.float32([1.0, 0.0]), (count, 1))


class FacesAt:
    """A face detector that finds a face of 20 x 20 pixels at a place in what it is given, or none."""

    producer = "drawn/1"

    def __init__(self, place: tuple[float, float] | None) -> None:
        self._place = place

    def faces(self, image: Image) -> list[Face]:
        if self._place is None:
            return []
        x, y = self._place
        points = np.float32([[x + 5, y + 6], [x + 15, y + 6], [x + 10, y + 10], [x + 6, y + 15], [x + 14, y + 15]])
        return [Face(box=Box(x1=x, y1=y, x2=x + 20, y2=y + 20), confidence=0.9, landmarks=points)]


def seen(times: Sequence[float], track: str = "t0000_01", **other: Any) -> Rows:
    row = {"track": track, "category": "person", "confidence": 0.9, "colours": [], **PLACE, "producer": "detections/1"}
    return [{**row, "time": time, "known_at": time + 1.0, **other} for time in times]


def looks_of(judge: Any, rows: Rows, picture: Image | None = None) -> tuple[Rows, list[float]]:
    frames = StillFrames(
        drawn(upper=(40, 40, 180), lower=(120, 40, 20), hair=(20, 20, 20)) if picture is None else picture
    )
    stage = PersonLooks(judge, lambda path: frames, needs=("detections",))
    return list(
        stage.make_rows(made_clip(0, {"sightings": rows}, source=made_source(size=(640, 360))))["person_looks"]
    ), frames.asked


HALF_SECONDS = [number / 2 for number in range(4, 50)]


def test_a_track_is_judged_four_times_soon_and_then_every_four_seconds() -> None:
    rows, asked = looks_of(BodyJudge(MeanColour()), seen(HALF_SECONDS))
    assert [row["time"] for row in rows] == [2.0, 2.5, 3.0, 3.5, 7.5, 11.5, 15.5, 19.5, 23.5]
    assert [round(time, 2) for time in asked] == [row["time"] for row in rows]
    assert {(row["part"], row["known_at"] - row["time"]) for row in rows} == {("body", 1.0)}


def test_what_comes_later_changes_nothing_of_what_was_judged_before() -> None:
    whole, _ = looks_of(BodyJudge(MeanColour()), seen(HALF_SECONDS))
    part, _ = looks_of(BodyJudge(MeanColour()), seen(HALF_SECONDS[:20]))
    assert part == whole[: len(part)]


@pytest.mark.parametrize(
    "other",
    [
        {"category": "dog"}, {"confidence": 0.3}, {"x1": 0.0, "x2": 60.0}, {"y2": 160.0}, {"y1": 250.0},
        {"producer": "stitches/4"},
    ],
    ids=["no person", "unsure", "cut off", "not upright", "small", "filled in"],
)  # fmt: skip
def test_who_cannot_be_seen_whole_and_surely_is_not_judged(other: dict[str, Any]) -> None:
    assert looks_of(BodyJudge(MeanColour()), seen(HALF_SECONDS, **other)) == ([], [])


def test_who_is_covered_by_another_is_not_judged_while_covered() -> None:
    beside = seen(HALF_SECONDS[:8], "t0000_02", x1=120.0, x2=180.0)
    rows, _ = looks_of(BodyJudge(MeanColour()), [*seen(HALF_SECONDS), *beside])
    assert {row["track"] for row in rows} == {"t0000_01"}
    assert min(row["time"] for row in rows) == 6.0


def test_the_colours_of_clothes_and_hair_are_those_of_the_figure_and_not_of_the_wall() -> None:
    rows, _ = looks_of(ClothesJudge(FacesAt(None)), seen([2.0]))
    assert named_in(rows) == {"upper": ["red"], "lower": ["blue"], "hair": ["black"]}
    other = drawn(upper=(150, 150, 150), lower=(20, 20, 20), hair=(40, 110, 160))
    rows, _ = looks_of(ClothesJudge(FacesAt(None)), seen([2.0]), other)
    assert named_in(rows) == {"upper": ["grey"], "lower": ["black"], "hair": ["yellow"]}
    assert rows == looks_of(ClothesJudge(FacesAt(None)), seen([2.0]), other)[0]


@pytest.mark.parametrize(
    ("part", "colour", "near", "apart"),
    [
        ("upper", (25, 17, 15), {"blue"}, {"red", "green", "white", "pink", "yellow"}),  # very dark jeans
        ("lower", (18, 24, 32), {"brown"}, {"blue", "green", "pink", "white"}),
        ("upper", (215, 235, 245), {"yellow"}, {"blue", "red", "black"}),  # white in warm light
        ("upper", (40, 40, 180), set(), {"blue", "green", "yellow", "black", "purple"}),
        ("hair", (35, 60, 90), {"yellow"}, {"white"}),  # dark blonde
        ("hair", (20, 20, 20), {"brown"}, {"yellow", "white"}),
    ],
)  # fmt: skip
def test_the_neighbours_of_a_measured_colour_are_noted_and_other_colours_are_not(
    part: str, colour: tuple[int, int, int], near: set[str], apart: set[str]
) -> None:
    colours = {"upper": (120, 40, 20), "lower": (120, 40, 20), "hair": (120, 40, 20), part: colour}
    rows, _ = looks_of(ClothesJudge(FacesAt(None)), seen([2.0]), drawn(**colours))
    words = {row["part"]: set(row["words"]) for row in rows}
    assert words[part]
    assert not words[part] & words[f"near_{part}"]
    assert near <= words[f"near_{part}"] | words[part]
    assert not apart & (words[f"near_{part}"] | words[part])


@pytest.mark.parametrize(("dark", "words"), [(30, ["black"]), (20, ["black", "yellow"]), (10, ["yellow", "black"])])
def test_hair_with_light_ends_has_two_colours(dark: int, words: list[str]) -> None:
    """The upper part of the hair is black, the rest blonde."""
    picture = drawn(upper=(150, 150, 150), lower=(20, 20, 20), hair=(40, 110, 160))
    picture[100 : 100 + dark, 118:142] //= 8
    rows, _ = looks_of(ClothesJudge(FacesAt(None)), seen([2.0]), picture)
    assert named_in(rows)["hair"] == words
    assert not set(words) & next(set(row["words"]) for row in rows if row["part"] == "near_hair")


def named_in(rows: Rows) -> dict[str, list[str]]:
    return {row["part"]: row["words"] for row in rows if not row["part"].startswith("near_")}


def test_who_shows_a_face_faces_the_camera_and_who_shows_none_faces_away() -> None:
    faces = FaceJudge(FacesAt((30.0, 20.0)), MeanColour())
    rows, _ = looks_of(faces, seen([2.0]))
    assert {row["part"]: row["words"] for row in rows} == {"facing": ["camera"], "face": []}
    rows, _ = looks_of(FaceJudge(FacesAt(None), MeanColour()), seen([2.0]))
    assert [(row["part"], row["words"]) for row in rows] == [("facing", ["away"])]


def test_a_face_at_the_feet_or_of_another_person_is_not_the_person_s_own() -> None:
    box = Box(x1=100, y1=100, x2=160, y2=280)
    picture = drawn(upper=(0, 0, 0), lower=(0, 0, 0), hair=(0, 0, 0))
    beside = Figure(picture=picture, box=box, is_whole=True, others=[Box(x1=110, y1=100, x2=150, y2=280)])
    [rows] = FaceJudge(FacesAt((30.0, 20.0)), MeanColour()).judge([beside])
    assert [(row["part"], row["words"]) for row in rows] == [("facing", ["away"])]

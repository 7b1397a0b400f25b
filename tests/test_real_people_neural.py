"""People in real rooms as profile neural sees them, with real weights: who is who, and what they look like.

Films of which each test needs one of its own are built at night; ``build/linking/test_identities.py`` has the rules for who
returns and who only looks the same, ``test_neural_profile.py`` that what may be too small is not surely absent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest

from benchmarks.people import (
    BOXES,
    CLIP,
    COMPOSITE,
    PLANS,
    build,
    compared,
    cut_film,
    identity_f1,
    judge_film,
    seen_outfits,
)
from tests.support.building import made_once
from tool_induction.library import load_library
from tool_induction.runtime import run_tool
from world_api import open_session, run
from world_api.core import Image
from world_api.session import Session

pytestmark = [pytest.mark.shared_data, pytest.mark.media]


@pytest.fixture(scope="module")
def store(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(folder: Path) -> None:
        build(shared_data / "video" / f"{CLIP}.mp4", folder, shared_data / "models")

    return made_once(tmp_path_factory, "real-people-neural", make)


@pytest.fixture(scope="module")
def composite(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(folder: Path) -> None:
        build(shared_data / "video" / f"{COMPOSITE}.mp4", folder, shared_data / "models")

    return made_once(tmp_path_factory, "real-composite-neural", make)


@pytest.fixture
def one_by_one(store: Path) -> Session:
    return open_session(store, CLIP, name=None)


def entities(session: Session) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = run(session, "list_entities", {"video_id": session.video_id})["entities"]
    return [one for one in listed if one["category"] == "person"]


def found(session: Session, query: str, span: dict[str, float]) -> list[dict[str, Any]]:
    """What is detected of people who fit the words, in an interval."""
    asked = {"video_id": session.video_id, "timestamp": span["start_time"], "category": "person", "text_query": query}
    detections: list[dict[str, Any]] = run(session, "detect_objects", {**asked, "time_range": span})["detections"]
    return [one for one in detections if not one["lacks"]]


def test_six_people_are_six_entities_that_keep_their_boxes(one_by_one: Session) -> None:
    assert len(entities(one_by_one)) == 6
    people = [track for track in one_by_one.view.tracks if track.category == "person"]
    frames = compared(people, json.loads(BOXES.read_text()))
    assert sum(len(frame.true) for frame in frames) > 150
    assert identity_f1(frames) >= 0.9


def test_only_the_two_men_in_black_may_be_one(one_by_one: Session) -> None:
    doubts = {(one["first_time"], other["entity_id"]) for one in entities(one_by_one) for other in one["may_be"]}
    by_time = {one["first_time"]: one["entity_id"] for one in entities(one_by_one)}
    second, fourth = sorted(by_time)[1], sorted(by_time)[3]
    assert doubts == {(second, by_time[fourth]), (fourth, by_time[second])}


@pytest.mark.nightly
def test_the_man_who_returns_is_one_entity_and_the_other_man_in_black_another(composite: Path) -> None:
    people = entities(open_session(composite, COMPOSITE, name=None))
    [returns] = [one for one in people if one["appearances"] == 2]
    assert (returns["first_time"], returns["last_time"]) == (pytest.approx(53, abs=1), pytest.approx(335.2, abs=1))
    [other] = [one for one in people if 187 < one["first_time"] < 190]
    assert other["entity_id"] != returns["entity_id"]
    assert [one["entity_id"] for one in other["may_be"]] == [returns["entity_id"]]


@pytest.mark.nightly
def test_before_his_return_is_seen_nothing_is_known_of_it(composite: Path) -> None:
    [early] = [
        track for track in open_session(composite, COMPOSITE, name=None, as_of=300.0).view.tracks
        if track.category == "person" and 52 < track.span.start < 54
    ]  # fmt: skip
    assert len(early.appearances) == 1
    assert early.outfit.words("upper") == ["black"]


@pytest.mark.nightly
def test_upper_clothes_have_the_right_colour_in_at_least_six_of_seven_visits(
    composite: Path, shared_data: Path
) -> None:
    truth = json.loads((shared_data / "video" / f"{COMPOSITE}.truth.json").read_text())
    rows = seen_outfits(composite, truth)
    true = [[look.word for look in looks if look.part == "upper"] for _, looks, _ in rows]
    assert len(true) == 7
    assert all(true)
    assert sum(own == outfit.words("upper")[:1] for own, (_, _, outfit) in zip(true, rows, strict=True)) >= 6


@pytest.mark.parametrize(
    ("query", "visits", "words"),
    [
        ("person in a grey cardigan with black hair", [92.5, 124.0], {"cardigan"}),
        ("a person in a black jacket and black trousers", [23.0, 51.0, 75.0], {"jacket", "trousers"}),
        ("穿灰色上衣的人", [6.5, 92.5, 124.0], set()),
        ("黑色上衣的女子", [23.0, 51.0, 75.0], {"女子"}),
        ("a person seen from behind in a grey shirt", [6.5, 92.5, 124.0], {"shirt"}),
    ],
)
def test_people_are_found_by_clothes_and_hair_in_both_languages(
    one_by_one: Session, query: str, visits: list[float], words: set[str]
) -> None:
    span = {"start_time": 0.0, "end_time": 139.0}
    by_id = {one["entity_id"]: one["first_time"] for one in entities(one_by_one)}
    asked = {"video_id": CLIP, "timestamp": 0.0, "category": "person", "text_query": query, "time_range": span}
    result = run(one_by_one, "detect_objects", asked)
    # That no face is found does not show that they are seen from behind.
    fitting = [one for one in result["detections"] if set(one["lacks"]) <= words | {"from behind"}]
    assert sorted({by_id[one["entity_id"]] for one in fitting}) == pytest.approx(visits, abs=0.6)
    assert set(result["unmatched"]) == words


@pytest.mark.parametrize(
    ("query", "visit"),
    [
        ("a person in blue jeans", 124.0),
        ("穿蓝色牛仔裤的人", 23.0),
        ("a woman with blonde hair", 51.0),
        ("金发的人", 51.0),
        ("a person not in black", 124.0),
        ("不穿黑色衣服的人", 6.5),
        ("seen from behind", 75.0),
        ("a woman with black hair in a grey top", 6.5),
    ],
)
def test_looks_that_were_measured_as_their_neighbours_are_possible(
    one_by_one: Session, query: str, visit: float
) -> None:
    """Dark jeans are measured as black, dark blonde hair as brown and black, hair with light ends as black and brown."""
    by_id = {one["entity_id"]: one["first_time"] for one in entities(one_by_one)}
    span = {"start_time": 0.0, "end_time": 139.0}
    asked = {"video_id": CLIP, "timestamp": 0.0, "category": "person", "text_query": query, "time_range": span}
    result = run(one_by_one, "detect_objects", asked)
    assert any(abs(by_id[one["entity_id"]] - visit) < 0.6 for one in result["detections"])
    assert all(one["lacks"] for one in result["detections"])
    assert result["not_found"] == []


def test_who_has_other_clothes_is_not_found(one_by_one: Session) -> None:
    span = {"start_time": 20.0, "end_time": 46.0}
    assert not found(one_by_one, "a person in a red jacket", span)
    assert not found(one_by_one, "a person with white hair", span)
    assert found(one_by_one, "a person with black hair", span)


def test_a_hint_is_a_description_that_fits_its_own_entity(one_by_one: Session) -> None:
    for one in entities(one_by_one):
        span = {"start_time": one["first_time"], "end_time": one["last_time"]}
        assert {item["entity_id"] for item in found(one_by_one, one["hint"], span)} == {one["entity_id"]}, one["hint"]


def test_what_one_looks_like_is_answered_with_shares_of_frames(one_by_one: Session) -> None:
    [_, second, *_] = entities(one_by_one)
    asked = {"video_id": CLIP, "entity_id": second["entity_id"], "time": 30.0, "query": "what does he wear?"}
    assert "black top (100% of the frames)" in run(one_by_one, "query_entity_state", asked)["answer"]


def test_a_search_finds_hair_and_clothes(one_by_one: Session) -> None:
    result = run(one_by_one, "search_segments_by_text", {"video_id": CLIP, "query": "black hair, grey top", "top_k": 3})
    first = result["candidates"][0]
    assert not first["lacks"]
    assert 92 < first["center_time"] < 136
    # Hair that looks black or dark blonde may be brown.
    result = run(one_by_one, "search_segments_by_text", {"video_id": CLIP, "query": "brown hair", "top_k": 3})
    assert {tuple(hit["lacks"]) for hit in result["candidates"]} == {("brown hair",)}


def shot(video: Path, start: float, seconds: float, change: Callable[[Image], Image]) -> Iterator[Image]:
    """Part of a video, each frame changed."""
    with closing(av.open(str(video))) as source:
        for frame in source.decode(video=0):
            if start <= frame.time < start + seconds:
                yield change(frame.to_ndarray(format="bgr24"))


def film_of(frames: Iterable[Image], path: Path) -> Path:
    with closing(av.open(str(path), "w")) as film:
        stream = film.add_stream("libx264", rate=10, options={"preset": "veryfast", "crf": "18"})
        stream.width, stream.height, stream.pix_fmt = 768, 432, "yuv420p"
        for image in frames:
            film.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format="bgr24")))
        film.mux(stream.encode())
    return path


def counted(store: Path, category: str) -> dict[str, Any]:
    tools = load_library("hand_A").tools
    asked = {"video_id": "film", "category": category}
    return run_tool(tools, "count_distinct_things", asked, call=partial(run, open_session(store, "film", name=None)))


def far(image: Image) -> Image:
    """The room from far away: its picture is a sixth as large, in the lower middle of a grey one."""
    (height, width), small = image.shape[:2], cv2.resize(image, None, fx=1 / 6, fy=1 / 6, interpolation=cv2.INTER_AREA)
    whole, left = np.full_like(image, 128), (width - small.shape[1]) // 2
    whole[height - small.shape[0] - 20 : height - 20, left : left + small.shape[1]] = small
    return whole


@pytest.mark.nightly
def test_one_man_in_two_shots_in_other_light_is_not_surely_two(shared_data: Path, tmp_path: Path) -> None:
    """In the second shot all is twice as bright."""
    video = shared_data / "video" / f"{CLIP}.mp4"
    shots = [
        *shot(video, 124.5, 5.0, np.copy),
        *shot(video, 129.5, 5.0, lambda image: cv2.convertScaleAbs(image, alpha=2)),
    ]
    build(film_of(shots, tmp_path / "film.mp4"), tmp_path / "store", shared_data / "models")
    assert len(entities(open_session(tmp_path / "store", "film", name=None))) == 2
    result = counted(tmp_path / "store", "person")
    assert (result["status"], result["outputs"]["count"]) == ("partial", 1)
    assert result["unsure"]["count"]["possible"] == 1


@pytest.mark.nightly
def test_people_who_are_too_small_to_be_found_are_not_surely_absent(shared_data: Path, tmp_path: Path) -> None:
    frames = shot(shared_data / "video" / f"{CLIP}.mp4", 28.0, 8.0, far)
    build(film_of(frames, tmp_path / "film.mp4"), tmp_path / "store", shared_data / "models")
    result = counted(tmp_path / "store", "person")
    assert (result["status"], result["outputs"]["count"]) == ("partial", 0)
    assert "not judged: person below 22 % of the picture's height" in result["summary"]


@pytest.mark.nightly
@pytest.mark.parametrize("number", [1, 4])
def test_who_returns_in_changed_footage_is_not_lost_and_joined_with_no_other(
    number: int, shared_data: Path, tmp_path: Path
) -> None:
    visits = json.loads((shared_data / "video" / f"{CLIP}.truth.json").read_text())["visits"]
    film = cut_film(shared_data / "video" / f"{CLIP}.mp4", visits, PLANS[number], tmp_path / "film.mp4")
    build(film, tmp_path / "store", shared_data / "models")
    returning = judge_film(tmp_path / "store", "film", PLANS[number])
    assert returning.outcome in {"one", "may be"}
    assert returning.false_joins == 0

"""What pictures may show, from a pair of encoders that knows colours to answers: possible, and never more."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.building import Silent, StandingClock
from tests.support.tiny_detectors import RED, picture, write_tiny
from tests.support.tiny_pairs import OPTIONS, write_classifier, write_pair
from world_api import BuildOptions, Listening, build_world, open_session, open_world, run
from world_api.perception import ModelFolder

pytestmark = pytest.mark.media

Made = Callable[..., Any]
#: Colours (BGR) of the three shots of the film, twelve seconds each.
SHOTS = {"green": (40, 200, 40), "grey": (90, 90, 90), "red": (40, 40, 200)}


@pytest.fixture
def film(make_video: Made) -> Path:
    rng = np.random.default_rng(5)
    texture = rng.integers(-12, 12, (96, 160, 3))

    def frame(number: int) -> Any:
        colour = list(SHOTS.values())[min(2, number // 60)]
        return np.clip(np.array(colour) + texture, 0, 255).astype(np.uint8)

    return make_video("film.mp4", (frame(number) for number in range(180)), rate=5)


@pytest.fixture
def models(tmp_path: Path) -> ModelFolder:
    """A folder with a detector that finds nothing in the film."""
    folder = ModelFolder(tmp_path / "models")
    path = write_tiny(tmp_path, "yolo", notes={"names": "{0: 'dog', 1: 'bottle'}"})
    folder.add(path, name="tiny", options={"sure": 0.95, "least": 0.9}, licence="")
    return folder


def add_pair(models: ModelFolder, folder: Path, **options: Any) -> None:
    models.add(write_pair(folder), name="pair", options={**OPTIONS, **options}, licence="", task="image_text")


def build(film: Path, store: Path, models: ModelFolder) -> Any:
    chosen = BuildOptions(
        profile="neural", models=models.folder, without=("screen_texts",), listening=Listening(speech="off")
    )
    return build_world(film, store, progress=Silent(), clock=StandingClock(), options=chosen)


def asked(store: Path, models: ModelFolder | None, operation: str, **arguments: Any) -> dict[str, Any]:
    session = open_session(store, "film", name=None, models=models.folder if models else store / "no-models")
    return run(session, operation, {"video_id": "film", **arguments})


def vectors(store: Path) -> int:
    return open_world(store, "film").rows("picture_vectors").num_rows


@pytest.fixture
def store(film: Path, models: ModelFolder, tmp_path: Path) -> Path:
    add_pair(models, tmp_path / "pair")
    build(film, tmp_path / "store", models)
    return tmp_path / "store"


@pytest.mark.parametrize("operation", ["search_segments_by_text", "search_segments_by_semantics"])
def test_a_red_picture_is_found_and_only_possible(store: Path, models: ModelFolder, operation: str) -> None:
    found = asked(store, models, operation, query="a red picture", top_k=1)
    [hit] = found["candidates"]
    assert 24 <= hit["center_time"] < 36
    assert hit["lacks"] and hit["confidence"] is None
    assert found["not_found"] == []
    assert all(moment["lacks"] for moment in found["moments"])


def test_what_no_picture_shows_is_not_judged(store: Path, models: ModelFolder) -> None:
    found = asked(store, models, "search_segments_by_text", query="a blue picture", top_k=3)
    assert found["candidates"] == [] and found["not_found"] == []
    assert found["not_judged"]


def test_tags_are_found_in_both_languages_and_quoted_as_guesses(store: Path, models: ModelFolder) -> None:
    for query in ("kitchen", "厨房"):
        found = asked(store, None, "search_segments_by_text", query=query, top_k=5)  # tags need no model
        assert found["candidates"]
        assert all(hit["center_time"] < 12 and hit["lacks"] == [query] for hit in found["candidates"])
        assert found["not_judged"] == [query] and found["candidates"][0]["source"] == "look"
        assert "may show: a kitchen" in found["candidates"][0]["snippet"]
    described = asked(store, models, "describe_segment", start_time=0, end_time=10)["caption"]
    assert "may show: a kitchen" in described and "not calibrated" in described
    scenes = asked(store, models, "list_scenes")["scenes"]
    assert "kitchen" in scenes[0]["brief_caption"] and "kitchen" not in scenes[-1]["brief_caption"]


def test_actions_of_pictures_are_possible_only(store: Path, models: ModelFolder) -> None:
    found = asked(store, models, "recognize_actions", start_time=0, end_time=10)
    assert found["actions"] == [] and "may show: dancing; that is possible only" in found["hint"]
    assert asked(store, models, "recognize_actions", start_time=26, end_time=30)["hint"] == ""
    hits = asked(store, models, "search_segments_by_text", query="dancing", top_k=3)["candidates"]
    assert hits and all(hit["lacks"] == ["dancing"] for hit in hits)


def test_a_cut_hides_what_is_known_later(store: Path, models: ModelFolder) -> None:
    session = open_session(store, "film", as_of=20.0, name=None, models=models.folder)
    found = run(session, "search_segments_by_text", {"video_id": "film", "query": "a red picture", "top_k": 3})
    assert found["candidates"] == []


def test_an_example_finds_what_its_key_frames_are_like(film: Path, models: ModelFolder, store: Path) -> None:
    example = {"start_time": 24.0, "end_time": 28.0}
    found = asked(store, models, "search_similar_to_example", example_segment=example, top_k=1)
    [hit] = found["similar_segments"]
    assert hit["center_time"] > 28


def test_another_pair_makes_only_its_own_rows_again(
    film: Path, models: ModelFolder, store: Path, tmp_path: Path
) -> None:
    assert vectors(store) > 0
    before = {path: path.stat().st_mtime_ns for path in (store / "film" / "rows").rglob("*.arrow")}
    again = build(film, store, models)
    assert not again.changed
    models.remove("pair")
    add_pair(models, tmp_path / "pair", margin=0.5)
    changed = build(film, store, models)
    assert changed.changed and changed.clips_made == 2  # the clips of one stage
    made = {path.parent.name for path in (store / "film" / "rows").rglob("*.arrow") if path not in before}
    assert made == {"picture_vectors", "picture_tags"}


def test_two_builds_give_the_same_rows(film: Path, models: ModelFolder, store: Path, tmp_path: Path) -> None:
    build(film, tmp_path / "other", models)
    hashes = [
        json.loads((root / "film" / "world.json").read_text())["world_hash"] for root in (store, tmp_path / "other")
    ]
    assert hashes[0] == hashes[1]


def test_things_that_lack_as_many_words_are_ordered_by_their_crops(
    make_video: Made, models: ModelFolder, tmp_path: Path
) -> None:
    """A red and an orange dog: no row judges the words, so both lack them, and their pictures say which may be meant."""

    def frame(_: int) -> Any:
        return picture((RED, 32, 32), ((0, 110, 255), 160, 32), width=256, height=128, side=32)

    film = make_video("film.mp4", (frame(number) for number in range(50)), rate=5)
    models.remove("tiny")
    path = write_tiny(tmp_path, "yolo", notes={"names": "{0: 'dog', 1: 'bottle'}"})
    models.add(path, name="tiny", options={}, licence="")
    add_pair(models, tmp_path / "pair")
    build(film, tmp_path / "store", models)
    for query, left in (("brick", 32), ("mango", 160)):
        found = asked(tmp_path / "store", models, "detect_objects", timestamp=5.0, category="dog", text_query=query)
        assert [round(one["bbox"][0]) for one in found["detections"]] == [left, 192 - left]
        assert all(one["lacks"] == [query] for one in found["detections"])


def test_without_a_pair_a_classifier_tags_and_without_one_nothing_is_judged(
    film: Path, models: ModelFolder, tmp_path: Path
) -> None:
    build(film, tmp_path / "none", models)
    assert asked(tmp_path / "none", models, "search_segments_by_text", query="kitchen", top_k=3)["not_judged"] == [
        "kitchen"
    ]
    options = {key: OPTIONS[key] for key in ("side", "mean", "std")} | {"least": 0.5}
    path = write_classifier(tmp_path / "colours.onnx")
    labels = ["tomato", "cucumber", "blueberry"]
    models.add(path, name="things", options={**options, "labels": labels}, licence="", task="image_classifier")
    build(film, tmp_path / "things", models)
    found = asked(tmp_path / "things", models, "search_segments_by_text", query="cucumber", top_k=3)
    assert found["candidates"] and all(hit["lacks"] == ["cucumber"] for hit in found["candidates"])
    assert vectors(tmp_path / "things") == 0

"""The profile ``neural``, from a file of weights to answers, with real files that know two classes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.building import Listener, Silent, StandingClock
from tests.support.command_line import Cli
from tests.support.tiny_detectors import BLUE, RED, picture, write_tiny
from world_api import BuildOptions, Listening, build_world, ensure_world, open_session, open_world, run
from world_api.core import BackendFault, StoreFault
from world_api.perception import ModelFolder

pytestmark = pytest.mark.media

WITHOUT = ("screen_texts",)
Made = Callable[..., Any]


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A folder with one detector of ``dog``, of which it is known how often it is missed, and ``bottle``."""
    path = write_tiny(tmp_path, "yolo", notes={"names": "{0: 'dog', 1: 'bottle'}"})
    ModelFolder(tmp_path / "models").add(path, name="tiny", options={"missed": {"dog": [1, 50, 8]}}, licence="")
    return tmp_path / "models"


@pytest.fixture
def film(make_video: Made) -> Path:
    """Forty seconds of a room: a bottle (blue) all the time, a dog (red) from 10 to 20 s."""

    def frame(time: float) -> Any:
        return picture((BLUE, 96, 32), *[(RED, 16, 80)] * (10 <= time < 20), width=128, height=128, side=16)

    return make_video("film.mp4", (frame(number / 5) for number in range(200)), rate=5)


def options(models: Path, profile: str = "neural", **other: Any) -> BuildOptions:
    return BuildOptions(profile=profile, models=models, without=WITHOUT, listening=Listening(speech="off"), **other)


def built(film: Path, store: Path, chosen: BuildOptions, progress: Any = None) -> Any:
    return build_world(film, store, progress=progress or Silent(), clock=StandingClock(), options=chosen)


def detected(store: Path, models: Path, at: float, category: str, **other: Any) -> dict[str, Any]:
    session = open_session(store, "film", name=None, models=models)
    return run(session, "detect_objects", {"video_id": "film", "timestamp": at, "category": category, **other})


def test_things_that_rest_and_things_that_come_and_go_are_entities(film: Path, models: Path, tmp_path: Path) -> None:
    report = built(film, tmp_path / "store", options(models))
    assert report.profile == "neural"
    session = open_session(tmp_path / "store", "film", name=None, models=models)
    listed = run(session, "list_entities", {"video_id": "film"})["entities"]
    assert [(one["category"], one["first_time"], one["last_time"]) for one in listed] == [
        ("bottle", 0.0, 39.6), ("dog", 10.0, 19.6),
    ]  # fmt: skip
    assert [one["appearances"] for one in listed] == [1, 1]  # over the join of two clips


@pytest.mark.parametrize(
    ("word", "at", "count"), [("dog", 15.0, 1), ("狗", 15.0, 1), ("puppies", 15.0, 1), ("dogs", 30.0, 0)]
)
def test_words_of_its_classes_are_judged_in_both_languages(
    film: Path, models: Path, tmp_path: Path, word: str, at: float, count: int
) -> None:
    built(film, tmp_path / "store", options(models))
    found = detected(tmp_path / "store", models, at, word)
    assert len(found["detections"]) == count
    assert bool(found["not_found"]) == (count == 0)
    assert found["not_judged"] == ["dog below 13 % of the picture's height"] * (count == 0)


def test_that_there_is_none_is_no_sure_zero_since_it_may_be_small(
    cli: Cli, film: Path, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dog was measured that is 8 of the 64 pixels of the model's input high: an eighth of the picture."""
    monkeypatch.setenv("VIDEOWORLD_MODELS", str(models))
    built(film, tmp_path / "store", options(models))
    asked = ["tools", "run", "hand_A", "list_things_in_view", "--video", "film", "--json", "time=30", "category=dog"]
    result = cli(*asked, store=tmp_path / "store").json
    assert (result["status"], result["outputs"]["count"]) == ("partial", 0)
    assert "not judged: dog below 13 % of the picture's height" in result["summary"]
    [said] = result["warnings"]
    assert "at least 13 % of the picture's height, of which 1 of 50 were missed" in said


def test_misses_without_a_height_show_no_absence(film: Path, tmp_path: Path) -> None:
    path = write_tiny(tmp_path, "yolo", notes={"names": "{0: 'dog', 1: 'bottle'}"})
    ModelFolder(tmp_path / "models").add(path, name="tiny", options={"missed": {"dog": [1, 50]}}, licence="")
    built(film, tmp_path / "store", options(tmp_path / "models"))
    found = detected(tmp_path / "store", tmp_path / "models", 30.0, "dog")
    assert found["not_found"] == []
    assert found["not_judged"] == ["dog that was not detected (how often one is missed was not measured)"]


def test_what_one_frame_shows_is_possible_and_no_first_appearance(
    cli: Cli, make_video: Made, models: Path, tmp_path: Path
) -> None:
    """Of a dog that is there for half a second there is no track, so no tool may be surer of it than another."""

    def frame(time: float) -> Any:
        return picture(*[(RED, 16, 80)] * (6 <= time < 6.5 or 12 <= time < 19), width=128, height=128, side=16)

    built(make_video("film.mp4", (frame(n / 5) for n in range(100)), rate=5), tmp_path / "store", options(models))
    [glimpse] = detected(tmp_path / "store", models, 6.2, "dog")["detections"]
    assert (glimpse["entity_id"], glimpse["lacks"]) == (None, ["dog"])
    [stays] = detected(tmp_path / "store", models, 13.0, "dog")["detections"]
    assert stays["lacks"] == []
    asked = ["tools", "run", "hand_A", "list_appearances", "--video", "film", "--json", "query=dog", "category=dog"]
    result = cli(*asked, store=tmp_path / "store").json
    assert [round(one["start_time"]) for one in result["outputs"]["appearances"]] == [12]


def test_what_the_detector_does_not_know_is_not_judged(film: Path, models: Path, tmp_path: Path) -> None:
    built(film, tmp_path / "store", options(models))
    for word in ("cat", "person", "face", "bicycle"):
        found = detected(tmp_path / "store", models, 15.0, word)
        assert (found["detections"], found["not_judged"]) == ([], [word])
    session = open_session(tmp_path / "store", "film", name=None, models=models)
    facts = run(session, "get_video_metadata", {"video_id": "film"})
    assert facts["vocabulary"]["categories"] == ["bottle", "dog"]


def test_a_frame_that_no_row_covers_is_looked_at_on_demand(film: Path, models: Path, tmp_path: Path) -> None:
    """Without the model the rows serve, and the frame is not looked at."""
    chosen = BuildOptions(
        profile="neural",
        models=models,
        without=(*WITHOUT, "detections", "stitches", "clothes"),
        listening=Listening(speech="off"),
    )
    built(film, tmp_path / "store", chosen)
    [seen] = detected(tmp_path / "store", models, 12.3, "dog")["detections"]
    assert (seen["entity_id"], [round(side) for side in seen["bbox"]]) == (None, [16, 80, 32, 96])
    gone = detected(tmp_path / "store", tmp_path / "no-models", 12.3, "dog")
    assert (gone["detections"], gone["not_judged"]) == ([], ["dog"])


@pytest.mark.parametrize("how", ["removed", "cut off", "another file"])
def test_a_frame_is_not_examined_if_the_weights_are_gone(film: Path, models: Path, tmp_path: Path, how: str) -> None:
    built(film, tmp_path / "store", options(models))
    if how != "another file":  # weights that were loaded remain in use
        whole = detected(tmp_path / "store", models, 5.0, "dog")
        assert whole["not_found"] and not whole["not_examined"]
    [weights] = models.glob("*.onnx")
    match how:
        case "removed":
            weights.unlink()
        case "cut off":
            weights.write_bytes(weights.read_bytes()[:-3])
        case _:
            weights.write_bytes(bytes(weights.stat().st_size))
    found = detected(tmp_path / "store", models, 6.0, "dog")
    assert (found["detections"], found["not_found"]) == ([], [])
    assert found["not_examined"]
    assert "the frame was not looked at" in found["hint"] and "models" in found["hint"]
    assert len(detected(tmp_path / "store", models, 15.0, "dog")["detections"]) == 1


def test_auto_says_that_an_added_model_is_broken_and_goes_on_without_it(
    film: Path, models: Path, tmp_path: Path
) -> None:
    catalogue, said = models / "models.yaml", Listener()
    catalogue.write_text(catalogue.read_text().replace("layout: yolo\n", "layout: rt-detr\n"))
    assert built(film, tmp_path / "a", options(models, "auto"), said).profile == "classical"
    assert any("tiny" in line and "cannot be used" in line for line in said.said)
    with pytest.raises(BackendFault, match="tiny"):
        built(film, tmp_path / "b", options(models))


def test_auto_takes_neural_where_a_detector_is_and_says_so(film: Path, models: Path, tmp_path: Path) -> None:
    with_model, without = Listener(), Listener()
    assert built(film, tmp_path / "a", options(models, "auto"), with_model).profile == "neural"
    assert built(film, tmp_path / "b", options(tmp_path / "none", "auto"), without).profile == "classical"
    assert any("neural" in said and "tiny" in said for said in with_model.said)
    assert any("classical" in said and "models pull" in said for said in without.said)


def test_auto_keeps_the_profile_of_a_world_that_is_there(film: Path, models: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    first = built(film, store, options(tmp_path / "none", "auto"))
    again = built(film, store, options(models, "auto"))
    assert (again.profile, again.changed, again.world_hash) == ("classical", False, first.world_hash)
    with pytest.raises(StoreFault) as caught:
        built(film, store, options(models, "neural"))
    assert caught.value.code == "world_exists"
    assert built(film, store, options(models, "auto", force=True)).profile == "neural"


def test_a_file_that_is_asked_about_is_built_by_the_profile_that_was_chosen(
    film: Path, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIDEOWORLD_MODELS", str(models))
    video_id = ensure_world(film, tmp_path / "store", progress=Silent(), clock=StandingClock(), profile="auto")
    assert open_world(tmp_path / "store", video_id).manifest.profile == "neural"


def test_without_weights_neural_says_what_fetches_them(film: Path, tmp_path: Path) -> None:
    with pytest.raises(BackendFault) as caught:
        built(film, tmp_path / "store", options(tmp_path / "none"))
    assert caught.value.code == "profile_not_ready"
    assert "models pull" in caught.value.hint


def test_another_model_makes_only_its_own_rows_again(film: Path, models: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    first = built(film, store, options(models))
    path = write_tiny(tmp_path, "rt-detr", notes={"names": "{0: 'cat', 1: 'cup'}"})
    ModelFolder(models).add(path, name="other", options={"layout": "rt-detr"}, licence="")
    second = built(film, store, options(models, detector="other"))
    stages = [stage.name for stage in open_world(store, "film").manifest.stages]
    assert second.clips_reused > 0
    assert second.clips_made == 2 * len({"detections", "stitches", "clothes"} & set(stages))
    assert second.world_hash != first.world_hash
    assert {track.category for track in open_session(store, "film", name=None, models=models).view.tracks} == {
        "cat",
        "cup",
    }


def test_a_build_that_is_made_again_gives_the_same_world(film: Path, models: Path, tmp_path: Path) -> None:
    first, second = (built(film, tmp_path / name, options(models)).world_hash for name in ("a", "b"))
    assert first == second


def test_the_command_builds_with_a_named_detector(
    cli: Cli, film: Path, models: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("VIDEOWORLD_MODELS", str(models))
    arguments = ["build", str(film), "--profile", "neural", "--without", "screen_texts", "--speech", "off", "--json"]
    made = cli(*arguments, "--detector", "tiny", store=tmp_path / "store")
    assert (made.status, made.json["worlds"][0]["profile"]) == (0, "neural")
    refused = cli(*arguments, "--detector", "no-such", store=tmp_path / "store")
    assert (refused.status, refused.json["error"]["code"]) == (1, "no_such_model")


@pytest.mark.parametrize(
    ("profile", "absent"),
    [("classical", ("sounds", "subtitles")), ("neural", ("sounds", "voices", "faces", "pictures"))],
)
def test_stages_whose_models_are_not_here_can_be_left_out(
    cli: Cli, film: Path, models: Path, tmp_path: Path, monkeypatch: Any, profile: str, absent: tuple[str, ...]
) -> None:
    monkeypatch.setenv("VIDEOWORLD_MODELS", str(models))
    slow = ("screen_texts", "moving_things", "stitches", "look_links") if profile == "classical" else ("screen_texts",)
    without = [word for stage in (*slow, *absent) for word in ("--without", stage)]
    arguments = ["build", str(film), "--profile", profile, *without, "--json"]
    assert cli(*arguments, store=tmp_path / "store").status == 0
    refused = cli(*arguments, "--without", "sound", "--force", store=tmp_path / "store").json["error"]
    assert (refused["code"], "'sound'" in refused["message"], "sounds" in refused["hint"]) == (
        "no_such_stage",
        True,
        True,
    )


def test_the_doctor_says_which_models_are_here_and_what_auto_means(
    cli: Cli, models: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    for folder, auto, detector in ((models, "neural", "tiny"), (tmp_path / "none", "classical", None)):
        monkeypatch.setenv("VIDEOWORLD_MODELS", str(folder))
        found = cli("doctor", "--json", store=tmp_path / "store").json["models"]
        assert (found["auto"], found["detector"]) == (auto, detector)
        states = {model["name"]: model["state"] for model in found["models"]}
        assert states["yolox-nano"] == "missing"
        assert states.get("tiny", "missing") == ("present" if detector else "missing")
    assert "AGPL-3.0" in cli("doctor", store=tmp_path / "store").out


def test_an_estimate_builds_nothing_and_names_the_detector(
    cli: Cli, film: Path, models: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    arguments = ["build", str(film), "--estimate", "--json"]
    monkeypatch.setenv("VIDEOWORLD_MODELS", str(models))
    [neural] = cli(*arguments, store=tmp_path / "store").json["estimates"]
    assert (neural["profile"], neural["duration"], "80 frames by tiny" in neural["text"]) == ("neural", 40.0, True)
    [classical] = cli(*arguments, "--profile", "classical", store=tmp_path / "store").json["estimates"]
    assert classical["seconds"] > 0
    assert not (tmp_path / "store").exists()
    monkeypatch.setenv("VIDEOWORLD_MODELS", str(tmp_path / "none"))
    assert cli(*arguments, "--profile", "neural", store=tmp_path / "store").json["error"]["code"] == "profile_not_ready"


def test_a_world_in_which_next_to_nothing_was_tracked_says_so(
    cli: Cli, film: Path, models: Path, tmp_path: Path, make_video: Made, monkeypatch: Any
) -> None:
    monkeypatch.setenv("VIDEOWORLD_MODELS", str(models))
    empty = make_video("empty.mp4", [picture(width=128, height=128)] * 50, rate=5)
    for path, is_said in ((empty, True), (film, False)):
        made = cli(
            "build",
            str(path),
            "--profile",
            "neural",
            "--without",
            "screen_texts",
            "--speech",
            "off",
            store=tmp_path / "s",
        )
        assert ("next to nothing was tracked" in made.out) == is_said


@pytest.mark.shared_data
@pytest.mark.nightly
def test_real_people_and_bottles_are_tracked(shared_data: Path, tmp_path: Path) -> None:
    """Six visits of six people, within a second; and bottles on a table, as many as there are."""
    for name in ("people_one_by_one", "bottles"):
        built(shared_data / "video" / f"{name}.mp4", tmp_path, options(shared_data / "models"))
    visits = [(6.4, 19.4), (22.8, 44.2), (50.6, 69.6), (74.6, 86.4), (92.8, 119.4), (123.8, 135.6)]
    tracks = list(open_session(tmp_path, "people_one_by_one", name=None).view.tracks)
    assert {track.category for track in tracks} == {"person"}
    for track, (start, end) in zip(tracks, visits, strict=True):
        assert abs(track.span.start - start) <= 1.0
        assert abs(track.span.end - end) <= 1.0
    view = open_session(tmp_path, "bottles", name=None).view
    for time, count in ((1, 3), (9, 2), (15, 3), (21, 1), (25, 2), (29, 3), (33, 2), (39, 3)):
        assert sum(track.category == "bottle" for track in view.tracks_at(float(time))) == count

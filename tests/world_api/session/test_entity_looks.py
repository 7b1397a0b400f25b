"""Profile neural+endpoint: a vision model is shown pictures of each tracked entity, and its captions name entities."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from tests.support.building import Silent, StandingClock, made_once
from tests.support.command_line import Cli, Outcome
from tests.support.detected_worlds import STAGES, seen
from tests.support.tiny_detectors import BLUE, RED, picture, write_tiny
from tests.support.vision_server import VisionServer, pictures_of, words_of
from tests.world_api.conftest import encode
from world_api import BuildOptions, Listening, SystemClock, build_world, open_session, run
from world_api.api import vision_config
from world_api.chat import data_line
from world_api.core import OperationFault
from world_api.options import VisionChoices
from world_api.perception import ModelFolder
from world_api.session import Session, best_views

pytestmark = pytest.mark.media

PROFILE = ("--profile", "neural+endpoint", "--vision-model", "eye-1")
WHOLE = {"start_time": 0.0, "end_time": 24.0}


def drawn(time: float) -> Any:
    """A bottle (blue) all the time, a person (red) from 4 to 14 s."""
    return picture((BLUE, 96, 32), *[(RED, 16, 80)] * (4 <= time < 14), width=128, height=128, side=16)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a film, its neural world and its models; not to be written into."""

    def make(folder: Path) -> None:
        path = write_tiny(folder, "yolo", notes={"names": "{0: 'person', 1: 'bottle'}"})
        ModelFolder(folder / "models").add(path, name="tiny", options={"missed": {"person": [0, 50, 8]}}, licence="")
        film = encode(folder / "film.mp4", (drawn(number / 5) for number in range(120)), rate=5)
        chosen = BuildOptions(
            profile="neural", models=folder / "models", without=("screen_texts",), listening=Listening(speech="off")
        )
        build_world(film, folder / "worlds", progress=Silent(), clock=StandingClock(), options=chosen)

    return made_once(tmp_path_factory, "entity_looks", make)


@pytest.fixture
def store(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VIDEOWORLD_MODELS", str(made / "models"))
    monkeypatch.setenv("VIDEOWORLD_CACHE", str(tmp_path / "findings"))
    return Path(shutil.copytree(made / "worlds", tmp_path / "film_worlds"))


def says(body: dict[str, Any], pictures: list[Any]) -> dict[str, Any]:
    """A model that knows the two things by the colour in the middle of a picture, and names the entities that it is given."""
    record = json.loads(words_of(body)[0])
    if "words" not in record:
        ids = [one["id"] for one in record.get("entities", ())]
        told = " and ".join(f"something ({name})" for name in ids)
        return {"caption": f"Seen: {told}, beside a lamp (ent_t0099_09). <b>", "answer": "asked now", "uncertain": ""}
    middle = {tuple(np.argmax(p[p.shape[0] // 2, p.shape[1] // 2][[0, 2]]) for p in pictures)}
    yes = "glasses" if middle == {(1,) * len(pictures)} else "blue"
    verdicts = {word: "yes" if word == yes else "cannot_tell" if word == "hat" else "no" for word in record["words"]}
    return {"words": verdicts, "description": f"it has {yes}", "uncertain": ""}


@pytest.fixture
def server(vision_server: VisionServer) -> Iterator[VisionServer]:
    vision_server.say = says
    yield vision_server


@pytest.fixture
def build(cli: Cli, made: Path, store: Path) -> Callable[..., Outcome]:
    """Runs ``videoworld build`` on the film."""

    def build_(*more: str, profile: tuple[str, ...] = PROFILE) -> Outcome:
        return cli(
            "build",
            str(made / "film.mp4"),
            *profile,
            "--speech",
            "off",
            "--without",
            "screen_texts",
            *more,
            store=store,
        )

    return build_


def opened(store: Path, model: str = "eye-1", as_of: float | None = None) -> Session:
    choices = VisionChoices(profile="neural+endpoint", model=model)
    seeing = vision_config(choices, clock=SystemClock(), environment=os.environ)
    return open_session(store, "film", name=None, seeing=seeing, as_of=as_of)


def ask(session: Session, operation: str, **arguments: Any) -> dict[str, Any]:
    return run(session, operation, {"video_id": "film", **arguments})


def looks(server: VisionServer) -> list[tuple[dict[str, Any], list[Any]]]:
    """The requests about entities: record and pictures."""
    sent = [(json.loads(words_of(body)[0]), pictures_of(body)) for body in server.requests]
    return [(record, pictures) for record, pictures in sent if "words" in record]


def named(store: Path, **how: Any) -> dict[str, dict[str, Any]]:
    """Entities by category, as they are listed."""
    return {one["category"]: one for one in ask(opened(store, **how), "list_entities")["entities"]}


def test_pictures_that_are_sent_are_cut_out_around_the_entity(
    build: Callable[..., Outcome], server: VisionServer
) -> None:
    assert build("--yes").status == 0
    assert sorted(record["subject"] for record, _ in looks(server)) == ["blue bottle", "person in red"]
    for record, pictures in looks(server):
        left, top = (8, 72) if record["subject"].startswith("person") else (88, 24)  # 16 pixels, and 8 on each side
        expected = cv2.resize(drawn(8.0)[top : top + 32, left : left + 32], (256, 256), interpolation=cv2.INTER_CUBIC)
        assert 1 <= len(pictures) <= 3
        for shown in pictures:
            assert shown.shape == expected.shape
            assert np.abs(shown.astype(float) - expected).mean() < 12


def test_what_is_estimated_is_sent_once_and_a_broken_run_goes_on(
    build: Callable[..., Outcome], server: VisionServer, store: Path
) -> None:
    counted = build("--estimate", "--json").json["estimates"][0]["looks"]
    assert (counted["is_counted"], counted["entities"], server.requests) == (True, 2, [])
    usual = server.refuse
    server.refuse = lambda body: (401, "no more") if len(server.requests) > 2 else None
    broken = build("--yes")
    assert "endpoint_refused_key" in broken.err
    assert all(one.get("looked_at") is None for one in named(store).values())  # nothing is used before a run ends
    answered, server.refuse = server.requests[:2], usual
    server.requests.clear()
    ended = build("--yes", "--json").json["worlds"][0]["captions"]
    assert len(answered) + len(server.requests) == counted["requests"]
    assert ended["made"] + ended["kept"] + ended["entities_made"] + ended["entities_kept"] == counted["requests"]
    assert not [body for body in server.requests if body in answered]
    server.requests.clear()
    again = build("--json").json["worlds"][0]["captions"]
    assert (again["entities_made"], again["entities_kept"], server.requests) == (0, 2, [])
    assert build("--estimate", "--json").json["estimates"][0]["looks"]["requests"] == 0


def test_words_that_a_model_affirmed_or_denied_are_judged_and_no_others(
    build: Callable[..., Outcome], server: VisionServer, store: Path
) -> None:
    build("--yes")
    server.requests.clear()
    person = named(store)["person"]["looked_at"]
    assert (person["has"], person["not_judged"], person["description"]) == (["glasses"], ["hat"], "it has glasses")
    assert "beard" in person["has_not"] and person["model"].startswith("endpoint:eye-1/")
    assert all(4 <= time < 14 for time in person["frame_times"])
    session = opened(store)
    own, at = named(store)["person"]["entity_id"], person["frame_times"][0]

    def found(text: str, category: str = "person") -> tuple[list[list[str]], list[str], bool]:
        result = ask(
            session, "detect_objects", timestamp=at, category=category, text_query=text, time_range=WHOLE
        )  # fmt: skip
        return [one["lacks"] for one in result["detections"]], result["unmatched"], bool(result["not_found"])

    assert found("with glasses") == ([[]], [], False)
    assert found("戴眼镜的人") == ([[]], [], False)
    assert found("with a beard") == ([], [], True)
    assert found("with a hat") == ([["hat"]], [], False)
    for text in ("without a beard", "with a beard or a hat", "beside a man", "with a bearded dog"):
        lacks, unmatched, is_absent = found(text)
        assert len(lacks) == 1 and lacks[0] and unmatched and not is_absent
    assert found("blue", "bottle") == ([[]], [], False)
    assert found("red", "bottle") == ([], [], False)  # none is shown, but how often bottles are missed was not measured
    for category in ("hat", "glasses"):  # worn by someone, and no kind of thing that is detected
        result = ask(session, "detect_objects", timestamp=at, category=category, time_range=WHOLE)
        assert (result["not_found"], result["not_judged"]) == ([], [category])
    answer = ask(session, "query_entity_state", entity_id=own, time=at, query="Is she wearing glasses?")
    assert (answer["matched"], answer["unmatched"]) == (["glasses"], [])
    assert "it is or has glasses" in answer["answer"] and "caption" in [one["source"] for one in answer["evidence"]]
    assert server.requests == []
    answer = ask(session, "query_entity_state", entity_id=own, time=at, query="Is she wearing a hat?")
    assert answer["answer"].startswith("asked now") and len(server.requests) == 1


def test_what_is_worn_is_judged_for_the_moments_of_the_pictures_alone(
    build: Callable[..., Outcome], server: VisionServer, store: Path
) -> None:
    build("--yes")
    person = named(store)["person"]
    times = person["looked_at"]["frame_times"]
    away = next(t / 5 for t in range(21, 70) if all(abs(t / 5 - time) > 1.3 for time in times))
    session = opened(store)

    def found(text: str, at: float, **within: Any) -> tuple[list[Any], bool]:
        result = ask(session, "detect_objects", timestamp=at, category="person", text_query=text, **within)
        return result["detections"], bool(result["not_found"])

    [one], _ = found("with glasses", times[0])
    assert (one["lacks"], one["start_time"] >= times[0] - 1, one["end_time"] <= times[0] + 1) == ([], True, True)
    [one], _ = found("with glasses", times[0], time_range=WHOLE)
    assert one["lacks"] == [] and one["end_time"] - one["start_time"] <= 2
    assert [one["lacks"] for one in found("with glasses", away)[0]] == [["glasses"]]
    assert found("with headphones", times[0]) == ([], True)  # the model said no
    for more in ({"at": away}, {"at": times[0], "time_range": WHOLE}):
        [one], is_absent = found("with headphones", **more)
        assert (one["lacks"], is_absent) == (["headphones"], False)
    assert found("with a beard", away) == ([], True)  # a beard is not put on
    server.requests.clear()
    near = ask(
        session, "query_entity_state", entity_id=person["entity_id"], time=times[0], query="Does she wear glasses?"
    )
    assert (near["unmatched"], server.requests) == ([], [])
    looked = ask(
        session, "query_entity_state", entity_id=person["entity_id"], time=away, query="Does she wear glasses?"
    )
    assert looked["answer"].startswith("asked now") and len(server.requests) == 1


def test_an_entity_is_registered_by_what_a_model_saw_of_it(
    build: Callable[..., Outcome], server: VisionServer, store: Path
) -> None:
    build("--yes")
    person = named(store)["person"]
    at, session = person["looked_at"]["frame_times"][0], opened(store)
    made = ask(session, "register_entity", timestamp=at, entity_hint="the person with glasses")
    assert (made["entity_id"], made["lacks"], made["unmatched"]) == (person["entity_id"], [], [])
    assert "caption" in [one["source"] for one in made["evidence"]]
    doubtful = ask(session, "register_entity", timestamp=at, entity_hint="the person with a hat")
    assert doubtful["lacks"] == ["hat"] and doubtful["confidence"] < made["confidence"]
    for denied in ("the person with headphones", "a bearded person"):
        with pytest.raises(OperationFault) as fault:
            ask(session, "register_entity", timestamp=at, entity_hint=denied)
        assert fault.value.code == "nothing_matches"


def test_another_model_has_said_nothing_yet_and_a_cut_hides_what_rests_on_later_frames(
    build: Callable[..., Outcome], server: VisionServer, store: Path
) -> None:
    build("--yes")
    assert all("looked_at" not in one for one in named(store, model="eye-2").values())
    assert "looked_at" not in named(store, as_of=10.0)["person"]
    assert named(store, as_of=20.0)["person"]["looked_at"]["has"] == ["glasses"]
    assert "looked_at" not in named(store, as_of=20.0)["bottle"]  # seen until the end


@pytest.mark.parametrize("reply", ["{", "A person.", {"words": {"glasses": "maybe"}, "description": ""}, {"words": []}])
def test_a_look_that_says_nothing_usable_leaves_words_not_judged(
    build: Callable[..., Outcome], server: VisionServer, store: Path, reply: Any
) -> None:
    server.say = lambda body, pictures: reply if "glasses" in words_of(body)[0] else says(body, pictures)
    outcome = build("--yes", "--json")
    assert outcome.status == 0
    [failed] = outcome.json["worlds"][0]["captions"]["failed"]
    assert (failed["code"], failed["start_time"]) == ("sight_unreadable", 4.0)
    assert "looked_at" not in named(store)["person"] and named(store)["bottle"]["looked_at"]["has"] == ["blue"]
    asked = {"timestamp": 8.0, "category": "person", "text_query": "with glasses"}
    [one] = ask(opened(store), "detect_objects", **asked)["detections"]
    assert one["lacks"] == ["glasses"]


def test_captions_name_entities_and_other_ids_are_left_out_with_a_note(
    build: Callable[..., Outcome], server: VisionServer, store: Path
) -> None:
    build("--yes")
    ids = {category: one["entity_id"] for category, one in named(store).items()}
    asked = [json.loads(words_of(body)[0]) for body in server.requests]
    first = next(record for record in asked if record.get("from") == 0.0 and "entities" in record)
    box = next(one for one in first["entities"] if one["kind"] == "bottle")["boxes"][0]
    assert np.abs(np.array(box[1:]) - [750, 250, 875, 375]).max() < 30
    session = opened(store)
    segment = next(span for span in session.view.segments if span.start <= 8 < span.end)
    told = ask(session, "describe_segment", start_time=segment.start, end_time=segment.end)
    assert {one["entity_id"] for one in told["entities"]} == set(ids.values())
    assert all(f"({one})" in told["caption"] for one in ids.values())
    assert "ent_t0099_09" not in told["caption"] and "1 id of no entity in this part was left out" in told["hint"]
    search = ask(session, "search_segments_by_text", query="lamp", top_k=5)
    hits = search["candidates"]
    for found in (hits, search["moments"]):
        assert {one["entity_id"] for each in found for one in each["entities"]} == set(ids.values())
    assert all("ent_" not in hit["snippet"] for hit in hits)
    assert "<" in told["caption"] and "<" not in data_line(told)  # what a model says is data in a prompt


def test_ids_in_a_caption_are_found_beside_chinese_words_and_in_longer_brackets(
    build: Callable[..., Outcome], server: VisionServer, store: Path
) -> None:
    def caption(body: dict[str, Any], pictures: list[Any]) -> dict[str, Any]:
        record = json.loads(words_of(body)[0])
        if "words" in record:
            return says(body, pictures)
        ids = [one["id"] for one in record.get("entities", ())]
        words = "".join(f"一个男人 {name}坐在桌边喝茶，然后离开 (见{name}, 左)" for name in ids)
        return {"caption": words + " A man (ent_t9999_01, standing).", "answer": "", "uncertain": ""}

    server.say = caption
    build("--yes")
    session = opened(store)
    segment = next(span for span in session.view.segments if span.start <= 8 < span.end)
    described = ask(session, "describe_segment", start_time=segment.start, end_time=segment.end)
    ids = {one["entity_id"] for one in named(store).values()}
    assert {one["entity_id"] for one in described["entities"]} == ids
    assert described["caption"].count("坐在桌边喝茶，然后离开") == len(ids)
    assert "ent_t9999_01" not in described["caption"] and "standing" in described["caption"]


def test_captions_of_a_classical_session_have_no_entities(build: Callable[..., Outcome], store: Path) -> None:
    found = run(open_session(store, "film", name=None), "describe_segment", {"video_id": "film", **WHOLE})
    assert "entities" not in found


def test_views_are_large_and_not_cut_off(make_world: Any) -> None:
    rows = seen("t0000_01", 0.0, 10.0)
    for number, row in enumerate(rows):  # at the left edge first, then far away, then whole and near
        width, left = (120.0, 0.0) if number < 6 else (20.0, 50.0) if number < 12 else (60.0, 100.0)
        row |= {"x1": left, "x2": left + width, "y1": 60.0, "y2": 60.0 + 2 * width}
    make_world({"sightings": rows}, profile="neural", stages=STAGES)
    track = open_session(make_world.store, "made", name=None).view.track_of_entity("ent_t0000_01")
    assert track is not None
    views = best_views(track)
    assert 3 <= len(views) <= 9
    assert all(view.time >= 6.0 and view.box is not None and view.box.x1 == 100.0 for view in views)

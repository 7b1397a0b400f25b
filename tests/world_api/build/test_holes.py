"""A part of a video at which every decoder dies: one loss with its times, nothing made up at its end, and nothing known of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import STILL
from tests.support.building import Silent, StandingClock
from tests.support.decoders import Decoding, decoder_of, decoding_that_dies_at, with_damage
from tests.world_api.conftest import encode, room, with_block
from videoworld import main
from world_api.api import build_world, open_session
from world_api.build import BuildReport
from world_api.core import OperationFault
from world_api.media import Frame, VideoPass
from world_api.operations import run
from world_api.options import BuildOptions, Listening
from world_api.world import check_world, open_world

pytestmark = pytest.mark.media

Asked = Callable[..., dict[str, Any]]
OPTIONS = BuildOptions(without=("screen_texts",), listening=Listening(speech="off"))


def decoding_that_dies_once(at: float) -> Decoding:
    """``VideoPass._decoded`` whose process is killed when a frame at that time (seconds) arrives, once."""
    decoded = VideoPass._decoded
    killed: list[int] = []

    def dying(self: VideoPass, *, skip: float) -> Iterator[Frame]:
        for frame in decoded(self, skip=skip):
            if not killed and frame.time >= at and (number := decoder_of(self)) is not None:
                killed.append(number)
                os.kill(number, signal.SIGKILL)
            yield frame

    return dying


def build(video: Path, store: Path) -> BuildReport:
    return build_world(video, store, progress=Silent(), clock=StandingClock(), video_id="shots", options=OPTIONS)


@pytest.fixture(scope="module")
def built(encoded_shots: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The world of two shots: while the block crosses, and around the cut, frames kill the decoder."""
    folder = tmp_path_factory.mktemp("holes")
    with pytest.MonkeyPatch.context() as patch:
        for start, end in ((10.0, 11.0), (37.0, 42.0)):
            patch.setattr(VideoPass, "_decoded", decoding_that_dies_at(start, end))
        build(Path(shutil.copy2(encoded_shots, folder)), folder / "store")
    return folder / "store"


@pytest.fixture
def store(built: Path, tmp_path: Path) -> Path:
    """A copy of that world."""
    return Path(shutil.copytree(built, tmp_path / "store"))


@pytest.fixture
def ask(store: Path) -> Asked:
    """Runs an operation on that world."""
    session = open_session(store, "shots", name=None, groups=frozenset({"inspect"}))
    return lambda name, **arguments: run(session, name, {"video_id": "shots", **arguments})


def test_a_hole_is_one_loss_with_its_times(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = open_world(store, "shots")
    assert check_world(world) == []
    first, second = world.manifest.losses
    assert (first.code, first.start_time) == (second.code, 10.0) == ("not_decoded", 10.0)
    assert (second.start_time, second.end_time) == (37.0, 45.0)
    with pytest.raises(SystemExit, match="0"):
        main(["inspect", "shots", "--store", str(store)])
    shown = capsys.readouterr().out
    assert shown.count("lost:") == 2
    assert "37.0-45.0 s were not decoded" in shown
    assert "building the world again with the same options and --force tries again" in shown
    assert "videoworld build" not in shown
    with pytest.raises(SystemExit, match="0"):
        main(["inspect", "shots", "--store", str(store), "--as-of", "40"])
    shown = capsys.readouterr().out
    assert "37.0-40.0 s were not decoded" in shown
    assert "45.0" not in shown
    with pytest.raises(SystemExit, match="0"):
        main(["inspect", "shots", "--store", str(store), "--as-of", "37"])
    assert "37.0" not in capsys.readouterr().out.partition("lost:")[2].partition("\n\n")[0]


def inspected(store: Path, capsys: pytest.CaptureFixture[str], as_of: float) -> list[dict[str, Any]]:
    """The losses of that world up to a time."""
    with pytest.raises(SystemExit, match="0"):
        main(["inspect", "shots", "--store", str(store), "--as-of", str(as_of), "--json"])
    losses: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["losses"]
    return losses


def test_a_hole_ends_at_the_causal_cut(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = store / "shots" / "world.json"
    manifest = json.loads(path.read_text())
    manifest["losses"].append({"code": "anywhere", "message": "something", "start_time": None, "end_time": None})
    path.write_text(json.dumps(manifest))
    times = {at: [(one["start_time"], one["end_time"]) for one in inspected(store, capsys, at)] for at in CUTS}
    assert times == CUTS


def test_of_many_losses_a_screen_shows_the_first(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = store / "shots" / "world.json"
    manifest = json.loads(path.read_text())
    manifest["losses"] = [{"code": "anywhere", "message": f"part {number}"} for number in range(50)]
    path.write_text(json.dumps(manifest))
    with pytest.raises(SystemExit, match="0"):
        main(["inspect", "shots", "--store", str(store)])
    shown = capsys.readouterr().out
    assert "lost: part 0\n" in shown and "part 30" not in shown and "... 30 more losses (--json shows all)" in shown
    with pytest.raises(SystemExit, match="0"):
        main(["inspect", "shots", "--store", str(store), "--json"])
    assert "part 49" in capsys.readouterr().out


#: What is told of the holes up to a time (seconds), and of a loss without a place; at one decimal a hole is not empty.
CUTS = {
    0.0: [(None, None)],
    10.04: [(None, None)],
    10.06: [(10.0, 10.06), (None, None)],
    40.04: [(10.0, 15.0), (37.0, 40.04), (None, None)],
    50.0: [(10.0, 15.0), (37.0, 45.0), (None, None)],
}


@pytest.mark.parametrize("start", [2.0, 50.0])
def test_a_hole_to_the_end_does_not_shorten_the_video(
    two_shots: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: float
) -> None:
    monkeypatch.setattr(VideoPass, "_decoded", decoding_that_dies_at(start, 1000.0))
    report = build(two_shots, tmp_path)
    assert report.duration == 70.0
    [lost] = report.losses
    assert (lost.code, lost.start_time, lost.end_time) == ("not_decoded", start, 70.0)
    world = open_world(tmp_path, "shots")
    assert check_world(world) == []
    session = open_session(tmp_path, "shots", name=None, groups=frozenset({"inspect"}))
    seen = run(session, "detect_objects", {"video_id": "shots", "timestamp": 65.0, "category": "person"})
    assert (seen["not_found"], seen["not_examined"]) == ([], [{"start_time": 65.0, "end_time": 65.2}])
    assert not [row for row in world.rows("sightings").to_pylist() if row["time"] >= start]
    for path in tmp_path.glob("shots/rows/*/000001-*"):
        path.unlink()
    again = build(two_shots, tmp_path)
    assert (again.world_hash, again.losses) == (report.world_hash, report.losses)


def test_a_decoder_that_dies_once_leaves_the_world_as_it_would_be(
    two_shots: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = build(two_shots, tmp_path / "whole")
    monkeypatch.setattr(VideoPass, "_decoded", decoding_that_dies_once(12.0))
    killed = build(two_shots, tmp_path / "killed")
    assert killed.world_hash == whole.world_hash
    [lost] = killed.losses
    assert (lost.code, lost.end_time) == ("decoder_restarted", None)
    assert lost.message.endswith("and was started again; no frame is missing")
    with pytest.raises(SystemExit, match="0"):
        main(["inspect", "shots", "--store", str(tmp_path / "killed")])
    shown = capsys.readouterr().out
    assert "  note: the decoder died" in shown
    assert "lost:" not in shown


def test_no_cut_and_no_motion_is_made_up_over_a_hole(store: Path, two_shots: Path, tmp_path: Path, ask: Asked) -> None:
    build(two_shots, tmp_path / "whole")
    whole, holed = open_world(tmp_path / "whole", "shots"), open_world(store, "shots")
    assert whole.rows("cuts").column("time").to_pylist() == [40.0]
    assert holed.rows("cuts").num_rows == holed.rows("scene_cuts").num_rows == 0
    acts = [action["label"] for action in ask("recognize_actions", start_time=0.0, end_time=20.0)["actions"]]
    assert acts
    assert not [act for act in acts if "leaves" in act or "out of view" in act]
    [entity, *_] = ask("list_entities")["entities"]
    assert entity["leaves_to"] is None


def test_nothing_is_said_to_be_absent_in_a_hole(ask: Asked) -> None:
    inside = ask("detect_objects", timestamp=41.0, category="person")
    assert (inside["not_found"], inside["not_judged"]) == ([], [])
    assert inside["not_examined"] == [{"start_time": 41.0, "end_time": 41.2}]
    assert "37.0-45.0 s were not decoded" in inside["hint"]
    around = ask("detect_objects", timestamp=41.0, category="person", time_range={"start_time": 30.0, "end_time": 60.0})
    assert around["not_examined"] == [{"start_time": 37.0, "end_time": 45.0}]
    assert (around["not_found"], around["not_judged"]) == ([], [STILL])
    outside = ask("detect_objects", timestamp=60.0, category="person")
    assert (outside["not_judged"], outside["not_examined"]) == ([STILL], [])
    [entity, *_] = ask("list_entities")["entities"]
    state = ask("query_entity_state", entity_id=entity["entity_id"], time=41.0, query="where is it?")
    assert "not decoded" in state["answer"]
    assert "37.0-45.0 s" in ask("search_segments_by_text", query="qqq", top_k=3)["hint"]
    assert "37.0-45.0 s" in ask("describe_segment", start_time=30.0, end_time=60.0)["caption"]
    assert "37.0-45.0 s" in ask("list_entities")["hint"]
    within = ask("describe_segment", start_time=38.0, end_time=44.0)["caption"]
    assert within.startswith("37.0-45.0 s were not decoded")
    acts = ask("recognize_actions", start_time=38.0, end_time=44.0)
    assert acts["actions"] == []
    assert acts["hint"].startswith("37.0-45.0 s were not decoded")
    snippets = [hit["snippet"] for hit in ask("scan_segments")["matches"]]
    assert any(snippet.startswith("37.0-45.0 s were not decoded") for snippet in snippets), snippets


ASKED: list[tuple[str, dict[str, Any]]] = [
    ("scan_segments", {}),
    ("scan_segments", {"query": "dark"}),
    ("search_segments_by_text", {"query": "dark block", "top_k": 3}),
    ("search_segments_by_semantics", {"query": "dark block", "top_k": 3}),
    ("list_scenes", {}),
    ("get_segment", {"start_time": 38.0, "end_time": 44.0}),
    ("get_segment", {"start_time": 30.0, "end_time": 60.0}),
    ("describe_segment", {"start_time": 38.0, "end_time": 44.0}),
    ("get_video_metadata", {}),
    ("list_entities", {}),
    ("read_transcript", {"start_time": 30.0, "end_time": 60.0}),
    ("search_similar_to_example", {"example_segment": {"start_time": 0.0, "end_time": 5.0}, "top_k": 3}),
    ("search_similar_to_example", {"example_segment": {"start_time": 38.0, "end_time": 44.0}, "top_k": 3}),
    ("detect_objects", {"timestamp": 44.9, "category": "any"}),
]


@pytest.mark.parametrize(("name", "arguments"), ASKED)
def test_every_answer_tells_of_the_holes_in_what_was_asked(ask: Asked, name: str, arguments: dict[str, Any]) -> None:
    assert ask(name, **arguments)["hint"].count("37.0-45.0 s were not decoded") == 1


def test_nothing_looks_like_an_example_of_which_nothing_was_decoded(ask: Asked) -> None:
    def similar(start: float, end: float) -> dict[str, Any]:
        example = {"start_time": start, "end_time": end}
        return ask("search_similar_to_example", example_segment=example, top_k=3)

    inside = similar(38.0, 44.0)
    assert inside["similar_segments"] == inside["evidence"] == []
    assert "the example itself was not decoded" in inside["hint"]
    for found in (similar(38.0, 47.0), similar(36.9, 44.0), similar(50.0, 55.0)):
        assert found["similar_segments"]
        assert "the example itself" not in found["hint"]
    # What was decoded of it is compared: the room before the hole.
    assert similar(36.9, 44.0)["similar_segments"][0]["end_time"] <= 40.0


def test_answers_about_an_entity_tell_of_holes_and_its_look_stays_its_look(ask: Asked) -> None:
    [entity, *_] = ask("list_entities")["entities"]
    assert "37.0-45.0 s" in ask("get_entity_trajectory", entity_id=entity["entity_id"])["hint"]
    for at, told in ((41.0, True), (60.0, False)):
        state = ask("query_entity_state", entity_id=entity["entity_id"], time=at, query="where is it?")
        assert ("37.0-45.0 s were not decoded" in state["hint"]) == told
    known = ask("register_entity", timestamp=entity["first_time"], entity_hint=entity["hint"])
    assert known["hint"] == entity["hint"]
    with pytest.raises(OperationFault) as caught:
        ask("register_entity", timestamp=41.0, entity_hint=entity["hint"])
    assert "37.0-45.0 s were not decoded" in caught.value.hint


def test_what_was_asked_outside_holes_has_no_hint_of_them(ask: Asked) -> None:
    outside: list[tuple[str, dict[str, Any]]] = [
        ("get_segment", {"start_time": 50.0, "end_time": 60.0}),
        ("scan_segments", {"time_range": {"start_time": 50.0, "end_time": 60.0}}),
        ("detect_objects", {"timestamp": 50.0, "category": "any"}),
        ("read_memory", {"level": "event", "query": "x", "top_k": 3}),
    ]
    for name, arguments in outside:
        assert "not decoded" not in ask(name, **arguments)["hint"]


#: When frames kill the decoder (seconds); each hole lasts to the next key frame, one of them to the end of a clip.
DEADLY = ((4.0, 4.2), (14.0, 14.2), (29.2, 29.4), (62.0, 62.2))


def build_crossings(video: Path, store: Path) -> BuildReport:
    with pytest.MonkeyPatch.context() as patch:
        for start, end in DEADLY:
            patch.setattr(VideoPass, "_decoded", decoding_that_dies_at(start, end))
        return build(video, store)


@pytest.fixture(scope="module")
def crossings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a video of a block that crosses a room every twelve seconds, and its world with holes during crossings."""
    folder, still = tmp_path_factory.mktemp("crossings"), room(1)
    times = (number / 5 for number in range(375))
    encode(folder / "video.mp4", (with_block(still, -30 + 35 * (time % 12)) for time in times), rate=5)
    build_crossings(folder / "video.mp4", folder / "store")
    return folder


def test_no_track_has_sightings_on_both_sides_of_a_hole(crossings: Path) -> None:
    world = open_world(crossings / "store", "shots")
    holes = [(one.start_time or 0.0, one.end_time or 0.0) for one in world.manifest.losses]
    assert holes == [(4.0, 5.0), (14.0, 15.0), (29.2, 30.0), (62.0, 65.0)]
    sightings = world.rows("sightings").to_pylist()
    for start, end in holes:
        before = {row["track"] for row in sightings if start - 2.0 <= row["time"] < start}
        after = {row["track"] for row in sightings if end <= row["time"] < end + 2.0}
        assert before and after
        assert not before & {row["track"] for row in sightings if row["time"] >= end}
        assert not [
            row for row in world.rows("track_links").to_pylist() if row["earlier"] in before and row["later"] in after
        ]


def test_what_is_there_after_a_hole_is_not_said_to_come(crossings: Path) -> None:
    session = open_session(crossings / "store", "shots", name=None, groups=frozenset({"inspect"}))
    said = run(session, "recognize_actions", {"video_id": "shots", "start_time": 13.0, "end_time": 17.0})
    labels = [action["label"] for action in said["actions"]]
    assert labels
    assert not [label for label in labels if "enters" in label or "comes" in label]


@pytest.mark.parametrize("lacking", ["rows/*/000000-*", "rows/*/000001-*", "rows/*/000002-*", "rows/track_links/*"])
def test_rows_that_are_made_again_know_the_holes(crossings: Path, tmp_path: Path, lacking: str) -> None:
    store = tmp_path / "store"
    shutil.copytree(crossings / "store", store)
    was = open_world(store, "shots").manifest
    gone = list((store / "shots").glob(lacking))
    assert gone
    for path in gone:
        path.unlink()
    again = build_crossings(crossings / "video.mp4", store)
    assert again.changed
    assert again.world_hash == was.world_hash
    assert list(again.losses) == list(was.losses)


def test_a_hole_found_while_missing_rows_are_made_is_told(two_shots: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    build(two_shots, store)
    for path in (store / "shots").glob("rows/*/000001-*"):
        path.unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(VideoPass, "_decoded", decoding_that_dies_at(50.0, 50.2))
        [lost] = build(two_shots, store).losses
    assert (lost.code, lost.start_time, lost.end_time) == ("not_decoded", 50.0, 55.0)
    [lost] = build(two_shots, store).losses
    assert lost.code == "not_decoded"


@pytest.mark.parametrize(("start", "end"), [(2.0, 1000.0), (20.0, 34.0)])  # 34.0: what is decoded next is after 33.0
def test_a_hole_ends_where_the_missing_rows_end(two_shots: Path, tmp_path: Path, start: float, end: float) -> None:
    build(two_shots, tmp_path)
    for path in tmp_path.glob("shots/rows/*/000000-*"):
        path.unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(VideoPass, "_decoded", decoding_that_dies_at(start, end))
        [lost] = build(two_shots, tmp_path).losses
    assert (lost.code, lost.start_time, lost.end_time) == ("not_decoded", start, 33.0)
    world = open_world(tmp_path, "shots")
    assert check_world(world) == []
    assert world.manifest.video.duration == 70.0
    session = open_session(tmp_path, "shots", name=None, groups=frozenset({"inspect"}))
    seen = run(session, "detect_objects", {"video_id": "shots", "timestamp": 65.0, "category": "person"})
    assert (seen["not_judged"], seen["not_examined"]) == ([STILL], [])


def test_a_hole_ends_with_the_video_and_not_with_its_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = [np.full((48, 64, 3), number % 200, np.uint8) for number in range(240)]
    whole = encode(tmp_path / "whole.mkv", pictures, rate=1)
    video = tmp_path / "cut.mkv"
    video.write_bytes(whole.read_bytes()[: whole.stat().st_size * 2 // 3])
    report = build(video, tmp_path / "store")
    assert [loss.code for loss in report.losses] == ["ends_early"]
    assert report.duration < 200.0
    for path in tmp_path.glob("store/shots/rows/*/*"):
        path.unlink()
    monkeypatch.setattr(VideoPass, "_decoded", decoding_that_dies_at(10.0, 1000.0))
    again = build(video, tmp_path / "store")
    assert again.duration == report.duration
    assert [(loss.code, loss.end_time) for loss in again.losses] == [
        ("ends_early", 240.0),
        ("not_decoded", report.duration),
    ]
    assert check_world(open_world(tmp_path / "store", "shots")) == []


@pytest.mark.parametrize(
    ("start", "end", "hole"), [(36.0, 45.0, (36.0, 45.0)), (0.0, 10.0, (0.0, 10.0)), (60.0, 70.0, (60.0, 70.0))]
)
def test_a_part_of_which_no_packet_can_be_decoded_is_not_examined(
    two_shots: Path, tmp_path: Path, start: float, end: float, hole: tuple[float, float]
) -> None:
    damaged = with_damage(two_shots, tmp_path / "damaged.mp4", (start, end))
    report = build(damaged, tmp_path / "store")
    assert report.duration == 70.0
    [lost] = [lost for lost in report.losses if lost.code == "not_decoded"]
    assert (lost.start_time, lost.end_time) == hole
    world = open_world(tmp_path / "store", "shots")
    assert check_world(world) == []
    assert world.rows("cuts").column("time").to_pylist() == ([] if start < 40 < end else [40.0])
    session = open_session(tmp_path / "store", "shots", name=None, groups=frozenset({"inspect"}))
    middle = (start + end) / 2
    seen = run(session, "detect_objects", {"video_id": "shots", "timestamp": middle, "category": "person"})
    assert (seen["not_found"], seen["not_examined"]) == ([], [{"start_time": middle, "end_time": middle + 0.2}])
    assert seen["hint"] == f"{start:.1f}-{end:.1f} s were not decoded: what they show is not known"
    caption = run(session, "describe_segment", {"video_id": "shots", "start_time": middle - 2, "end_time": middle + 2})
    assert f"{start:.1f}-{end:.1f} s were not decoded" in caption["caption"]
    assert "were not decoded" in run(session, "list_entities", {"video_id": "shots"})["hint"]
    for path in (tmp_path / "store").glob("shots/rows/*/000001-*"):
        path.unlink()
    again = build(damaged, tmp_path / "store")
    assert (again.world_hash, again.losses) == (report.world_hash, report.losses)


def test_every_hole_is_told_however_many_a_world_has(store: Path) -> None:
    path = store / "shots" / "world.json"
    manifest = json.loads(path.read_text())
    one = {"code": "not_decoded", "message": "", "start_time": 0.0, "end_time": 0.0}
    manifest["losses"] = [one | {"start_time": n / 100, "end_time": n / 100 + 0.005} for n in range(6000)]
    path.write_text(json.dumps(manifest | {"profile": "oracle"}))  # with a truth, so that anything is absent
    session = open_session(store, "shots", name=None, groups=frozenset({"inspect"}))
    whole = {"start_time": 0.0, "end_time": 70.0}
    green = {"category": "person", "text_query": "in green"}  # what moves may be a person, and is not green
    seen = run(session, "detect_objects", {"video_id": "shots", "timestamp": 65.0, "time_range": whole, **green})
    asked = {"video_id": "shots", "query": "person in green"}
    scanned = run(session, "scan_segments", asked)
    searched = run(session, "search_segments_by_text", {**asked, "top_k": 5})
    assert len(seen["not_examined"]) == 6000
    for found in (scanned, searched):
        assert len(found["not_found"]) > 5000
        assert all(part["start_time"] * 100 % 1 for part in found["not_found"])

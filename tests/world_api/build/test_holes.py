"""A stretch that kills every decoder: one loss with its times, nothing made up at its end, and nothing known of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.building import Silent, StandingClock
from tests.support.decoders import Decoding, decoder_of, decoding_that_dies_at
from videoworld import main
from world_api.api import build_world, open_session
from world_api.build import BuildReport
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


@pytest.fixture
def store(two_shots: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The world of two shots: while the block crosses, and around the cut, frames kill the decoder."""
    folder = tmp_path / "store"
    with monkeypatch.context() as patch:
        for start, end in ((10.0, 11.0), (37.0, 42.0)):
            patch.setattr(VideoPass, "_decoded", decoding_that_dies_at(start, end))
        build(two_shots, folder)
    return folder


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


def test_a_decoder_that_dies_once_leaves_the_world_as_it_would_be(
    two_shots: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = build(two_shots, tmp_path / "whole")
    monkeypatch.setattr(VideoPass, "_decoded", decoding_that_dies_once(12.0))
    killed = build(two_shots, tmp_path / "killed")
    assert killed.world_hash == whole.world_hash
    [lost] = killed.losses
    assert (lost.code, lost.end_time) == ("decoder_died", None)


def test_no_cut_and_no_motion_is_made_up_over_a_hole(store: Path, two_shots: Path, tmp_path: Path, ask: Asked) -> None:
    build(two_shots, tmp_path / "whole")
    whole, holed = open_world(tmp_path / "whole", "shots"), open_world(store, "shots")
    assert whole.rows("cuts").column("time").to_pylist() == [40.0]
    assert holed.rows("cuts").num_rows == holed.rows("scene_cuts").num_rows == 0
    names = holed.rows("sightings").column("track").to_pylist()
    assert names
    assert not [time for time in holed.rows("sightings").column("time").to_pylist() if 10.0 <= time < 11.0]
    acts = [action["label"] for action in ask("recognize_actions", start_time=0.0, end_time=20.0)["actions"]]
    assert acts
    assert not [act for act in acts if "leaves" in act or "out of view" in act]
    [entity, *_] = ask("list_entities")["entities"]
    assert entity["leaves_to"] is None


def test_nothing_is_said_to_be_absent_in_a_hole(ask: Asked) -> None:
    inside = ask("detect_objects", timestamp=41.0, category="person")
    assert (inside["not_found"], inside["not_judged"]) == ([], [])
    assert inside["not_examined"] == [{"start_time": 40.4, "end_time": 41.6}]
    assert "not decoded" in inside["hint"]
    around = ask("detect_objects", timestamp=41.0, category="person", time_range={"start_time": 30.0, "end_time": 60.0})
    assert around["not_examined"] == [{"start_time": 37.0, "end_time": 45.0}]
    assert [part["start_time"] for part in around["not_found"]] == [30.0, 45.0]
    outside = ask("detect_objects", timestamp=60.0, category="person")
    assert outside["not_found"] and outside["not_examined"] == []
    [entity, *_] = ask("list_entities")["entities"]
    state = ask("query_entity_state", entity_id=entity["entity_id"], time=41.0, query="where is it?")
    assert "not decoded" in state["answer"]
    assert "37.0-45.0 s" in ask("search_segments_by_text", query="qqq", top_k=3)["hint"]
    assert "37.0-45.0 s" in ask("describe_segment", start_time=30.0, end_time=60.0)["caption"]
    scanned = ask("scan_segments", query="qqq")["not_found"]
    assert [part["end_time"] for part in scanned][1:] == [37.0, 70.0]

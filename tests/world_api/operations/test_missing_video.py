"""Where the video of a world is gone or another, what only its frames could tell is not examined, and the reason is told."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import STILL
from tests.support.building import Silent, StandingClock
from world_api.api import build_world, open_session
from world_api.core import OperationFault
from world_api.operations import run
from world_api.options import BuildOptions, Listening

pytestmark = pytest.mark.media

GONE = "the video file shots.mp4 is no longer where it was when the world was built"
OTHER = "the video file shots.mp4 is another one now than the one that the world was made from"


def remove(video: Path) -> None:
    video.unlink()


def replace(video: Path) -> None:
    video.write_bytes(video.read_bytes()[::-1])


@pytest.fixture
def built(two_shots: Path, tmp_path: Path) -> Path:
    """A store with a world, beside its video."""
    video = tmp_path / "shots.mp4"
    shutil.copy(two_shots, video)
    options = BuildOptions(without=("screen_texts",), listening=Listening(speech="off"))
    build_world(video, tmp_path / "store", progress=Silent(), clock=StandingClock(), video_id="shots", options=options)
    return tmp_path / "store"


def detect(store: Path, category: str, **arguments: Any) -> dict[str, Any]:
    session = open_session(store, "shots", name=None)
    given = {"video_id": "shots", "timestamp": 65.0, "category": category, **arguments}
    return run(session, "detect_objects", given)


@pytest.mark.parametrize(("harm", "told"), [(remove, GONE), (replace, OTHER)])
def test_what_only_the_frame_could_tell_is_not_examined_without_the_video(
    built: Path, harm: Callable[[Path], None], told: str
) -> None:
    frame = [{"start_time": 65.0, "end_time": 65.2}]
    for category in ("face", "person"):
        [unseen] = detect(built, category)["not_judged"]
        assert unseen.startswith(f"{category} that was not detected")
    shutil.rmtree(built / ".on-demand")
    harm(built.parent / "shots.mp4")
    for category in ("face", "person"):
        missing = detect(built, category)
        assert (missing["not_found"], missing["not_judged"]) == ([], [])
        assert missing["not_examined"] == frame
        assert told in missing["hint"]
        assert "put the file back" in missing["hint"]
    session = open_session(built, "shots", name=None)
    with pytest.raises(OperationFault, match=told):
        run(session, "register_entity", {"video_id": "shots", "timestamp": 65.0, "entity_hint": "a face"})


def test_what_the_rows_can_tell_and_what_was_looked_at_before_is_still_told(built: Path) -> None:
    before = detect(built, "face")
    stretch = {"start_time": 60.0, "end_time": 65.0}
    (built.parent / "shots.mp4").unlink()
    assert detect(built, "face") == before
    assert detect(built, "person", time_range=stretch, timestamp=10.0)["not_judged"] == [STILL]
    anything = detect(built, "any", time_range=stretch, timestamp=65.0)
    assert (anything["not_found"], anything["not_judged"]) == (
        [],
        ["things that were not detected"],
    )  # what rests is not tracked


def test_a_video_that_goes_while_a_session_is_open_is_told_likewise(built: Path) -> None:
    session = open_session(built, "shots", name=None)
    (built.parent / "shots.mp4").unlink()
    given = {"video_id": "shots", "timestamp": 64.0, "category": "face"}
    unseen = run(session, "detect_objects", given)
    assert (unseen["not_found"], unseen["not_examined"]) == ([], [{"start_time": 64.0, "end_time": 64.2}])
    assert GONE in unseen["hint"]

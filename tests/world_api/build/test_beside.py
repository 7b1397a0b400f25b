"""What is kept beside worlds is told and cleared; what a build writes, a world needs or a session asks for stays."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.building import Silent, StandingClock
from tests.support.command_line import Cli
from world_api.api import build_world, open_session
from world_api.build import clear_beside, find_beside, recording_of
from world_api.core import world_lock
from world_api.operations import run
from world_api.options import BuildOptions
from world_api.world.storage import ON_DEMAND

#: A recording whose writer has shown no life for this long (seconds) is abandoned.
ABANDONED = 150.0


def being_written(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


def aged(path: Path) -> Path:
    """A file whose writer has long stopped."""
    then = path.stat().st_mtime - 2 * ABANDONED
    os.utime(path, (then, then))
    return path


def recorded(store: Path, name: str, size: int = 1000) -> Path:
    path = recording_of(store, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    return aged(path)


def answered(store: Path, world: str = "0123456789abcdef") -> Path:
    path = store / ON_DEMAND / world / "answer.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[]")
    return path


def test_a_store_that_is_not_there_keeps_nothing(tmp_path: Path) -> None:
    assert not find_beside(tmp_path / "gone").recordings
    assert not clear_beside(tmp_path / "gone").answers
    assert not (tmp_path / "gone").exists()


def test_answers_and_recordings_of_no_world_go(tmp_path: Path) -> None:
    answer, recording = answered(tmp_path), recorded(tmp_path, "camera")
    mark = being_written(recording)
    mark.touch()
    aged(mark)
    cleared = clear_beside(tmp_path)
    assert (list(cleared.answers.values()), cleared.recordings) == ([2], {recording: 1000})
    assert not answer.parent.exists()
    assert not recording.exists()
    assert not mark.exists()
    assert not clear_beside(tmp_path).recordings


def test_a_recording_that_is_being_written_stays(tmp_path: Path) -> None:
    recording = recorded(tmp_path, "camera")
    being_written(recording).touch()
    assert not clear_beside(tmp_path).recordings
    assert recording.exists()


def test_a_recording_that_has_just_been_written_stays(tmp_path: Path) -> None:
    recording = recorded(tmp_path, "camera")
    os.utime(recording)
    assert not find_beside(tmp_path).spare
    assert not clear_beside(tmp_path).recordings
    assert recording.exists()


def test_a_recording_whose_world_is_being_built_stays(tmp_path: Path) -> None:
    recording = recorded(tmp_path, "camera")
    with world_lock(tmp_path, "camera"):
        assert not clear_beside(tmp_path).recordings
    assert recording.exists()


def test_a_recording_stays_while_there_is_anything_of_its_world(tmp_path: Path) -> None:
    begun, named = recorded(tmp_path, "begun"), recorded(tmp_path, "named")
    (tmp_path / "begun").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "local.json").write_text(json.dumps({"source_path": str(named.resolve())}))
    assert not clear_beside(tmp_path).recordings
    assert begun.exists()
    assert named.exists()


def test_what_is_no_recording_of_ours_and_what_links_lead_to_stays(tmp_path: Path) -> None:
    store, elsewhere = tmp_path / "store", tmp_path / "elsewhere"
    notes = recorded(store, "notes").rename(store / ".recordings" / "notes.txt")
    elsewhere.mkdir()
    mine = elsewhere / "mine.mkv"
    mine.write_bytes(b"x")
    aged(mine)
    (store / ".recordings" / "mine.mkv").symlink_to(mine)
    (store / ON_DEMAND).mkdir()
    (store / ON_DEMAND / "linked").symlink_to(elsewhere)
    cleared = clear_beside(store)
    assert not cleared.answers
    assert not cleared.recordings
    assert notes.exists()
    assert mine.exists()


def test_what_cannot_be_read_keeps_no_store_from_being_listed(
    cli: Cli, make_world: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    answered(make_world.store)  # type: ignore[attr-defined]  # of the maker
    listed = Path.iterdir

    def refused(folder: Path) -> Iterator[Path]:
        if folder.name == ON_DEMAND:
            raise PermissionError(13, "Permission denied")
        return iter(listed(folder))

    monkeypatch.setattr(Path, "iterdir", refused)
    outcome = cli("worlds", "--json").json
    assert [world["video_id"] for world in outcome["worlds"]] == ["made"]
    assert outcome["beside"]["answers_bytes"] == 0


@pytest.mark.media
def test_an_open_session_looks_again_at_what_was_cleared(two_shots: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    options = BuildOptions(without=("screen_texts", "moving_things", "stitches", "look_links"))
    video_id = build_world(two_shots, store, progress=Silent(), clock=StandingClock(), options=options).video_id
    session = open_session(store, video_id, name=None)
    asked = {"video_id": video_id, "timestamp": 11.0, "category": "person"}
    first = run(session, "detect_objects", asked)
    assert len(clear_beside(store).answers) == 1
    assert run(session, "detect_objects", asked) == first
    assert len(find_beside(store).answers) == 1


def test_worlds_tells_what_is_beside_them_and_clean_removes_it(cli: Cli, make_world: Callable[..., object]) -> None:
    store: Path = make_world.store  # type: ignore[attr-defined]  # of the maker
    assert "beside" not in cli("worlds").out
    answered(store)
    recorded(store, "made", size=3_000_000)  # the world's own
    spare = recorded(store, "camera", size=2_000_000)
    assert cli("worlds", "--json").json["beside"] == {
        "answers_bytes": 2, "recordings_bytes": 5_000_000, "spare_recordings_bytes": 2_000_000,
    }  # fmt: skip
    told = cli("worlds").out.splitlines()[-1]
    assert "recordings 5.00 MB (2.00 MB of no world)" in told
    assert "videoworld worlds --clean" in told
    removed = cli("worlds", "--clean", "--json").json
    assert (removed["answers"], removed["recordings"], removed["bytes"]) == (1, ["camera.mkv"], 2_000_002)
    assert not spare.exists()
    assert "removed 0 answers made on demand and 0 recordings" in cli("worlds", "--clean").out
    assert [world["video_id"] for world in cli("worlds", "--json").json["worlds"]] == ["made"]


def test_clean_and_search_do_not_go_together(cli: Cli) -> None:
    assert cli("worlds", "--clean", "--search", "blue").status == 2
